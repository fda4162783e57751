//! What the host is asked for. Each answer is one line, so that a test can say what each must hold.

use lazaret_sdk::fetch::Request;
use lazaret_sdk::prelude::*;

/// Characters of a body or text that stand in a line.
const SHOWN: usize = 200;

/// One operation on a path.
#[value]
pub struct FileWish {
    /// `list`, `stat`, `read`, `write`, `replace`, `append`, `move` or `remove`; or `append-bytes`, `replace-bytes`.
    pub op: String,
    /// The path.
    pub path: String,
    /// The text to write, how many bytes of it, or the target of a move.
    #[serde(default)]
    pub with: String,
    /// How often `path` is repeated.
    #[serde(default)]
    pub times: usize,
}

fn line(what: &str, answer: Result<String, Refusal>) -> String {
    match answer {
        Ok(text) => format!(
            "{what} -> ok: {}",
            text.chars().take(SHOWN).collect::<String>()
        ),
        Err(refusal) => format!("{what} -> {}: {}", refusal.code.as_str(), refusal.message),
    }
}

/// Says what it was told.
#[tool(effect = "pure")]
pub fn echo(
    /// What to say.
    text: String,
) -> String {
    text
}

/// Asks for the same file again and again, and counts the refusals by their reason.
#[tool(effect = "pure")]
pub fn stat_often(
    /// How often.
    times: u32,
) -> Vec<String> {
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..times {
        let code = files::stat("x").map_or_else(|refusal| refusal.code.as_str(), |_| "ok");
        *counts.entry(code).or_insert(0_u32) += 1;
    }
    counts
        .iter()
        .map(|(code, count)| format!("{code} {count}"))
        .collect()
}

/// Sends one request to each URL and says what came of it.
#[tool(effect = "read-only", risk = "network_read")]
pub fn fetch_each(
    /// Where to.
    urls: Vec<String>,
    /// With this method.
    #[default("GET".to_owned())]
    method: String,
    /// And these headers, `name=value`; `\r` and `\n` are written out.
    #[default(Vec::new())]
    headers: Vec<String>,
) -> Vec<String> {
    let send = |url: &String| {
        let mut request = Request::new(method.as_str(), url.as_str());
        for header in &headers {
            let (name, value) = header.split_once('=').unwrap_or((header, ""));
            request = request.header(name, value.replace("\\r", "\r").replace("\\n", "\n"));
        }
        let answer = request.send().map(|answer| {
            let body = String::from_utf8_lossy(answer.bytes()).into_owned();
            let to = answer.redirect().unwrap_or_default();
            format!("{} {to} {body}", answer.status())
        });
        line(url, answer)
    };
    urls.iter().map(send).collect()
}

/// Sends a body of so many bytes.
#[tool(effect = "read-only", risk = "network_read")]
pub fn fetch_body(
    /// Where to.
    url: String,
    /// How many bytes.
    bytes: usize,
) -> String {
    let request = Request::post(url.as_str()).body("text/plain", vec![b'x'; bytes]);
    line(
        &url,
        request.send().map(|answer| answer.status().to_string()),
    )
}

/// Does one thing after the other with files and says what came of each.
#[tool(effect = "side-effecting", risk = "read_only", mounts = "write")]
pub fn file_each(
    /// What to do.
    wishes: Vec<FileWish>,
) -> Vec<String> {
    wishes.into_iter().map(do_one).collect()
}

/// Does one thing after the other and says what came of each, and that this is secret. Beside what can be done with
/// files: `fetch`, `keep` a note, `call` a tool with a text, `say` something on the way, `hand` out a file of that name.
#[tool(
    effect = "side-effecting",
    risk = "read_only",
    mounts = "write",
    notes = "write",
    calls = ["*"],
    sensitivity = "secret"
)]
pub fn carry(
    /// What to do.
    wishes: Vec<FileWish>,
) -> Vec<String> {
    let carry_one = |wish: FileWish| match wish.op.as_str() {
        "fetch" => {
            let answer = Request::new("GET", wish.path.as_str()).send();
            line("fetch", answer.map(|answer| answer.status().to_string()))
        }
        "say" => {
            log::progress(wish.with.as_str(), 50.0);
            "say -> done".to_owned()
        }
        "hand" => {
            let handed = artifacts::add(&wish.with, &wish.with, Vec::new());
            line("hand", handed)
        }
        "keep" => {
            let kept = notes::put(&wish.path, &wish.with);
            line("keep", kept.map(|()| "done".to_owned()))
        }
        "call" => {
            let args = std::collections::BTreeMap::from([("text", wish.with.as_str())]);
            let answer: Result<Value, Failure> = call::invoke(&wish.path, &args);
            match answer {
                Ok(value) => format!("call -> ok: {value}"),
                Err(failure) => format!("call -> failed: {}", failure.message()),
            }
        }
        _ => do_one(wish),
    };
    wishes.into_iter().map(carry_one).collect()
}

fn zeros(count: &str) -> Vec<u8> {
    vec![0; count.parse().expect("a number of bytes")]
}

fn do_one(wish: FileWish) -> String {
    let path = wish.path.repeat(wish.times.max(1));
    let text = wish.with.as_bytes();
    let done = |outcome: Result<(), Refusal>| outcome.map(|()| "done".to_owned());
    let answer = match wish.op.as_str() {
        "list" => files::list(&path).map(|entries| {
            let names: Vec<_> = entries.into_iter().map(|entry| entry.name).collect();
            format!("{} {}", names.len(), names.join(" "))
        }),
        "stat" => files::stat(&path).map(|stat| format!("{:?} {}", stat.kind, stat.size)),
        "read" => {
            files::read_at(&path, 0, 4096).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        }
        "read-all" => files::read_at(&path, 0, u32::MAX).map(|bytes| bytes.len().to_string()),
        "write" => done(files::write(&path, text, files::Mode::Create)),
        "replace" => done(files::write(&path, text, files::Mode::Replace)),
        "append" => done(files::write(&path, text, files::Mode::Append)),
        "append-bytes" => done(files::write(&path, &zeros(&wish.with), files::Mode::Append)),
        "replace-bytes" => done(files::write(
            &path,
            &zeros(&wish.with),
            files::Mode::Replace,
        )),
        "move" => done(files::rename(&path, &wish.with)),
        "remove" => done(files::remove(&path)),
        other => Ok(format!("there is no operation `{other}`")),
    };
    let shown: String = path.chars().take(60).collect();
    line(&format!("{} {shown}", wish.op), answer)
}

/// Makes a file, and in the same folder one that other programs look for by its name.
#[tool(effect = "side-effecting", risk = "read_only", mounts = "write")]
pub fn save(
    /// Which file.
    path: String,
) -> Vec<String> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let write = |op: &str, path: String| {
        let with = "x".to_owned();
        do_one(FileWish {
            op: op.to_owned(),
            path,
            with,
            times: 1,
        })
    };
    vec![
        write("write", path.clone()),
        write("write", format!("{folder}/.envrc")),
        write("write", format!("{folder}/.hidden/tasks.json")),
    ]
}

/// Keeps a note of so many bytes under each key, and reads it back.
#[tool(effect = "side-effecting", risk = "read_only", notes = "write")]
pub fn note_each(
    /// The keys.
    keys: Vec<String>,
    /// How many bytes each note has.
    #[default(1)]
    bytes: usize,
) -> Vec<String> {
    let keep = |key: &String| {
        let kept = notes::put(key, &"n".repeat(bytes));
        line(
            key,
            kept.and_then(|()| notes::get(key)).map(|note| note.text),
        )
    };
    keys.iter().map(keep).collect()
}

/// Calls each tool with the same arguments and says what came of it.
#[tool(effect = "read-only", risk = "read_only", calls = ["*"])]
pub fn call_each(
    /// Full names.
    tools: Vec<String>,
    /// The arguments of each call.
    args: Value,
) -> Result<Vec<String>, Failure> {
    let call = |tool: &String| {
        let answer: Result<Value, Failure> = call::invoke(tool, &args);
        match answer {
            Ok(value) => format!("{tool} -> ok: {value}"),
            Err(failure) => format!("{tool} -> failed: {}", failure.message()),
        }
    };
    Ok(tools.iter().map(call).collect())
}

/// Calls a tool whose name has so many bytes, and one with so many bytes of arguments that are no JSON.
#[tool(effect = "read-only", risk = "read_only", calls = ["*"])]
pub fn call_long(
    /// Bytes of the name.
    name: usize,
    /// Bytes of the arguments.
    args: usize,
) -> Vec<String> {
    let call = |what: &str, tool: &str, args: &str| {
        let answer = lazaret_sdk::bindings::lazaret::plugin::call::invoke(tool, args);
        line(what, answer.map_err(Refusal::from))
    };
    vec![
        call("a long name", &"n".repeat(name), "{}"),
        call("long arguments", "text.count", &"a".repeat(args)),
    ]
}

/// Reads a file and gives up with whatever the host said.
#[tool(effect = "read-only", mounts = "read")]
pub fn give_up_after(
    /// The path.
    path: String,
) -> Result<String, Failure> {
    files::read_text(&path, 1 << 20)
}
