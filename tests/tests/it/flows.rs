//! Flows in the whole host: labels stay with what is written, whoever reads it and when; a person's answer holds
//! for what it was about; and what nobody typed vouches for nothing.

use lazaret::rules::grant::Pattern;
use lazaret::runs::host::{Called, Goal};
use lazaret::words::error::Result;
use lazaret::words::event::{Answer as Say, Event, Judged, Record, Surface, Verdict};
use lazaret::words::id::RunId;
use lazaret::words::message::Calling;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;
use lazaret_tests::rig::judged;

/// Letters, which others write; documents, which are the user's own, and lie in two mounts.
const POLICY: &str = r#"
    [flow]
    mode = "enforce"
    hold = "never"
    [mounts.inbox]
    path = "inbox"
    [mounts.docs]
    path = "docs"
    access = "write"
    own = true
    [mounts.same]
    path = "docs"
    access = "write"
    own = true
    [grants."files.*"]
    mounts = { inbox = "read", docs = "write", same = "write" }
    [grants."files.remove"]
    [grants."hostile.file_each"]
    mounts = { docs = "write" }
    [grants."notes.*"]
    notes = "write"
    [agents.agent]
    tools = ["files.*", "notes.*"]
"#;

/// A note whose key nobody typed: kept as long as nobody untrusted has had influence.
const KEEP: &str = "await tools.notes.put({key: ['a', 'b'].join(''), text: 'x'});";

fn rig() -> Rig {
    Rig::of(POLICY)
        .guest("hostile")
        .file("inbox/letter.txt", "Dear reader")
        .file("docs/plain.md", "plain")
        .file("docs/clean.md", "clean")
}

/// Runs a script to its end, and says what influenced what it returned.
async fn label(rig: &Rigged, source: &str) -> String {
    let called = rig.script(source).await;
    let _ = rig::value(&called.outcome);
    called.outcome.label.to_string()
}

/// What a script ends with when it keeps a note that nobody named.
async fn keeping(rig: &Rigged, source: &str) -> Called {
    rig.script(&format!("{source}\n{KEEP}\nreturn 'kept'"))
        .await
}

fn asked(called: &Called) -> bool {
    matches!(&called.outcome.result, Err(error) if error.code() == Code::Asked)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_under_influence_is_read_with_it_by_every_later_run_and_process() {
    let rig = rig().kept().await.open().await;
    let write = "
        await tools.files.read({path: 'inbox/letter.txt'});
        await tools.files.write({path: 'docs/a.md', content: 'not a word of it'});
        await tools.files.write({path: 'docs/moved.md', content: 'nor here'});
        await tools.files.write({path: 'docs/grown.md', content: 'nor here'});
        await tools.files.write({path: 'docs/anew.md', content: 'nor here'});
        await tools.files.move({source: 'docs/moved.md', target: 'docs/deep/there.md'});
        await tools.files.move({source: 'docs/clean.md', target: 'docs/named.md'});
        await tools.files.write({path: 'docs/plain.md', content: 'x', mode: 'create'}).catch(() => null);
        await tools.notes.put({key: 'kept', text: 'nor here'});";
    assert!(label(&rig, write).await.contains("file:inbox"));
    label(
        &rig,
        "await tools.files.write({path: 'docs/grown.md', content: 'clean', mode: 'append'})",
    )
    .await;
    label(
        &rig,
        "await tools.files.write({path: 'docs/anew.md', content: 'clean', mode: 'replace'})",
    )
    .await;
    let reads = [
        ("files.read({path: 'docs/a.md'})", true),
        ("files.read({path: 'same/a.md'})", true),
        ("files.stat({path: 'same/a.md'})", true),
        ("files.list({path: 'docs'})", true),
        ("files.search({path: 'docs', pattern: 'word'})", true),
        ("files.read({path: 'docs/deep/there.md'})", true),
        ("files.read({path: 'same/deep/there.md'})", true),
        ("files.read({path: 'docs/grown.md'})", true),
        // Its words are clean, and its name was chosen.
        ("files.read({path: 'docs/named.md'})", true),
        ("notes.get({key: 'kept'})", true),
        ("notes.search({query: 'nor'})", true),
        ("notes.list({})", true),
        // What a clean run wrote in its place, and what a person did and nobody could overwrite.
        ("files.read({path: 'docs/anew.md'})", false),
        ("files.read({path: 'docs/plain.md'})", false),
    ];
    for (read, expected) in reads {
        let source = format!("await tools.{read}");
        let found = label(&rig, &source).await;
        assert_eq!(found.contains("file:inbox"), expected, "{read}: {found}");
    }
    let rig = rig.restart().await;
    for (read, expected) in reads {
        let source = format!("await tools.{read};");
        let found = label(&rig, &source).await;
        assert_eq!(
            found.contains("file:inbox"),
            expected,
            "later, {read}: {found}"
        );
        let called = keeping(&rig, &source).await;
        assert_eq!(
            asked(&called),
            expected,
            "{read}: {:?}",
            called.outcome.result
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_strangers_code_wrote_is_no_better_than_the_stranger() {
    let rig = rig().open().await;
    let wishes = json!([{"op": "write", "path": "docs/h.md", "with": "x"}]);
    let called = rig
        .call("hostile.file_each", json!({"wishes": wishes}))
        .await;
    let said = rig::value(&called.outcome).to_string();
    assert!(said.contains("done"), "{said}");
    let found = label(&rig, "await tools.files.read({path: 'docs/h.md'})").await;
    assert!(found.contains("tool:hostile.file_each"), "{found}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_words_of_a_failure_carry_what_was_asked_for() {
    let rig = rig().open().await;
    for (read, expected) in [
        ("files.read({path: 'inbox/none.txt'})", true),
        ("files.list({path: 'inbox/none'})", true),
        ("files.read({path: 'docs/none.md'})", false),
        ("files.read({path: 'elsewhere/none.md'})", false),
    ] {
        let source = format!(
            "let said; try {{ await tools.{read} }} catch (error) {{ said = error.message }}"
        );
        let called = keeping(&rig, &source).await;
        assert_eq!(
            asked(&called),
            expected,
            "{read}: {:?}",
            called.outcome.result
        );
    }
}

fn calls(calls: Value) -> Value {
    json!({ "calls": calls })
}

fn script(source: &str) -> Value {
    calls(json!([{"tool": "run_script", "args": {"source": source}}]))
}

fn verdict(judged: &Judged) -> &'static str {
    match judged.verdict {
        Verdict::Allow { .. } => "allow",
        Verdict::Ask(_) => "ask",
        Verdict::Deny(_) => "deny",
    }
}

async fn verdicts(rig: &Rigged, run: &RunId, tool: &str) -> Vec<&'static str> {
    let records = rig.records(run).await;
    judged(&records, tool).into_iter().map(verdict).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_only_branches_on_what_it_read_is_under_its_influence() {
    let branch = |read: &str| {
        format!(
            "const text = (await tools.files.read({{path: '{read}'}})).content;
            let key; if (text.includes('Dear')) {{ key = 'left' }} else {{ key = 'right' }}
            await tools.notes.put({{key, text: 'x'}});
            return 'kept'"
        )
    };
    for (read, expected) in [("inbox/letter.txt", "ask"), ("docs/plain.md", "allow")] {
        let replies = [script(&branch(read)), json!({"text": "Done."})];
        let rig = rig().replies(&replies).open().await;
        let (run, _) = rig.pursue_by(Calling::Code, "Look, and keep a note.").await;
        let records = rig.records(&run).await;
        let put = judged(&records, "notes.put");
        assert_eq!(put.len(), 1, "{}", rig.journal(&run).await);
        assert_eq!(verdict(put[0]), expected, "{read}");
        assert_eq!(
            put[0].label.to_string().contains("file:inbox"),
            expected == "ask"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_goes_on_is_under_the_influence_that_it_was_under() {
    let put = |key: &str| calls(json!([{"tool": "notes.put", "args": {"key": key, "text": "x"}}]));
    let replies = [
        calls(json!([{"tool": "files.read", "args": {"path": "inbox/letter.txt"}}])),
        put("one"),
        put("two"),
        json!({"text": "Done."}),
    ];
    let rig = rig().replies(&replies).kept().await.open().await;
    let (run, answer) = rig.pursue("Read inbox/letter.txt.").await;
    assert_eq!(answer.expect_err("a question").code(), Code::Asked);
    let rig = rig.restart().await;
    rig.answer(Say::Always).await;
    let rig = rig.restart().await;
    let answer = rig.resume_agent(&run).await;
    assert_eq!(answer.expect_err("the next question").code(), Code::Asked);
    let records = rig.records(&run).await;
    let put = judged(&records, "notes.put");
    let all: Vec<_> = put.iter().map(|judged| verdict(judged)).collect();
    assert_eq!(all, ["ask", "allow", "ask"]);
    for judged in put {
        let label = judged.label.to_string();
        assert!(label.contains("file:inbox"), "{label}");
    }
}

fn written(path: &str) -> Value {
    let args = json!({"path": path, "content": "x\n", "mode": "append"});
    calls(json!([{"tool": "files.write", "args": args}]))
}

/// An agent that writes `docs/x.md` twice, then `docs/y.md`; nobody has typed either.
async fn writing() -> Rigged {
    let replies = [
        written("docs/x.md"),
        written("docs/x.md"),
        written("docs/y.md"),
        json!({"when": "said no", "text": "I see."}),
    ];
    rig().replies(&replies).kept().await.open().await
}

async fn resumed(rig: &Rigged, run: &RunId, say: Say) -> Result<String> {
    rig.answer(say).await;
    rig.resume_agent(run).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn always_answers_for_a_value_in_its_run_and_for_nothing_else() {
    let rig = writing().await;
    let (run, _) = rig.pursue("Write something.").await;
    let waiting = rig.host.questions().await.expect("questions");
    let question = &waiting[0].question;
    assert!(question.reasons[0].contains("`path` of `files.write` is the file `docs/x.md`"));
    assert_eq!(question.values.len(), 1);
    assert_eq!(
        question.lines,
        [
            "[flow.tools.\"files.write\"]\nvouch = [\"docs/x.md\"]\n# or, for one run: --vouch docs/x.md"
        ]
    );
    let rig = rig.restart().await;
    resumed(&rig, &run, Say::Always)
        .await
        .expect_err("another value");
    let all = verdicts(&rig, &run, "files.write").await;
    assert_eq!(all, ["ask", "allow", "allow", "ask"]);
    assert_eq!(
        resumed(&rig, &run, Say::Deny).await.expect("an answer"),
        "I see."
    );
    let file = |path: &str| std::fs::read_to_string(rig.path(path)).unwrap_or_default();
    assert_eq!(
        (file("docs/x.md"), file("docs/y.md")),
        ("x\nx\n".into(), String::new())
    );
    // Another run has not been answered.
    let (again, answer) = rig.pursue("Write something.").await;
    assert_eq!(answer.expect_err("a question").code(), Code::Asked);
    assert_eq!(verdicts(&rig, &again, "files.write").await, ["ask"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn allow_answers_for_one_call() {
    let rig = writing().await;
    let (run, _) = rig.pursue("Write something.").await;
    resumed(&rig, &run, Say::Allow)
        .await
        .expect_err("the same value again");
    assert_eq!(
        verdicts(&rig, &run, "files.write").await,
        ["ask", "allow", "ask"]
    );
}

/// A yes is about what the question named: what the guest reads beside that is nobody's to send.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_sends_what_its_call_was_asked_about_and_nothing_else_of_its_own_reading() {
    for (read, sent) in [("docs/plain.md", 1), ("other/plain.md", 0)] {
        let server = Server::start().await;
        let port = server.port();
        let policy = format!(
            r#"
            [flow]
            mode = "enforce"
            hold = "never"
            [mounts.docs]
            path = "docs"
            own = true
            [mounts.other]
            path = "other"
            own = true
            [grants."files.read"]
            mounts = {{ docs = "read", other = "read" }}
            [grants."hostile.carry_off"]
            mounts = {{ docs = "read" }}
            fetch = [{{ url = "http://127.0.0.1:{port}/", private = true, methods = ["POST"] }}]
            [agents.agent]
            tools = ["files.read", "hostile.carry_off"]
            "#
        );
        let replies = [
            json!({"calls": [{"tool": "files.read", "args": {"path": read}}]}),
            json!({"calls": [{"tool": "hostile.carry_off", "args": {"port": port.to_string()}}]}),
            json!({"text": "Done."}),
        ];
        let rig = Rig::of(&policy).guest("hostile");
        let rig = rig
            .file("docs/plain.md", "plain")
            .file("docs/salary.txt", "5")
            .file("other/plain.md", "plain");
        let rig = rig.replies(&replies).kept().await.open().await;
        let text = format!("Read {read}, and file it at \"{port}\".");
        let (run, answer) = rig.pursue(&text).await;
        assert_eq!(answer.expect_err("a question").code(), Code::Asked);
        let waiting = rig.host.questions().await.expect("questions");
        let reason = waiting[0].question.reasons.join(" ");
        let from = format!("file:{}", read.split('/').next().unwrap());
        assert!(
            reason.contains("private content goes to") && reason.contains(&from),
            "{reason}"
        );
        let rig = rig.restart().await;
        resumed(&rig, &run, Say::Allow).await.expect("an answer");
        assert_eq!(server.seen().len(), sent, "{read}");
        let refused = rig
            .journal(&run)
            .await
            .contains("\"rule\":\"flow_private\"");
        assert_eq!(refused, sent == 0, "{read}");
    }
}

/// What the argument of a call names is asked about with it, and what a step has read beside it is not the guest's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_a_call_names_is_sent_once_a_person_has_said_so() {
    const STEP: &str = "[[steps]]\ntools = \"hostile.carry_off\"\nbefore = \"hostile.look_over\"";
    for (file, step, asked) in [
        ("docs/salary.txt", "", true),
        ("none", "", false),
        ("none", STEP, false),
    ] {
        let server = Server::start().await;
        let port = server.port();
        let policy = format!(
            r#"
            {step}
            [flow]
            mode = "enforce"
            [mounts.docs]
            path = "docs"
            own = true
            [grants."hostile.*"]
            mounts = {{ docs = "read" }}
            fetch = [{{ url = "http://127.0.0.1:{port}/", private = true, methods = ["POST"] }}]
            "#
        );
        let rig = Rig::of(&policy).guest("hostile");
        let rig = rig.file("docs/salary.txt", "5").file("docs/rules.txt", "x");
        let rig = rig.kept().await.open().await;
        let wish = json!({"port": port.to_string(), "file": file});
        let called = rig.call("hostile.carry_off", wish).await;
        if asked {
            assert_eq!(rig::error(&called.outcome).code(), Code::Asked);
            let waiting = rig.host.questions().await.expect("questions");
            let reason = waiting[0].question.reasons.join(" ");
            assert!(reason.contains("file:docs"), "{reason}");
            rig.answer(Say::Allow).await;
            rig.resume(&called.run).await.expect("it goes on");
        }
        assert_eq!(server.seen().len(), 1, "{file} {step}");
        // Whoever judges the run again finds the same.
        let records = rig.records(&called.run).await;
        let replayed = rig.close().replay(&records).await;
        assert!(replayed.diverged.is_none(), "{replayed:?}");
    }
}

fn goal(rig: &Rigged, text: &str) -> Goal {
    Goal::new(rig.host.new_run(), Surface::Cli, "agent", text)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_that_were_typed_or_vouched_for_steer_and_those_that_were_piped_do_not() {
    let replies = [written("docs/x.md"), json!({"text": "Done."})];
    for mode in ["enforce", "auto"] {
        let policy = POLICY.replace("\"enforce\"", &format!("\"{mode}\""));
        let rig = Rig::of(&policy).replies(&replies).open().await;
        let typed = goal(&rig, "Write docs/x.md, please.");
        let silent = goal(&rig, "Write it, please.");
        let vouched = Goal {
            vouch: vec!["docs/x.md".to_owned()],
            ..goal(&rig, "Write it, please.")
        };
        let piped = Goal {
            piped: true,
            ..goal(&rig, "Write docs/x.md, please.")
        };
        let both = Goal {
            vouch: vec!["docs/x.md".to_owned()],
            ..Goal {
                run: rig.host.new_run(),
                ..piped.clone()
            }
        };
        // A word in what is vouched for is nobody's.
        let around = Goal {
            vouch: vec!["notes of docs/x.md".to_owned()],
            ..goal(&rig, "Write it, please.")
        };
        for (goal, expected) in [
            (typed, "allow"),
            (around, "ask"),
            (silent, "ask"),
            (vouched, "allow"),
            (piped, "ask"),
            (both, "allow"),
        ] {
            let run = goal.run.clone();
            // Whatever comes of it is judged, and that is what is looked at.
            let _ = rig.host.pursue(goal, &Tasks::new()).await;
            assert_eq!(
                verdicts(&rig, &run, "files.write").await,
                [expected],
                "{mode}"
            );
            // Whoever judges the run again knows the same.
            let records = rig.records(&run).await;
            let again = rig.host.rejudge(&records).await.expect("it can be judged");
            assert!(again.changes.is_empty(), "{mode}: {:?}", again.changes);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_piped_goal_is_judged_even_where_nothing_untrusted_is_granted() {
    let policy = r#"
        [mounts.docs]
        path = "docs"
        access = "write"
        own = true
        [grants."files.*"]
        mounts = { docs = "write" }
        [agents.agent]
        tools = ["files.*"]
    "#;
    let replies = [written("docs/x.md"), json!({"text": "Done."})];
    let rig = Rig::of(policy).replies(&replies).open().await;
    for (surface, piped, expected, label) in [
        (Surface::Cli, false, "allow", "user"),
        (Surface::Cli, true, "ask", "user, file:/dev/stdin"),
        (Surface::Http, true, "ask", "user, file:/client"),
    ] {
        let goal = Goal {
            surface,
            piped,
            ..goal(&rig, "Write something.")
        };
        let run = goal.run.clone();
        let _ = rig.host.pursue(goal, &Tasks::new()).await;
        assert_eq!(verdicts(&rig, &run, "files.write").await, [expected]);
        let records = rig.records(&run).await;
        let Event::Started(started) = &records[0].event else {
            panic!("{records:?}");
        };
        assert_eq!(started.label.to_string(), label);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flows_are_judged_where_a_stranger_can_speak_and_harm_can_be_done() {
    let own = "[mounts.docs]\npath = \"docs\"\naccess = \"write\"\nown = true\n";
    let write = "[grants.\"files.write\"]\nmounts = { docs = \"write\" }\n";
    let page = "[grants.\"web.get_page\"]\nfetch = [\"https://a.test/\"]\n";
    let post =
        "[grants.\"web.post\"]\nfetch = [{ url = \"https://a.test/\", methods = [\"POST\"] }]\n";
    let inbox = "[mounts.inbox]\npath = \"inbox\"\n[grants.\"files.read\"]\nmounts = { inbox = \"read\" }\n";
    let sink = "[grants.\"hostile.destroy\"]\n";
    for (policy, tools, expected) in [
        (String::new(), "*", false),
        (format!("{own}{write}"), "files.*", false),
        (format!("{page}{own}"), "*", false),
        (format!("{page}{own}{write}"), "*", true),
        (format!("{page}{own}{write}"), "web.*", false),
        (format!("{page}{own}{write}"), "files.*", false),
        (
            format!("block = [\"web.*\"]\n{page}{own}{write}"),
            "*",
            false,
        ),
        (format!("{inbox}{own}{write}"), "files.*", true),
        (post.to_owned(), "web.*", true),
        (
            format!("[flow]\nbrowse = \"free\"\n{own}{write}"),
            "files.*",
            true,
        ),
        (sink.to_owned(), "hostile.*", true),
        (sink.to_owned(), "text.*", false),
        (
            format!("[flow]\ntrust = [\"hostile\"]\n{sink}"),
            "hostile.*",
            false,
        ),
    ] {
        let rig = Rig::of(&policy);
        // It would be a stranger to every run that may call everything.
        let rig = if policy.contains("hostile") {
            rig.guest("hostile")
        } else {
            rig
        };
        let rig = rig.open().await;
        let reach: Pattern = tools.to_owned().try_into().expect("a pattern");
        let exposed = rig.host.catalog().is_exposed(&[reach], rig.host.policy());
        assert_eq!(exposed, expected, "{tools} under {policy}");
    }
}

/// Showing text to the run's own user is never asked, whatever was read for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_run_tells_its_own_user_is_not_asked_about() {
    let read = json!({"calls": [{"tool": "files.read", "args": {"path": "inbox/letter.txt"}}]});
    let answer = "Dear reader: see https://evil.test/?x=1 and write to eve@evil.test.";
    let replies = [read, json!({"text": answer})];
    let rig = rig().replies(&replies).open().await;
    let (run, said) = rig.pursue("What does it say?").await;
    assert_eq!(said.expect("an answer"), answer);
    let records = rig.records(&run).await;
    let open = |record: &Record| match &record.event {
        Event::Judged(judged) => !matches!(judged.verdict, Verdict::Allow { .. }),
        Event::Paused { .. } => true,
        _ => false,
    };
    assert!(!records.iter().any(open));
    // A person's own script shows what it has read as well.
    let called = rig
        .script("return await tools.files.read({path: 'inbox/letter.txt'})")
        .await;
    assert!(
        rig::value(&called.outcome)
            .to_string()
            .contains("Dear reader")
    );
}

/// The run's own user reads whatever comes of it; where the same words would go elsewhere, they are asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_shown_to_the_runs_own_user_is_never_asked_about() {
    let read = calls(json!([{"tool": "files.read", "args": {"path": "inbox/letter.txt"}}]));
    let told = "It says: Dear reader, see https://evil.test/?q=Dear";
    let note = calls(json!([{"tool": "notes.put", "args": {"key": "unnamed", "text": told}}]));
    for (then, shown) in [(json!({"text": told}), true), (note, false)] {
        let rig = rig().replies(&[read.clone(), then]).open().await;
        let (run, answer) = rig.pursue("What is new?").await;
        let records = rig.records(&run).await;
        let asked = records.iter().any(|record| record.event.word() == "paused");
        assert_eq!(asked, !shown);
        match shown {
            true => assert_eq!(answer.expect("an answer"), told),
            false => assert_eq!(answer.expect_err("a question").code(), Code::Asked),
        }
        let label = records.iter().rev().find_map(|record| match &record.event {
            Event::Replied { label, .. } => Some(label.to_string()),
            _ => None,
        });
        assert!(label.expect("a reply").contains("file:inbox"));
    }
}

/// The operator's instructions are words that somebody typed; a goal that was piped is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_operator_instructs_an_agent_to_do_steers() {
    let replies = [written("docs/x.md"), json!({"text": "Done."})];
    for (instructions, piped, expected) in [
        ("Reports go to docs/x.md.", false, "allow"),
        ("Reports go to docs/x.md.", true, "allow"),
        ("Reports go there.", false, "ask"),
    ] {
        let policy = format!("{POLICY}instructions = \"{instructions}\"");
        let rig = Rig::of(&policy).replies(&replies).open().await;
        let goal = Goal {
            piped,
            ..goal(&rig, "Write something.")
        };
        let run = goal.run.clone();
        // Whatever comes of it is judged, and that is what is looked at.
        let _ = rig.host.pursue(goal, &Tasks::new()).await;
        let got = verdicts(&rig, &run, "files.write").await;
        assert_eq!(got, [expected], "{instructions} {piped}");
    }
}

/// A copy of a run has read what the run has read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_of_a_run_is_under_the_influence_of_what_it_has_read() {
    let policy = POLICY.replace("\"enforce\"", "\"auto\"");
    for (read, expected) in [("inbox/letter.txt", "ask"), ("docs/plain.md", "allow")] {
        let keep = json!({"tool": "notes.put", "args": {"key": "ab", "text": "x"}});
        let replies = [
            calls(json!([{"tool": "files.read", "args": {"path": read}}])),
            calls(json!([keep])),
            json!({"text": "Done."}),
        ];
        let rig = Rig::of(&policy).replies(&replies);
        let rig = rig
            .file("inbox/letter.txt", "Dear reader")
            .file("docs/plain.md", "plain");
        let rig = rig.kept().await.open().await;
        let (run, _) = rig.pursue("Keep something.").await;
        let copy = rig.host.fork(&run, 1).await.expect("a copy");
        let _ = rig.resume_agent(&copy).await;
        for run in [&run, &copy] {
            assert_eq!(verdicts(&rig, run, "notes.put").await, [expected], "{read}");
        }
    }
}

/// What its user vouched for, they did for that run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_of_a_run_has_no_value_that_its_user_vouched_for() {
    let replies = [
        calls(json!([{"tool": "files.read", "args": {"path": "inbox/letter.txt"}}])),
        written("docs/x.md"),
        json!({"text": "Done."}),
    ];
    let rig = Rig::of(POLICY).replies(&replies);
    let rig = rig.file("inbox/letter.txt", "Dear reader");
    let rig = rig.kept().await.open().await;
    let goal = Goal {
        vouch: vec!["docs/x.md".to_owned()],
        ..goal(&rig, "Write something.")
    };
    let run = goal.run.clone();
    let done = rig.host.pursue(goal, &Tasks::new()).await;
    done.expect("an answer");
    let copy = rig.host.fork(&run, 1).await.expect("a copy");
    let asked = rig.resume_agent(&copy).await;
    assert_eq!(asked.expect_err("a question").code(), Code::Asked);
    assert_eq!(verdicts(&rig, &run, "files.write").await, ["allow"]);
    assert_eq!(verdicts(&rig, &copy, "files.write").await, ["ask"]);
}

/// What cannot be undone needs a person each time, and is done once they have said so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_has_said_may_be_undone_for_good_is() {
    let remove = |path: &str| calls(json!([{"tool": "files.remove", "args": {"path": path}}]));
    let replies = [
        calls(json!([{"tool": "files.read", "args": {"path": "inbox/letter.txt"}}])),
        remove("docs/plain.md"),
        remove("docs/clean.md"),
        json!({"text": "Done."}),
    ];
    let policy = POLICY.replace(
        "[grants.\"files.remove\"]",
        "[grants.\"files.remove\"]\nmounts = { docs = \"write\" }",
    );
    let policy = format!("confirmed = [\"files.remove\"]\n{policy}");
    let rig = Rig::of(&policy).replies(&replies);
    let rig = rig
        .file("inbox/letter.txt", "Dear reader")
        .file("docs/plain.md", "plain")
        .file("docs/clean.md", "clean");
    let rig = rig.kept().await.open().await;
    let (run, answer) = rig.pursue("Tidy up.").await;
    assert_eq!(answer.expect_err("a question").code(), Code::Asked);
    let waiting = rig.host.questions().await.expect("questions");
    assert_eq!(waiting[0].question.lines, [""; 0]);
    resumed(&rig, &run, Say::Allow)
        .await
        .expect_err("the next one");
    assert!(!rig.path("docs/plain.md").exists());
    assert!(rig.path("docs/clean.md").exists());
    let all = verdicts(&rig, &run, "files.remove").await;
    assert_eq!(all, ["ask", "allow", "ask"]);
}
