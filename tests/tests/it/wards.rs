//! What policy puts around calls: lines of permission, checkers, steps; and what tools say of themselves.

use lazaret::guests::dispatch::{Outcome, Request};
use lazaret::rules::caller::Invocation;
use lazaret::rules::manifest::Retry;
use lazaret::rules::wards::NOT_AUTHORIZED;
use lazaret::runs::written::Written;
use lazaret::surfaces::wish::{self, Options};
use lazaret::words::event::{Answer as Say, Content, Event, Judged, Read, Record, Remade, Surface};
use lazaret::words::message::WishedArgs;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;
use lazaret_tests::saying;
use lazaret_tests::verdict::check_records;

async fn called(
    rig: &Rigged,
    surface: Surface,
    (tool, args): (&str, Value),
) -> (Vec<Record>, Outcome) {
    let request = Request {
        tool: tool.to_owned(),
        args: WishedArgs::Json(args),
    };
    let once = Invocation {
        retry: Some(Retry::default()),
        ..Invocation::default()
    };
    let (run, tasks) = (rig.host.new_run(), Tasks::new());
    let asked = (request, &Written::Typed, once);
    let called = rig.host.call_asked(run.clone(), surface, asked, &tasks);
    let called = called.await.expect("the journal takes the call");
    let records = rig.records(&run).await;
    assert_eq!(check_records(&records), Vec::<String>::new());
    (records, called.outcome)
}

/// Code and message of a failure; nothing where there is none.
fn failure(outcome: &Outcome) -> Option<(Code, &str)> {
    let error = outcome.result.as_ref().err()?;
    Some((error.code(), error.message()))
}

fn judged(records: &[Record]) -> Vec<&Judged> {
    let judged = records.iter().filter_map(|record| match &record.event {
        Event::Judged(judged) if judged.subject != "envelope" => Some(judged),
        _ => None,
    });
    judged.collect()
}

const COUNT: fn() -> (&'static str, Value) = || ("text.count", json!({"text": "a b"}));

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_of_permission_says_yes_no_or_why_not() {
    let policy = r#"
        [[permissions]]
        tools = "text.count"
        surfaces = ["cli"]
        verdict = true
        [[permissions]]
        tools = "text.count"
        verdict = false
        [[permissions]]
        tools = "text.*"
        verdict = "quota used up"
    "#;
    let rig = Rig::of(policy).open().await;
    let (_, outcome) = called(&rig, Surface::Cli, COUNT()).await;
    assert_eq!(rig::value(&outcome)["words"], 2);
    let (records, outcome) = called(&rig, Surface::Http, COUNT()).await;
    assert_eq!(failure(&outcome), Some((Code::Denied, NOT_AUTHORIZED)));
    assert_eq!(judged(&records)[0].verdict.word(), "deny");
    let diff = ("text.diff", json!({"old": "a", "new": "b"}));
    let (_, outcome) = called(&rig, Surface::Cli, diff).await;
    assert_eq!(failure(&outcome), Some((Code::Denied, "quota used up")));
    // A model is told the same, and no line of a file.
    assert!(rig::error(&outcome).hints().is_empty());
}

const CHECKED: &str = "[[permissions]]\ntools = \"text.*\"\nchecker = \"acl.run\"";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checker_has_the_last_word_and_none_is_a_no() {
    let private = json!({"visibility": "private", "surfaces": ["mcp"]});
    for (component, expected) in [
        (saying::component("acl", &private, "true"), None),
        (
            saying::component("acl", &private, "false"),
            Some(NOT_AUTHORIZED),
        ),
        (
            saying::component("acl", &private, "\"quota used up\""),
            Some("quota used up"),
        ),
        (
            saying::component("acl", &private, "3"),
            Some(NOT_AUTHORIZED),
        ),
        (
            saying::component("acl", &private, "no json"),
            Some(NOT_AUTHORIZED),
        ),
        (
            saying::failing("acl", &private, false, &json!({"code": "CONFLICT"})),
            Some(NOT_AUTHORIZED),
        ),
    ] {
        let rig = Rig::of(CHECKED).component("acl", &component).open().await;
        let (_, outcome) = called(&rig, Surface::Cli, COUNT()).await;
        let expected = expected.map(|message| (Code::Denied, message));
        assert_eq!(failure(&outcome), expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checker_sees_the_validated_input_and_who_asks() {
    let echo = saying::echo("acl", &json!({}));
    let rig = Rig::of(CHECKED).component("acl", &echo).open().await;
    let (records, _) = called(&rig, Surface::Http, COUNT()).await;
    let judged = judged(&records);
    assert_eq!(judged[1].subject, "acl.run");
    assert_eq!(judged[1].origin, "host");
    let Content::Inline(told) = &judged[1].content else {
        panic!("{:?}", judged[1]);
    };
    assert_eq!(told["action"], "text.count");
    assert_eq!(told["input"], json!({"text": "a b"}));
    let context = &told["context"];
    assert_eq!(
        (&context["surface"], &context["origin"]),
        (&json!("http"), &json!("client"))
    );
    // What does not fit is never seen.
    let wrong = ("text.count", json!({"text": 3}));
    let (records, outcome) = called(&rig, Surface::Http, wrong).await;
    assert_eq!(rig::error(&outcome).code(), Code::BadArgs);
    assert!(
        records
            .iter()
            .all(|record| !format!("{record:?}").contains("acl.run"))
    );
}

/// Nobody asks a checker about a script: rather than pass unasked, it is turned away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_with_a_checker_is_a_no_to_scripts() {
    let source = "return (await tools.text.count({text: 'a b'})).words";
    let line = "[[permissions]]\ntools = \"*\"\nchecker = \"acl.run\"";
    let yes = saying::component("acl", &json!({}), "true");
    let rig = Rig::of(line).component("acl", &yes).open().await;
    let called = rig.script(source).await;
    let (code, why) = failure(&called.outcome).expect("it is turned away");
    assert_eq!(code, Code::Denied);
    assert!(
        why.starts_with(NOT_AUTHORIZED.trim_end_matches('.')) && why.contains("about a script"),
        "{why}"
    );
    let before = format!("[[permissions]]\ntools = \"script.run\"\nverdict = true\n{line}");
    let rig = Rig::of(&before).component("acl", &yes).open().await;
    let called = rig.script(source).await;
    assert_eq!(*rig::value(&called.outcome), json!(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stands_around_calls_only_looks() {
    for (key, more, says) in [
        (
            "checker",
            json!({"effect": "side-effecting"}),
            "it is side-effecting",
        ),
        ("checker", json!({"needs_approval": true}), "without asking"),
        (
            "before",
            json!({"effect": "destructive"}),
            "it is destructive",
        ),
        (
            "after",
            json!({"requires_confirmation": true}),
            "without asking",
        ),
    ] {
        let table = if key == "checker" {
            "permissions"
        } else {
            "steps"
        };
        let policy = format!("[[{table}]]\ntools = \"*\"\n{key} = \"acl.run\"");
        let rig = Rig::of(&policy).component("acl", &saying::component("acl", &more, "true"));
        let error = rig.try_open().await.map(|_| ()).unwrap_err();
        assert!(error.message().contains(says), "{error}");
        let missing = Rig::of(&policy).try_open().await.map(|_| ()).unwrap_err();
        assert!(
            missing
                .message()
                .contains("names no tool that is installed"),
            "{missing}"
        );
    }
}

fn step(more: &str) -> String {
    format!("[[steps]]\ntools = \"text.count\"\n{more}\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_changes_what_goes_in_or_stands_in_for_the_tool() {
    let counts = json!({"bytes": 0, "characters": 0, "lines": 0, "words": 77});
    for (says, expected) in [
        (json!({}), Ok(json!(2))),
        (json!({"input": {"text": "a b c"}}), Ok(json!(3))),
        (json!({"data": counts}), Ok(json!(77))),
        (json!({"input": {"text": 3}}), Err(Code::BadArgs)),
        (json!({"data": {"words": 1}}), Err(Code::BadOutcome)),
        (json!({"other": 1}), Err(Code::BadOutcome)),
    ] {
        let component = saying::component("pre", &json!({}), &says.to_string());
        let rig = Rig::of(&step("before = \"pre.run\""))
            .component("pre", &component)
            .open()
            .await;
        let (_, outcome) = called(&rig, Surface::Cli, COUNT()).await;
        let words = outcome.result.as_ref().map(|value| value["words"].clone());
        assert_eq!(words.map_err(|error| error.code()), expected, "{says}");
        let altered = expected.is_ok() && says != json!({});
        assert!(!altered || outcome.spent.altered, "{says}");
        assert!(says != json!({}) || !outcome.spent.altered);
        // Whoever had a say stands in the label.
        assert!(
            outcome.label.to_string().contains("tool:pre.run"),
            "{}",
            outcome.label
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_changes_what_comes_out() {
    let counts = json!({"bytes": 0, "characters": 0, "lines": 0, "words": 77}).to_string();
    for (component, expected) in [
        (
            saying::component("post", &json!({}), &counts),
            Ok(json!(77)),
        ),
        (
            saying::component("post", &json!({}), "{}"),
            Err(Code::BadOutcome),
        ),
        (
            saying::failing("post", &json!({}), true, &json!({"code": "CONFLICT"})),
            Err(Code::Conflict),
        ),
    ] {
        let rig = Rig::of(&step("after = \"post.run\""))
            .component("post", &component)
            .open()
            .await;
        let (_, outcome) = called(&rig, Surface::Cli, COUNT()).await;
        let words = outcome.result.as_ref().map(|value| value["words"].clone());
        assert_eq!(words.map_err(|error| error.code()), expected);
    }
}

/// What a tool has done is done: its outcome is not lost since what it wished in turn has filled the journal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_after_a_call_come_though_the_run_may_begin_nothing_more() {
    let policy = "limits.run_journal_mib = 1\ngrants.\"hostile.call_each\".calls = [\"text.count\"]\n\
        [[steps]]\ntools = \"hostile.call_each\"\nafter = \"post.run\"\n";
    let rig = Rig::of(policy).guest("hostile").component(
        "post",
        &saying::component("post", &json!({}), "[\"stood in\"]"),
    );
    let rig = rig.open().await;
    let text = "x".repeat(60_000);
    let args = json!({"tools": vec!["text.count"; 25], "args": {"text": text}});
    let (records, outcome) = called(&rig, Surface::Cli, ("hostile.call_each", args)).await;
    assert_eq!(failure(&outcome), None);
    assert_eq!(*rig::value(&outcome), json!(["stood in"]));
    let subjects = judged(&records)
        .into_iter()
        .map(|judged| judged.subject.as_str());
    let (calls, last) = subjects.fold((0, ""), |(calls, _), one| (calls + 1, one));
    assert!(calls < 25, "{calls}");
    assert_eq!(last, "post.run");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_outermost_step_comes_first_and_last() {
    let around = |name: &str| {
        step(&format!(
            "before = \"{name}.run\"\nafter = \"{name}.run\"\nobserve = true"
        ))
    };
    let policy = format!("{}{}", around("outer"), around("inner"));
    let rig = Rig::of(&policy)
        .component("outer", &saying::component("outer", &json!({}), "{}"))
        .component("inner", &saying::component("inner", &json!({}), "{}"));
    let rig = rig.open().await;
    let (records, outcome) = called(&rig, Surface::Cli, COUNT()).await;
    assert_eq!(rig::value(&outcome)["words"], 2);
    let subjects: Vec<&str> = judged(&records)
        .iter()
        .map(|judged| judged.subject.as_str())
        .collect();
    assert_eq!(
        subjects,
        [
            "text.count",
            "outer.run",
            "inner.run",
            "inner.run",
            "outer.run"
        ]
    );
    // Who only looks on has no part in what comes of it.
    assert!(
        !outcome.label.to_string().contains("outer"),
        "{}",
        outcome.label
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_looks_on_breaks_nothing() {
    let failing = saying::failing("watch", &json!({}), false, &json!({}));
    let policy = step("before = \"watch.run\"\nafter = \"watch.run\"\nobserve = true");
    let rig = Rig::of(&policy).component("watch", &failing).open().await;
    let (_, outcome) = called(&rig, Surface::Cli, COUNT()).await;
    assert_eq!(rig::value(&outcome)["words"], 2);
    let warnings = outcome
        .trail
        .logs
        .iter()
        .filter(|line| line.level == "warn");
    let warnings: Vec<&str> = warnings.map(|line| line.message.as_str()).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings[0].contains("`watch.run` has failed, and only looks on"),
        "{warnings:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_step_changes_where_something_goes_after_that_was_judged() {
    for (input, expected) in [
        (
            json!({"path": "out/evil.txt", "content": "x"}),
            Err(Code::Denied),
        ),
        (
            json!({"path": "out/a.txt", "content": "changed"}),
            Ok("changed"),
        ),
    ] {
        let policy = "[[steps]]\ntools = \"files.write\"\nbefore = \"pre.run\"
            [mounts.out]\npath = \"out\"\naccess = \"write\"\nown = true\nworkspace = true
            [grants.\"files.*\"]\nmounts = { out = \"write\" }";
        let says = json!({"input": input}).to_string();
        let component = saying::component("pre", &json!({}), &says);
        let rig = Rig::of(policy).component("pre", &component).open().await;
        let write = (
            "files.write",
            json!({"path": "out/a.txt", "content": "mine"}),
        );
        let (_, outcome) = called(&rig, Surface::Cli, write).await;
        let done = outcome
            .result
            .as_ref()
            .map(|_| ())
            .map_err(|error| error.code());
        assert_eq!(done, expected.map(|_| ()));
        assert!(!rig.path("out/evil.txt").exists());
        let written = std::fs::read_to_string(rig.path("out/a.txt")).ok();
        assert_eq!(written.as_deref(), expected.ok());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_step_has_changed_is_judged_again_as_what_it_has_become() {
    let changed = json!({"input": {"path": "out/a.txt", "content": "changed"}});
    let named = "Save it as \"out/a.txt\".";
    for (says, goal, trusted, expected) in [
        // Nobody has named the file, and whoever wrote what stands in it by now is not trusted.
        (&changed, "Save it.", "", None),
        (&changed, "Save it.", "\"pre\"", Some("changed")),
        (&changed, named, "", Some("changed")),
        (&json!({}), "Save it.", "", Some("mine")),
    ] {
        let policy = format!(
            "flow.trust = [\"files\", {trusted}]
            [[steps]]\ntools = \"files.write\"\nbefore = \"pre.run\"
            [mounts.out]\npath = \"out\"\naccess = \"write\"\nown = true
            [grants.\"files.*\"]\nmounts = {{ out = \"write\" }}
            [agents.agent]\ntools = [\"files.write\"]"
        );
        let write = json!({"path": "out/a.txt", "content": "mine"});
        let replies = [
            json!({"calls": [{"tool": "files.write", "args": write}]}),
            json!({"text": "Done."}),
        ];
        let component = saying::component("pre", &json!({}), &says.to_string());
        let rig = Rig::of(&policy).component("pre", &component);
        let rig = rig.replies(&replies).open().await;
        let (run, _) = rig.pursue(goal).await;
        let journal = rig.journal(&run).await;
        let refused = journal.contains("and as it stands now it may not be made");
        assert_eq!(refused, expected.is_none(), "{journal}");
        let found = std::fs::read_to_string(rig.path("out/a.txt")).ok();
        assert_eq!(found.as_deref(), expected, "{journal}");
    }
}

/// What steps have made of the call of a run, as it stands on record.
fn remade(records: &[Record]) -> Option<&Remade> {
    records.iter().find_map(|record| match &record.event {
        Event::Finished(finished) => finished.remade.as_deref(),
        _ => None,
    })
}

/// Mail of which a person is asked, and a step before it that says `says` and is trusted or not.
fn mail(rig: Rig, trusted: bool, says: &Value) -> Rig {
    let trusted = if trusted { "\"pre\"" } else { "" };
    let policy = format!(
        "ask = [\"mail.run\"]
        [[steps]]\ntools = \"mail.run\"\nbefore = \"pre.run\"
        [flow]\nmode = \"auto\"\ntrust = [{trusted}]
        [flow.tools.\"mail.run\"]\nsteering = {{ to = \"mail\" }}\ncontent = [\"text\"]
        [grants.\"mail.run\"]"
    );
    let sink = json!({"effect": "side-effecting", "risk": "external_write"});
    let pre = saying::component("pre", &json!({}), &says.to_string());
    rig.policy(&policy)
        .component("pre", &pre)
        .component("mail", &saying::echo("mail", &sink))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_yes_covers_what_a_trusted_step_makes_of_a_call_and_nothing_else() {
    let to = "a@own.test";
    let signed = json!({"input": {"to": to, "text": "signed"}});
    let other = json!({"input": {"to": "eve@evil.test", "text": "mine"}});
    for (says, trusted, expected, on_record) in [
        (&signed, true, Ok("signed"), Some("allow")),
        // Nobody has said that a stranger may put words into what was said yes to.
        (&signed, false, Err("a person would be asked"), Some("deny")),
        (&other, true, Err("has changed what steers"), None),
        (&json!({}), false, Ok("mine"), None),
    ] {
        let rig = mail(Rig::of("").kept().await, trusted, says).open().await;
        let wish = json!({"to": to, "text": "mine"});
        let run = rig.call("mail.run", wish).await.run;
        rig.answer(Say::Allow).await;
        let called = rig.resume(&run).await.expect("it goes on");
        match (&called.outcome.result, expected) {
            (Ok(value), Ok(text)) => assert_eq!(value["text"], text),
            (Err(error), Err(why)) => assert!(error.message().contains(why), "{error:?}"),
            (result, _) => panic!("{expected:?}: {result:?}"),
        }
        let records = rig.records(&run).await;
        assert_eq!(check_records(&records), Vec::<String>::new());
        let remade = remade(&records);
        let word = remade.map(|remade| remade.verdict.word());
        assert_eq!(word, on_record, "{records:?}");
        // Whoever looks into it finds what was made of it.
        if let Some(remade) = remade {
            let content = Content::Inline(signed["input"].clone());
            assert_eq!(remade.content, content);
            assert!(remade.label.to_string().contains("tool:pre.run"));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_judges_again_what_steps_have_made_of_a_call() {
    let signed = json!({"input": {"to": "a@own.test", "text": "signed"}});
    let rig = mail(Rig::of("").kept().await, true, &signed).open().await;
    let wish = json!({"to": "a@own.test", "text": "mine"});
    let run = rig.call("mail.run", wish).await.run;
    rig.answer(Say::Allow).await;
    rig.resume(&run).await.expect("it goes on");
    let records = rig.records(&run).await;
    let rig = rig.close();
    let replayed = rig.replay(&records).await;
    assert!(replayed.diverged.is_none(), "{replayed:?}");
    // Whoever wrote the step is no longer trusted: the yes would not cover what it has made.
    let rig = mail(rig, false, &signed);
    let diverged = rig.replay(&records).await.diverged.expect("it differs");
    let Some(Event::Finished(came)) = diverged.came else {
        panic!("the end of the call differs: {diverged:?}");
    };
    let word = came.remade.map(|remade| remade.verdict.word());
    assert_eq!(word, Some("deny"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_step_makes_of_an_outcome_vouches_for_nothing() {
    let after = "[[steps]]\ntools = \"book.run\"\nafter = \"post.run\"\n";
    for (step, expected) in [
        (String::new(), "allow"),
        (after.to_owned(), "ask"),
        (format!("{after}observe = true"), "allow"),
    ] {
        let policy = format!(
            "{step}
            [flow]\nmode = \"enforce\"\nhold = \"never\"
            [flow.tools.\"book.run\".records]\nown = true\nvouches = {{ mail = \"mail\" }}
            [flow.tools.\"mail.run\"]\nsteering = {{ to = \"mail\" }}
            [grants.\"mail.run\"]"
        );
        let to = "a@own.test";
        let sink = json!({"effect": "side-effecting", "risk": "external_write"});
        let replies = [
            // The second one is told what came of the first.
            json!({"calls": [{"tool": "book.run", "args": {}}, {"tool": "book.run", "args": {}}]}),
            json!({"calls": [{"tool": "mail.run", "args": {"to": to}}]}),
            json!({"text": "Done."}),
        ];
        let said = |more: Value| json!({"mail": to, "more": more}).to_string();
        let rig = Rig::of(&policy)
            .component(
                "book",
                &saying::component("book", &json!({}), &said(json!(1))),
            )
            .component(
                "post",
                &saying::component("post", &json!({}), &said(json!(2))),
            )
            .component("mail", &saying::component("mail", &sink, "1"));
        let rig = rig.replies(&replies).open().await;
        let (run, _) = rig.pursue("Write to Ann.").await;
        let records = rig.records(&run).await;
        let mail = judged(&records)
            .into_iter()
            .find(|judged| judged.subject == "mail.run")
            .expect("a judgement");
        assert_eq!(mail.verdict.word(), expected, "{step}: {mail:?}");
    }
}

/// It stands behind what comes of the call, which may have been let through for the sake of something, and is no place that its
/// tool has looked at.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_step_says_before_a_call_is_no_reading_of_the_calls_own() {
    let steps = "[[steps]]\ntools = \"book.run\"\nbefore = \"post.run\"";
    let rig = Rig::of(steps)
        .component("book", &saying::component("book", &json!({}), "1"))
        .component("post", &saying::component("post", &json!({}), "{}"));
    let rig = rig.open().await;
    let (records, outcome) = called(&rig, Surface::Cli, ("book.run", json!({}))).await;
    assert_eq!(rig::value(&outcome), &json!(1));
    let mut ends = records.iter().filter_map(|record| match &record.event {
        Event::Finished(finished) if finished.read.is_some() => Some(finished),
        _ => None,
    });
    let end = ends.next_back().expect("the end of the call");
    assert!(end.label.to_string().contains("tool:post.run"), "{end:?}");
    assert_eq!(end.read, Some(Read::default()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checker_is_asked_again_about_what_a_step_has_changed() {
    let policy = "[[permissions]]\ntools = \"text.count\"\nchecker = \"acl.run\"
        [[steps]]\ntools = \"text.count\"\nbefore = \"pre.run\"";
    for (says, asked) in [(json!({}), 1), (json!({"input": {"text": "a b c"}}), 2)] {
        let rig = Rig::of(policy)
            .component("acl", &saying::component("acl", &json!({}), "true"))
            .component(
                "pre",
                &saying::component("pre", &json!({}), &says.to_string()),
            );
        let rig = rig.open().await;
        let (records, outcome) = called(&rig, Surface::Cli, COUNT()).await;
        assert!(outcome.result.is_ok(), "{outcome:?}");
        let all = judged(&records);
        let times = all.iter().filter(|judged| judged.subject == "acl.run");
        assert_eq!(times.count(), asked);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_after_a_secret_tool_knows_a_secret_and_no_record_does() {
    for observe in [true, false] {
        let policy =
            format!("[[steps]]\ntools = \"safe.run\"\nafter = \"post.run\"\nobserve = {observe}");
        let secret = json!({"sensitivity": "secret"});
        let rig = Rig::of(&policy)
            .component("safe", &saying::component("safe", &secret, "\"canary\""))
            .component("post", &saying::echo("post", &json!({})));
        let rig = rig.open().await;
        let (records, outcome) = called(&rig, Surface::Cli, ("safe.run", json!({}))).await;
        assert!(rig::value(&outcome).to_string().contains("canary"));
        let step = judged(&records)[1];
        assert_eq!(step.subject, "post.run");
        for source in ["secret:safe.run", "tool:safe.run"] {
            assert!(step.label.to_string().contains(source), "{}", step.label);
        }
        let text = format!("{records:?}");
        assert!(!text.contains("canary"), "{text}");
    }
}

/// What it is told was made by whoever had a hand in the call, and of all that its guest has read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_after_is_under_the_influence_of_the_step_before_and_of_what_was_read() {
    let read = ("files.read", json!({"path": "inbox/letter.txt"}));
    for (call, before, source) in [
        (COUNT(), "before = \"pre.run\"", "tool:pre.run"),
        (read, "", "file:inbox"),
    ] {
        let policy = format!(
            "[[steps]]\ntools = \"{}\"\n{before}\nafter = \"post.run\"
            [[steps]]\ntools = \"{}\"\nafter = \"watch.run\"\nobserve = true
            [mounts.inbox]\npath = \"inbox\"
            [grants.\"files.read\"]\nmounts = {{ inbox = \"read\" }}",
            call.0, call.0
        );
        let rig = Rig::of(&policy)
            .component("pre", &saying::component("pre", &json!({}), "{}"))
            .component("post", &saying::component("post", &json!({}), "1"))
            .component("watch", &saying::component("watch", &json!({}), "1"))
            .file("inbox/letter.txt", "Dear reader");
        let rig = rig.open().await;
        let (records, _) = called(&rig, Surface::Cli, call).await;
        for step in ["watch.run", "post.run"] {
            let judged = judged(&records);
            let step = judged.iter().find(|judged| judged.subject == step);
            let label = step.expect("it is asked").label.to_string();
            assert!(label.contains(source), "{label}");
        }
    }
}

/// That a call has failed is the doing of the step that failed it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_fails_a_call_stands_in_its_label() {
    let failing = saying::failing("odd", &json!({}), false, &json!({"code": "CONFLICT"}));
    for key in ["before", "after"] {
        let policy = step(&format!("{key} = \"odd.run\""));
        let rig = Rig::of(&policy).component("odd", &failing).open().await;
        let (_, outcome) = called(&rig, Surface::Cli, COUNT()).await;
        assert_eq!(rig::error(&outcome).code(), Code::Conflict);
        let label = outcome.label.to_string();
        assert!(label.contains("tool:odd.run"), "{key}: {label}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_on_its_way_out_says_so() {
    let component = saying::component("old", &json!({"deprecated": "use new.run"}), "1");
    let rig = Rig::of("").component("old", &component).open().await;
    let (_, outcome) = called(&rig, Surface::Cli, ("old.run", json!({}))).await;
    assert_eq!(*rig::value(&outcome), 1);
    let line = &outcome.trail.logs[0];
    assert_eq!(
        (line.level, line.message.as_str()),
        ("warn", "`old.run` is deprecated: use new.run")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tools_own_code_is_the_same_on_every_surface() {
    for code in [
        "VALIDATION_ERROR",
        "RATE_LIMITED",
        "CONFLICT",
        "UNSAFE_ACTION",
        "CONCURRENCY_LIMIT",
        "AUTHENTICATION_ERROR",
        "EXTERNAL_SERVICE_ERROR",
    ] {
        let details = json!({"code": code, "issues": [{"path": "/a", "message": "taken"}]});
        for retryable in [false, true] {
            let component = saying::failing("odd", &json!({"retry": false}), retryable, &details);
            let rig = Rig::of("").component("odd", &component).open().await;
            for surface in Surface::ALL {
                let (run, tasks) = (rig.host.new_run(), Tasks::new());
                let (what, plain) = (("odd.run", json!({})), Options::default());
                let answered = wish::call(&rig.host, (run, surface), what, &plain, &tasks);
                let envelope = answered.await.envelope;
                let error = &envelope["error"];
                assert_eq!(error["code"], code, "{envelope}");
                assert_eq!(error["message"], "it did not work");
                assert_eq!(error["retryable"], retryable);
                assert_eq!(error["issues"], details["issues"]);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_call_more_than_may_be_made_at_once_is_refused_and_may_come_again() {
    let server = Server::start().await;
    server.say(vec![Answer {
        path: "/".to_owned(),
        body: "page".to_owned(),
        ..Answer::default()
    }]);
    server.answer(false);
    let url = format!("http://127.0.0.1:{}/", server.port());
    let policy = format!(
        "[at_once]\n\"web.*\" = 1\n[grants.\"web.*\"]\nfetch = [{{ url = \"{url}\", private = true }}]"
    );
    let rig = Rig::of(&policy).open().await;
    let get = || ("web.get_page", json!({"url": url}));
    let second = async {
        server.arrived(1).await;
        let (_, outcome) = called(&rig, Surface::Cli, get()).await;
        let error = rig::error(&outcome);
        assert_eq!((error.code(), error.is_retryable()), (Code::Busy, true));
        assert_eq!(error.code().envelope(), "CONCURRENCY_LIMIT");
        server.answer(true);
    };
    let ((_, first), ()) = tokio::join!(called(&rig, Surface::Cli, get()), second);
    assert!(first.result.is_ok(), "{first:?}");
    let (_, third) = called(&rig, Surface::Cli, get()).await;
    assert!(third.result.is_ok(), "{third:?}");
}

/// What the host makes itself is counted as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn so_many_functions_run_apart_at_once() {
    let rig = Rig::of("[at_once]\n\"handle.isolate\" = 1").open().await;
    let code = "() => { let n = 0; for (let i = 0; i < 100000; i++) n += i; return n }";
    let source = format!(
        "const calls = [1, 2, 3].map(() => tools.handle.isolate({{code: {code:?}, of: []}}));
         const ends = await Promise.allSettled(calls);
         return ends.map(end => end.status === 'fulfilled' ? 'done' : end.reason.code)"
    );
    let called = rig.script(&source).await;
    let mut ends: Vec<&str> = rig::value(&called.outcome)
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    ends.sort_unstable();
    assert_eq!(ends, ["busy", "busy", "done"]);
}
