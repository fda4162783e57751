//! The scripted provider: what is said of a script that does not fit.

use crate::station::{Ended, Station};

/// A run whose script is these lines.
fn run(lines: &[&str]) -> Ended {
    Station::scripted("[\"text.*\"]", lines, "").run(&["run", "hi"])
}

#[track_caller]
fn fails(lines: &[&str], why: &str) {
    run(lines)
        .ends(5)
        .says(&[&format!("error: script `[HERE]/script.jsonl`: {why}")]);
}

const COUNT: &str = r#"{"calls":[{"tool":"text.count","args":{"text":"a b"}}]}"#;

#[test]
fn a_script_that_is_missing_is_named() {
    let station = Station::scripted("[]", &[], "");
    std::fs::remove_file(station.workspace().join("script.jsonl")).unwrap();
    station
        .run(&["run", "hi"])
        .ends(5)
        .says(&["error: script `[HERE]/script.jsonl`: the file `[HERE]/script.jsonl` cannot be read: there is no such file or folder"]);
    let records = station.records();
    let stopped = records.last().unwrap();
    assert_eq!(stopped["event"], "stopped");
    assert_eq!(stopped["code"], "provider_failed");
}

#[test]
fn a_prompt_that_lacks_what_a_line_expects_is_refused() {
    fails(
        &[r#"{"text":"x","when":"zebra"}"#],
        "line 1: the prompt does not contain `zebra`",
    );
    run(&[r#"{"text":"x","when":"hi"}"#]).ends(0);
}

#[test]
fn too_few_lines_are_counted() {
    fails(&[], "turn 1 has no reply: the last one is for turn 0");
    fails(&[COUNT], "turn 2 has no reply: the last one is for turn 1");
}

#[test]
fn lines_that_are_no_reply_are_numbered() {
    fails(&["nope"], "line 1: ");
    fails(&[COUNT, "", "{}}"], "line 3: ");
    fails(&[r#"{"texd":"x"}"#], "line 1: unknown field `texd`");
}

#[test]
fn what_a_line_quotes_must_be_there() {
    fails(
        &[r#"{"text":"{{x}}"}"#],
        "line 1: `{{x}}`: no call `x` was observed",
    );
    fails(
        &[COUNT, r#"{"text":"{{call_1_1#/none}}"}"#],
        "line 2: what `call_1_1` gave has nothing at `/none`",
    );
    fails(&[r#"{"text":"{{x"}"#], "line 1: `{{` without `}}`");
}

#[test]
fn a_bad_call_is_told_to_the_model_and_is_not_the_end() {
    let bad = r#"{"calls":[{"tool":"text.cuont"},{"tool":"text.count","args":{"x":1}},{"tool":"files.read","args":{"path":"a"}}]}"#;
    run(&[bad, r#"{"text":"went on"}"#])
        .ends(0)
        .prints(&["went on"])
        .says(&[
            "there is no tool `text.cuont`",
            "Invalid action input.",
            "`files.read` is not among the tools that this agent may call",
        ]);
}

/// As a reply of any other provider.
#[test]
fn what_is_no_text_is_replaced_in_a_script_too() {
    let ended = run(&[r#"{"text":"a\u0000b"}"#]).ends(0);
    assert_eq!(ended.out, "a\u{fffd}b\n", "{ended}");
}

#[test]
fn a_tool_that_a_model_has_made_up_stays_on_its_line() {
    let wish = r#"{"calls":[{"tool":"text.count\nhint: x","args":{}}]}"#;
    run(&[wish, r#"{"text":"Done."}"#])
        .ends(0)
        .says(&["→ text.count\\u{a}hint: x", "← text.count\\u{a}hint: x"])
        .never("\nhint: x");
}
