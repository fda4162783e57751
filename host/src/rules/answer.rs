//! Answers with a shape: a run whose answer is a JSON value that fits a schema, or no answer (U-56).
//!
//! The schema goes to the provider as a hint, and a hint is no promise: what the model answers is parsed and
//! checked here. It is told once what is wrong; after that the run has failed. All of it follows from the replies,
//! so a run that goes on comes to where it was.

use super::agent::Agent;
use super::consult::read_text;
use super::plan::Plan;
use super::schema::Schema;
use crate::words::error::{Code, Error};
use crate::words::limits::ANSWER_REPAIRS;

/// What a model is told of the answer's shape.
const SHAPED: &str = "When you have called all the tools that you need, answer with one JSON value that fits this \
    JSON Schema, and with nothing else: no words before or after it, no fence around it.";

/// The agent, told of the shape of its answer; and what is told behind its goal, which is the shape where that was `sent`
/// with words that nobody typed: it is as little the system's to say as they are (R-22).
#[must_use]
pub fn told(mut agent: Agent, shape: Option<&Schema>, sent: bool) -> (Agent, String) {
    let Some(shape) = shape else {
        return (agent, String::new());
    };
    let told = format!("{SHAPED}\n{}", shape.source());
    if sent {
        return (agent, format!("\n\n{told}"));
    }
    let before = agent.instructions.trim_end();
    let gap = if before.is_empty() { "" } else { "\n\n" };
    agent.instructions = format!("{before}{gap}{told}");
    (agent, String::new())
}

/// Looks at the answer of a run that has just answered: it stands as JSON, or the model is told what is wrong with
/// it, or the run has failed.
pub fn settle(plan: &mut Plan, shape: Option<&Schema>) {
    let (Some(shape), Some(text)) = (shape, plan.answer()) else {
        return;
    };
    match read_text(text, shape) {
        Ok(value) => plan.answered(value.to_string()),
        Err(why) if plan.repairs() < ANSWER_REPAIRS && plan.turns_left() > 0 => {
            plan.again(format!(
                "That does not fit the JSON Schema of the answer: {why}. Answer again, with one JSON value that fits it."
            ));
        }
        Err(why) => {
            let what = format!("the model's answer does not fit its schema: {why}");
            plan.failed(&Error::new(Code::BadOutcome, what));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::rules::pace::Pace;
    use crate::rules::plan::{Grouping, Step};
    use crate::words::label::Label;
    use crate::words::message::{Message, Reply};

    fn schema() -> Value {
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    }

    /// What comes of a run whose model answers so, turn by turn.
    fn pursue(turns: u32, replies: &[&str]) -> (Step, Plan) {
        let shape = Schema::compile(schema()).unwrap();
        let mut plan = Plan::new("goal", Label::default(), turns, Pace::default());
        for text in replies {
            plan.replied(Reply {
                text: (*text).to_owned(),
                ..Reply::default()
            });
            settle(&mut plan, Some(&shape));
        }
        (plan.next(|_| Grouping::Together), plan)
    }

    #[test]
    fn an_answer_that_fits_stands_as_json() {
        for text in ["{\"n\": 3}", "```json\n{ \"n\" : 3 }\n```"] {
            assert_eq!(pursue(8, &[text]).0, Step::Answer("{\"n\":3}".to_owned()));
        }
    }

    #[test]
    fn what_does_not_fit_is_told_once() {
        let (step, plan) = pursue(8, &["Three."]);
        assert_eq!(step, Step::Prompt(2));
        let Some(Message::User { text, .. }) = plan.messages().last() else {
            panic!("{:?}", plan.messages());
        };
        assert!(text.contains("no JSON"), "{text}");
        let (step, _) = pursue(8, &["Three.", "{\"n\":3}"]);
        assert_eq!(step, Step::Answer("{\"n\":3}".to_owned()));
        let (step, _) = pursue(8, &["Three.", "{\"n\":\"3\"}"]);
        assert!(
            matches!(&step, Step::Fail(Code::BadOutcome, why) if why.contains("/n: ")),
            "{step:?}"
        );
    }

    #[test]
    fn nothing_is_told_to_a_run_without_a_turn_left() {
        let (step, _) = pursue(1, &["Three."]);
        assert!(matches!(step, Step::Fail(Code::BadOutcome, _)), "{step:?}");
    }

    #[test]
    fn without_a_shape_every_answer_stands() {
        let mut plan = Plan::new("goal", Label::default(), 8, Pace::default());
        plan.replied(Reply {
            text: "Three.".to_owned(),
            ..Reply::default()
        });
        settle(&mut plan, None);
        let step = plan.next(|_| Grouping::Together);
        assert_eq!(step, Step::Answer("Three.".to_owned()));
    }

    #[test]
    fn the_shape_stands_behind_what_the_agent_is_told_or_behind_a_goal_that_it_was_sent_with() {
        let shape = Schema::compile(schema()).unwrap();
        let agent = Agent {
            instructions: "Be brief.".to_owned(),
            ..Agent::new("a")
        };
        let (its, behind_goal) = told(agent.clone(), Some(&shape), false);
        let system = its.instructions;
        assert!(system.starts_with("Be brief.\n\nWhen you"), "{system}");
        assert!(system.ends_with(&schema().to_string()), "{system}");
        assert_eq!(behind_goal, "");
        let (its, behind_goal) = told(agent.clone(), Some(&shape), true);
        assert_eq!(its, agent);
        assert_eq!(format!("Be brief.{behind_goal}"), system);
        assert_eq!(told(agent.clone(), None, true), (agent, String::new()));
    }
}
