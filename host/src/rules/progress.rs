//! Progress: what a run is about to do, in one line for a person (O-47).

use crate::words::event::{Doing, Glimpse, Step};
use crate::words::inert::one_line;
use crate::words::limits::{STEP_NAME_CHARS, STEP_TOOLS};

/// A model is about to be asked.
#[must_use]
pub fn asking(model: &str, turns: (u32, u32)) -> Glimpse {
    let model = name(model);
    let what = format!("asking {model}");
    step(Doing::ProviderCall { model }, &what, turns)
}

/// Tools are about to be run; what a model calls them is its own.
#[must_use]
pub fn running<'a>(tools: impl Iterator<Item = &'a str>, turns: (u32, u32)) -> Glimpse {
    let tools: Vec<&str> = tools.collect();
    let more = tools.len().saturating_sub(STEP_TOOLS);
    let tools: Vec<String> = tools.into_iter().take(STEP_TOOLS).map(name).collect();
    let mut what = format!("running {}", tools.join(", "));
    if more > 0 {
        what.push_str(&format!(" and {more} more"));
    }
    step(Doing::ToolExecution { tools }, &what, turns)
}

/// Older turns are about to be folded.
#[must_use]
pub fn summarising(turns: (u32, u32)) -> Glimpse {
    step(Doing::RollingSummary, "summarising", turns)
}

fn step(doing: Doing, what: &str, (turn, turns_max): (u32, u32)) -> Glimpse {
    Glimpse::Step(Step {
        doing,
        message: format!("[{turn}/{turns_max}] {what}"),
        turn,
        turns_max,
    })
}

/// A name from outside: inert, on one line, cut.
fn name(name: &str) -> String {
    let start: String = name.chars().take(STEP_NAME_CHARS).collect();
    one_line(&start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(glimpse: &Glimpse, message: &str) {
        let Glimpse::Step(step) = glimpse else {
            panic!("{glimpse:?}")
        };
        assert_eq!(step.message, message);
        assert_eq!((step.turn, step.turns_max), (2, 8));
    }

    #[test]
    fn steps_are_said_in_these_words() {
        let turns = (2, 8);
        check(&asking("fast", turns), "[2/8] asking fast");
        check(
            &running(["files.read"].into_iter(), turns),
            "[2/8] running files.read",
        );
        let two = ["files.read", "text.count"];
        check(
            &running(two.into_iter(), turns),
            "[2/8] running files.read, text.count",
        );
        check(&summarising(turns), "[2/8] summarising");
    }

    #[test]
    fn names_of_models_and_tools_are_inert_and_bounded() {
        check(
            &asking("a\u{1b}[2J\nb", (2, 8)),
            "[2/8] asking a\\u{1b}[2J\\u{a}b",
        );
        let many = vec!["x.y"; STEP_TOOLS + 3];
        let Glimpse::Step(step) = running(many.into_iter(), (2, 8)) else {
            panic!("no step")
        };
        assert!(step.message.ends_with("x.y and 3 more"), "{}", step.message);
        let long = "x".repeat(100_000);
        let Glimpse::Step(step) = running([long.as_str()].into_iter(), (2, 8)) else {
            panic!("no step")
        };
        assert!(step.message.len() < 2 * STEP_NAME_CHARS);
    }

    #[test]
    fn a_step_is_json_with_its_kind() {
        let json = |glimpse: &Glimpse| serde_json::to_value(glimpse).unwrap();
        let running = json(&running(["files.read"].into_iter(), (2, 8)));
        assert_eq!(
            running,
            serde_json::json!({"event": "step", "kind": "tool_execution", "tools": ["files.read"],
                "message": "[2/8] running files.read", "turn": 2, "turns_max": 8})
        );
        assert_eq!(json(&asking("m", (1, 8)))["kind"], "provider_call");
        assert_eq!(json(&summarising((1, 8)))["kind"], "rolling_summary");
    }
}
