//! The plan of a run: what comes next, as a function of what has happened.
//!
//! [`Plan`] is a fold of the run's own events; [`Plan::next`] never asks a clock, a file or a model.

use std::mem;

use super::manifest::EffectClass;
use crate::words::error::{Code, Error};
use crate::words::id::Seq;
use crate::words::label::Label;
use crate::words::limits::{CALLS_PARALLEL, CALLS_PER_TURN, RUN_CORRECTIONS};
use crate::words::message::{Message, Observation, Reply, ToolCall, Usage};

/// Where a run stands.
#[derive(Clone, Debug)]
pub struct Plan {
    turns_max: u32,
    turns: u32,
    corrections: u32,
    repairs: u32,
    usage: Usage,
    messages: Vec<Message>,
    label: Label,
    waiting: Vec<ToolCall>,
    end: Progress,
    hints: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
enum Progress {
    Going,
    Answered(String),
    Failed(Code, String),
}

/// What a run does next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Ask the model; this is turn number so and so.
    Prompt(u32),
    /// Do these calls, group after group; the calls of one group run together.
    Calls(Vec<Vec<ToolCall>>),
    /// It is over, with this answer.
    Answer(String),
    /// It is over, and failed.
    Fail(Code, String),
}

/// How one tool's calls may be grouped with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// It only looks: may run beside others that only look.
    Together,
    /// A barrier: everything before it is done first.
    Alone,
}

impl Grouping {
    /// Of a tool that declares so. An unknown tool cannot run, so it may stand anywhere.
    #[must_use]
    pub fn of(effect: EffectClass, sequential: bool) -> Self {
        if effect.leaves_no_trace() && !sequential {
            Self::Together
        } else {
            Self::Alone
        }
    }
}

impl Plan {
    /// A run that has just begun.
    #[must_use]
    pub fn new(goal: &str, label: Label, turns_max: u32) -> Self {
        Self {
            turns_max,
            turns: 0,
            corrections: 0,
            repairs: 0,
            usage: Usage::default(),
            messages: vec![Message::User {
                text: goal.to_owned(),
            }],
            label,
            waiting: Vec::new(),
            end: Progress::Going,
            hints: Vec::new(),
        }
    }

    /// What comes next. `grouping` says how each tool's calls may be grouped.
    pub fn next(&self, grouping: impl Fn(&str) -> Grouping) -> Step {
        match &self.end {
            Progress::Answered(text) => return Step::Answer(text.clone()),
            Progress::Failed(code, why) => return Step::Fail(*code, why.clone()),
            Progress::Going => {}
        }
        if !self.waiting.is_empty() {
            return Step::Calls(groups(&self.waiting, grouping));
        }
        if self.turns >= self.turns_max {
            let why = format!(
                "turn_limit: the model was asked {} times and still wants to call tools",
                self.turns
            );
            return Step::Fail(Code::OverBudget, why);
        }
        Step::Prompt(self.turns + 1)
    }

    /// The model is about to read this as well, or has: what is shown to it beside what was said.
    pub fn read(&mut self, label: &Label) {
        self.label = self.label.join(label);
    }

    /// A model has answered.
    pub fn replied(&mut self, reply: Reply) {
        self.turns += 1;
        self.usage.add(reply.usage);
        if reply.calls.len() > CALLS_PER_TURN {
            let why = format!(
                "the model asked for {} calls at once; at most {CALLS_PER_TURN} may be",
                reply.calls.len()
            );
            self.end = Progress::Failed(Code::OverBudget, why);
        } else if reply.calls.is_empty() {
            self.end = Progress::Answered(reply.text.clone());
        }
        self.waiting.clone_from(&reply.calls);
        self.messages.push(Message::Assistant(reply));
    }

    /// All calls of the last reply have ended, in its order.
    pub fn observed(&mut self, observations: Vec<Seen>) {
        for (call, seen) in mem::take(&mut self.waiting).into_iter().zip(observations) {
            self.label = self.label.join(&seen.observation.label);
            self.corrections += u32::from(seen.correction);
            self.messages.push(Message::Tool {
                id: call.id,
                observation: seen.observation,
            });
        }
        if self.corrections > RUN_CORRECTIONS && self.end == Progress::Going {
            let why = format!("the model made more than {RUN_CORRECTIONS} malformed calls");
            self.end = Progress::Failed(Code::OverBudget, why);
        }
    }

    /// What the model has answered, where it has.
    #[must_use]
    pub fn answer(&self) -> Option<&str> {
        match &self.end {
            Progress::Answered(text) => Some(text),
            Progress::Going | Progress::Failed(..) => None,
        }
    }

    /// The answer, as it is given to whoever wished.
    pub fn answered(&mut self, text: String) {
        self.end = Progress::Answered(text);
    }

    /// The answer does not stand: the model is told why, and answers again.
    pub fn again(&mut self, why: String) {
        self.repairs += 1;
        self.end = Progress::Going;
        self.messages.push(Message::User { text: why });
    }

    /// How often an answer did not stand.
    #[must_use]
    pub fn repairs(&self) -> u32 {
        self.repairs
    }

    /// Turns that the run may still take.
    #[must_use]
    pub fn turns_left(&self) -> u32 {
        self.turns_max.saturating_sub(self.turns)
    }

    /// Something ended the run from outside: cancelled, or the provider failed.
    pub fn failed(&mut self, error: &Error) {
        self.end = Progress::Failed(error.code(), error.message().to_owned());
        self.hints = error.hints().to_vec();
    }

    /// What the operator may do about what ended the run from outside; no model reads it.
    #[must_use]
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// The calls of the last reply, as long as they are not all observed.
    #[must_use]
    pub fn waiting(&self) -> &[ToolCall] {
        &self.waiting
    }

    /// What was said so far.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Everything that has entered the model's context.
    #[must_use]
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// Turns taken, and their tokens.
    #[must_use]
    pub fn spent(&self) -> (u32, Usage) {
        (self.turns, self.usage)
    }
}

/// What one call left for the model.
#[derive(Clone, Debug)]
pub struct Seen {
    /// What it reads.
    pub observation: Observation,
    /// Whether the call was malformed: an unknown tool, arguments that miss the schema.
    pub correction: bool,
    /// The record of the observation.
    pub seq: Seq,
}

/// Groups calls in their order: neighbours that only look go together, at most [`CALLS_PARALLEL`];
/// everything else is a barrier (U-13, O-12…O-14).
fn groups(calls: &[ToolCall], grouping: impl Fn(&str) -> Grouping) -> Vec<Vec<ToolCall>> {
    let mut groups: Vec<Vec<ToolCall>> = Vec::new();
    let mut open = false;
    for call in calls {
        let together = grouping(&call.tool) == Grouping::Together;
        match groups.last_mut() {
            Some(last) if open && together && last.len() < CALLS_PARALLEL => {
                last.push(call.clone())
            }
            _ => groups.push(vec![call.clone()]),
        }
        open = together;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str) -> ToolCall {
        ToolCall {
            id: tool.to_owned(),
            tool: tool.to_owned(),
            args: crate::rules::json::wished(""),
        }
    }

    fn check_groups(tools: &str, expected: &str) {
        let calls: Vec<_> = tools.chars().map(|c| call(&c.to_string())).collect();
        let grouping = |tool: &str| {
            if tool == "R" {
                Grouping::Together
            } else {
                Grouping::Alone
            }
        };
        let got: Vec<String> = groups(&calls, grouping)
            .iter()
            .map(|group| group.iter().map(|call| call.tool.as_str()).collect())
            .collect();
        assert_eq!(got.join(" "), expected, "{tools}");
    }

    #[test]
    fn calls_keep_their_order_by_barriers() {
        check_groups("RRWRR", "RR W RR");
        check_groups("WW", "W W");
        check_groups("WRRW", "W RR W");
        check_groups("RRRRRRRRRR", "RRRRRRRR RR");
        check_groups("", "");
    }

    fn seen(correction: bool) -> Seen {
        let observation = Observation {
            text: String::new(),
            ok: !correction,
            label: Label::default(),
            flags: Vec::new(),
        };
        Seen {
            observation,
            correction,
            seq: 0,
        }
    }

    fn asks() -> Reply {
        Reply {
            calls: vec![call("R")],
            ..Reply::default()
        }
    }

    fn together(_: &str) -> Grouping {
        Grouping::Together
    }

    #[test]
    fn a_model_that_never_stops_is_stopped_at_the_turn_limit() {
        let mut plan = Plan::new("goal", Label::default(), 8);
        let mut prompts = 0;
        loop {
            match plan.next(together) {
                Step::Prompt(turn) => {
                    prompts += 1;
                    assert_eq!(turn, prompts);
                    plan.replied(asks());
                }
                Step::Calls(groups) => {
                    assert_eq!(groups.len(), 1);
                    plan.observed(vec![seen(false)]);
                }
                Step::Answer(_) => panic!("it never answers"),
                Step::Fail(code, why) => {
                    assert_eq!(code, Code::OverBudget);
                    assert!(why.starts_with("turn_limit"));
                    break;
                }
            }
        }
        assert_eq!(prompts, 8);
    }

    #[test]
    fn malformed_calls_have_a_budget_of_their_own() {
        let mut plan = Plan::new("goal", Label::default(), 50);
        for _ in 0..=RUN_CORRECTIONS {
            assert!(matches!(plan.next(together), Step::Prompt(_)));
            plan.replied(asks());
            plan.observed(vec![seen(true)]);
        }
        assert!(
            matches!(plan.next(together), Step::Fail(Code::OverBudget, why) if why.contains("malformed"))
        );
    }

    #[test]
    fn an_answer_without_calls_ends_the_run() {
        let mut plan = Plan::new("goal", Label::default(), 8);
        plan.replied(Reply {
            text: "done".into(),
            ..Reply::default()
        });
        assert_eq!(plan.next(together), Step::Answer("done".into()));
    }
}
