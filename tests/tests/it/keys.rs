//! Keys that change a number: the code that the number belongs to goes by it.

use lazaret::rules::code_mode::{Names, run_script_card, search_tools_card};
use lazaret::rules::search::SearchRules;
use lazaret::words::error::Error;
use lazaret::words::event::{Event, Limit};
use lazaret_tests::prelude::*;
use lazaret_tests::rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_are_as_long_as_policy_says() {
    let code = async |policy: &str, text: &str| {
        let rig = Rig::of(policy).open().await;
        let called = rig.call("text.count", json!({"text": text})).await;
        called
            .outcome
            .result
            .map(|_| ())
            .map_err(|error| error.code())
    };
    let bytes = json!({"text": "abc"}).to_string().len();
    let policy = format!("limits.argument_bytes = {bytes}");
    assert_eq!(code(&policy, "abc").await, Ok(()));
    assert_eq!(code(&policy, "abcd").await, Err(Code::TooBig));
    assert_eq!(code("", "abcd").await, Ok(()));
}

/// What a handle holds is no part of what was written; all else is, whether there is a handle beside it or not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_handles_hold_is_not_counted_and_what_stands_beside_them_is() {
    let source = |beside: usize| {
        format!(
            "const big = await tools.files.read({{path: 'inbox/big.txt'}});
             const old = await tools.handle.field({{value: big, pointer: '/content'}});
             return tools.text.diff({{old, new: 'y'.repeat({beside})}})"
        )
    };
    let policy = "[flow]\nmode = \"enforce\"\nhold = \"untrusted\"\n[limits]\nargument_bytes = 2000
        [mounts.inbox]\npath = \"inbox\"\n[grants.\"files.*\"]\nmounts = { inbox = \"read\" }";
    let rig = Rig::of(policy).file("inbox/big.txt", &"x\n".repeat(4_000));
    let rig = rig.open().await;
    for (beside, fits) in [(100, true), (1_500, true), (1_990, false)] {
        let called = rig.script(&source(beside)).await;
        let result = called.outcome.result;
        assert_eq!(result.is_ok(), fits, "{beside}: {result:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_are_as_long_as_policy_says() {
    let source = "return 1+1";
    let policy = |chars: usize| format!("limits.script_chars = {chars}");
    let rig = Rig::of(&policy(source.len())).open().await;
    assert_eq!(rig.script(source).await.outcome.result.unwrap(), json!(2));
    let rig = Rig::of(&policy(source.len() - 1)).open().await;
    let called = rig.script(source).await;
    assert_eq!(rig::error(&called.outcome).code(), Code::TooBig);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_finds_as_many_tools_as_policy_says() {
    let answer = async |policy: &str, number: &str| {
        let policy = format!(
            "{policy}\n[agents.agent]\ntools = [\"text.count\", \"files.read\"]\ncalling = \"code\""
        );
        let search = json!({"calls": [{"tool": "search_tools", "args": {"query": ""}}]});
        let replies = [search, json!({"when": number, "text": "seen"})];
        let rig = Rig::of(&policy).replies(&replies).open().await;
        rig.pursue("Look.").await.1.is_ok()
    };
    assert!(answer("search.results = 1", "1 more tool").await);
    assert!(!answer("", "1 more tool").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_go_as_far_as_all_agents_do() {
    let again = json!({"calls": [{"tool": "text.count", "args": {"text": "a"}}]});
    let turns = async |policy: &str| {
        let replies = vec![again.clone(); 6];
        let rig = Rig::of(policy).replies(&replies).open().await;
        let (run, answer) = rig.pursue("Count.").await;
        assert!(answer.is_err());
        let records = rig.records(&run).await;
        let limit = records.iter().find_map(|record| match &record.event {
            Event::Stopped(stopped) => stopped.limit,
            _ => None,
        });
        let prompts = records
            .iter()
            .filter(|record| matches!(record.event, Event::Prompted { .. }));
        (prompts.count(), limit)
    };
    assert_eq!(turns("pace.turns = 2").await, (2, Some(Limit::TurnLimit)));
    let own = "pace.turns = 2\n[agents.agent]\nturns = 3";
    assert_eq!(turns(own).await, (3, Some(Limit::TurnLimit)));
    assert_eq!(
        turns("profile = \"sage\"").await,
        // One more, to answer in.
        (4, Some(Limit::TurnLimit))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stays_empty_of_a_window_is_not_filled() {
    let long = "word ".repeat(300);
    let told = async |policy: &str| {
        let rig = Rig::of(policy)
            .replies(&[json!({"text": "done"})])
            .open()
            .await;
        rig.pursue(&long).await.1.map_err(|error| error.code())
    };
    assert_eq!(told("").await, Ok("done".to_owned()));
    let small = "[context]\nwindow_tokens = 20000\nreserve_tokens = ";
    assert_eq!(told(&format!("{small}1000")).await, Ok("done".to_owned()));
    assert!(told(&format!("{small}19900")).await.is_err());
    let error = Rig::of(&format!("{small}20000"))
        .replies(&[])
        .try_open()
        .await
        .map(|_| ());
    // A window of which nothing may be filled is refused where it is read.
    assert!(error.unwrap_err().message().contains("nothing is left"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_knows_scripts_by_the_name_that_policy_says() {
    let pursued = async |tool: &str| {
        let policy =
            "profile = \"graphorin\"\n[agents.agent]\ntools = [\"text.count\"]\ncalling = \"code\"";
        let script = json!({"calls": [{"tool": tool, "args": {"source": "return 40 + 2"}}]});
        let replies = [script, json!({"when": "42", "text": "seen"})];
        let rig = Rig::of(policy).replies(&replies).open().await;
        let (run, answer) = rig.pursue("Count.").await;
        let records = rig.records(&run).await;
        let prompt = records.iter().find_map(|record| match &record.event {
            Event::Prompted { .. } => Some(serde_json::to_string(record).unwrap()),
            _ => None,
        });
        (answer.is_ok(), prompt.unwrap())
    };
    let (ok, prompt) = pursued("code_execute").await;
    assert!(ok, "{prompt}");
    // A script that waits was wished for when it was called as usual, and goes on.
    assert!(pursued("run_script").await.0);
    assert!(!pursued("script_run").await.0);
}

/// What comes of one call under a policy.
async fn called(policy: &str, (tool, args): (&str, Value)) -> Result<(), Error> {
    let rig = Rig::of(policy).guest("hostile").open().await;
    let called = rig.call(tool, args).await;
    called.outcome.result.map(|_| ())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_of_limits_act() {
    let server = crate::page::page().await;
    let page = crate::page::url(&server, "/page");
    let fetch = format!("\n[grants.\"web.*\"]\nfetch = [{{ url = \"{page}\", private = true }}]");
    let text = |bytes: usize| ("hostile.text", json!({"bytes": bytes}));
    let get = || ("web.get_page", json!({"url": page}));
    for (key, call, code) in [
        (
            "limits.silent_timeout_ms = 30",
            ("hostile.sleep", json!({})),
            Some(Code::TooSlow),
        ),
        // Two quotes around it.
        ("limits.outcome_bytes = 42", text(40), None),
        ("limits.outcome_bytes = 41", text(40), Some(Code::TooBig)),
        ("limits.answer_bytes = 19", get(), None),
        ("limits.answer_bytes = 18", get(), Some(Code::TooBig)),
    ] {
        let said = called(&format!("{key}{fetch}"), call).await;
        assert_eq!(
            said.as_ref().err().map(Error::code),
            code,
            "{key}: {said:?}"
        );
    }
    let slow = called(
        "limits.silent_timeout_ms = 30",
        ("hostile.sleep", json!({})),
    )
    .await;
    let hints = slow.unwrap_err().hints().concat();
    assert!(hints.contains("`[limits] silent_timeout_ms`"), "{hints}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_looks_at_as_much_as_policy_says() {
    let looked_at = async |policy: &str| {
        let rig = Rig::of(policy)
            .file("a.txt", "abc")
            .replies(&[json!({"text": "Seen."})]);
        let rig = rig.open().await;
        let file = rig
            .host
            .attach(&rig.path("a.txt"))
            .map_err(|error| error.code())?;
        let mut goal = rig.goal("Look.");
        goal.with.files = vec![file];
        let answer = rig.host.pursue(goal, &rig.host.tasks()).await;
        answer.map_err(|error| error.code())
    };
    assert_eq!(looked_at("").await, Ok("Seen.".to_owned()));
    assert_eq!(looked_at("limits.attachments = 0").await, Err(Code::TooBig));
    assert_eq!(
        looked_at("limits.attachment_bytes = 3").await,
        Ok("Seen.".to_owned())
    );
    assert_eq!(
        looked_at("limits.attachment_bytes = 2").await,
        Err(Code::TooBig)
    );
}

/// The names stand in the cards and in what each says of the other.
#[test]
fn cards_speak_of_each_other_by_those_names() {
    let names = Names {
        run_script: "code_execute".to_owned(),
        search_tools: "code_search".to_owned(),
        ..Names::default()
    };
    let card = names.on(run_script_card(&[]));
    assert_eq!(card.name, "code_execute");
    assert!(card.description.contains("Ask code_search for"));
    assert!(!card.description.contains("search_tools"));
    assert_eq!(
        names.on(search_tools_card(SearchRules::default())).name,
        "code_search"
    );
}
