//! Agents that call from scripts, and tools that are shown only once they were found.

use lazaret::words::event::{Event, Record};
use lazaret::words::message::Calling;
use lazaret_tests::prelude::*;
use lazaret_tests::verdict::check_records;

/// What the model was shown, turn by turn.
fn shown(records: &[Record]) -> Vec<Vec<String>> {
    let shown = records.iter().filter_map(|record| match &record.event {
        Event::Prompted { tools, .. } => Some(tools.clone()),
        _ => None,
    });
    shown.collect()
}

/// What the model read of its calls, in order.
fn observed(records: &[Record]) -> Vec<String> {
    let texts = records.iter().filter_map(|record| match &record.event {
        Event::Observed { observation, .. } => Some(observation.text.clone()),
        _ => None,
    });
    texts.collect()
}

fn run_script(source: &str) -> Value {
    json!({"tool": "run_script", "args": {"source": source}})
}

async fn pursued(calling: Calling, tools: Value, replies: &[Value]) -> (Vec<Record>, String) {
    let policy = format!("[agents.agent]\ntools = {tools}");
    let rig = Rig::of(&policy)
        .guest("hostile")
        .replies(replies)
        .open()
        .await;
    let (run, answer) = rig.pursue_by(calling, "Work.").await;
    let records = rig.records(&run).await;
    let answer = answer
        .unwrap_or_else(|error| panic!("{error:?}\n{}", lazaret_tests::golden::render(&records)));
    assert_eq!(check_records(&records), Vec::<String>::new());
    (records, answer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_code_mode_a_model_is_shown_two_tools() {
    let replies = [
        json!({"calls": [run_script("return (await tools.text.count({text: 'a b c'})).words")]}),
        json!({"when": "3", "calls": [{"tool": "search_tools", "args": {"query": "count words"}}]}),
        json!({"when": "count(", "text": "Three."}),
    ];
    let (records, answer) =
        pursued(Calling::Code, json!(["text.*", "hostile.polish"]), &replies).await;
    assert_eq!(answer, "Three.");
    assert_eq!(shown(&records), vec![vec!["run_script", "search_tools"]; 3]);
    assert_eq!(observed(&records)[0], "3");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_code_mode_a_direct_call_is_turned_down_with_a_hint() {
    let replies = [
        json!({"calls": [{"tool": "text.count", "args": {"text": "a"}}]}),
        json!({"when": "run_script", "text": "I see."}),
    ];
    let (records, _) = pursued(Calling::Code, json!(["text.*"]), &replies).await;
    let called = records
        .iter()
        .any(|record| matches!(record.event, Event::Finished(_)) && record.parent == 3);
    assert!(!called, "{}", lazaret_tests::golden::render(&records));
    assert!(
        observed(&records)[0].contains("is called from scripts alone"),
        "{:?}",
        observed(&records)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_direct_mode_there_are_no_scripts() {
    let replies = [
        json!({"calls": [
            run_script("return 1"),
            {"tool": "search_tools", "args": {"query": "count"}},
            {"tool": "script.run", "args": {"source": "return 1"}},
        ]}),
        json!({"when": "there is no tool `script.run`", "text": "None."}),
    ];
    let (records, _) = pursued(Calling::Direct, json!(["text.count"]), &replies).await;
    assert_eq!(shown(&records), vec![vec!["text.count"]; 2]);
    let scripted = records
        .iter()
        .any(|record| matches!(record.event, Event::Scripted(_)));
    assert!(!scripted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_ways_go_together() {
    let replies = [
        json!({"calls": [
            {"tool": "text.count", "args": {"text": "a b"}},
            run_script("return (await tools.text.count({text: 'a b c'})).words"),
        ]}),
        json!({"text": "Both."}),
    ];
    let (records, _) = pursued(Calling::Both, json!(["text.count"]), &replies).await;
    assert_eq!(
        shown(&records)[0],
        ["text.count", "run_script", "search_tools"]
    );
    let observed = observed(&records);
    assert!(
        observed[0].contains("\"words\":2") && observed[1] == "3",
        "{observed:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_of_a_model_reaches_what_its_agent_may_call() {
    let source = "const said = [];
        for (const call of [() => tools.text.count({text: 'a'}), () => tools.text.diff({old: 'a', new: 'b'}), () => tools.hostile.only_people({})]) {
            try { await call(); said.push('ok') } catch (error) { said.push(error.code) }
        }
        return said";
    let replies = [
        json!({"calls": [run_script(source)]}),
        json!({"text": "Done."}),
    ];
    let (records, _) = pursued(
        Calling::Code,
        json!(["text.count", "hostile.only_people"]),
        &replies,
    )
    .await;
    assert_eq!(observed(&records)[0], r#"["ok","denied","denied"]"#);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_fails_is_told_to_its_model_and_is_not_the_end() {
    let replies = [
        json!({"calls": [run_script("const a = ;")]}),
        json!({"when": "line 1", "calls": [run_script("await new Promise(() => {})")]}),
        json!({"calls": [run_script("throw new Error('mine')")]}),
        json!({"when": "mine", "calls": [{"tool": "run_script", "args": {"code": "return 1"}}]}),
        json!({"when": "source", "text": "Enough."}),
    ];
    let (records, answer) = pursued(Calling::Code, json!(["text.count"]), &replies).await;
    assert_eq!(answer, "Enough.");
    assert_eq!(observed(&records).len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_script_reads_stays_in_it() {
    let source = "const all = await Promise.all(Array.from({length: 60}, () => tools.hostile.text({bytes: 10000})));
        return 'sum ' + all.reduce((sum, one) => sum + one.length, 0)";
    let replies = [
        json!({"calls": [run_script(source)]}),
        json!({"when": "sum 600000", "text": "Much."}),
    ];
    let (records, _) = pursued(Calling::Code, json!(["hostile.text"]), &replies).await;
    let grown: usize = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Replied { reply, .. } => Some(serde_json::to_string(reply).expect("JSON").len()),
            Event::Observed { observation, .. } => {
                Some(serde_json::to_string(observation).expect("JSON").len())
            }
            _ => None,
        })
        .sum();
    assert!(grown < 1_024, "{grown} bytes entered the context");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deferred_tool_is_shown_once_it_was_found() {
    let polish = json!({"tool": "hostile.polish", "args": {"spoon": "big"}});
    let replies = [
        json!({"calls": [{"tool": "search_tools", "args": {"query": "spoons"}}, polish]}),
        json!({"when": "in the turn after", "calls": [polish]}),
        json!({"when": "big shines", "calls": [{"tool": "search_tools", "args": {"query": "spoons"}}]}),
        json!({"text": "Clean."}),
    ];
    let (records, _) = pursued(
        Calling::Direct,
        json!(["hostile.polish", "hostile.echo", "text.count"]),
        &replies,
    )
    .await;
    let before = ["hostile.echo", "text.count", "search_tools"];
    let after = [
        "hostile.echo",
        "text.count",
        "search_tools",
        "hostile.polish",
    ];
    let shown = shown(&records);
    assert_eq!(shown[0], before);
    assert_eq!(
        shown[1..],
        [after, after, after],
        "it is added at the end, once, and stays"
    );
    let observed = observed(&records);
    assert!(observed[0].contains("polish("), "{observed:?}");
    assert!(observed[1].contains("is not shown yet"), "{observed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_finds_only_what_the_agent_may_call() {
    let replies = [
        json!({"calls": [{"tool": "search_tools", "args": {"query": ""}}, {"tool": "search_tools", "args": {"query": "a", "limit": 99}}]}),
        json!({"text": "Done."}),
    ];
    let (records, _) = pursued(
        Calling::Direct,
        json!(["hostile.polish", "text.count"]),
        &replies,
    )
    .await;
    let observed = observed(&records);
    assert!(
        observed[0].contains("polish(") && observed[0].contains("count("),
        "{observed:?}"
    );
    for other in ["destroy", "diff", "files", "only_people"] {
        assert!(!observed[0].contains(other), "{other}: {observed:?}");
    }
    assert!(observed[1].contains("limit"), "{observed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nothing_is_deferred_there_is_nothing_to_search() {
    let replies = [
        json!({"calls": [{"tool": "search_tools", "args": {"query": "count"}}]}),
        json!({"when": "there is no tool `search_tools`", "text": "Well."}),
    ];
    let (records, _) = pursued(Calling::Direct, json!(["text.count"]), &replies).await;
    assert_eq!(shown(&records), vec![vec!["text.count"]; 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_reads_through_a_script_is_labelled_like_one_that_reads_itself() {
    let policy = "[mounts.docs]\npath = \"docs\"\n[grants.\"files.read\"]\nmounts = { docs = \"read\" }\n[agents.agent]\ntools = [\"files.read\"]";
    let replies = [
        json!({"calls": [run_script("await tools.files.read({path: 'docs/a.txt'}); return 1")]}),
        json!({"text": "Read."}),
    ];
    let rig = Rig::of(policy)
        .file("docs/a.txt", "a")
        .replies(&replies)
        .open()
        .await;
    let (run, answer) = rig.pursue_by(Calling::Code, "Read.").await;
    assert_eq!(answer.expect("an answer"), "Read.");
    let records = rig.records(&run).await;
    let labels: Vec<String> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Replied { label, .. } => Some(serde_json::to_string(label).expect("a label")),
            _ => None,
        })
        .collect();
    assert!(
        !labels[0].contains("docs") && labels[1].contains("docs"),
        "{labels:?}"
    );
}
