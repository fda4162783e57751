//! Servers that lie about what they are, or ask for what is not theirs: rows 105 to 110 of the attacks.

use lazaret_tests::prelude::*;
use lazaret_tests::rig::{error, value};

use super::{config, notes, rig};

/// Row 105: a name that is taken, or looks like one that is, is refused before anything is started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_server_takes_a_plugins_name_or_one_that_looks_like_it() {
    for name in ["web", "vveb", "fi1es", "files", "script"] {
        let policy = config("good", "").replace("mcp.mail", &format!("mcp.{name}"));
        let failed = Rig::of(&policy).try_open().await.err().expect("refused");
        assert_eq!(failed.code(), Code::BadInput, "{name}");
        assert!(
            failed.message().contains(&format!("[mcp.{name}]")),
            "{failed}"
        );
    }
}

/// Row 105: no two tools of a server have one name here, and none has letters that look like others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_of_tools_do_not_shadow_each_other() {
    let rig = rig("twins", "").await.open().await;
    let tools: Vec<String> = rig
        .host
        .catalog()
        .tools()
        .map(|tool| tool.name.to_string())
        .collect();
    let ours: Vec<&String> = tools
        .iter()
        .filter(|name| name.starts_with("mail."))
        .collect();
    assert_eq!(ours.len(), 5, "{ours:?}");
    assert!(ours.iter().all(|name| name.is_ascii()), "{ours:?}");
    for plain in ["mail.get_weather", "mail.send"] {
        assert!(ours.iter().any(|name| *name == plain), "{plain}: {ours:?}");
    }
}

/// Row 106: what a server says of its tools is data, with nothing hidden in it, and taints whoever reads it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_of_a_server_hide_nothing_and_are_its_own() {
    let rig = rig("hidden", "")
        .await
        .replies(&[json!({"text": "nothing done"})]);
    let rig = rig.open().await;
    let tool = rig.host.catalog().resolve("mail.echo", &[]).unwrap();
    let card = tool.card();
    assert!(
        !card.description.contains(['\u{202e}', '\u{200b}']),
        "{}",
        card.description
    );
    assert!(card.description.contains("IGNORE ALL RULES"));
    let (run, _) = rig.pursue("Look.").await;
    let journal = rig.journal(&run).await;
    assert!(journal.contains("mcp:mail"), "{journal}");
}

/// Row 107: a tool that says something else than was read is refused, whoever told us, until a person reads it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_changed_after_it_was_read_is_refused() {
    let rig = rig("good", "").await.open().await;
    assert!(
        rig.call("mail.rewrite", json!({}))
            .await
            .outcome
            .result
            .is_ok()
    );
    let called = rig.call("mail.rewrite", json!({})).await;
    let refused = error(&called.outcome);
    assert_eq!(refused.code(), Code::BadPlugin);
    assert!(
        refused
            .hints()
            .iter()
            .any(|hint| hint.contains("lazaret servers trust mail")),
        "{:?}",
        refused.hints()
    );
    assert!(!refused.message().contains("evil.example"), "{refused}");
    // The others say what they said.
    assert_eq!(
        value(&rig.call("mail.echo", json!({"text": "a"})).await.outcome),
        &json!("a")
    );
    assert_eq!(notes(rig.folder()).matches("called rewrite").count(), 1);
}

/// Row 107: a server that nobody has read offers nothing, and is not started to find out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_has_read_is_not_offered() {
    let rig = Rig::of("").kept().await;
    let notes_file = rig.path("notes").display().to_string();
    let rig = rig
        .policy(&config("good", "").replace("@FILE@", &notes_file))
        .open()
        .await;
    let called = rig.call("mail.echo", json!({"text": "a"})).await;
    assert_eq!(error(&called.outcome).code(), Code::UnknownTool);
    assert_eq!(notes(rig.folder()), "");
}

/// Row 107: another program under the name of one that was read is another server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consent_is_given_to_one_program_and_not_to_a_name() {
    let rig = rig("good", "").await;
    let rig = rig.policy(&config("hidden", "")).open().await;
    let called = rig.call("mail.echo", json!({"text": "a"})).await;
    assert_eq!(error(&called.outcome).code(), Code::UnknownTool);
}

/// Row 107: a flood of news is one look at what there is, or the end of the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_news_ends_the_server_and_nothing_else() {
    let rig = rig(
        "good",
        "[mcp.mail.limits]\nmessages_per_s = 200\nrestarts = 1",
    )
    .await
    .open()
    .await;
    let called = rig.call("mail.flood", json!({})).await;
    let failed = error(&called.outcome);
    assert_eq!(failed.code(), Code::FetchFailed);
    assert!(failed.message().contains("messages_per_s"), "{failed}");
    assert_eq!(
        value(&rig.call("mail.echo", json!({"text": "a"})).await.outcome),
        &json!("a")
    );
}

/// Row 108: a schema that is a bomb hides its tool and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemas_that_are_bombs_are_left_out() {
    let rig = rig("bombs", "").await.open().await;
    let tools = rig.host.catalog().tools().map(|tool| tool.name.to_string());
    let ours: Vec<String> = tools.filter(|name| name.starts_with("mail.")).collect();
    assert_eq!(ours, ["mail.good"]);
}

/// Row 110: sampling, elicitation and roots are refused, each with an error, and the call goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_a_servers_business_is_refused() {
    let rig = rig("good", "").await.open().await;
    let called = rig.call("mail.ask", json!({})).await;
    assert_eq!(value(&called.outcome), &json!("-32601 -32601 -32601"));
}

/// Nobody who performs outside of the quarantine is trusted not to make things up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_not_trusted_by_its_name() {
    let policy = format!("{}[flow]\ntrust = [\"mail\"]", config("good", ""));
    let failed = Rig::of(&policy).try_open().await.err().expect("refused");
    assert!(failed.message().contains("none is trusted"), "{failed}");
}
