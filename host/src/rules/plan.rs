//! The plan of a run: what comes next, as a function of what has happened.
//!
//! [`Plan`] is a fold of the run's own events; [`Plan::next`] never asks a clock, a file or a model. It stands in
//! one [`State`] of a fixed graph and ends once, whatever happens.

mod counts;
mod groups;
mod state;

use std::mem;

use self::counts::Counts;
use self::groups::groups;
pub use self::groups::{Grouping, Timing, unbarred};
pub use self::state::{State, path_of};
use super::pace::Pace;
use super::repair;
use crate::words::attachment::Attachment;
use crate::words::budget::Budgeted;
use crate::words::error::{Code, Error};
use crate::words::event::Limit;
use crate::words::id::Seq;
use crate::words::label::Label;
use crate::words::message::{Message, Observation, Reply, StopReason, ToolCall, Usage};
use crate::words::setback::Setback;
use crate::words::whose::Whose;

/// Where a run stands.
///
/// ```
/// use lazaret::rules::pace::Pace;
/// use lazaret::rules::plan::{Grouping, Plan, Step};
/// use lazaret::words::label::Label;
///
/// let plan = Plan::new("Look it up.", Label::default(), 0, Pace::default());
/// let next = plan.next(|_| Grouping::Alone);
/// assert!(matches!(next, Step::Fail(_, why) if why.starts_with("turn_limit")));
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    turns_max: u32,
    pace: Pace,
    turns: u32,
    usage: Usage,
    messages: Vec<Message>,
    label: Label,
    waiting: Vec<ToolCall>,
    /// Names of the tools that the model was last told of.
    offered: Vec<String>,
    counts: Counts,
    state: State,
    end: Option<End>,
    hints: Vec<String>,
}

/// How a run is about to end.
#[derive(Clone, Debug, PartialEq)]
enum End {
    Answer(String),
    Fault(Fault),
}

/// Why a run ends without an answer.
#[derive(Clone, Debug, PartialEq)]
struct Fault {
    code: Code,
    why: String,
    /// The bound that was reached, where one was.
    limit: Option<Limit>,
    /// Why a model gave no reply, where that was it.
    setback: Option<Setback>,
    /// Whose it is, where its code and its bound do not say.
    whose: Option<Whose>,
}

impl Fault {
    /// A bound was reached: the first word says which.
    fn limit(limit: Limit, why: &str) -> Self {
        Self {
            code: Code::OverBudget,
            why: format!("{}: {why}", limit.word()),
            limit: Some(limit),
            setback: None,
            whose: None,
        }
    }

    /// The agent does not go on after what happened.
    fn fatal(code: Code, why: String) -> Self {
        Self {
            code,
            why,
            limit: None,
            setback: None,
            whose: None,
        }
    }

    /// The provider keeps back what the model went on to say.
    fn withheld() -> Self {
        Self {
            setback: Some(Setback::Filtered),
            ..Self::fatal(Code::ProviderFailed, WITHHELD.to_owned())
        }
    }
}

/// What a run says whose model was not let finish.
pub const WITHHELD: &str =
    "the model provider withheld the rest of the answer: its content filter stopped the model";

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

impl Plan {
    /// A run that has just begun.
    #[must_use]
    pub fn new(goal: &str, label: Label, turns_max: u32, pace: Pace) -> Self {
        Self {
            turns_max,
            pace,
            turns: 0,
            usage: Usage::default(),
            messages: vec![Message::user(goal)],
            label,
            waiting: Vec::new(),
            offered: Vec::new(),
            counts: Counts::default(),
            state: State::Prompting,
            end: None,
            hints: Vec::new(),
        }
    }

    /// With what came with the goal.
    #[must_use]
    pub fn with(mut self, files: &[Attachment]) -> Self {
        if let Some(Message::User { attached, .. }) = self.messages.first_mut() {
            attached.extend_from_slice(files);
        }
        self
    }

    /// After so many turns of runs before it in its session.
    #[must_use]
    pub fn after(mut self, turns: u32) -> Self {
        self.counts.before = turns;
        self
    }

    /// What comes next. `grouping` says how each tool's calls may be grouped.
    pub fn next(&self, grouping: impl Fn(&str) -> Grouping) -> Step {
        match &self.end {
            Some(End::Answer(text)) => return Step::Answer(text.clone()),
            Some(End::Fault(fault)) => return Step::Fail(fault.code, fault.why.clone()),
            None => {}
        }
        if !self.waiting.is_empty() {
            return Step::Calls(groups(&self.waiting, self.pace.parallel, grouping));
        }
        if let Some(most) = self.pace.session_turns
            && self.is_sessions_last()
        {
            let of_session = self.counts.before.saturating_add(self.turns);
            let why = format!(
                "the models of this session were asked {of_session} times, and `session_turns` of the agent or of `[pace]` \
                 is {most}; begin another session, or raise it"
            );
            let fault = Fault::limit(Limit::TurnLimit, &why);
            return Step::Fail(fault.code, fault.why);
        }
        if self.turns >= self.turns_max && !self.is_final() {
            let why = format!(
                "the model was asked {} times and still wants to call tools",
                self.turns
            );
            let fault = Fault::limit(Limit::TurnLimit, &why);
            return Step::Fail(fault.code, fault.why);
        }
        Step::Prompt(self.turns + 1)
    }

    /// Whether all turns of its session are taken.
    #[must_use]
    pub fn is_sessions_last(&self) -> bool {
        let taken = self.counts.before.saturating_add(self.turns);
        self.pace.session_turns.is_some_and(|most| taken >= most)
    }

    /// Whether the turns are over, and the model is asked once more, to answer from what it has (C-02).
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.pace.final_answer_turn && self.turns == self.turns_max
    }

    /// The model is about to read this as well, or has: what is shown to it beside what was said.
    pub fn read(&mut self, label: &Label) {
        self.label = self.label.join(label);
    }

    /// The model is told of these tools.
    pub fn offer(&mut self, tools: &[String]) {
        self.offered = tools.to_vec();
    }

    /// A model has answered. A call that it wrote as text is a call (U-16); as which, its record says.
    pub fn replied(&mut self, mut reply: Reply) {
        self.enter(State::Prompting);
        self.turns += 1;
        self.usage.add(reply.usage);
        // What was said until then is on record, and is no answer; what was wished is not done (R-34).
        if reply.stop == StopReason::Filtered {
            reply.calls.clear();
            self.end_with(End::Fault(Fault::withheld()));
            self.hints
                .push("say it in other words, or let another model answer".to_owned());
        } else if reply.calls.is_empty()
            && let Some((tool, args)) = repair::leaked(&reply.text, &self.offered)
        {
            let id = format!("leaked_{}", self.turns);
            reply.text = String::new();
            reply.calls.push(ToolCall { id, tool, args });
        }
        if reply.calls.is_empty() {
            self.end_with(End::Answer(reply.text.clone()));
        } else if self.turns > self.turns_max {
            let why = "the model was asked for its answer, and still wants to call tools";
            self.end_with(End::Fault(Fault::limit(Limit::TurnLimit, why)));
        } else {
            self.enter(State::Calling);
            if let Err(fault) = self.counts.wished(&self.pace, reply.calls.len()) {
                self.end_with(End::Fault(fault));
            }
        }
        self.waiting.clone_from(&reply.calls);
        self.messages.push(Message::Assistant(reply));
    }

    /// All calls of the last reply have ended, in its order.
    pub fn observed(&mut self, observations: Vec<Seen>) {
        let calls = mem::take(&mut self.waiting);
        let counted = self.counts.turn(&self.pace, &calls, &observations);
        for (call, seen) in calls.into_iter().zip(observations) {
            self.label = self.label.join(&seen.observation.label);
            self.messages.push(Message::Tool {
                id: call.id,
                observation: seen.observation,
            });
        }
        match counted {
            Ok(()) => self.enter(State::Prompting),
            Err(fault) => self.end_with(End::Fault(fault)),
        }
    }

    /// What the model has answered, where it has.
    #[must_use]
    pub fn answer(&self) -> Option<&str> {
        match &self.end {
            Some(End::Answer(text)) => Some(text),
            Some(End::Fault(_)) | None => None,
        }
    }

    /// The answer, as it is given to whoever wished.
    pub fn answered(&mut self, text: String) {
        self.end = Some(End::Answer(text));
    }

    /// The answer does not stand: the model is told why, and answers again.
    pub fn again(&mut self, why: String) {
        self.counts.repairs += 1;
        self.end = None;
        self.messages.push(Message::user(why));
    }

    /// How often an answer did not stand.
    #[must_use]
    pub fn repairs(&self) -> u32 {
        self.counts.repairs
    }

    /// Turns that the run may still take.
    #[must_use]
    pub fn turns_left(&self) -> u32 {
        self.turns_max.saturating_sub(self.turns)
    }

    /// Something ended the run from outside: cancelled, or the provider failed. That it was cancelled wins over
    /// every other end, before it and after it (U-06).
    pub fn failed(&mut self, error: &Error) {
        if self.is_cancelled() {
            return;
        }
        let why = error.message().to_owned();
        let of_model = error.code() == Code::ProviderFailed;
        self.end = Some(End::Fault(Fault {
            setback: of_model.then(|| error.as_setback()),
            whose: Some(error.whose()),
            ..Fault::fatal(error.code(), why)
        }));
        self.hints = error.hints().to_vec();
    }

    /// A budget of the run is used up.
    pub fn spent_up(&mut self, budget: Budgeted, error: &Error) {
        self.failed(error);
        if let Some(End::Fault(fault)) = &mut self.end {
            fault.limit = Some(match budget {
                Budgeted::Tokens => Limit::TokenBudget,
                Budgeted::Cost => Limit::CostBudget,
                Budgeted::Turns => Limit::TurnLimit,
                Budgeted::Wall => Limit::RunTimeout,
            });
        }
    }

    /// The run has taken too long, and was cut off for that; an answer that came still is one.
    pub fn late(&mut self, limit_ms: u64) {
        let why = format!("the run took longer than {limit_ms} ms");
        let fault = Fault {
            code: Code::TooSlow,
            ..Fault::limit(Limit::RunTimeout, &why)
        };
        if !matches!(self.end, Some(End::Answer(_))) {
            self.end = Some(End::Fault(fault));
        }
    }

    /// The run is left, to be taken up again.
    pub fn left(&mut self) {
        self.enter(State::Left);
    }

    /// The run is over: the bound that ended it, where one did. Nothing after the first time, so that an end is
    /// recorded once.
    pub fn stop(&mut self) -> Option<(State, Option<Limit>)> {
        if self.state.is_terminal() {
            return None;
        }
        let limit = self.limit();
        let end = match &self.end {
            Some(End::Answer(_)) => State::Answered,
            Some(End::Fault(_)) if self.is_cancelled() => State::Cancelled,
            Some(End::Fault(_)) if limit.is_none() => State::Failed,
            Some(End::Fault(_)) | None => State::Limited,
        };
        self.state = end;
        Some((end, limit))
    }

    /// The bound that ends the run, where one does. Whoever asks knows that it is over.
    #[must_use]
    pub fn limit(&self) -> Option<Limit> {
        match &self.end {
            Some(End::Answer(_)) => None,
            Some(End::Fault(_)) if self.is_cancelled() => None,
            Some(End::Fault(fault)) => fault.limit,
            // Whoever stops it has asked what comes next, and that was its end.
            None => Some(Limit::TurnLimit),
        }
    }

    /// Whose the failure is that ends the run, where more than its code says it.
    #[must_use]
    pub fn whose(&self) -> Option<Whose> {
        let bound = self.limit().map(|_| Whose::Run);
        match &self.end {
            Some(End::Fault(fault)) => bound.or(fault.whose),
            Some(End::Answer(_)) | None => bound,
        }
    }

    /// Why a model gave no reply, where that ends the run.
    #[must_use]
    pub fn setback(&self) -> Option<Setback> {
        match &self.end {
            Some(End::Fault(fault)) => fault.setback,
            Some(End::Answer(_)) | None => None,
        }
    }

    /// The state that the run is in.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
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

    fn is_cancelled(&self) -> bool {
        matches!(&self.end, Some(End::Fault(fault)) if fault.code == Code::Cancelled)
    }

    /// The first end of its own is the run's.
    fn end_with(&mut self, end: End) {
        self.end.get_or_insert(end);
    }

    /// Moves along the graph, or not at all; where the end is clear, nothing but that follows.
    fn enter(&mut self, next: State) {
        if self.end.is_none() && self.state.may_become(next) {
            self.state = next;
        }
    }
}

/// What one call left for the model.
#[derive(Clone, Debug)]
pub struct Seen {
    /// What it reads.
    pub observation: Observation,
    /// How the call fared.
    pub fared: Fared,
    /// The record of the observation.
    pub seq: Seq,
}

/// How a call of a model fared, as far as its run goes on otherwise for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fared {
    /// It did what it was to do.
    Well,
    /// It was malformed: arguments that miss the schema, a name that is nearly one of a tool (R-31).
    Malformed,
    /// There is no such tool, and none of a name that is near.
    Unavailable,
    /// The gate said no.
    Denied,
    /// It was one too many for its turn, and not made.
    Cut,
    /// It failed, for this reason.
    Failed(Code),
}

impl Fared {
    /// Of a call that failed for this reason, or did not. `is_near` says whether there is such a tool after all,
    /// or one of a name that is near.
    #[must_use]
    pub fn of(failed: Option<Code>, is_near: bool) -> Self {
        match failed {
            None => Self::Well,
            Some(Code::UnknownTool) if !is_near => Self::Unavailable,
            Some(Code::UnknownTool | Code::BadArgs) => Self::Malformed,
            Some(Code::Denied) => Self::Denied,
            Some(code) => Self::Failed(code),
        }
    }
}

#[cfg(test)]
mod tests;
