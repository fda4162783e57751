//! Attacks as data: `tests/attack/NAME.toml` says what is given and what must come of it.
//!
//! In the whole file `{port}` is the test's server, `{folder}` its folder on the host, `{stranger}` an MCP server that
//! behaves as its first argument says (`tests/src/bin/stranger`). A file with `variants` is as
//! many attacks, which differ in the text that stands for `{variant}`: what comes of them is the same.

use std::path::{Path, PathBuf};

use lazaret::runs::host::Called;
use lazaret::words::error::{Code, Result};
use lazaret::words::event::Answer as Say;
use lazaret::words::id::RunId;
use serde::Deserialize;
use serde_json::Value;

use crate::forge;
use crate::rig::{Rig, Rigged};
use crate::server::{Answer, Server};
use crate::verdict::{
    check_answer, check_every, check_journal, check_nowhere, check_outside, check_records,
    check_rendered, check_shown, check_wire, observed, said,
};

/// What a tool or answer must never hold: stands in files outside of every mount.
pub const CANARY: &str = "canary-7f3a9c";

/// One attack.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attack {
    /// What it is, in a sentence.
    pub about: String,
    /// Rows of the list of attacks that it stands for.
    #[serde(default)]
    pub rows: Vec<u32>,
    /// `lazaret.toml`.
    #[serde(default)]
    pub policy: String,
    /// Texts that stand for `{variant}`, one attack each.
    #[serde(default)]
    pub variants: Vec<String>,
    /// Components of `target/guests`.
    #[serde(default)]
    pub guests: Vec<String>,
    /// Fields of a forged core module, see [`forge::plugin`].
    #[serde(default)]
    pub forged: Option<String>,
    /// Its manifest, if it is not the usual one.
    #[serde(default)]
    pub manifest: Option<String>,
    /// What stands beside that module in its component.
    #[serde(default)]
    pub beside: String,
    /// Instead of a forged module: a whole component in the text format.
    #[serde(default)]
    pub component: Option<String>,
    /// Secrets by name.
    #[serde(default)]
    pub secrets: std::collections::BTreeMap<String, String>,
    /// What lies in the folder.
    #[serde(default)]
    pub files: Vec<Laid>,
    /// What the server says.
    #[serde(default)]
    pub server: Vec<Answer>,
    /// MCP servers of the policy that a person has read and trusted before.
    #[serde(default)]
    pub trusting: Vec<String>,
    /// Instead of a call: that MCP server is looked at, as `lazaret servers check` does.
    #[serde(default)]
    pub look: Option<String>,
    /// Where names lead.
    #[serde(default)]
    pub names: std::collections::BTreeMap<String, Vec<String>>,
    /// Where names lead, each look-up getting the next answer.
    #[serde(default)]
    pub names_in_turn: std::collections::BTreeMap<String, Vec<Vec<String>>>,
    /// The call, or
    #[serde(default)]
    pub call: Option<Wish>,
    /// what a model says, turn by turn,
    #[serde(default)]
    pub replies: Vec<Value>,
    /// to what a user typed;
    #[serde(default = "goal")]
    pub goal: String,
    /// before that, in the same session, what the user typed run after run,
    #[serde(default)]
    pub earlier: Vec<String>,
    /// before that, scripts that a person ran, each to its end,
    #[serde(default)]
    pub before: Vec<String>,
    /// of which the last one held these, as `h2=letter`, with which the run begins,
    #[serde(default)]
    pub with: Vec<String>,
    /// and then the host was started anew;
    #[serde(default)]
    pub restart: bool,
    /// and with these files of the folder to look at.
    #[serde(default)]
    pub attached: Vec<String>,
    /// What a person says when the run waits, time after time; it goes on in a host that is started anew.
    #[serde(default)]
    pub answers: Vec<Say>,
    /// What must come of it.
    pub expect: Expect,
}

/// A call as it is typed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Value,
    /// Its arguments, if they are no JSON.
    #[serde(default)]
    pub text: Option<String>,
}

impl Wish {
    /// The arguments as they are typed.
    fn text(&self) -> String {
        match (&self.text, &self.args) {
            (Some(text), _) => text.clone(),
            (None, Value::Null) => "{}".to_owned(),
            (None, args) => args.to_string(),
        }
    }
}

/// Something in the test's folder.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Laid {
    /// Where.
    pub path: String,
    /// A file with this text,
    #[serde(default)]
    pub text: Option<String>,
    /// a symbolic link to this,
    #[serde(default)]
    pub link: Option<String>,
    /// a second name of this file,
    #[serde(default)]
    pub hard_link: Option<String>,
    /// a pipe,
    #[serde(default)]
    pub pipe: bool,
    /// so many files with numbered names,
    #[serde(default)]
    pub many: usize,
    /// or a file of this size with nothing in it.
    #[serde(default)]
    pub sparse: u64,
}

/// What must come of an attack.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// `ok`, or the code of the failure.
    pub code: String,
    /// The host does not even open.
    pub install: bool,
    /// Texts in the answer: the outcome as JSON, or message, issues and hints.
    pub says: Vec<String>,
    /// The whole answer as the command line shows it to a person.
    pub shown: Option<String>,
    /// Each line of the outcome holds one of these.
    pub every: Vec<String>,
    /// Texts that stand nowhere: not in the answer, its logs, or what a model reads.
    pub not: Vec<String>,
    /// Secrets that stand nowhere, however they are spelled: in the outcome with its logs and artifacts, in
    /// what a model reads, in the journal, in the test's folder.
    pub nowhere: Vec<String>,
    /// Texts in the requests as they reached the server.
    pub wire: Vec<String>,
    /// Texts in the call's log.
    pub logs: Vec<String>,
    /// Most lines of the call's log.
    pub log_lines: Option<usize>,
    /// Texts in the journal, in this order.
    pub journal: Vec<String>,
    /// Requests that reached the server; nothing else did.
    pub requests: usize,
    /// Files that hold this afterwards; empty for one that must not be there.
    pub files: std::collections::BTreeMap<String, String>,
}

/// All attacks, by the name of their file.
///
/// # Panics
/// Where a file is none.
#[must_use]
pub fn all() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("attack");
    let entries = std::fs::read_dir(folder).expect("the folder of attacks");
    let mut all: Vec<_> = entries
        .map(|entry| entry.expect("an attack").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| {
            (
                path.file_stem()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
                path,
            )
        })
        .collect();
    all.sort();
    all
}

fn goal() -> String {
    "Do what you are told.".to_owned()
}

/// Makes an attack, and says everything that is not as it must be.
pub async fn run(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("an attack can be read");
    // Only to count them: a port may stand where a number does.
    let table: toml::Table = match toml::from_str(&text.replace("{port}", "1")) {
        Ok(table) => table,
        Err(error) => return vec![error.to_string()],
    };
    let variants = table.get("variants").and_then(toml::Value::as_array);
    let mut wrong = Vec::new();
    for place in 0..variants.map_or(1, Vec::len) {
        wrong.extend(run_one(&text, place).await);
    }
    wrong
}

/// Puts a variant where it belongs, in whatever text it stands.
fn vary(value: &mut toml::Value, variant: &str) {
    match value {
        toml::Value::String(text) => *text = text.replace("{variant}", variant),
        toml::Value::Array(items) => items.iter_mut().for_each(|item| vary(item, variant)),
        toml::Value::Table(table) => table.iter_mut().for_each(|(_, item)| vary(item, variant)),
        _ => {}
    }
}

/// Makes the attack with the variant at that place, if there are any.
async fn run_one(text: &str, place: usize) -> Vec<String> {
    let (rig, server) = (Rig::of(""), Server::start().await);
    let text = text.replace("{port}", &server.port().to_string());
    let text = text.replace("{folder}", &rig.folder().display().to_string());
    let text = text.replace("{stranger}", &stranger());
    let mut table = match toml::from_str(&text) {
        Ok(table) => toml::Value::Table(table),
        Err(error) => return vec![error.to_string()],
    };
    let variants = table.get("variants").and_then(toml::Value::as_array);
    let variant = variants.and_then(|all| all.get(place)?.as_str());
    let variant = variant.unwrap_or_default().to_owned();
    vary(&mut table, &variant);
    let attack: Attack = match table.try_into() {
        Ok(attack) => attack,
        Err(error) => return vec![error.to_string()],
    };
    server.say(attack.server.clone());
    let rig = rig.file("outside/secret.txt", CANARY);
    let (mut rig, mut wrong) = prepare(rig, &attack);
    if attack.restart || !attack.answers.is_empty() || attack.has_servers() {
        rig = rig.kept().await;
    }
    for name in &attack.trusting {
        rig = rig.trusting(name).await;
    }
    let looked = match &attack.look {
        Some(name) => Some(rig.look(name).await.map(drop)),
        None => None,
    };
    match rig.try_open().await {
        Ok(host) if attack.look.is_some() => {
            let end = looked.and_then(Result::err);
            wrong.extend(check_look(&attack.expect, end.as_ref(), (&host, &server)));
        }
        Ok(mut host) => {
            let mut with = Vec::new();
            for source in &attack.before {
                let called = host.script(source).await;
                if let Err(error) = called.outcome.result {
                    wrong.push(format!("what was before fails: {error:?}"));
                }
                let run = called.run;
                with = attack
                    .with
                    .iter()
                    .map(|held| format!("{run}:{held}"))
                    .collect();
            }
            if attack.restart {
                host = host.restart().await;
            }
            wrong.extend(strike(&attack, (host, &with), &server).await);
        }
        Err(error) if attack.expect.install => {
            wrong.extend(check_answer(
                &attack.expect,
                Some(error.code()),
                &said(&error),
            ));
        }
        Err(error) => wrong.push(format!("the host does not open: {error:?}")),
    }
    if !variant.is_empty() {
        wrong
            .iter_mut()
            .for_each(|text| text.insert_str(0, &format!("{variant:?}: ")));
    }
    wrong
}

impl Attack {
    fn has_servers(&self) -> bool {
        self.look.is_some() || !self.trusting.is_empty()
    }
}

/// The program of that name, beside the tests.
fn stranger() -> String {
    let program = std::env::current_exe().expect("this program has a path");
    let above = program.ancestors().nth(2).expect("it is in a folder");
    above.join("stranger").display().to_string()
}

/// What came of looking at an MCP server.
fn check_look(
    expect: &Expect,
    end: Option<&lazaret::words::error::Error>,
    (host, server): (&Rigged, &Server),
) -> Vec<String> {
    let said = end.map(said).unwrap_or_default();
    let mut wrong = check_answer(expect, end.map(|error| error.code()), &said);
    wrong.extend(check_shown(expect, &said, host));
    wrong.extend(check_nowhere(expect, &said, host));
    wrong.extend(check_wire(expect, server));
    wrong.extend(check_outside(expect, host, server));
    wrong
}

fn prepare(rig: Rig, attack: &Attack) -> (Rig, Vec<String>) {
    let mut wrong = Vec::new();
    let mut rig = rig.policy(&attack.policy);
    for guest in &attack.guests {
        rig = rig.guest(guest);
    }
    let manifest = attack.manifest.as_deref().unwrap_or(forge::MANIFEST);
    if let Some(fields) = &attack.forged {
        rig = rig.component(
            "forged",
            &forge::plugin_with(manifest, fields, &attack.beside),
        );
    }
    if let Some(text) = &attack.component {
        rig = rig.component("forged", &forge::component(text));
    }
    for (name, addresses) in &attack.names {
        let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
        rig = rig.name(name, &addresses);
    }
    for (name, value) in &attack.secrets {
        rig = rig.secret(name, value);
    }
    for (name, answers) in &attack.names_in_turn {
        rig = rig.name_in_turn(name, answers);
    }
    if !attack.replies.is_empty() {
        rig = rig.replies(&attack.replies);
    }
    for laid in &attack.files {
        if let Err(error) = lay(&rig.path(""), laid) {
            wrong.push(format!("{} cannot be laid out: {error}", laid.path));
        }
    }
    (rig, wrong)
}

fn lay(folder: &Path, laid: &Laid) -> std::io::Result<()> {
    let path = folder.join(&laid.path);
    std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
    if let Some(to) = &laid.link {
        return std::os::unix::fs::symlink(to, path);
    }
    if let Some(to) = &laid.hard_link {
        return std::fs::hard_link(folder.join(to), path);
    }
    if laid.pipe {
        let made = std::process::Command::new("mkfifo").arg(path).status()?;
        return if made.success() {
            Ok(())
        } else {
            Err(std::io::Error::other("mkfifo failed"))
        };
    }
    if laid.many > 0 {
        std::fs::create_dir_all(&path)?;
        return (0..laid.many).try_for_each(|at| std::fs::write(path.join(at.to_string()), ""));
    }
    if laid.sparse > 0 {
        return std::fs::File::create(path)?.set_len(laid.sparse);
    }
    std::fs::write(path, laid.text.as_deref().unwrap_or_default())
}

/// All that a call leaves for whoever made it.
fn everything(called: &Called) -> String {
    let mut all = format!("{:?}", called.outcome);
    for artifact in &called.outcome.trail.artifacts {
        all.push_str(&String::from_utf8_lossy(&artifact.bytes));
    }
    all
}

fn check_logs(expect: &Expect, logs: &[String]) -> Vec<String> {
    let missing = |text: &&String| !logs.iter().any(|line| line.contains(*text));
    let missing = expect.logs.iter().filter(missing);
    let mut wrong: Vec<String> = missing
        .map(|text| format!("no log line says `{text}`: {:?}", logs.last()))
        .collect();
    if expect.log_lines.is_some_and(|most| logs.len() > most) {
        wrong.push(format!("the log has {} lines", logs.len()));
    }
    wrong
}

/// Pursues the goal, answers what it asks, and goes on, as long as there is something to say.
async fn pursue(
    attack: &Attack,
    (mut host, with): (Rigged, &[String]),
) -> (Rigged, RunId, Result<String>) {
    for goal in &attack.earlier {
        let (run, answer) = host.pursue_in_session("earlier", goal).await;
        answer.unwrap_or_else(|error| panic!("the earlier run {run} fails: {error:?}"));
        if attack.restart {
            host = host.restart().await;
        }
    }
    let (run, mut answer) = match attack.earlier.is_empty() {
        true => {
            let files = attack.attached.as_slice();
            host.pursue_beginning(&attack.goal, (with, files)).await
        }
        false => host.pursue_in_session("earlier", &attack.goal).await,
    };
    for say in &attack.answers {
        let waiting = host.host.questions().await.expect("the journal is well");
        for one in waiting.iter().filter(|one| one.run == run) {
            let answered = host.host.answer(one.question.id.as_str(), *say).await;
            answered.expect("the question is open");
        }
        if !matches!(&answer, Err(error) if error.code() == Code::Asked) {
            break;
        }
        host = host.restart().await;
        answer = host.resume_agent(&run).await;
    }
    (host, run, answer)
}

async fn strike(
    attack: &Attack,
    (mut host, with): (Rigged, &[String]),
    server: &Server,
) -> Vec<String> {
    let expect = &attack.expect;
    if expect.install {
        return vec!["the host opens, and must not".to_owned()];
    }
    let mut left = String::new();
    let (run, result, logs) = match &attack.call {
        Some(wish) => {
            let text = wish.text();
            let called = host.call_text(&wish.tool, &text).await;
            left = everything(&called);
            (called.run, called.outcome.result, called.outcome.trail.logs)
        }
        None => {
            let (again, run, answer) = pursue(attack, (host, with)).await;
            host = again;
            let seen = observed(&host.records(&run).await);
            if seen.contains(host.folder()) {
                return vec![format!("a model reads a path of the host:\n{seen}")];
            }
            (run, answer.map(Value::from), Vec::new())
        }
    };
    let (code, answer) = match &result {
        Ok(value) => (None, value.to_string()),
        Err(error) => (Some(error.code()), said(error)),
    };
    let mut wrong = check_answer(expect, code, &answer);
    wrong.extend(check_every(expect, &result));
    wrong.extend(check_rendered(expect, &result));
    let logs: Vec<String> = logs
        .iter()
        .map(|line| format!("{} {}", line.level, line.message))
        .collect();
    wrong.extend(check_logs(expect, &logs));
    let records = host.records(&run).await;
    let journal = crate::golden::render(&records);
    let shown = format!("{answer}\n{}\n{}", logs.join("\n"), observed(&records));
    wrong.extend(check_shown(expect, &shown, &host));
    let kept = serde_json::to_string(&records).expect("records are JSON");
    let all = format!("{left}\n{shown}\n{kept}\n{journal}");
    wrong.extend(check_nowhere(expect, &all, &host));
    wrong.extend(check_wire(expect, server));
    wrong.extend(check_journal(expect, &journal));
    // A run that waits for a person has not ended.
    if code != Some(Code::Asked) {
        wrong.extend(check_records(&records));
    }
    wrong.extend(check_outside(expect, &host, server));
    if let Err(error) = host
        .call("text.count", serde_json::json!({"text": "a b"}))
        .await
        .outcome
        .result
    {
        wrong.push(format!("the host counts no more: {error:?}"));
    }
    wrong
}
