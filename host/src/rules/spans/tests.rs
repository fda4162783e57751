//! The fold of records into spans: where each belongs, what it says, and what it never says.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Stands wherever somebody could have said something.
const CANARY: &str = "canary-7f3a";

fn record(seq: Seq, parent: Seq, event: serde_json::Value) -> Record {
    let mut record = event;
    record["run"] = json!("20260301-090500-aaaaaaaa");
    record["seq"] = json!(seq);
    record["at"] = json!(1_000 + seq * 10);
    record["parent"] = json!(parent);
    serde_json::from_value(record).unwrap()
}

/// The run of an agent: a failed attempt, a call with a request of its own, one that is denied, one that nobody knows,
/// a pause, a budget, and an answer.
fn records() -> Vec<Record> {
    let digest = Digest::of(b"").to_string();
    let lines = include_str!("run.jsonl").replace("DIGEST", &digest);
    let lines = lines.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

fn models() -> Models {
    let big = Served {
        provider: "anthropic",
        model: "served-big".to_owned(),
        window_tokens: 2_000,
    };
    Arc::new(BTreeMap::from([("big".to_owned(), big)]))
}

fn said<'a>(span: &'a Span, key: &str) -> Option<&'a Value> {
    let found = span.attributes.iter().find(|(name, _)| *name == key);
    found.map(|(_, value)| value)
}

fn words(span: &Span, key: &str) -> String {
    match said(span, key) {
        Some(Value::Text(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Texts(texts)) => texts.join(","),
        Some(Value::Flag(flag)) => flag.to_string(),
        None => String::new(),
    }
}

/// Each span with the way to it, in the order of their beginnings.
fn tree(spans: &[Span]) -> Vec<String> {
    let name_of = |id: Option<[u8; 8]>| spans.iter().find(|span| Some(span.ids.span) == id);
    let way = |span: &Span| {
        let mut names = vec![span.name.clone()];
        let mut at = span.ids.parent;
        while let Some(above) = name_of(at) {
            names.push(above.name.clone());
            at = above.ids.parent;
        }
        names.reverse();
        let failed = span.failed.as_deref().map(|why| format!(" !{why}"));
        format!("{}{}", names.join(" > "), failed.unwrap_or_default())
    };
    let mut sorted: Vec<&Span> = spans.iter().collect();
    sorted.sort_by_key(|span| span.start_ms);
    sorted.into_iter().map(way).collect()
}

#[test]
fn a_run_is_a_tree_of_turns_attempts_and_calls() {
    let spans = Trace::of(&records(), models());
    let tree = tree(&spans);
    let expected = [
        "invoke_agent writer",
        "invoke_agent writer > turn > chat fast !provider_failed",
        "invoke_agent writer > turn",
        "invoke_agent writer > turn > chat served-big",
        "invoke_agent writer > turn > chat served-big > fetch",
        "invoke_agent writer > turn > execute_tool text.count",
        "invoke_agent writer > turn > execute_tool unknown !unknown_tool",
        "invoke_agent writer > turn > execute_tool web.get_page !denied",
        "invoke_agent writer > turn > execute_tool text.count > fetch !fetch_failed",
        "invoke_agent writer > turn > chat served-big",
        "invoke_agent writer > turn",
    ];
    assert_eq!(tree, expected);
    for span in &spans {
        assert!(span.start_ms <= span.end_ms, "{}", span.name);
        let above = spans
            .iter()
            .find(|above| Some(above.ids.span) == span.ids.parent);
        if let Some(above) = above {
            assert!(
                above.start_ms <= span.start_ms && span.end_ms <= above.end_ms,
                "{}",
                span.name
            );
        }
    }
}

#[test]
fn a_call_of_a_client_is_no_run_of_an_agent() {
    let started = |goal: &str| json!({"event": "started", "surface": "http", "subject": "text.count", "goal": goal, "label": ["user"]});
    for (goal, name) in [("", "run"), ("Count.", "invoke_agent text.count")] {
        let stopped = json!({
            "event": "stopped", "end": "done", "content": "empty", "turns": 0,
            "usage": {"input_tokens": 0, "output_tokens": 0, "cached_tokens": 0},
        });
        let records = [record(0, 0, started(goal)), record(1, 0, stopped)];
        let spans = Trace::of(&records, models());
        assert_eq!(tree(&spans), [name]);
        assert_eq!(
            words(&spans[0], "gen_ai.operation.name").is_empty(),
            goal.is_empty()
        );
    }
}

#[test]
fn attributes_have_the_names_of_the_conventions() {
    let spans = Trace::of(&records(), models());
    let named = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    let chat = named("chat served-big");
    for (key, expected) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "anthropic"),
        ("gen_ai.request.model", "served-big"),
        ("gen_ai.usage.input_tokens", "500"),
        ("gen_ai.usage.output_tokens", "9"),
        ("gen_ai.response.finish_reasons", "tool_calls"),
        ("lazaret.model", "big"),
        ("lazaret.context.percent", "25"),
    ] {
        assert_eq!(words(chat, key), expected, "{key}");
    }
    assert_eq!(chat.kind, Kind::Client);
    let call = named("execute_tool text.count");
    for (key, expected) in [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "text.count"),
        ("gen_ai.tool.call.id", "call_1"),
        ("lazaret.label.sorts", "user,web,file"),
        ("lazaret.label.sources", "3"),
        ("lazaret.held", "true"),
        ("lazaret.spent.us", "70"),
    ] {
        assert_eq!(words(call, key), expected, "{key}");
    }
    let denied = named("execute_tool web.get_page");
    assert_eq!(words(denied, "error.type"), "denied");
    assert_eq!(said(denied, "gen_ai.tool.call.id"), None);
    let verdict = &denied.moments.first().unwrap().attributes;
    let rule = ("lazaret.rule", Value::Text("not_granted".to_owned()));
    assert!(verdict.contains(&rule), "{verdict:?}");
    let run = named("invoke_agent writer");
    assert_eq!(words(run, "gen_ai.agent.name"), "writer");
    assert_eq!(words(run, "lazaret.cost.micros"), "42");
    let turn = spans.iter().find(|span| span.name == "turn").unwrap();
    let moments: Vec<&str> = turn.moments.iter().map(|moment| moment.name).collect();
    let happened = [
        "lazaret.flagged",
        "lazaret.paused",
        "lazaret.resumed",
        "lazaret.budget.overspent",
    ];
    assert_eq!(moments, happened);
}

/// Whatever anybody said stands in no span and in no line of a log.
#[test]
fn nothing_that_was_said_is_in_a_span() {
    let records = records();
    let text = otlp::request("lazaret", &Trace::of(&records, models())).to_string();
    assert!(!text.contains(CANARY), "{text}");
    for record in &records {
        let said = format!("{:?} {}", line::of(record), line::more(record));
        assert!(!said.contains(CANARY), "{said}");
    }
}

#[test]
fn a_run_that_goes_on_elsewhere_goes_on_with_its_trace() {
    let records = records();
    let whole = Trace::of(&records, models());
    for cut in 1..records.len() {
        let (before, after) = records.split_at(cut);
        let mut here = Trace::new(&before[0].run, models());
        let mut spans: Vec<Span> = before.iter().flat_map(|record| here.see(record)).collect();
        // Another process knows the records and nothing else.
        let mut there = Trace::new(&before[0].run, models());
        before.iter().for_each(|record| drop(there.see(record)));
        spans.extend(after.iter().flat_map(|record| there.see(record)));
        assert_eq!(spans, whole, "{cut}");
    }
}

#[test]
fn names_from_outside_are_bounded_and_inert() {
    for hostile in [
        "a\u{1b}[31m",
        "a\nb",
        "a\u{202e}b",
        &"x".repeat(100_000),
        "\u{0}",
    ] {
        let name = about::name(hostile);
        assert!(name.chars().count() <= crate::words::limits::SPAN_NAME_CHARS);
        assert!(
            name.chars().all(|c| !c.is_control() && c != '\u{202e}'),
            "{name:?}"
        );
    }
}

#[test]
fn what_has_no_end_was_cut_off() {
    let mut records: Vec<Record> = records().into_iter().take(8).collect();
    let stopped = json!({"event": "stopped", "end": "failed", "code": "cancelled", "message": CANARY, "turns": 1,
        "usage": {}});
    records.push(record(8, 0, stopped));
    let spans = Trace::of(&records, models());
    let tree = tree(&spans);
    assert!(
        tree.contains(&"invoke_agent writer !cancelled".to_owned()),
        "{tree:?}"
    );
    let call = "invoke_agent writer > turn > execute_tool text.count !in_doubt".to_owned();
    assert!(tree.contains(&call), "{tree:?}");
}

#[test]
fn moments_of_one_span_are_bounded_and_the_rest_is_counted() {
    let mut records = vec![records().remove(0)];
    let many = u64::try_from(SPAN_EVENTS).unwrap() + 3;
    records.extend((1..=many).map(|seq| record(seq, 0, json!({"event": "resumed"}))));
    let stopped =
        json!({"event": "stopped", "end": "done", "content": "empty", "turns": 0, "usage": {}});
    records.push(record(many + 1, 0, stopped));
    let spans = Trace::of(&records, models());
    let [run] = spans.as_slice() else {
        panic!("{spans:?}")
    };
    assert_eq!((run.moments.len(), run.moments_lost), (SPAN_EVENTS, 3));
}

#[test]
fn spans_are_written_as_the_protocol_has_it() {
    let mut spans = Trace::of(&records(), models());
    spans.retain(|span| span.name == "execute_tool web.get_page");
    let written = otlp::request("mine", &spans);
    let resource = &written["resourceSpans"][0];
    assert_eq!(
        resource["resource"]["attributes"][0],
        json!({"key": "service.name", "value": {"stringValue": "mine"}})
    );
    let span = &resource["scopeSpans"][0]["spans"][0];
    assert_eq!(span["startTimeUnixNano"], "1090000000");
    assert_eq!(span["kind"], 1);
    assert_eq!(span["status"], json!({"code": 2}));
    for (key, digits) in [("traceId", 32), ("spanId", 16), ("parentSpanId", 16)] {
        let id = span[key].as_str().unwrap();
        assert_eq!(id.len(), digits);
        assert!(id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    }
    let attributes = span["attributes"].as_array().unwrap();
    let sources = json!({"key": "lazaret.label.sources", "value": {"intValue": "3"}});
    assert!(attributes.contains(&sources), "{attributes:?}");
    let sorts = json!({"key": "lazaret.label.sorts", "value": {"arrayValue": {"values": [
        {"stringValue": "user"}, {"stringValue": "web"}, {"stringValue": "file"}]}}});
    assert!(attributes.contains(&sorts), "{attributes:?}");
}

proptest! {
    /// Records in any order, any of them missing or twice: no panic, no span that ends before it begins.
    #[test]
    fn any_records_make_sound_spans(places in proptest::collection::vec(0_usize..20, 0..60)) {
        let all = records();
        let chosen: Vec<Record> = places.iter().filter_map(|at| all.get(*at).cloned()).collect();
        let spans = Trace::of(&chosen, models());
        for span in &spans {
            prop_assert!(span.start_ms <= span.end_ms);
        }
        let text = otlp::request("lazaret", &spans).to_string();
        prop_assert!(!text.contains(CANARY));
    }
}
