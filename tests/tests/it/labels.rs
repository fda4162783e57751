//! Labels of what a model is shown beside outcomes: what tools say of themselves; and of what comes in otherwise
//! than by a person's own hands.

mod beside;
mod elsewhere;
mod secrets;

use lazaret::rules::caller::Invocation;
use lazaret::rules::flow::lines::Mode;
use lazaret::runs::explain::Influence;
use lazaret::runs::left::Program;
use lazaret::runs::written::Written;
use lazaret::words::event::{Answer as Say, Event, Sight, Surface, Verdict};
use lazaret::words::id::RunId;
use lazaret::words::label::{Label, Sort, Source};
use lazaret::words::message::WishedArgs;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;
use lazaret_tests::rig::judged;
use lazaret_tests::saying;

/// A shelf to keep notes on, and a stranger's plugin.
fn policy(tools: &str, more: &str) -> String {
    format!(
        "{more}
        [agents.agent]
        tools = [{tools}]
        [grants.\"notes.*\"]
        notes = \"write\""
    )
}

const KEEPS: &str = "\"hostile.echo\", \"notes.put\"";

fn calls(calls: Value) -> Value {
    json!({ "calls": calls })
}

/// A note of which nobody has said how it shall be called.
fn put(key: &str) -> Value {
    calls(json!([{"tool": "notes.put", "args": {"key": key, "text": "x"}}]))
}

fn done() -> Value {
    json!({"text": "Done."})
}

/// What was said to each call of a tool, and what the wish was under the influence of.
async fn said(rig: &Rigged, run: &RunId, tool: &str) -> Vec<(&'static str, String)> {
    let records = rig.records(run).await;
    let judged = judged(&records, tool).into_iter();
    let said = judged.map(|judged| {
        let verdict = match judged.verdict {
            Verdict::Allow { .. } => "allow",
            Verdict::Ask(_) => "ask",
            Verdict::Deny(_) => "deny",
        };
        (verdict, judged.label.to_string())
    });
    said.collect()
}

const WORDS: &str = "tool:hostile.*";

async fn digest_of_hostile() -> String {
    let rig = Rig::of("").guest("hostile").open().await;
    let mut plugins = rig.host.catalog().plugins().iter();
    let hostile = plugins.find(|plugin| plugin.name == "hostile");
    hostile.expect("the plugin").digest.to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_strangers_tools_say_of_themselves_is_the_strangers_word() {
    let digest = digest_of_hostile().await;
    let read = |digest: &str| format!("[flow]\nread = {{ hostile = \"{digest}\" }}");
    for (tools, more, expected) in [
        (KEEPS, String::new(), "ask"),
        (KEEPS, "flow.trust = [\"hostile\"]".to_owned(), "allow"),
        (KEEPS, read(&digest), "allow"),
        // Another component's words were read.
        (KEEPS, read(&"0".repeat(64)), "ask"),
        ("\"text.*\", \"notes.put\"", String::new(), "allow"),
        (KEEPS, "flow.mode = \"off\"".to_owned(), "allow"),
    ] {
        let rig = Rig::of(&policy(tools, &more))
            .guest("hostile")
            .replies(&[put("unnamed"), done()])
            .open()
            .await;
        let (run, _) = rig.pursue("Keep a note.").await;
        let said = said(&rig, &run, "notes.put").await;
        assert_eq!(said.len(), 1, "{tools} {more}: {said:?}");
        let (verdict, label) = &said[0];
        assert_eq!(*verdict, expected, "{tools} {more}: {label}");
        let shown = tools == KEEPS && !more.contains("trust") && !more.contains(&digest);
        assert_eq!(label.contains(WORDS), shown, "{more}: {label}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_is_under_the_influence_of_the_signatures_that_its_writer_saw() {
    let script = "await tools.notes.put({key: 'unnamed', text: 'x'}); return 1";
    let script = calls(json!([{"tool": "run_script", "args": {"source": script}}]));
    for (tools, expected) in [(KEEPS, "ask"), ("\"notes.put\"", "allow")] {
        let policy =
            policy(tools, "").replace("[agents.agent]", "[agents.agent]\ncalling = \"code\"");
        let rig = Rig::of(&policy)
            .guest("hostile")
            .replies(&[script.clone(), done()])
            .open()
            .await;
        let (run, _) = rig.pursue("Keep a note.").await;
        let said = said(&rig, &run, "notes.put").await;
        assert_eq!(said[0].0, expected, "{said:?}");
    }
}

/// A deferred tool is not shown before it is found; then its words are, in the answer and from the next turn on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_found_counts_from_then_on() {
    let search = |query: &str| calls(json!([{"tool": "search_tools", "args": {"query": query}}]));
    let tools = "\"hostile.polish\", \"notes.put\"";
    let replies = [
        put("before"),
        search("notes"),
        put("still"),
        search("spoons"),
        put("after"),
        done(),
    ];
    let rig = Rig::of(&policy(tools, ""))
        .guest("hostile")
        .replies(&replies)
        .open()
        .await;
    let (run, answer) = rig.pursue("Keep notes.").await;
    assert_eq!(answer.expect_err("a question").code(), Code::Asked);
    let said = said(&rig, &run, "notes.put").await;
    let all: Vec<_> = said.iter().map(|(verdict, _)| *verdict).collect();
    assert_eq!(all, ["allow", "allow", "ask"], "{said:?}");
    assert!(said[2].1.contains(WORDS), "{said:?}");
    let records = rig.records(&run).await;
    let told = crate::page::observed(&records);
    let told = told
        .iter()
        .map(|(_, label)| label.to_string().contains(WORDS));
    let told: Vec<bool> = told.collect();
    assert_eq!(
        told,
        [false, false, false, true],
        "the second search found it"
    );
}

/// What was found in an earlier life is shown in this one as its plugin writes it now.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_found_before_counts_as_what_it_is_by_now() {
    let tools = "\"hostile.polish\", \"notes.put\", \"text.count\"";
    let asked = "ask = [\"text.count\"]";
    let digest = digest_of_hostile().await;
    let read = format!("{asked}\n[flow]\nread = {{ hostile = \"{digest}\" }}");
    let replies = [
        calls(json!([{"tool": "search_tools", "args": {"query": "spoons"}}])),
        calls(json!([{"tool": "text.count", "args": {"text": "a"}}])),
        put("after"),
        done(),
    ];
    for (later, expected) in [(read.as_str(), "allow"), (asked, "ask")] {
        let rig = Rig::of(&policy(tools, &read))
            .guest("hostile")
            .replies(&replies);
        let rig = rig.kept().await.open().await;
        let (run, answer) = rig.pursue("Keep a note.").await;
        assert_eq!(answer.expect_err("a question").code(), Code::Asked);
        rig.answer(Say::Allow).await;
        let rig = rig.close().policy(&policy(tools, later)).guest("hostile");
        let rig = rig.replies(&replies).open().await;
        let _ = rig.resume_agent(&run).await;
        let said = said(&rig, &run, "notes.put").await;
        assert_eq!(said[0].0, expected, "{said:?}");
        assert_eq!(said[0].1.contains(WORDS), expected == "ask", "{said:?}");
    }
}

/// A refusal quotes the schema, or names that are near: these are the stranger's words as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_that_quotes_a_stranger_is_under_the_strangers_influence() {
    let tools = "\"hostile.polish\", \"notes.put\"";
    for (wrong, expected) in [("hostile.polis", "ask"), ("notes.putt", "allow")] {
        let wrong = calls(json!([{"tool": wrong, "args": {}}]));
        let rig = Rig::of(&policy(tools, ""))
            .guest("hostile")
            .replies(&[wrong, put("after"), done()])
            .open()
            .await;
        let (run, _) = rig.pursue("Keep a note.").await;
        let said = said(&rig, &run, "notes.put").await;
        assert_eq!(said[0].0, expected, "{said:?}");
    }
}

/// A stranger's plugin in a run that has nothing to do harm with is nobody's concern.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_without_a_sink_is_not_disturbed_by_a_strangers_plugin() {
    let replies = [
        calls(json!([{"tool": "hostile.echo", "args": {"text": "a"}}])),
        calls(json!([{"tool": "text.count", "args": {"text": "a b"}}])),
        // What is granted nothing is refused, as ever, and nobody is asked about it.
        calls(json!([{"tool": "files.write", "args": {"path": "work/a", "content": "x"}}])),
        done(),
    ];
    let policy = "[agents.agent]\ntools = [\"hostile.echo\", \"text.*\", \"files.write\"]";
    let rig = Rig::of(policy)
        .guest("hostile")
        .replies(&replies)
        .open()
        .await;
    assert_eq!(rig.host.policy().flows.mode, Mode::Auto);
    let (run, answer) = rig.pursue("Look.").await;
    assert_eq!(
        answer.expect("an answer"),
        "Done.",
        "{}",
        rig.journal(&run).await
    );
}

/// The tools that a model was shown may be others when its run goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_model_has_read_of_tools_stays_with_its_run() {
    let replies = [put("one"), put("two"), done()];
    let rig = Rig::of(&policy(KEEPS, ""))
        .guest("hostile")
        .replies(&replies);
    let rig = rig.kept().await.open().await;
    let (run, answer) = rig.pursue("Keep notes.").await;
    assert_eq!(answer.expect_err("a question").code(), Code::Asked);
    rig.answer(Say::Allow).await;
    // Without the plugin.
    let policy = policy("\"notes.put\"", "");
    let rig = rig.close().policy(&policy).replies(&replies).open().await;
    let answer = rig.resume_agent(&run).await;
    assert_eq!(answer.expect_err("the next question").code(), Code::Asked);
    let said = said(&rig, &run, "notes.put").await;
    let last = said.last().expect("the second note");
    assert!(last.0 == "ask" && last.1.contains(WORDS), "{said:?}");
}

/// A workspace, and letters of others.
const WORKSPACE: &str = r#"
    [flow]
    mode = "enforce"
    hold = "never"
    [mounts.work]
    path = "work"
    access = "write"
    workspace = true
    own = true
    [mounts.inbox]
    path = "inbox"
    [grants."files.*"]
    mounts = { work = "write", inbox = "read" }
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_a_workspace_is_made_without_a_question_and_replaced_after_one() {
    let write = |path: &str, mode: Option<&str>| {
        let mut args = json!({"path": path, "content": "new"});
        if let Some(mode) = mode {
            args["mode"] = mode.into();
        }
        calls(json!([{"tool": "files.write", "args": args}]))
    };
    let replies = [
        calls(json!([{"tool": "files.read", "args": {"path": "inbox/letter.txt"}}])),
        write("work/made.md", None),
        write("work/there.md", Some("create")),
        write("work/there.md", Some("replace")),
        done(),
    ];
    let rig = Rig::of(WORKSPACE)
        .file("inbox/letter.txt", "Dear reader")
        .file("work/there.md", "old")
        .replies(&replies)
        .kept()
        .await
        .open()
        .await;
    let (run, answer) = rig.pursue("Work.").await;
    assert_eq!(answer.expect_err("a question").code(), Code::Asked);
    let text = |path: &str| std::fs::read_to_string(rig.path(path)).unwrap_or_default();
    assert_eq!(text("work/made.md"), "new");
    assert_eq!(text("work/there.md"), "old");
    let said = said(&rig, &run, "files.write").await;
    let all: Vec<_> = said.iter().map(|(verdict, _)| *verdict).collect();
    assert_eq!(all, ["allow", "allow", "ask"]);
    rig.answer(Say::Allow).await;
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Done.");
    assert_eq!(text("work/there.md"), "new");
}

/// A tool whose call was let in because it would make a new file does nothing else with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_was_let_in_to_make_a_file_replaces_none() {
    let wish = |op: &str, path: &str| {
        let wishes = json!([{"op": op, "path": path, "with": "new"}]);
        calls(json!([{"tool": "hostile.file_each", "args": {"wishes": wishes}}]))
    };
    let replies = [
        calls(json!([{"tool": "files.read", "args": {"path": "inbox/letter.txt"}}])),
        wish("replace", "work/there.md"),
        wish("append", "work/there.md"),
        wish("write", "work/made.md"),
        done(),
    ];
    let policy = format!(
        "{WORKSPACE}\n[flow.tools.\"hostile.file_each\"]\nsteering = {{ \"wishes/*/path\" = \"file\" }}\ncontent = [\"wishes/*/op\", \"wishes/*/with\"]\n\
         [grants.\"hostile.file_each\"]\nmounts = {{ work = \"write\" }}"
    );
    let rig = Rig::of(&policy)
        .guest("hostile")
        .file("inbox/letter.txt", "Dear reader")
        .file("work/there.md", "old")
        .replies(&replies)
        .kept()
        .await
        .open()
        .await;
    let (run, answer) = rig.pursue("Work.").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    let said = said(&rig, &run, "hostile.file_each").await;
    assert!(
        said.iter().all(|(verdict, _)| *verdict == "allow"),
        "{said:?}"
    );
    let text = |path: &str| std::fs::read_to_string(rig.path(path)).unwrap_or_default();
    assert_eq!(
        (
            text("work/there.md").as_str(),
            text("work/made.md").as_str()
        ),
        ("old", "new")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_that_nobody_typed_are_no_witnesses() {
    let rig = Rig::of(WORKSPACE)
        .file("inbox/args.json", "{}")
        .file("work/args.json", "{}")
        .file("outside.json", "{}")
        .open()
        .await;
    let args = json!({"path": "work/a.md", "content": "x", "mode": "replace"});
    let label = |written: &Written| written.label().to_string();
    let inbox = rig.host.written_in(&rig.path("inbox/args.json"));
    let work = rig.host.written_in(&rig.path("work/args.json"));
    let outside = rig.host.written_in(&rig.path("outside.json"));
    for (written, sources, passes) in [
        (Written::Typed, "user", true),
        (Written::Piped, "user, file:/dev/stdin", false),
        (Written::Sent, "user, file:/client", false),
        (inbox.expect("a label"), "user, file:inbox", false),
        (work.expect("a label"), "user, file:work", false),
        (outside.expect("a label"), "user, file:/attached", false),
    ] {
        assert_eq!(label(&written), sources);
        let request = lazaret::guests::dispatch::Request {
            tool: "files.write".to_owned(),
            args: lazaret::words::message::WishedArgs::Json(args.clone()),
        };
        let surface = lazaret::words::event::Surface::Cli;
        let tasks = lazaret::guests::tasks::Tasks::new();
        let (run, once) = (rig.host.new_run(), Invocation::default());
        let called = rig
            .host
            .call_asked(run, surface, (request, &written, once), &tasks);
        let called = called.await.expect("the journal takes the call");
        let asked = matches!(&called.outcome.result, Err(error) if error.code() == Code::Asked);
        assert_eq!(asked, !passes, "{sources}: {:?}", called.outcome.result);
        let all: Label = serde_json::from_value(json!(sources.split(", ").collect::<Vec<_>>()))
            .expect("a label");
        assert!(
            called.outcome.label.covers(&all),
            "{}",
            called.outcome.label
        );
    }
}

/// A file that a stranger has written through Lazaret is no program of the user's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_is_its_users_unless_somebody_else_wrote_it() {
    let rig = Rig::of(WORKSPACE)
        .file("inbox/letter.txt", "Dear reader")
        .file("work/own.js", "return 1")
        .open()
        .await;
    let write = "await tools.files.read({path: 'inbox/letter.txt'});
        await tools.files.write({path: 'work/theirs.js', content: 'return 1'});";
    let _ = rig::value(&rig.script(write).await.outcome);
    let of = |path: &str| rig.host.program_in(&rig.path(path)).expect("a label");
    assert_eq!(of("work/own.js"), Written::Typed);
    assert_eq!(of("no/such.js"), Written::Typed);
    let theirs = of("work/theirs.js");
    assert!(
        theirs.label().to_string().contains("file:inbox"),
        "{theirs:?}"
    );
}

/// Whoever moves a folder decides which file stands where a person looks for theirs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stands_in_a_folder_that_a_stranger_has_moved_is_not_its_users_choice() {
    let rig = Rig::of(WORKSPACE)
        .file("inbox/letter.txt", "Dear reader")
        .file("work/now/a.js", "return 1")
        .file("work/old/a.js", "return 2")
        .open()
        .await;
    let path = rig.path("work/now/a.js");
    let program = || rig.host.program_in(&path).expect("a label");
    assert_eq!(program(), Written::Typed);
    let moves = "await tools.files.read({path: 'inbox/letter.txt'});
        await tools.files.move({source: 'work/now', target: 'work/gone'});
        await tools.files.move({source: 'work/old', target: 'work/now'});";
    let _ = rig::value(&rig.script(moves).await.outcome);
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), "return 2");
    let args = rig.host.written_in(&path).expect("a label");
    let attached = rig.host.attach(&path).expect("a file");
    let stranger = Label::of(Source::new(Sort::File, "inbox"));
    for label in [program().label(), args.label(), attached.label] {
        assert!(label.covers(&stranger), "{label}");
    }
}

/// What has left a mark on a folder stands behind what is read there from then on, and is no place that it comes from.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_has_left_on_a_folder_is_no_place_that_is_read_there() {
    let rig = Rig::of(WORKSPACE)
        .file("inbox/letter.txt", "Dear reader")
        .file("work/now/a.js", "return 1")
        .open()
        .await;
    let moves = "await tools.files.read({path: 'inbox/letter.txt'});
        await tools.files.move({source: 'work/now', target: 'work/gone'});";
    let _ = rig::value(&rig.script(moves).await.outcome);
    let called = rig.call("files.list", json!({"path": "work"})).await;
    let records = rig.records(&called.run).await;
    let mut reads = records.iter().filter_map(|record| match &record.event {
        Event::Finished(finished) => finished.read.as_ref(),
        _ => None,
    });
    let read = reads.next().expect("the end of the call");
    let (inbox, work) = (file("inbox"), file("work"));
    assert!(read.label.covers(&inbox.join(&work)), "{read:?}");
    assert_eq!(read.at, work);
}

fn file(mount: &str) -> Label {
    Label::of(Source::new(Sort::File, mount))
}

/// What a scalar says is paid for in bits; who may read it is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scalar_out_of_a_private_handle_is_private() {
    let policy = WORKSPACE.replace("hold = \"never\"", "hold = \"untrusted\"");
    let call = |tool: &str, args: Value| calls(json!([{"tool": tool, "args": args}]));
    let replies = [
        call("files.read", json!({"path": "inbox/letter.txt"})),
        call(
            "handle.count",
            json!({"value": {"$handle": "h1"}, "unit": "chars"}),
        ),
        done(),
    ];
    let rig = Rig::of(&policy)
        .file("inbox/letter.txt", "Dear reader")
        .replies(&replies)
        .open()
        .await;
    let (run, answer) = rig.pursue("Count.").await;
    answer.expect("an answer");
    let records = rig.records(&run).await;
    let labels = records.iter().filter_map(|record| match &record.event {
        Event::Observed { observation, .. } => Some(observation.label.clone()),
        _ => None,
    });
    let labels: Vec<Label> = labels.collect();
    let inbox = Source::new(Sort::File, "inbox");
    let has = |label: &Label, source: &Source| label.covers(&Label::of(source.clone()));
    assert!(!has(&labels[0], &inbox.of_scalar()), "{}", labels[0]);
    assert!(has(&labels[1], &inbox.of_scalar()), "{}", labels[1]);
    assert!(!has(&labels[1], &inbox), "{}", labels[1]);
}

/// Whoever is told of none is told something of what there is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_there_is_no_such_note_is_told_under_the_influence_of_the_shelf() {
    let rig = Rig::of("[grants.\"notes.*\"]\nnotes = \"write\"")
        .open()
        .await;
    let shelf = Label::of(Source::new(Sort::Note, "notes/"));
    for (wish, told) in [
        ("search({query: 'zzz'})", true),
        ("list({prefix: 'zzz'})", true),
        ("get({key: 'zzz'}).catch(() => 0)", true),
        ("put({key: 'a', text: 't'})", false),
    ] {
        let called = rig
            .script(&format!("await tools.notes.{wish}; return 1"))
            .await;
        let label = &called.outcome.label;
        let _ = rig::value(&called.outcome);
        assert_eq!(label.covers(&shelf), told, "{wish}: {label}");
    }
}

/// Whoever may read the letters may read what is public, too.
fn beside_letters(inbox: &str) -> String {
    format!(
        "ask = [\"files.write\", \"hostile.call_each\"]
        [flow]
        mode = \"enforce\"
        classes = {{ \"file:docs\" = {{ integrity = \"trusted\", secrecy = \"public\" }} }}
        [mounts.inbox]
        path = \"inbox\"
        [mounts.docs]
        path = \"docs\"
        [mounts.out]
        path = \"out\"
        access = \"write\"
        [grants.\"files.read\"]
        mounts = {{ inbox = \"read\", docs = \"read\" }}
        [grants.\"files.stat\"]
        mounts = {{ inbox = \"read\", docs = \"read\" }}
        [grants.\"files.write\"]
        mounts = {{ {inbox} out = \"write\" }}
        [grants.\"hostile.call_each\"]
        calls = [\"files.read\"]
        [agents.agent]
        calling = \"both\"
        tools = [\"files.*\", \"hostile.call_each\", \"text.count\"]"
    )
}

/// Reads what is public, makes a call and writes while that has not ended.
fn sees(first: &str) -> Value {
    let source = format!(
        "await Promise.all(['a', 'b'].map((name) => tools.files.read({{path: `docs/${{name}}.txt`}})));
        await tools.text.count({{text: 'a'}});
        const all = [{first}.catch(() => {{}})];
        await new Promise((go) => setTimeout(go, 0));
        all.push(tools.files.write({{path: 'out/two.txt', content: 'x'}}).catch(() => {{}}));
        await Promise.all(all);
        return 1"
    );
    calls(json!([{"tool": "run_script", "args": {"source": source}}]))
}

/// Under way is what waits for a person as well, so that no test has to be in time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_sees_a_call_under_way_is_behind_all_that_it_could_read() {
    const READS: &str = "inbox = \"read\",";
    let write = "tools.files.write({path: 'inbox/docs.txt', content: 'docs/a.txt'})";
    let each = "tools.hostile.call_each({tools: ['files.read'], args: {path: 'docs/a.txt'}})";
    for (first, inbox, later) in [
        (write, READS, READS),
        // What an earlier life saw is behind what it wished, whatever policy says now.
        (write, READS, ""),
        // It may read nothing, and call what does.
        (each, "", ""),
    ] {
        let replies = [sees(first), done()];
        let rig = Rig::of(&beside_letters(inbox))
            .guest("hostile")
            .file("docs/a.txt", "a")
            .file("docs/b.txt", "b")
            .file("inbox/letter.txt", "Dear reader")
            .replies(&replies);
        let rig = rig.kept().await.open().await;
        let (run, answer) = rig.pursue("Go on.").await;
        assert_eq!(answer.expect_err("a question").code(), Code::Asked);
        for one in rig.host.questions().await.expect("the journal is well") {
            let answered = rig.host.answer(one.question.id.as_str(), Say::Deny).await;
            answered.expect("it is open");
        }
        let rig = rig.close().policy(&beside_letters(later)).guest("hostile");
        let rig = rig.replies(&replies).open().await;
        let _ = rig.resume_agent(&run).await;
        let counts = said(&rig, &run, "text.count").await;
        assert_eq!(counts.len(), 1, "{first}: {counts:?}");
        assert!(!counts[0].1.contains("inbox"), "{first}: {counts:?}");
        // Of the last write each life has a record.
        let writes = said(&rig, &run, "files.write").await;
        let seen = writes
            .iter()
            .map(|(_, label)| label.contains("scalar:file:inbox"));
        let seen: Vec<bool> = seen.collect();
        let expected: &[bool] = match first == write {
            true => &[false, true, false, true],
            false => &[true, true],
        };
        assert_eq!(seen, expected, "{first}, {later:?}: {writes:?}");
    }
}

/// How long a tool takes whose outcomes are secret tells of these, whoever it is called by: the script, or a step before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_sees_a_secret_tool_under_way_is_behind_the_secret() {
    const STEP: &str = "[[steps]]\ntools = \"text.count\"\nbefore = \"safe.run\"";
    for (tool, args, steps, is_behind) in [
        ("safe.run", "{}", "", true),
        ("text.count", "{text: 'a'}", STEP, true),
        ("text.count", "{text: 'a'}", "", false),
    ] {
        let policy = format!(
            "ask = [\"files.write\", \"{tool}\"]
            {steps}
            [mounts.out]
            path = \"out\"
            access = \"write\"
            [grants.\"files.write\"]
            mounts = {{ out = \"write\" }}
            [agents.agent]
            calling = \"both\"
            tools = [\"files.write\", \"safe.run\", \"text.count\"]"
        );
        let source = format!(
            "const all = [tools.{tool}({args}).catch(() => {{}})];
            await new Promise((go) => setTimeout(go, 0));
            all.push(tools.files.write({{path: 'out/two.txt', content: 'x'}}).catch(() => {{}}));
            await Promise.all(all);
            return 1"
        );
        let replies = [
            calls(json!([{"tool": "run_script", "args": {"source": source}}])),
            done(),
        ];
        let secret = json!({"sensitivity": "secret"});
        let safe = saying::component("safe", &secret, "\"7391\"");
        let rig = Rig::of(&policy).component("safe", &safe).replies(&replies);
        let rig = rig.kept().await.open().await;
        let (run, answer) = rig.pursue("Go on.").await;
        assert_eq!(answer.expect_err("a question").code(), Code::Asked);
        let writes = said(&rig, &run, "files.write").await;
        assert_eq!(writes.len(), 1, "{tool}: {writes:?}");
        let found = writes[0].1.contains("scalar:secret:safe.run");
        assert_eq!(found, is_behind, "{tool} {steps}: {writes:?}");
    }
}

/// What a call was let read that failed is behind what comes after it, in a later life too; and nothing else that it could have
/// read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_call_that_failed_was_let_read_is_behind_what_comes_after_it() {
    let reads = |args: &str| format!("tools.files.read({{{args}}}).catch(() => {{}})");
    // It reads nothing, and nobody outside sees when it begins: what it leaves is nothing of the other.
    let asked = "tools.hostile.call_each({tools: [], args: {}}).catch(() => {})";
    let (inbox, docs) = (
        reads("path: 'inbox/none.txt'"),
        reads("path: 'docs/none.txt'"),
    );
    for (first, is_behind) in [
        (inbox.clone(), true),
        (docs, false),
        // It was turned down before it read anything.
        (reads(""), false),
        (format!("Promise.all([{inbox}, {asked}])"), true),
    ] {
        let source = format!("await {first}; await tools.text.count({{text: 'a'}}); return 1");
        let replies = [
            calls(json!([{"tool": "run_script", "args": {"source": source}}])),
            done(),
        ];
        let policy = beside_letters("").replace("calls = [\"files.read\"]", "calls = []");
        let rig = Rig::of(&policy)
            .guest("hostile")
            .file("docs/a.txt", "a")
            .file("inbox/letter.txt", "Dear reader")
            .replies(&replies);
        let mut rig = rig.kept().await.open().await;
        let (run, answer) = rig.pursue("Go on.").await;
        if first.contains("Promise") {
            assert_eq!(answer.expect_err("a question").code(), Code::Asked);
            rig.answer(Say::Deny).await;
            rig = rig.restart().await;
            rig.resume_agent(&run).await.expect("an answer");
        }
        let counts = said(&rig, &run, "text.count").await;
        assert_eq!(counts.len(), 1, "{first}: {counts:?}");
        let found = counts[0].1.contains("scalar:file:inbox");
        assert_eq!(found, is_behind, "{first}: {counts:?}");
    }
}

/// Nobody saw how a call ended that was cut off: it may have read whatever it could, which a later life knows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_call_that_was_cut_off_could_have_read_is_behind_what_comes_after_it() {
    let policy = "[flow]
        mode = \"off\"
        [mounts.inbox]
        path = \"inbox\"
        [grants.\"stuck.run\"]
        mounts = { inbox = \"read\" }";
    let more = json!({"effect": "side-effecting", "risk": "external_write", "mounts": "read"});
    let rig = Rig::of(policy).component("stuck", &saying::stalling("stuck", &more));
    let rig = rig.kept().await.open().await;
    let source = "await tools.stuck.run({}).catch(() => {}); await tools.clock.now({}); return 1";
    let program = Program {
        source: source.to_owned(),
        written: Written::Piped,
        with: &[],
    };
    let (run, tasks) = (rig.host.new_run(), Tasks::new());
    let mut watcher = rig.host.watch(&run);
    let cancel = async {
        loop {
            let sight = watcher.next().await;
            if matches!(&sight, Sight::Record(record)
                if matches!(&record.event, Event::Judged(judged) if judged.subject == "stuck.run"))
            {
                break;
            }
        }
        tasks.cancel();
    };
    let began = rig.host.program(run.clone(), Surface::Cli, program, &tasks);
    let (called, ()) = tokio::join!(began, cancel);
    let called = called.expect("the journal takes the script");
    assert_eq!(rig::error(&called.outcome).code(), Code::Cancelled);
    drop(watcher);
    let rig = rig.restart().await;
    let called = rig.resume(&run).await.expect("it goes on");
    let _ = rig::value(&called.outcome);
    assert_eq!(said(&rig, &run, "stuck.run").await.len(), 1);
    let asked = said(&rig, &run, "clock.now").await;
    assert!(asked[0].1.contains("scalar:file:inbox"), "{asked:?}");
}

/// What a model would wish is under the influence of all that it is shown of tools before: those of its agent where one
/// is named, of every agent where none is, and of every tool where there are none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_explained_for_a_model_is_under_the_words_of_its_tools() {
    let first = policy(KEEPS, "");
    let another = |tools: &str| {
        format!("[agents.z]\ninstructions = \"\"\nmodels = [\"script\"]\ntools = [{tools}]")
    };
    let last = policy(KEEPS, &another("\"notes.put\""));
    let second = policy("\"notes.put\"", &another("\"hostile.echo\""));
    let nobody = "[grants.\"notes.*\"]\nnotes = \"write\"";
    for (policy, agent, told) in [
        (first.as_str(), Some("agent"), true),
        (&last, Some("z"), false),
        (&last, None, true),
        (&second, None, true),
        (nobody, None, true),
    ] {
        let rig = Rig::of(policy).guest("hostile");
        let rig = match policy.contains("[agents") {
            true => rig.replies(&[done()]),
            false => rig,
        };
        let rig = rig.open().await;
        let under = Influence {
            surface: Surface::Cli,
            by_model: true,
            agent: agent.map(str::to_owned),
            sources: Vec::new(),
            goal: "Keep it.".to_owned(),
            vouch: Vec::new(),
            written: Written::Typed,
        };
        let args = WishedArgs::Json(json!({"key": "k", "text": "x"}));
        let explained = rig.host.explain("notes.put", &args, &under);
        let first = &explained.expect("it is explained")[0];
        let reasons = match &first.verdict {
            Verdict::Ask(question) => question.reasons.concat(),
            Verdict::Allow { rule } => rule.clone(),
            Verdict::Deny(_) => panic!("{policy} {agent:?}: {first:?}"),
        };
        assert_eq!(reasons.contains(WORDS), told, "{policy}: {first:?}");
    }
}
