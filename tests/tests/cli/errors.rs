//! Every kind of error as a person reads it: `tests/golden/errors.txt`, to be read aloud. A kind is shown by a command that
//! ends with it, or stands in [`elsewhere`] with the reason why no command of one line does.

use std::fmt::Write as _;
use std::fs;

use lazaret::words::error::Code;
use lazaret_tests::golden::assert_golden;
use lazaret_tests::saying;
use lazaret_tests::wait::until;
use regex::Regex;
use serde_json::{Value, json};

use crate::station::{Ended, Station, hostile};

/// A kind, what a user has written, and the command that ends so.
struct Case {
    code: Code,
    what: &'static str,
    config: String,
    command: Vec<&'static str>,
    /// Makes whatever else there has to be.
    before: fn(&Station),
    /// The command ends so a single time: whatever it is about has ended then.
    once: bool,
}

fn case<const N: usize>(
    code: Code,
    what: &'static str,
    config: &str,
    command: [&'static str; N],
) -> Case {
    Case {
        code,
        what,
        config: config.to_owned(),
        command: command.to_vec(),
        before: |_| {},
        once: false,
    }
}

/// All kinds; a new one does not build before [`elsewhere`] has answered.
const ALL: [Code; 34] = [
    Code::BadInput,
    Code::BadArgs,
    Code::UnknownTool,
    Code::BadSurface,
    Code::BadPlugin,
    Code::Denied,
    Code::Asked,
    Code::Unconfirmed,
    Code::Unauthenticated,
    Code::RateLimited,
    Code::BadLine,
    Code::Conflict,
    Code::Unsafe,
    Code::OverBudget,
    Code::TooBig,
    Code::TooSlow,
    Code::OutOfFuel,
    Code::OutOfMemory,
    Code::Trapped,
    Code::GuestFailed,
    Code::ScriptFailed,
    Code::Stalled,
    Code::Diverged,
    Code::NotJson,
    Code::BadOutcome,
    Code::FetchFailed,
    Code::ProviderFailed,
    Code::DiskFailed,
    Code::Busy,
    Code::NotFound,
    Code::InDoubt,
    Code::Cancelled,
    Code::Corrupt,
    Code::Bug,
];

/// Kinds that no command of one line ends with, and where they are shown.
fn elsewhere(code: Code) -> Option<&'static str> {
    let place = match code {
        Code::Diverged => "of a record that somebody has changed who has its key: `it scripts`",
        Code::Cancelled => "of a call that somebody else ends meanwhile: `refusals`",
        Code::Bug => "there should be none",
        Code::BadInput
        | Code::BadArgs
        | Code::UnknownTool
        | Code::BadSurface
        | Code::BadPlugin
        | Code::BadLine
        | Code::InDoubt
        | Code::Busy
        | Code::Denied
        | Code::Asked
        | Code::Unconfirmed
        | Code::Unauthenticated
        | Code::RateLimited
        | Code::Conflict
        | Code::Unsafe
        | Code::OverBudget
        | Code::TooBig
        | Code::TooSlow
        | Code::OutOfFuel
        | Code::OutOfMemory
        | Code::Trapped
        | Code::GuestFailed
        | Code::ScriptFailed
        | Code::Stalled
        | Code::NotJson
        | Code::BadOutcome
        | Code::FetchFailed
        | Code::ProviderFailed
        | Code::DiskFailed
        | Code::NotFound
        | Code::Corrupt => return None,
    };
    Some(place)
}

fn plugin(name: &str) -> String {
    format!("[plugins]\n{name} = \"{name}.wasm\"\n")
}

fn guests() -> Vec<Case> {
    let hostile = format!("[plugins]\nhostile = {:?}\n", hostile());
    let limited = |limits: &str| format!("[limits]\n{limits}\n{hostile}");
    let call = |tool| ["call", tool];
    vec![
        case(
            Code::BadSurface,
            "a tool that is for another surface",
            &hostile,
            call("hostile.only_http"),
        ),
        case(
            Code::TooSlow,
            "a tool that does not end",
            &limited("timeout_ms = 50"),
            call("hostile.sleep"),
        ),
        case(
            Code::TooSlow,
            "a tool that computes for too long",
            &limited("cpu_ms = 50"),
            call("hostile.spin"),
        ),
        case(
            Code::OutOfFuel,
            "a tool that works too much",
            &limited("fuel = 1000000"),
            call("hostile.spin"),
        ),
        case(
            Code::OutOfMemory,
            "a tool that takes too much memory",
            &limited("memory_mib = 8"),
            call("hostile.hoard"),
        ),
        case(
            Code::Trapped,
            "a tool that traps",
            &hostile,
            call("hostile.traps"),
        ),
        case(
            Code::TooBig,
            "a tool that returns too much",
            &hostile,
            ["call", "hostile.text", r#"{"bytes":2000000}"#],
        ),
    ]
}

/// What a tool says of itself, and what it is.
fn outcomes() -> Vec<Case> {
    let call = |tool| ["call", tool];
    vec![
        Case {
            before: |station| {
                let says = saying::failing("odd", &json!({}), false, &json!({}));
                station.write("odd.wasm", says);
            },
            ..case(
                Code::GuestFailed,
                "a tool that fails",
                &plugin("odd"),
                call("odd.run"),
            )
        },
        Case {
            before: |station| {
                station.write("odd.wasm", saying::component("odd", &json!({}), "NaN"));
            },
            ..case(
                Code::NotJson,
                "a tool that returns no JSON",
                &plugin("odd"),
                call("odd.run"),
            )
        },
        Case {
            before: |station| {
                let more = json!({"output": {"type": "string"}});
                station.write("odd.wasm", saying::component("odd", &more, "3"));
            },
            ..case(
                Code::BadOutcome,
                "a tool that returns what it did not promise",
                &plugin("odd"),
                call("odd.run"),
            )
        },
        Case {
            before: |station| {
                station.write("odd.wasm", "(module)");
            },
            ..case(
                Code::BadPlugin,
                "a file that is no plugin",
                &plugin("odd"),
                call("odd.run"),
            )
        },
    ]
}

/// Kinds that a tool says of its own failure.
fn typed() -> Vec<Case> {
    fn says(station: &Station, code: &str) {
        let component = saying::failing("odd", &json!({}), false, &json!({"code": code}));
        station.write("odd.wasm", component);
    }
    let of = |code, what, before| Case {
        before,
        ..case(code, what, &plugin("odd"), ["call", "odd.run"])
    };
    vec![
        of(
            Code::Unauthenticated,
            "a tool that wants to be signed in",
            |station| {
                says(station, "AUTHENTICATION_ERROR");
            },
        ),
        of(
            Code::RateLimited,
            "a tool that was asked too often",
            |station| {
                says(station, "RATE_LIMITED");
            },
        ),
        of(
            Code::Conflict,
            "a tool that finds something else there",
            |station| {
                says(station, "CONFLICT");
            },
        ),
        of(
            Code::Unsafe,
            "a tool that refuses what is not safe",
            |station| {
                says(station, "UNSAFE_ACTION");
            },
        ),
    ]
}

/// Agents that go too far.
fn agents() -> Vec<Case> {
    let config = "[agents.a]\nmodels = [\"m\"]\n[models.m]\nprovider = \"scripted\"\nscript = \"replies.jsonl\"\n";
    let run = ["run", "--agent", "a", "Go on, please."];
    vec![
        Case {
            before: |station| {
                station.write("replies.jsonl", "{\"text\":\"Done.\"}\n");
            },
            ..case(
                Code::OverBudget,
                "an agent that has spent all",
                config,
                ["run", "--agent", "a", "--max-tokens", "1", "Go on, please."],
            )
        },
        Case {
            before: |station| {
                station.write(
                    "replies.jsonl",
                    "{\"fail\":[{\"status\":401}],\"text\":\"no\"}\n",
                );
            },
            ..case(
                Code::ProviderFailed,
                "a provider that knows no such key",
                config,
                run,
            )
        },
    ]
}

/// An agent whose call is asked about, so that its run waits.
const ASKING: &str = "ask = [\"text.count\"]\n[agents.a]\ntools = [\"text.count\"]\nmodels = [\"m\"]\n\
    [models.m]\nprovider = \"scripted\"\nscript = \"replies.jsonl\"\n";

/// Runs that are left, and how they cannot go on.
fn left() -> Vec<Case> {
    let resume = ["runs", "resume", "last"];
    vec![
        Case {
            before: |station| {
                let calls = r#"{"calls":[{"tool":"text.count","args":{"text":"a"}}]}"#;
                station.write("replies.jsonl", format!("{calls}\n{{\"text\":\"One.\"}}\n"));
                station.write("lazaret.toml", ASKING);
                station.trust();
                station
                    .run(&["run", "Count.", "--session", "work"])
                    .ends(75);
            },
            ..case(
                Code::Busy,
                "a session whose last run waits",
                ASKING,
                ["run", "And now?", "--session", "work"],
            )
        },
        Case {
            before: |station| {
                let notes = station.workspace().join("notes");
                let stranger = env!("CARGO_BIN_EXE_stranger");
                let config = format!(
                    "[mcp.mail]\ncommand = [{stranger:?}, \"good\", {notes:?}]\ndata = [{notes:?}]\n[grants.\"mail.hang\"]\n"
                );
                station.write("lazaret.toml", config);
                station.trust();
                station.run(&["servers", "trust", "mail"]).ends(0);
                let mut child = station.spawn(&mut station.command(&["call", "mail.hang"]));
                // Its server ends with it.
                until("it is called", || {
                    let noted = fs::read_to_string(&notes).unwrap_or_default();
                    noted.contains("called hang")
                });
                child.kill().expect("it runs");
                child.wait().expect("it has ended");
            },
            once: true,
            ..case(Code::InDoubt, "a call that was cut off", "", resume)
        },
    ]
}

fn scripts() -> Vec<Case> {
    let script = |source| ["script", "-e", source];
    vec![
        case(
            Code::BadInput,
            "a script that is no program",
            "",
            script("return 1 +"),
        ),
        case(
            Code::ScriptFailed,
            "a script that throws",
            "",
            script("const all = [];\nreturn all[0].name"),
        ),
        case(
            Code::Stalled,
            "a script that waits for nothing",
            "",
            script("await new Promise(() => {})"),
        ),
        case(
            Code::OutOfMemory,
            "a script that takes too much memory",
            "",
            script("let all = []; for (;;) all.push(new Uint8Array(1 << 20).fill(1))"),
        ),
        case(
            Code::ScriptFailed,
            "a script that calls too often",
            "[limits]\nscript_calls = 1\n",
            script("await tools.text.count({ text: 'a' }); await tools.text.count({ text: 'b' })"),
        ),
        case(
            Code::TooBig,
            "a script that returns too much",
            "",
            script("return 'a'.repeat(3 << 20)"),
        ),
    ]
}

fn wishes() -> Vec<Case> {
    vec![
        case(
            Code::BadInput,
            "a command that is none",
            "",
            ["cal", "text.count"],
        ),
        case(
            Code::BadArgs,
            "arguments that do not fit",
            "",
            ["call", "text.count", r#"{"txt":"a"}"#],
        ),
        case(
            Code::BadArgs,
            "arguments that are no JSON",
            "",
            ["call", "text.count", "{text: a}"],
        ),
        case(
            Code::BadLine,
            "a line that is no request",
            "",
            ["json", "{nope"],
        ),
        case(
            Code::UnknownTool,
            "a tool that is not there",
            "",
            ["call", "text.cuont", r#"{"text":"a"}"#],
        ),
        case(
            Code::Unconfirmed,
            "a call to be confirmed",
            "",
            ["call", "files.remove", r#"{"path":"a"}"#],
        ),
        case(
            Code::Denied,
            "a call that is not granted",
            "",
            ["call", "web.get_json", r#"{"url":"https://example.com/"}"#],
        ),
        case(
            Code::Asked,
            "a call that a person is asked about",
            "ask = [\"text.count\"]\n",
            ["call", "text.count", r#"{"text":"a"}"#],
        ),
    ]
}

/// What lies outside of this process.
fn surroundings() -> Vec<Case> {
    vec![
        case(
            Code::FetchFailed,
            "a server that is not there",
            "[grants.\"web.get_json\"]\nfetch = [{ url = \"http://127.0.0.1:9/\", private = true }]\n",
            [
                "call",
                "web.get_json",
                r#"{"url":"http://127.0.0.1:9/"}"#,
                "--retries",
                "0",
            ],
        ),
        case(
            Code::NotFound,
            "a run that is not there",
            "",
            ["runs", "show", "20200101-000000-000000000000"],
        ),
        Case {
            before: |station| {
                station
                    .run(&["call", "text.count", r#"{"text":"a"}"#])
                    .ends(0);
                let journal = station.state().join("runs/journal.db");
                fs::write(journal, "no journal").unwrap();
            },
            ..case(
                Code::Corrupt,
                "a journal that is damaged",
                "",
                ["runs", "list"],
            )
        },
        Case {
            before: |station| {
                fs::write(
                    station.state().join("runs"),
                    "a file where the folder should be",
                )
                .unwrap();
            },
            ..case(
                Code::DiskFailed,
                "a place that cannot be written",
                "",
                ["call", "text.count", r#"{"text":"a"}"#],
            )
        },
    ]
}

/// The kind that a command says it ended with, where it can be asked for JSON.
fn kind(station: &Station, command: &[&str]) -> Option<String> {
    let ended = station.run(&[command, &["--json", "--quiet"]].concat());
    let said = |text: &str| {
        let value: Value = serde_json::from_str(text.lines().last()?).ok()?;
        Some(value["error"]["kind"].as_str()?.to_owned())
    };
    said(&ended.out).or_else(|| said(&ended.err))
}

/// Without what differs from run to run: the name of a question.
fn steady(text: &str) -> String {
    let question = Regex::new("lazaret ask (allow|show) [0-9a-f]+").unwrap();
    let text = question.replace_all(text, "lazaret ask $1 [QUESTION]");
    // Names of this run are told, and have more tokens or fewer.
    let about = Regex::new("(about |tokens = |--max-tokens )[0-9]{2,}").expect("an expression");
    about.replace_all(&text, "${1}[SOME]").into_owned()
}

#[test]
fn every_kind_of_error_reads_as_it_did() {
    let mut text = String::new();
    let (mut shown, mut wrong) = (Vec::new(), Vec::new());
    let all = [
        wishes(),
        surroundings(),
        guests(),
        outcomes(),
        typed(),
        agents(),
        scripts(),
        left(),
    ];
    for case in all.into_iter().flatten() {
        let station = Station::new();
        (case.before)(&station);
        if !case.config.is_empty() {
            station.write("lazaret.toml", &case.config);
            station.trust();
        }
        let Ended { status, out, err } = station.run(&case.command);
        let (line, err) = (case.command.join(" "), steady(&err));
        writeln!(
            text,
            "== {}: {}\n$ lazaret {line}",
            case.code.word(),
            case.what
        )
        .unwrap();
        writeln!(text, "{out}{err}exit {status}\n").unwrap();
        assert_ne!(status, 0, "{line}: {out}{err}");
        // What speaks JSON alone says so there.
        assert!(
            err.contains("error: ") || out.contains("\"ok\":false"),
            "{line}: {err}"
        );
        if !case.once
            && let Some(kind) = kind(&station, &case.command)
        {
            wrong.extend((kind != case.code.word()).then(|| format!("{line}: {kind}")));
        }
        shown.push(case.code);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for code in ALL {
        let is_shown = shown.contains(&code);
        assert_ne!(is_shown, elsewhere(code).is_some(), "{code:?}");
    }
    assert_golden("errors", &text);
}
