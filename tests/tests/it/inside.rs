//! What influences a guest in the middle of its call: its own code, what it was given, and all that it has read; and
//! what then influences what it writes, whom it calls, and what it returns.

use lazaret::words::event::{EffectKind, Event, Judged, Record, Sight};
use lazaret::words::label::{Label, Sort, Source};
use lazaret_tests::forge;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;
use lazaret_tests::saying;

use crate::page::{observed, page, url, web};

/// Letters, which others write; documents, which are the user's own.
const POLICY: &str = r#"
    [mounts.inbox]
    path = "inbox"
    [mounts.docs]
    path = "docs"
    access = "write"
    own = true
    [grants."files.*"]
    mounts = { inbox = "read", docs = "write" }
    [grants."hostile.file_each"]
    mounts = { inbox = "read", docs = "write" }
    [grants."hostile.note_each"]
    notes = "write"
    [grants."hostile.call_each"]
    calls = ["*"]
"#;

fn policy(flow: &str) -> String {
    format!("[flow]\n{flow}\n{POLICY}")
}

fn rig(flow: &str) -> Rig {
    Rig::of(&policy(flow))
        .guest("hostile")
        .file("inbox/letter.txt", "Dear reader")
        .file("docs/plain.md", "plain")
}

fn label(sort: Sort, name: &str) -> Label {
    Label::of(Source::new(sort, name))
}

fn inbox() -> Label {
    label(Sort::File, "inbox")
}

/// Under what influence the effects of one kind were wished, in order.
fn wished(records: &[Record], effect: EffectKind, subject: &str) -> Vec<Label> {
    let wished = records.iter().filter_map(|record| match &record.event {
        Event::Judged(judged) if judged.effect == effect && judged.subject.contains(subject) => {
            Some(judged.label.clone())
        }
        _ => None,
    });
    wished.collect()
}

async fn file_each(rig: &Rigged, wishes: Value) -> Vec<Record> {
    let called = rig
        .call("hostile.file_each", json!({ "wishes": wishes }))
        .await;
    let said = rig::value(&called.outcome).to_string();
    assert!(!said.contains("denied"), "{said}");
    rig.records(&called.run).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_that_a_guest_has_read_is_behind_what_it_wishes_next() {
    let rig = rig("").open().await;
    let wishes = json!([
        {"op": "stat", "path": "docs/plain.md"},
        {"op": "read", "path": "inbox/letter.txt"},
        {"op": "read", "path": "docs/plain.md"},
        {"op": "write", "path": "docs/made.md", "with": "x"},
    ]);
    let records = file_each(&rig, wishes).await;
    let labels = wished(&records, EffectKind::File, "");
    let knew: Vec<bool> = labels.iter().map(|label| label.covers(&inbox())).collect();
    assert_eq!(knew, [false, false, true, true], "{labels:?}");
    let read = rig
        .call("files.read", json!({"path": "docs/made.md"}))
        .await;
    let found = read.outcome.label;
    assert!(found.covers(&inbox()), "{found}");
    assert!(
        found.covers(&label(Sort::Tool, "hostile.file_each")),
        "{found}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_guest_was_told_by_a_tool_is_behind_what_it_wishes_next() {
    let rig = rig("").open().await;
    let tools = ["files.stat", "files.read", "files.stat"];
    let args = json!({"tools": tools, "args": {"path": "inbox/letter.txt"}});
    let called = rig.call("hostile.call_each", args).await;
    let said = rig::value(&called.outcome).to_string();
    assert!(said.contains("Dear reader"), "{said}");
    let records = rig.records(&called.run).await;
    let labels = wished(&records, EffectKind::Call, "files.");
    let knew: Vec<bool> = labels.iter().map(|label| label.covers(&inbox())).collect();
    // How long a letter is says something of it as well.
    assert_eq!(knew, [false, true, true], "{labels:?}");
    assert!(
        called.outcome.label.covers(&inbox()),
        "{}",
        called.outcome.label
    );
}

/// Nobody knows what a stranger's code makes up, unless it is said to make up nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_strangers_code_is_behind_what_it_calls_and_what_it_keeps() {
    for (flow, strange) in [("", true), ("trust = [\"hostile\"]", false)] {
        let rig = rig(flow).open().await;
        let args = json!({"tools": ["text.count"], "args": {"text": "a b"}});
        let called = rig.call("hostile.call_each", args).await;
        let _ = rig::value(&called.outcome);
        let labels = wished(
            &rig.records(&called.run).await,
            EffectKind::Call,
            "text.count",
        );
        assert_eq!(labels.len(), 1);
        let own = label(Sort::Tool, "hostile.call_each");
        assert_eq!(labels[0].covers(&own), strange, "{flow}: {}", labels[0]);
        let called = rig.call("hostile.note_each", json!({"keys": ["k"]})).await;
        // It reads back what it has kept, so that what it returns is under the influence of that.
        let labels = wished(&rig.records(&called.run).await, EffectKind::Keep, "");
        let own = label(Sort::Tool, "hostile.note_each");
        assert_eq!(labels[0].covers(&own), strange, "{flow}: {}", labels[0]);
    }
}

fn call(tool: &str, args: Value) -> Value {
    json!({"calls": [{"tool": tool, "args": args}]})
}

fn handle(name: &str) -> Value {
    json!({ "$handle": name })
}

fn read() -> Value {
    call("files.read", json!({"path": "inbox/letter.txt"}))
}

fn field() -> Value {
    call(
        "handle.field",
        json!({"value": handle("h1"), "pointer": "/content"}),
    )
}

const HELD: &str = "mode = \"enforce\"\nhold = \"untrusted\"";

/// What a model did and was told that holds the letter as `h1` and its words as `h2`, then does this.
async fn holding(rig: Rig, then: Value) -> Vec<Record> {
    let replies = [read(), field(), then, json!({"text": "Done."})];
    let rig = rig.replies(&replies).open().await;
    let (run, answer) = rig.pursue("Look.").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    rig.records(&run).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_guest_was_given_in_a_handle_is_behind_what_it_calls() {
    let args = json!({"tools": ["text.count"], "args": {"text": handle("h2")}});
    let records = holding(rig(HELD), call("hostile.call_each", args)).await;
    let outer = wished(&records, EffectKind::Call, "hostile.call_each");
    let inner = wished(&records, EffectKind::Call, "text.count");
    assert!(!outer[0].covers(&inbox()), "the model has not read it");
    assert!(inner[0].covers(&inbox()), "{}", inner[0]);
}

/// What the model was told last, and under what influence it is since.
fn told_last(records: &[Record]) -> (String, Label) {
    observed(records).pop().expect("something was told")
}

/// An outcome is held, or counts for what it may say: it is the words of what went in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_went_in_by_a_handle_is_behind_what_comes_out() {
    let args = json!({"text": handle("h2")});
    let records = holding(rig(HELD), call("hostile.echo", args)).await;
    let (text, _) = told_last(&records);
    assert!(
        text.contains("$handle") && !text.contains("Dear reader"),
        "{text}"
    );
}

/// It quotes what the plugin says of itself, and the script has seen nothing of that before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_of_what_a_handle_holds_is_a_strangers_word() {
    let words = label(Sort::Tool, "hostile.*");
    let rig = rig(HELD).open().await;
    for (given, refused) in [("letter", true), ("'big'", false)] {
        let source = format!(
            "const letter = await tools.files.read({{path: 'inbox/letter.txt'}});
            return await tools.hostile.polish({{spoon: {given}}})
                .then(() => 'done', error => error.message)"
        );
        let called = rig.script(&source).await;
        let said = rig::value(&called.outcome).to_string();
        let label = called.outcome.label;
        assert_eq!(said.contains("does not fit"), refused, "{said}");
        assert_eq!(label.covers(&words), refused, "{label}");
        // That it does not fit is paid for in bits; who may read that is not.
        assert!(!label.covers(&inbox()), "{label}");
        assert_eq!(label.covers(&inbox().of_scalar()), refused, "{label}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_offered_on_a_surface_is_not_called_there() {
    let rig = rig("").open().await;
    let called = rig.call("hostile.only_http", json!({})).await;
    assert_eq!(rig::error(&called.outcome).code(), Code::BadSurface);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_words_of_a_failure_are_cut() {
    let rig = rig("mode = \"off\"").open().await;
    let args = json!({"texts": ["long ".repeat(1_000)], "end": "fail"});
    let called = rig.call("hostile.spill", args).await;
    let error = rig::error(&called.outcome);
    assert!(error.message().starts_with("long long"), "{error:?}");
    assert!(error.message().chars().count() < 2_100, "{error:?}");
}

/// A plugin whose tool says that what it returns is for nobody outside, and returns `"canary"`.
fn vault() -> Vec<u8> {
    const CANARY: &str = r#"
    (func (export "run") (param i32 i32 i32 i32) (result i32)
      (i32.store (i32.const 4100) (i32.const 4200)) (i32.store (i32.const 4104) (i32.const 8))
      (i32.const 4096))
    (data (i32.const 4200) "\"canary\"")"#;
    let effect = "\"effect\":\"pure\"";
    let manifest = forge::MANIFEST.replace(effect, &format!("{effect},\"sensitivity\":\"secret\""));
    forge::plugin(&manifest, CANARY)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_tool_says_is_secret_is_in_no_record_and_told_to_no_model() {
    let secret = label(Sort::Secret, "forged.run");
    for flow in ["mode = \"enforce\"", "mode = \"off\""] {
        let replies = [call("forged.run", json!({})), json!({"text": "Done."})];
        let rig = Rig::of(&policy(flow)).component("forged", &vault());
        let rig = rig.replies(&replies).open().await;
        let called = rig.call("forged.run", json!({})).await;
        assert_eq!(rig::value(&called.outcome), "canary", "whoever calls it");
        let found = &called.outcome.label;
        assert!(found.covers(&secret), "{flow}: {found}");
        let (run, answer) = rig.pursue("Look.").await;
        assert_eq!(answer.expect("an answer"), "Done.");
        let (text, _) = told_last(&rig.records(&run).await);
        assert!(text.contains("$handle"), "{flow}: {text}");
        let journal = rig.journal(&called.run).await + &rig.journal(&run).await;
        assert!(!journal.contains("canary"), "{flow}: {journal}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_secret_tool_writes_keeps_and_calls_with_is_secret() {
    let secret = label(Sort::Secret, "hostile.carry");
    let policy = "[flow]
        mode = \"off\"
        [mounts.docs]
        path = \"docs\"
        access = \"write\"
        own = true
        [grants.\"hostile.carry\"]
        mounts = { docs = \"write\" }
        notes = \"write\"
        calls = [\"text.count\"]
        [grants.\"files.read\"]
        mounts = { docs = \"read\" }";
    let rig = Rig::of(policy).guest("hostile").file("docs/a.txt", "a");
    let rig = rig.open().await;
    // It has read nothing, and passes on what it has made up.
    let wishes = json!({"wishes": [
        {"op": "call", "path": "text.count", "with": "canary"},
        {"op": "keep", "path": "canary-note", "with": "canary"},
        {"op": "write", "path": "docs/new.txt", "with": "canary"},
        {"op": "call", "path": "x.canary", "with": "a"},
    ]});
    let called = rig.call("hostile.carry", wishes).await;
    let lines = rig::value(&called.outcome).to_string();
    assert_eq!(lines.matches("-> ok").count(), 3, "{lines}");
    let records = rig.records(&called.run).await;
    let inside: Vec<&Judged> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Judged(judged) if judged.origin == "hostile.carry" => Some(judged),
            _ => None,
        })
        .collect();
    assert_eq!(inside.len(), 4, "{inside:?}");
    for judged in inside {
        assert!(judged.label.covers(&secret), "{judged:?}");
    }
    let journal = rig.journal(&called.run).await;
    let told = journal.replacen("\"with\":\"canary\"", "", 3);
    let told = told.replacen("\"path\":\"canary-note\"", "", 1);
    let told = told.replacen("\"path\":\"x.canary\"", "", 1);
    assert!(!told.contains("canary"), "{told}");
    // Whoever reads the file later knows a secret.
    let read = rig
        .call("files.read", json!({"path": "docs/new.txt"}))
        .await;
    assert!(rig::value(&read.outcome).to_string().contains("canary"));
    assert!(read.outcome.label.covers(&secret), "{}", read.outcome.label);
}

/// A host whose tools may ask these servers, and call each other.
async fn asking(servers: &[&Server], more: &str) -> Rigged {
    let line = |server: &&Server| {
        let url = url(server, "/");
        format!("{{ url = \"{url}\", private = true }}")
    };
    let lines: Vec<String> = servers.iter().map(line).collect();
    let lines = lines.join(", ");
    let policy = format!(
        "{more}
        [grants.\"http.*\"]
        fetch = [{lines}]
        [grants.\"hostile.*\"]
        fetch = [{lines}]
        calls = [\"hostile.*\"]"
    );
    let rig = Rig::of(&policy).guest("http").guest("hostile");
    rig.open().await
}

/// Whoever answers late, or never, says something by that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whom_a_guest_has_waited_for_in_vain_is_behind_its_outcome() {
    let server = Server::start().await;
    server.answer(false);
    let rig = asking(&[&server], "").await;
    let (run, tasks) = (rig.host.new_run(), Tasks::new());
    let mut watcher = rig.host.watch(&run);
    let args = json!({"url": url(&server, "/"), "patience_ms": 100}).to_string();
    let answers = async {
        // Its call has ended, and its request has not.
        loop {
            let sight = watcher.next().await;
            if matches!(&sight, Sight::Record(record) if record.event.word() == "finished") {
                break;
            }
        }
        server.answer(true);
    };
    let calling = rig.call_in(run, &tasks, ("http.peek", &args));
    let (called, ()) = tokio::join!(calling, answers);
    let error = rig::error(&called.outcome);
    assert!(error.message().contains("Timeout"), "{error:?}");
    let label = &called.outcome.label;
    assert!(label.covers(&web(&server)), "{label}");
}

/// What each of them asks for is never answered.
fn waiting(server: &Server) -> [(&'static str, Value); 3] {
    let urls = json!({"urls": [url(server, "/")]});
    [
        ("hostile.fetch_each", urls.clone()),
        ("http.each", urls.clone()),
        (
            "hostile.call_each",
            json!({"tools": ["hostile.fetch_each"], "args": urls}),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whom_a_guest_waits_for_that_is_cut_off_is_behind_its_outcome() {
    let server = Server::start().await;
    server.answer(false);
    let rig = asking(&[&server], "").await;
    for (tool, args) in waiting(&server) {
        let (run, tasks) = (rig.host.new_run(), Tasks::new());
        let (seen, args) = (server.seen().len(), args.to_string());
        let cancel = async {
            server.arrived(seen + 1).await;
            tasks.cancel();
        };
        let calling = rig.call_in(run, &tasks, (tool, &args));
        let (called, ()) = tokio::join!(calling, cancel);
        let error = rig::error(&called.outcome);
        assert_eq!(error.code(), Code::Cancelled, "{tool}: {error:?}");
        let found = &called.outcome.label;
        assert!(found.covers(&web(&server)), "{tool}: {found}");
        let inner = label(Sort::Tool, "hostile.fetch_each");
        let is_behind = tool.starts_with("hostile.");
        assert_eq!(found.covers(&inner), is_behind, "{tool}: {found}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whom_a_guest_waits_for_whose_time_is_over_is_behind_its_outcome() {
    let server = Server::start().await;
    server.answer(false);
    let rig = asking(&[&server], "[limits]\ntimeout_ms = 300\nretries = 0").await;
    for (tool, args) in waiting(&server) {
        // What it asks for ends at the same moment, and it may see one end or the other first.
        let called = rig.call(tool, args).await;
        let label = &called.outcome.label;
        assert!(label.covers(&web(&server)), "{tool}: {label}");
    }
}

/// What policy puts around a call takes its time before the call has an end, and whoever called waits for that as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ward_that_a_guest_waits_for_that_is_cut_off_is_behind_its_outcome() {
    for ward in [
        "[[permissions]]\ntools = \"text.count\"\nchecker = \"slow.run\"",
        "[[steps]]\ntools = \"text.count\"\nbefore = \"slow.run\"",
        "[[steps]]\ntools = \"text.count\"\nafter = \"slow.run\"",
    ] {
        let policy = format!("{ward}\n[grants.\"hostile.call_each\"]\ncalls = [\"text.count\"]");
        let rig = Rig::of(&policy)
            .guest("hostile")
            .component("slow", &saying::stalling("slow", &json!({})));
        let rig = rig.open().await;
        let (run, tasks) = (rig.host.new_run(), Tasks::new());
        let mut watcher = rig.host.watch(&run);
        let args = json!({"tools": ["text.count"], "args": {"text": "a b"}}).to_string();
        let cancel = async {
            loop {
                let sight = watcher.next().await;
                if matches!(&sight, Sight::Record(record)
                    if matches!(&record.event, Event::Judged(judged) if judged.subject == "slow.run"))
                {
                    break;
                }
            }
            tasks.cancel();
        };
        let calling = rig.call_in(run, &tasks, ("hostile.call_each", &args));
        let (called, ()) = tokio::join!(calling, cancel);
        let error = rig::error(&called.outcome);
        assert_eq!(error.code(), Code::Cancelled, "{ward}: {error:?}");
        let found = &called.outcome.label;
        assert!(
            found.covers(&label(Sort::Tool, "slow.run")),
            "{ward}: {found}"
        );
    }
}

/// A guest can look whether somebody has answered, as often as it likes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_not_answered_yet_is_behind_what_a_guest_wishes_meanwhile() {
    let (slow, quick) = (Server::start().await, page().await);
    slow.answer(false);
    quick.answer(false);
    let rig = asking(&[&slow, &quick], "").await;
    let (run, tasks) = (rig.host.new_run(), Tasks::new());
    let wanted = url(&quick, "/page");
    let args = json!({"url": url(&slow, "/"), "urls": [wanted, wanted]}).to_string();
    let answers = async {
        slow.arrived(1).await;
        quick.answer(true);
        quick.arrived(2).await;
        slow.answer(true);
    };
    let calling = rig.call_in(run.clone(), &tasks, ("http.beside", &args));
    let (called, ()) = tokio::join!(calling, answers);
    let said = rig::value(&called.outcome).to_string();
    assert_eq!(said.matches("-> ok").count(), 2, "{said}");
    let labels = wished(&rig.records(&run).await, EffectKind::Fetch, &wanted);
    assert!(labels[1].covers(&web(&slow)), "{labels:?}");
    let found = &called.outcome.label;
    assert!(found.covers(&web(&slow)), "{found}");
}

/// Who was not asked has said nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whom_a_guest_may_not_ask_is_not_behind_its_outcome() {
    let (server, other) = (page().await, page().await);
    let rig = asking(&[&server], "").await;
    let urls = json!({"urls": [url(&other, "/page")]});
    for tool in ["hostile.fetch_each", "http.each"] {
        let called = rig.call(tool, urls.clone()).await;
        let _ = rig::value(&called.outcome);
        let label = &called.outcome.label;
        assert!(!label.covers(&web(&other)), "{tool}: {label}");
    }
    assert_eq!(other.seen(), [""; 0]);
}

/// By not waiting for what is refused, a guest would say something in a label: whom it may not ask, or a secret in the name of
/// a host.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whom_nothing_is_sent_to_is_behind_no_outcome_also_where_nobody_waits() {
    const CANARY: &str = "canary7f3a9cwire";
    let policy = r#"
        [grants."http.peek"]
        fetch = ["http://*.wild.test/"]
        [grants."http.spy"]
        fetch = ["http://kept.test/"]
        secrets = [{ name = "canary", to = "http://kept.test/", header = "x-key" }]
    "#;
    let rig = Rig::of(policy).guest("http").secret("canary", CANARY);
    let rig = rig.open().await;
    for host in ["other.test".to_owned(), format!("{CANARY}.wild.test")] {
        let args = json!({"url": format!("http://{host}/"), "patience_ms": 0});
        let called = rig.call("http.peek", args).await;
        let _ = rig::error(&called.outcome);
        let found = &called.outcome.label;
        assert!(!found.to_string().contains(&host), "{found}");
        let journal = rig.journal(&called.run).await;
        let label = format!("web:http://{host}");
        assert!(
            !journal.contains(&label) && !journal.contains(CANARY),
            "{journal}"
        );
    }
}
