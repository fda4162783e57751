//! `lazaret run` with a scripted model: agents, narrowing, goals, events.

use serde_json::{Value, json};

use crate::station::Station;

const COUNT: &str = r#"{"calls":[{"tool":"text.count","args":{"text":"a b"},"id":"n"}],"usage":{"input_tokens":7,"output_tokens":2}}"#;
const ANSWER: &str =
    r#"{"text":"{{n#/words}} words","usage":{"input_tokens":9,"output_tokens":3}}"#;

fn counting() -> Station {
    Station::scripted("[\"text.*\"]", &[COUNT, ANSWER], "")
}

#[test]
fn an_agent_works_to_its_end() {
    let station = counting();
    let ended = station.run(&["run", "count", "--agent", "a"]).ends(0);
    assert_eq!(ended.out, "2 words\n");
    ended.says(&[
        "run a: count\n",
        "[1/8] m\n",
        "→ text.count {\"text\":\"a b\"}\n",
        "← text.count {",
        "done after 2 turns, 21 tokens\n",
        "record: lazaret runs show [RUN]\n",
    ]);
    station
        .run(&["run", "count", "--quiet"])
        .ends(0)
        .says_only("");
}

#[test]
fn the_only_agent_needs_no_name() {
    counting()
        .run(&["run", "count"])
        .ends(0)
        .prints(&["2 words"]);
}

#[test]
fn without_an_agent_it_is_shown_how_to_write_one() {
    Station::new().run(&["run", "hi"]).ends(2).says(&[
        "error: no agent is configured\nhint: write one, and the model that it asks, in `lazaret.toml`:\n  [agents.helper]",
        "hint: `lazaret demo` shows a whole configuration",
    ]);
}

#[test]
fn of_several_agents_one_must_be_named() {
    Station::scripted("[]", &[], "[agents.b]\n")
        .run(&["run", "hi"])
        .ends(2)
        .says_only("error: there is more than one agent\nhint: --agent a | b");
}

#[test]
fn unknown_agents_and_models_are_refused() {
    let station = counting();
    station
        .run(&["run", "hi", "--agent", "zz"])
        .ends(4)
        .says_only("error: there is no agent `zz`\nhint: agents: a");
    station
        .run(&["run", "hi", "--model", "zz"])
        .ends(4)
        .says_only("error: there is no model `zz`\nhint: models: m");
    station.run(&["runs", "list"]).says_only("no runs yet");
}

#[test]
fn an_agent_without_a_model_is_told_so() {
    Station::with("[agents.a]\n")
        .run(&["run", "hi"])
        .ends(2)
        .says(&["error: the agent `a` has no model"]);
}

#[test]
fn another_model_may_answer() {
    let more = "[models.other]\nprovider = \"scripted\"\nscript = \"other.jsonl\"\n";
    let station = Station::scripted("[]", &[], more);
    station.write("other.jsonl", r#"{"text":"the other one"}"#);
    station
        .run(&["run", "hi", "--model", "other"])
        .ends(0)
        .prints(&["the other one"])
        .says(&["[1/8] other"]);
}

#[test]
fn a_run_may_have_fewer_tools() {
    let station = counting();
    let ended = station
        .run(&["run", "count", "--tool", "text.diff", "--json"])
        .ends(5);
    let prompted: Vec<Value> = ended
        .lines()
        .into_iter()
        .filter(|event| event["event"] == "prompted")
        .collect();
    assert_eq!(prompted[0]["tools"], json!(["text.diff"]));
    ended.prints(&["is not among the tools that this agent may call"]);
}

#[test]
fn a_run_never_has_more_tools() {
    let station = counting();
    for wider in ["files.read", "files.*", "*"] {
        station
            .run(&["run", "hi", "--tool", wider])
            .ends(2)
            .says_only(&format!(
                "error: the agent `a` does not have `{wider}`
hint: a run may have fewer tools than its agent, never more"
            ));
    }
    station
        .run(&["run", "hi", "--tool", "te xt"])
        .ends(2)
        .says(&["`te xt` names no tools: write `plugin.tool`, `plugin.*` or `*`"]);
}

#[test]
fn the_goal_may_come_from_standard_input() {
    let station = Station::scripted("[]", &[r#"{"text":"yes","when":"from a pipe"}"#], "");
    station
        .run_with_input(&["run"], b"a goal from a pipe\n")
        .ends(0)
        .prints(&["yes"]);
    let empty = "error: the prompt is empty\nhint: lazaret run \"what it shall do\"";
    station.run(&["run"]).ends(2).says_only(empty);
    station
        .run_with_input(&["run"], b" \n")
        .ends(2)
        .says_only(empty);
    // Of what is not read to its end, nobody says how much it is.
    for long in ["a".repeat(300_000), "é".repeat(150_000)] {
        station
            .run_with_input(&["run"], long.as_bytes())
            .ends(2)
            .says(&["error: the prompt has more than 262144 bytes"]);
    }
    station
        .run_with_input(&["run"], b"\xff\xfe")
        .ends(2)
        .says(&["standard input is no UTF-8 text"]);
}

#[test]
fn for_programs_it_is_one_event_a_line() {
    let ended = counting()
        .run(&["run", "count", "--json"])
        .ends(0)
        .says_only("");
    let events = ended.lines();
    let words: Vec<&str> = events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .filter(|word| *word != "progress")
        .collect();
    let wanted = [
        "started", "prompted", "step", "replied", "step", "judged", "finished", "observed",
        "prompted", "step", "replied", "judged", "finished", "stopped",
    ];
    assert_eq!(words, wanted);
    let stopped = events.last().unwrap();
    assert_eq!(stopped["content"], json!({"inline": "2 words"}));
    assert_eq!(stopped["turns"], 2);
    assert_eq!(
        stopped["usage"],
        json!({"input_tokens": 16, "output_tokens": 5, "cached_tokens": 0})
    );
}

#[test]
fn what_was_streamed_is_what_was_kept() {
    let station = counting();
    let streamed = station.run(&["run", "count", "--json"]).lines();
    let records: Vec<Value> = streamed
        .into_iter()
        .filter(|event| event["seq"].is_u64())
        .collect();
    assert_eq!(station.records(), records);
}

#[test]
fn turns_are_limited() {
    let lines = vec![COUNT; 9];
    // Nor is it stopped before, for doing the same again and again.
    let patient = "[\"text.*\"]\nidentical_batches = 20";
    let ended = Station::scripted(patient, &lines, "").run(&["run", "count"]);
    ended.ends(1).says(&["[8/8] m", "error: "]).never("[9/8]");
}

#[test]
fn a_goal_that_would_paint_the_terminal_is_inert() {
    let ended = Station::scripted("[]", &[r#"{"text":"\u001b[31mred\u0007"}"#], "")
        .run(&["run", "\u{1b}[2Jhi"]);
    ended.ends(0).never("\u{1b}").never("\u{7}");
}

#[test]
fn nothing_in_an_answer_loads_by_itself_or_hides_where_it_leads() {
    let answer = "![plan](http://evil.test/?q=s) [bank](https://bank.test@evil.test)\u{1b}[2J";
    let line = json!({ "text": answer }).to_string();
    let station = Station::scripted("[]", &[&line], "");
    let ended = station.run(&["run", "hi", "--quiet"]).ends(0);
    assert_eq!(
        ended.out,
        "(image: plan — evil.test) bank (link: evil.test)\\u{1b}[2J\n"
    );
    // Programs get it as it is, with what had influence on it.
    let events = station.run(&["run", "hi", "--json"]).ends(0).lines();
    let stopped = events.last().unwrap();
    assert_eq!(stopped["content"]["inline"], answer);
    let shown = events.iter().find(|event| event["subject"] == "answer");
    assert_eq!(shown.unwrap()["label"], json!(["user"]));
}

/// A parser that sees no link there is not the one that shows the text.
#[test]
fn no_hidden_character_hides_where_an_answer_leads() {
    let station = Station::scripted("[]", &[], "");
    for hidden in ["\u{1}", "\0", "\u{7f}", "\u{9b}", "\u{200b}"] {
        let answer = format!("see ![x](http://evil.test/?q=1{hidden}) ok");
        station.write("script.jsonl", json!({ "text": answer }).to_string());
        let ended = station.run(&["run", "hi", "--quiet"]).ends(0);
        assert_eq!(ended.out, "see (image: x — evil.test) ok\n", "{hidden:?}");
    }
}

#[test]
fn a_prompt_says_something() {
    let station = Station::scripted("[]", &[r#"{"text":"Done."}"#], "");
    for prompt in ["", "  \n"] {
        let ended = station.run(&["run", prompt]).ends(2);
        ended.says_only("error: the prompt is empty\nhint: lazaret run \"what it shall do\"");
    }
}

#[test]
fn what_a_run_may_cost_needs_a_price() {
    let station = Station::with(
        "[agents.a]\nmodels = [\"m\"]\n[models.m]\nprovider = \"openai\"\nurl = \"http://127.0.0.1:9/v1\"\nmodel = \"x\"\nprivate = true\n",
    );
    let ended = station.run(&["run", "x", "--max-cost", "0.1"]).ends(2);
    ended.says(&[
        "error: agent `a` has a budget of cost, and its model `m` has no price",
        "price = { input = 3.0, output = 15.0 }",
    ]);
    station.run(&["runs", "list"]).ends(0).never("a\n");
}

#[test]
fn nothing_is_vouched_for_by_an_empty_value() {
    let station = Station::scripted("[]", &[r#"{"text":"x"}"#], "");
    station
        .run(&["run", "hi", "--vouch", " "])
        .ends(2)
        .says(&["nothing is vouched for by an empty one"]);
}
