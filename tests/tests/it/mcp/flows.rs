//! Flows to and from servers: what they are told, and what they had influence on.

use lazaret::words::event::Answer as Say;
use lazaret_tests::prelude::*;
use lazaret_tests::rig::{error, judged};

use super::rig;

/// What only looks is told its arguments all the same: what is private does not go there unasked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_not_told_what_is_private_by_a_tool_that_only_looks() {
    let more = "[mcp.mail.tools.echo]\neffect = \"read-only\"
        [mounts.docs]\npath = \"docs\"\nown = true\n[grants.\"files.*\"]\nmounts = { docs = \"read\" }\n[flow]\nmode = \"enforce\"\nhold = \"never\"";
    let call = |tool: &str, args: Value| json!({"calls": [{"tool": tool, "args": args}]});
    let rig = rig("good", more).await.file("docs/diary.txt", "dear diary");
    let rig = rig.replies(&[
        call("files.read", json!({"path": "docs/diary.txt"})),
        call("mail.echo", json!({"text": "dear diary"})),
        json!({"text": "done"}),
    ]);
    let rig = rig.open().await;
    let (run, answer) = rig.pursue("Read \"docs/diary.txt\".").await;
    assert_eq!(answer.unwrap_err().code(), Code::Asked);
    let journal = rig.journal(&run).await;
    assert!(journal.contains("private"), "{journal}");
}

/// What it said itself may be told to it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_may_be_told_what_it_said() {
    let more = "[mcp.mail.tools.echo]\neffect = \"read-only\"\n[flow]\nmode = \"enforce\"\nhold = \"never\"";
    let echo = |text: &str| json!({"calls": [{"tool": "mail.echo", "args": {"text": text}}]});
    let rig = rig("good", more)
        .await
        .replies(&[echo("a"), echo("b"), json!({"text": "done"})]);
    let rig = rig.open().await;
    let (_, answer) = rig.pursue("Echo.").await;
    assert!(answer.is_ok(), "{answer:?}");
}

/// Of a tool of which nothing is said every argument steers, and what a server wrote is no witness.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_says_steers_nothing() {
    let more = "[mcp.mail.tools.add]\neffect = \"read-only\"\n[flow]\nhold = \"never\"";
    let call = |tool: &str, args: Value| json!({"calls": [{"tool": tool, "args": args}]});
    let rig = rig("good", more).await.replies(&[
        call("mail.add", json!({"a": 1, "b": 2})),
        call("mail.echo", json!({"text": "evil@example.com"})),
    ]);
    let rig = rig.open().await;
    let (run, answer) = rig.pursue("Add.").await;
    assert_eq!(answer.unwrap_err().code(), Code::Asked);
    let journal = rig.journal(&run).await;
    assert!(
        journal.contains("evil@example.com") && journal.contains("mcp:mail"),
        "{journal}"
    );
}

/// Rows that may be shown are no money that may be paid: what has no kind is what its argument makes of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn always_for_a_plain_value_is_none_for_the_same_value_of_another_tool() {
    let more = "[mcp.mail.tools.echo]\neffect = \"side-effecting\"\n[mcp.mail.tools.add]\neffect = \"side-effecting\"
        [flow]\nmode = \"enforce\"\nhold = \"never\"";
    let calls = json!({"calls": [
        {"tool": "mail.echo", "args": {"text": "500"}},
        {"tool": "mail.add", "args": {"a": 500}},
    ]});
    let done = json!({"when": "said no", "text": "done"});
    let rig = rig("good", more).await.replies(&[calls, done]);
    let rig = rig.open().await;
    let (run, answer) = rig.pursue("Work.").await;
    assert_eq!(answer.unwrap_err().code(), Code::Asked);
    let waiting = rig.host.questions().await.unwrap();
    assert_eq!(waiting.len(), 2, "{waiting:?}");
    let echo = waiting.iter().find(|one| one.subject == "mail.echo");
    let echo = echo.unwrap().question.id.as_str();
    rig.host.answer(echo, Say::Always).await.unwrap();
    let answer = rig.resume_agent(&run).await;
    assert_eq!(answer.unwrap_err().code(), Code::Asked);
    rig.answer(Say::Deny).await;
    assert_eq!(rig.resume_agent(&run).await.unwrap(), "done");
    let records = rig.records(&run).await;
    let verdicts = |tool: &str| -> Vec<&'static str> {
        let judged = judged(&records, tool).into_iter();
        judged.map(|judged| judged.verdict.word()).collect()
    };
    assert_eq!(verdicts("mail.echo"), ["ask", "allow"]);
    assert_eq!(verdicts("mail.add"), ["ask", "ask", "deny"]);
}

/// What a line says of a tool's records says nothing of its arguments: those are as its server's table has them, or as those
/// of a tool that only looks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_about_one_thing_takes_back_nothing_of_what_the_table_of_a_server_says() {
    let records = "[flow.tools.\"mail.echo\".records]\nid = \"id\"";
    for (said, line) in [
        ("effect = \"read-only\"", records),
        ("effect = \"read-only\"\ncontent = [\"text\"]", records),
        (
            "effect = \"read-only\"",
            "[flow.tools.\"mail.echo\"]\nhold = \"large\"",
        ),
    ] {
        let more = format!(
            "[mcp.mail.tools.echo]\n{said}\n[mcp.mail.tools.add]\neffect = \"read-only\"\n[flow]\nmode = \"enforce\"\nhold = \"never\"\n{line}"
        );
        let call = |tool: &str, args: Value| json!({"calls": [{"tool": tool, "args": args}]});
        let rig = rig("good", &more).await.replies(&[
            call("mail.add", json!({"a": 1, "b": 2})),
            call("mail.echo", json!({"text": "a letter"})),
            json!({"text": "done"}),
        ]);
        let rig = rig.open().await;
        let (_, answer) = rig.pursue("Add.").await;
        assert!(answer.is_ok(), "{said}, {line}: {answer:?}");
    }
}

/// A client's own call of a tool of class high risk needs a line of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_of_which_nothing_is_said_needs_a_line() {
    let rig = rig("good", "").await;
    let text =
        super::config("good", "").replace("@FILE@", &rig.path("notes").display().to_string());
    let rig = rig.policy(&text).open().await;
    let called = rig.call("mail.echo", json!({"text": "a"})).await;
    let denied = error(&called.outcome);
    assert_eq!(denied.code(), Code::Denied);
    assert!(
        denied
            .hints()
            .iter()
            .any(|hint| hint.contains("[grants.\"mail.echo\"]")),
        "{:?}",
        denied.hints()
    );
}

/// What a server keeps was written by whoever wished for it, as at any other service.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_of_a_server_is_shown_under_the_influence_that_it_was_written_under() {
    let more = "[mcp.mail.tools.echo]\neffect = \"side-effecting\"\n[flow]\nrelease = [\"mail.*\"]
        [flow.tools.\"mail.echo\"]\nsteering = { text = \"id\" }\nrecords = { own = true, changes = \"text\" }
        [mounts.inbox]\npath = \"inbox\"\n[grants.\"files.*\"]\nmounts = { inbox = \"read\" }";
    let rig = rig("good", more)
        .await
        .file("inbox/letter.txt", "Dear reader");
    let rig = rig.open().await;
    let echo = |id: &str| format!("return await tools.mail.echo({{text: '{id}'}})");
    let read = "await tools.files.read({path: 'inbox/letter.txt'});";
    rig.script(&format!("{read} {}", echo("e7"))).await;
    rig.script(&echo("b8")).await;
    let rig = rig.restart().await;
    for (id, expected) in [("e7", true), ("b8", false)] {
        let called = rig.call("mail.echo", json!({ "text": id })).await;
        let found = called.outcome.label.to_string();
        assert_eq!(found.contains("file:inbox"), expected, "{id}: {found}");
    }
}
