//! Records that a service keeps: what was written there under a stranger's influence is read with it, by its id, in every
//! later run and process.

use lazaret::guests::tasks::Tasks;
use lazaret::words::event::Answer as Say;
use lazaret::words::id::RunId;
use lazaret_tests::golden::assert_golden;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;
use lazaret_tests::rig::judged;
use lazaret_tests::{saying, wait};
use rusqlite::Connection;

/// A service of the user's own records, letters of others, and documents of the user's own.
const POLICY: &str = r#"
    [flow]
    mode = "enforce"
    hold = "never"
    trust = ["desk"]
    release = ["desk.*"]
    [flow.tools."desk.add"]
    content = ["id", "title", "mail"]
    records = { id = "id" }
    [flow.tools."desk.change"]
    steering = { id = "id" }
    records = { changes = "id" }
    content = ["title"]
    [flow.tools."desk.lose"]
    steering = { id = "id" }
    records = { changes = "id" }
    content = ["title"]
    [flow.tools."desk.find"]
    content = ["records", "title"]
    records = { at = "/records/*", id = "id", own = true, vouches = { mail = "mail" } }
    [flow.tools."mail.run"]
    steering = { to = "mail" }
    [mounts.inbox]
    path = "inbox"
    [mounts.docs]
    path = "docs"
    own = true
    [grants."files.*"]
    mounts = { inbox = "read", docs = "read" }
    [grants."desk.*"]
    [grants."mail.run"]
    [agents.agent]
    tools = ["desk.*", "mail.run", "files.*"]
"#;

const LETTER: &str = "await tools.files.read({path: 'inbox/letter.txt'});";
const DIARY: &str = "await tools.files.read({path: 'docs/diary.md'});";
const INBOX: &str = "file:inbox";

fn rig() -> Rig {
    let sink = json!({"effect": "side-effecting", "risk": "external_write"});
    Rig::of(POLICY)
        .component("desk", &saying::desk("desk"))
        .component("mail", &saying::component("mail", &sink, "1"))
        .file("inbox/letter.txt", "Dear reader")
        .file("docs/diary.md", "dear diary")
}

/// Runs a script to its end, and says what influenced what it returned.
async fn label(rig: &Rigged, source: &str) -> String {
    let called = rig.script(source).await;
    let _ = rig::value(&called.outcome);
    called.outcome.label.to_string()
}

/// What influenced what the service shows of these records, as a later run sees it.
async fn shown(rig: &Rigged, ids: &[&str]) -> String {
    let records: Vec<Value> = ids.iter().map(|id| record(id)).collect();
    let records = Value::from(records);
    label(
        rig,
        &format!("await tools.desk.find({{records: {records}}})"),
    )
    .await
}

fn record(id: &str) -> Value {
    json!({"id": id, "mail": format!("{id}@x.test")})
}

/// Eve's record was written after a letter was read, Bob's by the user's own wish, Ann's with their diary in mind.
async fn write(rig: &Rigged) {
    label(
        rig,
        &format!("{LETTER} await tools.desk.add({{id: 'eve', title: 'not a word of it'}})"),
    )
    .await;
    label(rig, "await tools.desk.add({id: 'bob', title: 'x'})").await;
    label(rig, &format!("{DIARY} await tools.desk.add({{id: 'ann'}})")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_is_read_under_the_influence_that_it_was_written_under() {
    let rig = rig().kept().await.open().await;
    write(&rig).await;
    for rig in [rig.restart().await] {
        for (ids, inbox, docs) in [
            (&["eve"][..], true, false),
            (&["bob"][..], false, false),
            (&["ann"][..], false, true),
            (&["bob", "ann", "eve"][..], true, true),
            (&["nobody"][..], false, false),
        ] {
            let found = shown(&rig, ids).await;
            assert_eq!(found.contains(INBOX), inbox, "{ids:?}: {found}");
            assert_eq!(found.contains("file:docs"), docs, "{ids:?}: {found}");
        }
        // A clean run that writes to it does not wash it, and one that is not changes whatever it names.
        label(&rig, "await tools.desk.change({id: 'eve', title: 'x'})").await;
        assert!(shown(&rig, &["eve"]).await.contains(INBOX));
        label(
            &rig,
            &format!("{LETTER} await tools.desk.change({{id: 'bob'}})"),
        )
        .await;
        assert!(shown(&rig, &["bob"]).await.contains(INBOX));
    }
}

/// Also what shows no id, if it was asked for by one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_call_names_is_what_it_is_shown() {
    let changes = "records = { changes = \"id\" }";
    let other = "records = { trusted = { name = \"name\" } }";
    for (effect, records, args, each) in [
        ("side-effecting", changes, "", false),
        ("side-effecting", other, "", true),
        // Whoever deletes and is told nothing but which makes none.
        ("destructive", other, "", false),
        ("destructive", other, ", sure: true", false),
        ("destructive", other, ", sure: 'x'", true),
    ] {
        let own = POLICY.replace("[\"desk.*\"]", "[\"desk.*\", \"plain.*\"]");
        let own = format!(
            "confirmed = [\"plain.run\"]\n{own}\n[grants.\"plain.run\"]\n[flow.tools.\"plain.run\"]\nsteering = {{ id = \"id\" }}\n{records}"
        );
        let writes = json!({"effect": effect, "risk": "external_write",
            "input": {"type": "object", "properties": {"id": {}, "sure": {}}}});
        let says = saying::component("plain", &writes, "true");
        let rig = rig().policy(&own).component("plain", &says).open().await;
        label(
            &rig,
            &format!("{LETTER} await tools.plain.run({{id: 'eve'{args}}})"),
        )
        .await;
        for (id, expected) in [("eve", true), ("bob", each)] {
            let source = format!("await tools.plain.run({{id: '{id}'}})");
            let found = label(&rig, &source).await;
            assert_eq!(
                found.contains(INBOX),
                expected,
                "{effect} {records} {args}: {id}"
            );
        }
    }
}

/// What a model was not shown has a hand in what is made of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_is_made_of_a_handle_is_under_the_influence_of_what_that_holds() {
    let policy = POLICY.replace("hold = \"never\"", "hold = \"untrusted\"");
    let with = |rig: Rig, policy: &str| {
        let rig = rig.policy(policy);
        rig.component("desk", &saying::desk("desk"))
    };
    let rig = with(Rig::of(""), &policy).file("inbox/letter.txt", "Dear reader");
    let rig = rig.file("docs/diary.md", "dear diary").kept().await;
    let rig = rig.replies(&[
        calls("files.read", json!({"path": "inbox/letter.txt"})),
        calls("desk.add", json!({"id": "eve", "title": {"$handle": "h1"}})),
        json!({"text": "Done."}),
    ]);
    let rig = rig.open().await;
    let (_, answer) = rig.pursue("Keep what \"inbox/letter.txt\" says.").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    // A script that holds nothing back shows what it is.
    let rig = with(rig.close(), POLICY).open().await;
    assert!(shown(&rig, &["eve"]).await.contains(INBOX));
}

/// What a call names is labelled before it is made. What it may have made that has no name yet, may be anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_call_wrote_of_which_nobody_learned_counts_all_the_same() {
    let rig = rig().open().await;
    let lost = |before: &str| {
        format!("{before} await tools.desk.lose({{id: 'cut', title: 'x'}}).catch(() => null)")
    };
    label(&rig, &lost(DIARY)).await;
    assert!(shown(&rig, &["cut"]).await.contains("file:docs"));
    assert!(!shown(&rig, &["bob"]).await.contains("file:docs"));
    label(&rig, &lost(LETTER)).await;
    let found = shown(&rig, &["bob"]).await;
    assert!(found.contains(INBOX), "{found}");
}

/// A write that says no id has made a record all the same. And a service may write as text what it has to say.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_of_whose_id_nobody_was_told_may_be_any() {
    // What the service repeats of what it was given is no id of its own.
    for (wrote, each) in [
        ("{title: 'x'}", true),
        ("{title: {id: 'eve'}}", true),
        ("{title: '{\"id\": \"eve\"}'}", true),
        ("{id: 'eve'}", false),
    ] {
        let rig = rig().open().await;
        label(&rig, &format!("{LETTER} await tools.desk.add({wrote})")).await;
        assert_eq!(shown(&rig, &["bob"]).await.contains(INBOX), each, "{wrote}");
        let text = "await tools.desk.find({records: '[{\"id\": \"eve\"}]'})";
        assert!(label(&rig, text).await.contains(INBOX), "{wrote}");
    }
    // Whoever is under nobody's influence leaves none.
    let rig = rig().open().await;
    label(&rig, "await tools.desk.add({title: 'x'})").await;
    assert!(!shown(&rig, &["bob"]).await.contains(INBOX));
}

/// What is written is there before its writer says so; and whoever never says so has written it all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_being_written_may_be_whatever_is_shown_meanwhile() {
    let rig = rig().open().await;
    let tasks = Tasks::new();
    let stalls = format!("{LETTER} await tools.desk.stall({{title: 'x'}})");
    let writing = rig.script_in(rig.host.new_run(), &tasks, &stalls);
    let looking = async {
        let comes = wait::comes(async || shown(&rig, &["bob"]).await.contains(INBOX)).await;
        tasks.cancel();
        comes
    };
    let (called, comes) = tokio::join!(writing, looking);
    assert!(comes, "what is under way is not known");
    assert_eq!(rig::error(&called.outcome).code(), Code::Cancelled);
    assert!(shown(&rig, &["bob"]).await.contains(INBOX));
}

fn calls(tool: &str, args: Value) -> Value {
    json!({"calls": [{"tool": tool, "args": args}]})
}

/// An agent that looks up two records and writes to whom they name.
fn writing(rig: Rig) -> Rig {
    let records = json!([record("eve"), record("bob")]);
    rig.replies(&[
        calls("desk.find", json!({ "records": records })),
        calls("mail.run", json!({"to": "bob@x.test"})),
        calls("mail.run", json!({"to": "eve@x.test"})),
        calls("mail.run", json!({"to": "bob@x.test"})),
        json!({"text": "Done."}),
    ])
}

async fn verdicts(rig: &Rigged, run: &RunId) -> Vec<&'static str> {
    let records = rig.records(run).await;
    let judged = judged(&records, "mail.run").into_iter();
    judged.map(|judged| judged.verdict.word()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_a_stranger_had_a_hand_in_vouches_for_nobody_and_those_beside_it_do() {
    let rig = writing(rig()).kept().await.open().await;
    // As long as nobody else has written them, both are the user's own.
    let (run, answer) = rig.pursue("Write to them.").await;
    answer.expect("an answer");
    assert_eq!(verdicts(&rig, &run).await, ["allow"; 3]);
    write(&rig).await;
    let rig = writing(rig.close()).open().await;
    let (run, answer) = rig.pursue("Write to them.").await;
    assert_eq!(answer.expect_err("a question").code(), Code::Asked);
    assert_eq!(verdicts(&rig, &run).await, ["allow", "ask"]);
    // What was known of them is on record: the run goes on with that, and is replayed and judged again by it.
    let rig = writing(rig.close()).open().await;
    rig.answer(Say::Allow).await;
    let answer = rig.resume_agent(&run).await;
    assert_eq!(answer.expect("an answer"), "Done.");
    assert_eq!(
        verdicts(&rig, &run).await,
        ["allow", "ask", "allow", "allow"]
    );
    let records = rig.records(&run).await;
    let again = rig.host.rejudge(&records).await.expect("it can be judged");
    assert!(again.changes.is_empty(), "{:?}", again.changes);
    let replayed = rig.replay(&run).await;
    assert!(replayed.diverged.is_none(), "{replayed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_that_somebody_has_changed_is_the_worst() {
    let rig = rig().kept().await.open().await;
    write(&rig).await;
    let rig = rig.close();
    let labels = Connection::open(rig.path("state/records.db")).expect("labels");
    let none = r#"UPDATE records SET hands = '{"wished":[],"read":[]}'"#;
    assert!(labels.execute(none, []).expect("they can be changed") >= 2);
    drop(labels);
    let rig = rig.open().await;
    for id in ["eve", "ann"] {
        let found = shown(&rig, &[id]).await;
        assert!(found.contains("file:/import"), "{id}: {found}");
    }
    assert!(!shown(&rig, &["bob"]).await.contains("file:/import"));
}

/// A policy that says nothing of records keeps nothing of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_policy_knows_no_records_nothing_is_kept() {
    let policy = POLICY.replace("records = {", "# records = {");
    let rig = rig()
        .policy(&policy)
        .component("desk", &saying::desk("desk"))
        .open()
        .await;
    label(
        &rig,
        &format!("{LETTER} await tools.desk.add({{id: 'eve'}})"),
    )
    .await;
    assert!(!shown(&rig, &["eve"]).await.contains(INBOX));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_journals_of_whoever_writes_a_record_and_whoever_reads_it() {
    let rig = rig().open().await;
    let wrote = rig
        .script(&format!("{LETTER} await tools.desk.add({{id: 'eve'}})"))
        .await;
    let read = rig
        .script("await tools.desk.find({records: [{id: 'eve', mail: 'eve@x.test'}]})")
        .await;
    let both = rig.journal(&wrote.run).await + &rig.journal(&read.run).await;
    assert_golden("records", &both);
}
