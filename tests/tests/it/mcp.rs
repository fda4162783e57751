//! Tools of MCP servers: called as any tool is, under the influence of whoever performs them, as they were read.

mod asked;
mod attacks;
mod flows;
mod lives;
mod login;
mod remote;
mod resources;

use std::path::Path;
use std::time::Duration;

use lazaret::words::event::{Event, Glimpse, Sight};
use lazaret::words::id::RunId;
use lazaret::words::label::Label;
use lazaret_tests::prelude::*;
use lazaret_tests::rig::{error, value};

/// A configuration with the stranger as the server `mail`, in this manner; `more` stands in its table.
fn config(manner: &str, more: &str) -> String {
    format!(
        "[mcp.mail]\ncommand = [{:?}, {manner:?}, \"@FILE@\"]\ndata = [\"@FILE@\"]\n{more}\n",
        env!("CARGO_BIN_EXE_stranger")
    )
}

/// Every tool of the stranger that the tests call needs no more than this.
const ALLOWED: &str = "[grants.\"mail.echo\"]\n[grants.\"mail.add\"]\n[grants.\"mail.lie\"]\n[grants.\"mail.fail\"]
    [grants.\"mail.picture\"]\n[grants.\"mail.self\"]\n[grants.\"mail.progress\"]\n[grants.\"mail.hang\"]
    [grants.\"mail.die\"]\n[grants.\"mail.garble\"]\n[grants.\"mail.deafen\"]\n[grants.\"mail.flood\"]
    [grants.\"mail.ask\"]\n[grants.\"mail.rewrite\"]\n";

/// A host with the stranger, whose tools were read. What it noted stands in `notes` of the folder.
async fn rig(manner: &str, more: &str) -> Rig {
    let rig = Rig::of("").kept().await;
    let notes = rig.path("notes").display().to_string();
    let policy = format!(
        "{}\n{ALLOWED}",
        config(manner, more).replace("@FILE@", &notes)
    );
    rig.policy(&policy).trusting("mail").await
}

/// What the stranger noted.
fn notes(folder: &str) -> String {
    std::fs::read_to_string(Path::new(folder).join("notes")).unwrap_or_default()
}

fn label(text: &str) -> Label {
    serde_json::from_value(json!([text])).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_of_a_server_is_called_like_any_other() {
    let rig = rig("good", "").await.open().await;
    let called = rig.call("mail.echo", json!({"text": "hello"})).await;
    assert_eq!(value(&called.outcome), &json!("hello"));
    assert!(
        called.outcome.label.covers(&label("mcp:mail")),
        "{}",
        called.outcome.label
    );
    let sum = rig.call("mail.add", json!({"a": 2, "b": 3})).await;
    assert_eq!(value(&sum.outcome), &json!({"sum": 5}));
    let journal = rig.journal(&called.run).await;
    assert_golden("mcp-call", &journal);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_are_checked_before_the_server_hears_of_them() {
    let rig = rig("good", "").await.open().await;
    let called = rig.call("mail.echo", json!({"text": 7})).await;
    assert_eq!(error(&called.outcome).code(), Code::BadArgs);
    // It was not even started: the one start was that of reading what it says.
    assert_eq!(notes(rig.folder()).matches("started").count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_are_the_servers_words_under_its_influence() {
    let rig = rig("good", "").await.open().await;
    let called = rig.call("mail.fail", json!({})).await;
    let failed = error(&called.outcome);
    assert_eq!(failed.code(), Code::GuestFailed);
    assert!(failed.message().contains("cheese") && !failed.message().contains('\u{202e}'));
    assert!(called.outcome.label.covers(&label("mcp:mail")));
    let lie = rig.call("mail.lie", json!({})).await;
    assert_eq!(error(&lie.outcome).code(), Code::BadOutcome);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures_are_artifacts() {
    let rig = rig("good", "").await.open().await;
    let called = rig.call("mail.picture", json!({})).await;
    let artifacts = &called.outcome.trail.artifacts;
    assert_eq!(artifacts.len(), 1);
    assert_eq!(artifacts[0].media_type, "image/png");
    assert!(artifacts[0].bytes.starts_with(b"\x89PNG"));
}

/// What whoever watches sees of how far a call of `mail.progress` is.
async fn far(rig: &Rigged) -> (RunId, Vec<(String, Option<f32>)>) {
    let (run, tasks) = (rig.host.new_run(), Tasks::new());
    let mut watcher = rig.host.watch(&run);
    rig.call_in(run.clone(), &tasks, ("mail.progress", "{}"))
        .await;
    let mut seen = Vec::new();
    loop {
        let sight = tokio::time::timeout(Duration::from_secs(5), watcher.next()).await;
        match sight.expect("the run ends") {
            Sight::Glimpse {
                glimpse:
                    Glimpse::Progress {
                        message,
                        percent,
                        label: whose,
                        ..
                    },
                ..
            } => {
                assert!(whose.covers(&label("mcp:mail")), "{whose}");
                seen.push((message, percent));
            }
            Sight::Record(record) if matches!(record.event, Event::Stopped(_)) => break,
            Sight::Glimpse { .. } | Sight::Record(_) => {}
        }
    }
    (run, seen)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_is_seen_by_whoever_watches() {
    let rig = rig("good", "").await.open().await;
    let (run, seen) = far(&rig).await;
    assert_eq!(seen, [("a quarter".to_owned(), Some(25.0))]);
    // It is told to whoever watches, and stands nowhere that a model reads.
    assert!(!rig.journal(&run).await.contains("a quarter"));
}

/// What a tool of class `secret` says on the way is as secret as what it returns: how far it is can be seen, and no word.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_the_progress_of_a_secret_tool_no_word_is_seen() {
    let secret = "[mcp.mail.tools.progress]\nsensitivity = \"secret\"";
    let rig = rig("good", secret).await.open().await;
    let (_, seen) = far(&rig).await;
    assert_eq!(seen, [("secret".to_owned(), Some(25.0))]);
}

/// Its environment is what was named; its session, group and folder are its own, and it has no terminal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_sees_what_was_named_and_no_terminal() {
    let env = "env = { GREETING = \"hi\", TOKEN = { secret = \"mail-token\" } }";
    let rig = Rig::of("")
        .kept()
        .await
        .secret("mail-token", "sesame-open-9431");
    let policy = format!("{}\n{ALLOWED}", config("good", env));
    let rig = rig.policy(&policy).trusting("mail").await.open().await;
    let called = rig.call("mail.self", json!({})).await;
    let seen = value(&called.outcome);
    assert_eq!(
        seen["variables"],
        json!(["GREETING", "HOME", "PATH", "TMPDIR", "TOKEN"])
    );
    let pid = seen["pid"].to_string();
    assert_eq!(
        (seen["session"].as_str(), seen["group"].as_str()),
        (Some(pid.as_str()), Some(pid.as_str()))
    );
    assert_eq!(seen["terminal"], "0");
    // It was given the secret, and whoever reads what it says is not.
    let token = seen["token"].as_str().unwrap();
    assert!(!token.contains("sesame") && !token.is_empty(), "{token}");
    // That it has it is on record with each call, also where it had been started for another one; what is no secret is not.
    let again = rig.call("mail.echo", json!({"text": "a"})).await;
    for run in [&called.run, &again.run] {
        let journal = rig.journal(run).await;
        let had = "{\"rule\":\"[mcp.mail]: secret mail-token in variable `TOKEN`\",\"verdict\":\"allow\"}";
        assert_eq!(journal.matches(had).count(), 1, "{journal}");
        assert!(!journal.contains("GREETING`"), "{journal}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_operator_says_of_a_tool_holds() {
    let said =
        "block = [\"add\"]\n[mcp.mail.tools.echo]\neffect = \"read-only\"\nneeds_approval = true
        [mcp.mail.tools.fail]\neffect = \"read-only\"";
    let rig = rig("good", said).await.open().await;
    let tool = |name: &str| {
        rig.host
            .catalog()
            .resolve(name, &[])
            .map(|tool| tool.declared.clone())
    };
    assert_eq!(tool("mail.echo").unwrap().effect.word(), "read-only");
    assert!(tool("mail.self").unwrap().is_unclassified());
    assert_eq!(tool("mail.add").unwrap_err().code(), Code::UnknownTool);
    let called = rig.call("mail.echo", json!({"text": "a"})).await;
    assert_eq!(error(&called.outcome).code(), Code::Asked);
}
