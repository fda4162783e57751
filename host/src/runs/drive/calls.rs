//! Doing the calls of one reply, each in its place.

use std::collections::VecDeque;

use futures_util::future::join_all;
use serde_json::Value;

use super::super::observe::observe;
use super::super::offer::{Offer, Way};
use super::super::script::{Script, Waited};
use super::Drive;
use crate::gate::{all_asked, unfit};
use crate::guests::dispatch::{Outcome, Request, ask_ahead, dispatch};
use crate::guests::guest::Trail;
use crate::rules::call::wished;
use crate::rules::caller::Caller;
use crate::rules::candidate::Accepts;
use crate::rules::flow::handles::Naming;
use crate::rules::plan::{Fared, Plan, Seen, Timing, unbarred};
use crate::rules::repair::repaired;
use crate::rules::script::{Left, Recall, TOOL, in_doubt};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{EffectKind, Event, Record, Spent};
use crate::words::id::{Place, ToolName, shown};
use crate::words::label::Label;
use crate::words::message::{ToolCall, WishedArgs};

/// The calls of one reply, and what is known of them.
pub(super) struct Turn<'a> {
    pub(super) place: Place,
    /// Of the run's earlier lives.
    pub(super) records: &'a [Record],
    /// What was observed before the run was left.
    pub(super) earlier: Vec<Seen>,
    /// Whether none of its calls leads anywhere.
    pub(super) is_nowhere: bool,
}

impl Drive<'_> {
    /// Does the calls of one reply, group after group. Behind a call that waits for a person nothing is done, but
    /// all that they have to say in this turn is asked. What is returned is why the run is left: calls wait for a
    /// person, or a script was cut off.
    ///
    /// # Errors
    /// The journal's failure.
    pub(super) async fn call(
        &self,
        plan: &mut Plan,
        offer: &mut Offer<'_>,
        groups: Vec<Vec<ToolCall>>,
        mut turn: Turn<'_>,
    ) -> Result<Option<Error>> {
        let mut all = std::mem::take(&mut turn.earlier);
        let (seen, mut before, mut over) = (all.len(), 0, false);
        let (mut asked, mut told) = (Vec::new(), Label::default());
        let mut groups = VecDeque::from(groups);
        while let Some(group) = self.next_group(&mut groups) {
            // What ended the run ends it for the calls that were to come after.
            if over {
                break;
            }
            let places = (0..).skip(before).map(|at| turn.place.inside(at));
            let calls = group.iter().zip(places);
            let calls: Vec<_> = calls.skip(seen.saturating_sub(before)).collect();
            for (call, seen) in group.iter().zip(all.iter().skip(before)) {
                let behind = Some(&seen.observation.label);
                told = told.join(&self.tells(plan, call, behind));
            }
            before += group.len();
            let (wished, open) = self.wished(offer, (plan, &all, &told), (&calls, &turn));
            if !asked.is_empty() {
                asked.extend(self.all_ahead(&calls, wished, &turn)?);
                told = open;
                continue;
            }
            let doing = calls.iter().zip(wished).zip(self.namings(calls.len()));
            let doing = doing.map(|(((call, place), (way, label)), beside)| {
                let mut caller = self.caller_of_model(label);
                (caller.place, caller.known.beside) = (place.clone(), beside);
                self.one(call, caller, way, &turn)
            });
            let outcomes = self.dated(join_all(doing).await);
            self.known.handles().let_go();
            for ((call, place), (outcome, found)) in calls.iter().zip(outcomes) {
                offer.find(found);
                match fate(&outcome, !asked.is_empty()) {
                    Fate::Seen => {}
                    Fate::Asked => {
                        asked.extend(outcome.result.err());
                        continue;
                    }
                    // It is on record, and seen when the run goes on.
                    Fate::Later => continue,
                    Fate::CutOff => return Ok(outcome.result.err()),
                    Fate::Over => {
                        if let Err(error) = &outcome.result {
                            plan.failed(error);
                        }
                        over = true;
                    }
                }
                let observed = self.observed((call, place), &outcome, &turn)?;
                told = told.join(&self.tells(plan, call, Some(&outcome.behind)));
                all.push(observed);
            }
            if !asked.is_empty() {
                told = told.join(&open);
            }
        }
        if let Some(why) = all_asked("the run", asked.iter()) {
            return Ok(Some(why));
        }
        plan.observed(all);
        Ok(None)
    }

    /// The calls that come next. Nobody outside sees a call, and none may say what time it is, while another one tells of a
    /// secret: whoever runs the model is outside as well, so that is so in each plan. What handles hold is known once the calls
    /// before have ended.
    fn next_group(&self, groups: &mut VecDeque<Vec<ToolCall>>) -> Option<Vec<ToolCall>> {
        let mut group = groups.pop_front()?;
        let policy = self.station.gate.policy();
        let caller = self.caller_of_model(Label::default());
        let timing = |call: &ToolCall| {
            let given = match &call.args {
                WishedArgs::Json(args) => self.known.handles().worst_in(args),
                WishedArgs::Broken(_) => Label::default(),
            };
            let catalog = &self.station.catalog;
            let called = (call.tool.as_str(), call.args.json());
            let timing = catalog.timing(called, &given, (&caller, policy));
            let clock = catalog.tells_time(&call.tool, &caller, policy);
            Timing {
                seen: timing.seen || clock,
                ..timing
            }
        };
        let timings: Vec<Timing> = group.iter().map(timing).collect();
        let later = group.split_off(unbarred(&timings));
        if !later.is_empty() {
            groups.push_front(later);
        }
        Some(group)
    }

    /// Where the calls of a group go, and under whose influence each is, which is no less than in an earlier life; and what it
    /// tells of others that these have not ended.
    fn wished(
        &self,
        offer: &Offer<'_>,
        (plan, earlier, told): (&Plan, &[Seen], &Label),
        (calls, turn): (&[(&ToolCall, Place)], &Turn<'_>),
    ) -> (Vec<(Way, Label)>, Label) {
        let mut told = told.clone();
        let recall = Recall::of(turn.records, &turn.place, |_| false);
        let wished = calls.iter().map(|(call, place)| {
            let way = self.way(offer, call, (place, turn));
            let before = place.position_in(&turn.place);
            let before = before.map(|position| recall.under(position));
            let mut label = plan.label().join(&before.unwrap_or_default());
            if self.is_behind(&way, call) {
                label = label.join(&told);
            }
            if matches!(way, Way::Script(_)) {
                let seen = earlier.iter().map(|seen| &seen.observation.label);
                label = seen.fold(label, |all, label| all.join(label));
            }
            told = told.join(&self.tells(plan, call, None));
            (way, label)
        });
        (wished.collect(), told)
    }

    /// Whether it tells anybody of the calls of its turn before it when a call begins, since it may have waited for them. Its
    /// model has written it without what came of these; but a script sees what they have left in the run: how handles are
    /// numbered, how much is held, how long something takes. And of any other call it may be seen from outside, or its outcome
    /// says what time it was.
    fn is_behind(&self, way: &Way, call: &ToolCall) -> bool {
        let station = self.station;
        match way {
            Way::Script(_) => true,
            Way::Tool => {
                let caller = self.caller_of_model(Label::default());
                let policy = station.gate.policy();
                station.catalog.is_seen(&call.tool, &caller, policy)
                    || station.catalog.tells_time(&call.tool, &caller, policy)
            }
            Way::Search(..) | Way::Nowhere(_) => false,
        }
    }

    /// Who may read what it tells of others how long a call takes, where a stranger has influence on whoever wished it, or that
    /// is secret: what the handles hold that it is given, and whatever it could read that is kept from others; once it has ended,
    /// what was behind it instead of that.
    fn tells(&self, plan: &Plan, call: &ToolCall, behind: Option<&Label>) -> Label {
        let station = self.station;
        let policy = station.gate.policy();
        let classes = &policy.flows.classes;
        let Some(args) = call.args.json() else {
            return Label::default();
        };
        let held = self.known.handles().worst_in(args).of_scalar();
        let read = match behind {
            Some(behind) => behind.clone(),
            None => {
                let caller = self.caller_of_model(Label::default());
                let called = (call.tool.as_str(), Some(args));
                station.catalog.behind(called, &caller, policy)
            }
        };
        let told = held.join(&classes.told_of(&read.without(plan.label())));
        classes.counting(told, plan.label())
    }

    /// The outcomes of a group with the influence of who may read what they say of the time, where a model of the run may be told
    /// nothing private: how long calls took over what is held, which nobody counts as long as the user alone has a hand in the
    /// run. A script has a clock, too.
    fn dated(&self, mut outcomes: Vec<(Outcome, Vec<ToolName>)>) -> Vec<(Outcome, Vec<ToolName>)> {
        for (outcome, _) in &mut outcomes {
            self.date(outcome);
        }
        outcomes
    }

    /// The same of one outcome.
    pub(super) fn date(&self, outcome: &mut Outcome) {
        let station = self.station;
        let policy = station.gate.policy();
        let caller = self.caller_of_model(Label::default());
        let mut models = self.models.all.iter();
        let is_told_less = models.any(|model| model.accepts == Accepts::Public);
        let has_clock =
            outcome.tool == TOOL || station.catalog.tells_time(&outcome.tool, &caller, policy);
        if is_told_less && has_clock {
            let kept = policy.flows.classes.told_of(self.known.handles().all());
            outcome.label = outcome.label.join(&kept);
        }
    }

    /// How what so many calls of one group may hold is called.
    fn namings(&self, calls: usize) -> Vec<Naming> {
        if calls < 2 {
            return vec![Naming::Next; calls];
        }
        let first = self.known.handles().keep_for(calls);
        (first..).take(calls).map(Naming::Kept).collect()
    }

    /// Where a call goes. One too many for its turn goes nowhere, nor does one of a turn that called nothing that is
    /// there: its model is told to say in plain text what it can.
    fn way(&self, offer: &Offer<'_>, call: &ToolCall, (place, turn): (&Place, &Turn<'_>)) -> Way {
        let most = self.agent.pace.calls_per_turn;
        if position_of(place, turn) >= most {
            let what = format!("at most {most} calls of one turn are made; this one was not");
            return Way::Nowhere(Error::new(Code::OverBudget, what));
        }
        if turn.is_nowhere {
            let what = format!(
                "there is no tool `{}`; in the next turn no tool can be called: answer in plain text",
                shown(&call.tool)
            );
            return Way::Nowhere(Error::new(Code::UnknownTool, what));
        }
        offer.way(&call.tool, &call.args)
    }

    /// Whether none of the calls that wait leads to a tool, not even one of a name that is near.
    pub(super) fn is_nowhere(&self, plan: &Plan, offer: &Offer<'_>) -> bool {
        let mut calls = plan.waiting().iter();
        calls.all(|call| {
            let is_tool = matches!(offer.way(&call.tool, &call.args), Way::Tool);
            is_tool && !self.is_near(offer.meant(&call.tool))
        })
    }

    fn is_near(&self, tool: &str) -> bool {
        let station = self.station;
        let caller = self.caller_of_model(Label::default());
        let asker = (&caller, &**station.gate.policy());
        !station.catalog.spoken_of(tool, asker).is_empty()
    }

    /// How a call fared that ended so.
    pub(super) fn fared(&self, position: usize, tool: &str, failed: Option<Code>) -> Fared {
        match failed {
            Some(Code::OverBudget) if position >= self.agent.pace.calls_per_turn => Fared::Cut,
            failed => Fared::of(failed, self.is_near(tool)),
        }
    }

    /// The calls with tools and arguments as they were meant, where that is clear (U-16). What the model wrote is on record.
    pub(super) fn repaired(
        &self,
        offer: &Offer<'_>,
        mut groups: Vec<Vec<ToolCall>>,
    ) -> Vec<Vec<ToolCall>> {
        for call in groups.iter_mut().flatten() {
            call.tool = offer.meant(&call.tool).to_owned();
            let fits = |value: &Value| offer.fits(&call.tool, value);
            if let Some(args) = repaired(&call.tool, &call.args, fits) {
                call.args = WishedArgs::Json(args);
            }
        }
        groups
    }

    /// What a person is asked about the calls of a group that may not be made yet.
    fn all_ahead(
        &self,
        calls: &[(&ToolCall, Place)],
        wished: Vec<(Way, Label)>,
        turn: &Turn<'_>,
    ) -> Result<Vec<Error>> {
        let ahead = calls.iter().zip(wished);
        let ahead = ahead.map(|((call, place), (way, label))| {
            self.ask_ahead(call, (place.clone(), label), &way, turn)
        });
        let asked: Result<Vec<_>> = ahead.collect();
        Ok(asked?.into_iter().flatten().collect())
    }

    /// What a person is asked about a call that may not be made yet. Nothing, if it was made before the run was left.
    fn ask_ahead(
        &self,
        call: &ToolCall,
        (place, label): (Place, Label),
        way: &Way,
        turn: &Turn<'_>,
    ) -> Result<Option<Error>> {
        let caller = Caller {
            place,
            ..self.caller_of_model(label)
        };
        match way {
            Way::Search(..) | Way::Nowhere(_) => Ok(None),
            Way::Script(source) => {
                let scripts = &self.station.scripts;
                let caller = scripts.caller(&caller);
                self.station.gate.ask_ahead(&caller, &scripts.call(source))
            }
            Way::Tool if self.again(call, &caller, turn).is_some() => Ok(None),
            Way::Tool => {
                let request = Request {
                    tool: call.tool.clone(),
                    args: call.args.clone(),
                };
                ask_ahead(self.station, &caller, &request)
            }
        }
    }

    /// One call of a model, wherever it goes; and the tools that it has found.
    async fn one(
        &self,
        call: &ToolCall,
        caller: Caller,
        way: Way,
        turn: &Turn<'_>,
    ) -> (Outcome, Vec<ToolName>) {
        let found = match &way {
            Way::Search(_, names) => names.clone(),
            Way::Tool | Way::Script(_) | Way::Nowhere(_) => Vec::new(),
        };
        let outcome = match way {
            Way::Search(text, names) => {
                let mut outcome = self.said(call, &caller, Ok(text.into()));
                let classes = &self.station.gate.policy().flows.classes;
                outcome.label = outcome.label.join(&classes.of_words(&names));
                outcome.behind.clone_from(&outcome.label);
                outcome
            }
            Way::Nowhere(error) => {
                let what = (shown(&call.tool), wished(&call.args));
                let why = (unfit(&error), error);
                let gate = &self.station.gate;
                let not = gate.turn_down(&caller, EffectKind::Call, what, why);
                self.said(call, &caller, Err(not.error))
            }
            Way::Script(source) => {
                let script = Script {
                    station: self.station,
                    tasks: self.tasks,
                    caller,
                    source,
                    engines: self.engines,
                    waited: Waited::default(),
                };
                script.run(turn.records.to_vec()).await
            }
            Way::Tool => match self.again(call, &caller, turn) {
                Some(outcome) => outcome,
                None => {
                    let request = Request {
                        tool: call.tool.clone(),
                        args: call.args.clone(),
                    };
                    dispatch(self.station.clone(), self.tasks.clone(), caller, request).await
                }
            },
        };
        (outcome, found)
    }

    /// The outcome of a call that was made before the run was left, or may have been.
    fn again(&self, call: &ToolCall, caller: &Caller, turn: &Turn<'_>) -> Option<Outcome> {
        if turn.records.is_empty() {
            return None;
        }
        let repeatable = |tool: &str| self.station.catalog.is_repeatable(tool);
        let recall = Recall::of(turn.records, &turn.place, repeatable);
        let position = caller.place.position_in(&turn.place)?;
        let mut settled = recall.settled.iter();
        let (answered, label, seq) = match settled.find(|settled| settled.position == position) {
            Some(settled) => (settled.answered.clone(), settled.label.clone(), settled.seq),
            None => match recall.left(position) {
                Left::Begun(seq) if !repeatable(&call.tool) => {
                    (in_doubt(&call.tool), caller.label.clone(), seq)
                }
                Left::Begun(_) | Left::Fresh => return None,
            },
        };
        let mut outcome = self.said(call, caller, answered.result());
        // What is kept of it under a handle stands in the record of its end.
        outcome.seq = seq;
        outcome.label = outcome.label.join(&label);
        outcome.behind.clone_from(&outcome.label);
        Some(outcome)
    }

    /// An outcome that no guest made.
    fn said(&self, call: &ToolCall, caller: &Caller, result: Result<Value>) -> Outcome {
        Outcome {
            tool: call.tool.clone(),
            seq: caller.parent,
            at: self.station.gate.journal().clock().now_ms(),
            result,
            label: caller.label.clone(),
            behind: caller.label.clone(),
            trail: Trail::default(),
            spent: Spent::default(),
        }
    }

    fn observed(
        &self,
        (call, place): (&ToolCall, &Place),
        outcome: &Outcome,
        turn: &Turn<'_>,
    ) -> Result<Seen> {
        let tool = self.station.catalog.resolve(&call.tool, &[]);
        let how = tool.map_or_else(
            |_| Default::default(),
            |tool| tool.declared.conduct.truncation,
        );
        let policy = self.station.gate.policy();
        let (observation, kept) = observe(outcome, how, (policy, &self.known, &self.agent.names));
        let failed = outcome.result.as_ref().err().map(Error::code);
        let event = Event::Observed {
            call: call.id.clone(),
            tool: call.tool.clone(),
            observation: observation.clone(),
            failed,
            kept,
        };
        let seq = self
            .station
            .gate
            .journal()
            .append(self.run, outcome.seq, event)?
            .seq;
        Ok(Seen {
            observation,
            fared: self.fared(position_of(place, turn), &call.tool, failed),
            seq,
        })
    }
}

/// The number of a call in its turn, from 0.
fn position_of(place: &Place, turn: &Turn<'_>) -> usize {
    let position = place.position_in(&turn.place);
    position
        .and_then(|position| usize::try_from(position).ok())
        .unwrap_or(usize::MAX)
}

/// What becomes of the outcome of a call in its turn.
enum Fate {
    /// The model sees it.
    Seen,
    /// It waits for a person.
    Asked,
    /// A call before it waits for a person: the model sees it when that has ended.
    Later,
    /// It is a script that was cut off.
    CutOff,
    /// It ends the run.
    Over,
}

fn fate(outcome: &Outcome, behind_asked: bool) -> Fate {
    match &outcome.result {
        Err(error) if error.code() == Code::Asked => Fate::Asked,
        Ok(_) | Err(_) if behind_asked => Fate::Later,
        Err(error) if error.code() == Code::Cancelled && outcome.tool == TOOL => Fate::CutOff,
        Err(error) if !error.code().told_to_model() => Fate::Over,
        Ok(_) | Err(_) => Fate::Seen,
    }
}
