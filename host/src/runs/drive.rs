//! Driving a run: asks the plan what comes next, does it, and tells the plan what came of it.

mod afford;
mod calls;
pub(super) mod models;
mod noted;
mod prompt;
mod tell;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Mutex;

use self::calls::Turn;
use self::models::Models;
use super::brought::{self, goal_with};
use super::ended::broke;
use super::offer::{Offer, Way};
use super::provider::Model;
use super::rest;
use super::script::Engines;
use crate::gate::{Performed, failed};
use crate::guests::station::Station;
use crate::guests::tasks::Tasks;
use crate::rules::agent::Agent;
use crate::rules::answer;
use crate::rules::budget::Purse;
use crate::rules::caller::{Budget, Caller, Known, Origin};
use crate::rules::context::told::Context;
use crate::rules::plan::{Grouping, Plan, Seen, Step};
use crate::rules::progress;
use crate::rules::questions::Questions;
use crate::rules::running::Pending;
use crate::rules::schema::Schema;
use crate::rules::show::Show;
use crate::words::attachment::Body;
use crate::words::bound::pace_hint;
use crate::words::clock::Deadline;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Brought, Content, End, Event, Record, Spent, Started, Stopped, Surface};
use crate::words::id::{Place, RunId};
use crate::words::label::Label;

/// A run under way.
pub(super) struct Drive<'a> {
    pub(super) station: &'a Arc<Station>,
    pub(super) tasks: &'a Tasks,
    pub(super) time: Time,
    pub(super) run: &'a RunId,
    pub(super) surface: Surface,
    pub(super) agent: &'a Agent,
    pub(super) models: Models<'a>,
    pub(super) engines: &'a dyn Engines,
    /// What the run knows: answers, values that may steer.
    pub(super) known: Known,
    /// What of other runs it began with.
    pub(super) brought: Vec<Brought>,
    /// The shape of its answer, where it has one.
    pub(super) shape: Option<Schema>,
    pub(super) told: Told<'a>,
}

/// How long a run may take.
pub(super) struct Time {
    /// When its time is over, by the steady time of its clock; never where it says nothing.
    pub(super) until: Option<u64>,
    /// Whether it was, in the middle of a step.
    pub(super) cut_off: AtomicBool,
    /// Turns that runs of its session have taken before.
    pub(super) turns: u32,
}

/// What the models of a run are told beside what is said in it.
pub(super) struct Told<'a> {
    /// What was said in its session before, and what was folded.
    pub(super) context: Mutex<Context>,
    /// The model that writes summaries.
    pub(super) summariser: Option<&'a Model>,
    /// What stands behind the goal, and is no part of it.
    pub(super) behind_goal: String,
}

/// How a pursuit ends.
pub(super) enum Pursued {
    /// With the run.
    Ended(Result<String>),
    /// The run is left, for this reason.
    Left(Error),
}

impl Drive<'_> {
    /// Pursues the goal to its end, or to where the run is left; then it goes on from its records.
    ///
    /// # Errors
    /// The journal's failure.
    pub(super) async fn pursue(&self, mut started: Started, records: &[Record]) -> Result<Pursued> {
        let mut offer = Offer::new(self.station, self.agent, self.surface);
        let flows = &self.station.gate.policy().flows;
        let mut goal = goal_with(&started.goal, &self.brought, flows);
        goal.push_str(&self.told.behind_goal);
        let (turns, pace) = (self.agent.turns, self.agent.pace);
        let plan = Plan::new(&goal, started.influence(), turns, pace);
        let mut plan = plan.after(self.time.turns).with(&started.attached);
        let earlier = self.recall(&mut plan, &mut offer, records);
        if records.is_empty() {
            let journal = self.station.gate.journal();
            for one in &mut started.attached {
                one.content = Body::default();
            }
            journal.append(self.run, 0, Event::Started(started))?;
            for event in brought::events(&self.brought) {
                journal.append(self.run, 0, event)?;
            }
        }
        let left = self.steps(&mut plan, &mut offer, (records, earlier));
        if let Some(why) = left.await? {
            self.tasks.drain().await;
            return Ok(Pursued::Left(why));
        }
        self.tasks.drain().await;
        self.end(plan).await.map(Pursued::Ended)
    }

    /// Does step after step, until the run is over, or left for the reason that is returned.
    async fn steps(
        &self,
        plan: &mut Plan,
        offer: &mut Offer<'_>,
        (records, mut earlier): (&[Record], Vec<Seen>),
    ) -> Result<Option<Error>> {
        let mut purse = Purse::of(records);
        purse.begin(self.station.gate.journal().stamped(self.run));
        loop {
            self.look_up(plan);
            match plan.next(|tool| offer.grouping(self.station, tool)) {
                Step::Prompt(_) if let Err(spent) = self.check_run(plan) => plan.failed(&spent),
                Step::Prompt(turn) => {
                    let left = self.turn(plan, offer, (turn, &mut purse)).await?;
                    if left.is_some() {
                        return Ok(left);
                    }
                }
                Step::Calls(groups) => {
                    self.make_room(plan, &purse);
                    let turn = Turn {
                        place: Place::of_turn(plan.spent().0),
                        records,
                        earlier: std::mem::take(&mut earlier),
                        is_nowhere: self.is_nowhere(plan, offer),
                    };
                    // What was looked at in an earlier turn is looked at again.
                    self.tasks.repeats().clear();
                    let groups = self.repaired(offer, groups);
                    let tools = groups.iter().flatten().map(|call| call.tool.as_str());
                    let turns = (plan.spent().0, self.agent.turns);
                    let journal = self.station.gate.journal();
                    journal.glimpse(self.run, progress::running(tools, turns));
                    let left = self.in_time(self.call(plan, offer, groups, turn)).await?;
                    if let Some(why) = left {
                        return Ok(self.is_left(plan, &why).await?.then_some(why));
                    }
                }
                Step::Answer(_) | Step::Fail(..) => return Ok(None),
            }
        }
    }

    /// What has happened to the run meanwhile: somebody gave it up, or its time is over.
    fn look_up(&self, plan: &mut Plan) {
        let is_late = self.time.cut_off.load(Ordering::Acquire)
            || self.is_late() && !self.tasks.is_given_up();
        if let (true, Some(limit_ms)) = (is_late, self.agent.pace.run_timeout_ms) {
            plan.late(limit_ms);
        } else if self.tasks.is_given_up() {
            plan.failed(&Error::new(Code::Cancelled, "the run was cancelled"));
        }
    }

    /// The run may begin another turn.
    fn check_run(&self, plan: &Plan) -> Result<()> {
        let caller = self.caller_of_model(plan.label().clone());
        self.station.gate.check_run(&caller)
    }

    fn is_late(&self) -> bool {
        let now = self.station.gate.journal().clock().steady_ms();
        let recorded = self.station.recorded.as_ref();
        self.time
            .until
            .is_some_and(|until| recorded.map_or(now >= until, |recorded| recorded.is_late()))
    }

    /// Returns when the run's time is over: in a replay where it was.
    async fn late(&self) {
        let Some(until) = self.time.until else {
            return std::future::pending().await;
        };
        let clock = self.station.gate.journal().clock();
        let Some(recorded) = &self.station.recorded else {
            return rest::until_steady(clock, until).await;
        };
        loop {
            // Before the look, so that no record between the two is missed: each one moves the clock.
            let moved = clock.moved();
            match moved {
                Some(moved) if !recorded.is_late() => moved.await,
                Some(_) | None => return,
            }
        }
    }

    /// Does one step; where the run's time ends in the middle of it, everything under way is cut off, and ends.
    async fn in_time<T>(&self, step: impl Future<Output = T>) -> T {
        let mut step = pin!(step);
        tokio::select! {
            biased;
            done = step.as_mut() => return done,
            () = self.late() => {
                self.time.cut_off.store(true, Ordering::Release);
                self.tasks.cancel();
            }
        }
        step.await
    }

    /// Whether a run that cannot go on now is left to be taken up again; otherwise it is over. One that was given up
    /// while a person is asked is not left, unless its questions are to be held (U-07); nor is one whose time is over.
    async fn is_left(&self, plan: &mut Plan, why: &Error) -> Result<bool> {
        if self.time.cut_off.load(Ordering::Acquire) {
            self.look_up(plan);
            return Ok(false);
        }
        let pending = self.tasks.abort().pending;
        let is_held = !self.tasks.is_given_up() || why.code() != Code::Asked;
        if is_held || pending == Pending::Hold {
            plan.left();
            return Ok(true);
        }
        let journal = self.station.gate.journal();
        match pending {
            Pending::Fail => {
                let what = "the run was given up while questions waited (`pending = \"fail\"`)";
                plan.failed(&Error::new(Code::Denied, what));
            }
            Pending::Deny | Pending::Hold => {
                plan.failed(&Error::new(Code::Cancelled, "the run was cancelled"));
            }
        }
        let questions = Questions::of(&journal.records(self.run).await?);
        for waiting in questions.open() {
            let question = waiting.question.id.clone();
            journal.append(self.run, 0, Event::Expired { question })?;
        }
        Ok(false)
    }

    /// Ends the run: its answer is shown, and its end recorded. That somebody gave it up until then wins.
    async fn end(&self, mut plan: Plan) -> Result<Result<String>> {
        let nothing = |_: &str| Grouping::Alone;
        if matches!(plan.next(nothing), Step::Answer(_)) {
            self.look_up(&mut plan);
        }
        let answer = match plan.next(nothing) {
            Step::Answer(text) => self.show(&plan, text).await,
            Step::Fail(code, why) => {
                let hints = plan.hints().iter().cloned();
                // What has hints of its own, or names its key, is none of the run's own pace.
                let is_told = !plan.hints().is_empty() || plan.is_sessions_last();
                let limit = plan.limit().filter(|_| !is_told);
                let hint = limit.and_then(|limit| pace_hint(limit, &self.agent.name));
                let system = self.tasks.system();
                let word = system.map(|system| system.word(code, plan.limit(), plan.setback()));
                let mut error = Error::new(code, why).called(word);
                if let Some(whose) = plan.whose() {
                    error = error.by(whose);
                }
                Err(hints.chain(hint).fold(error, Error::hint))
            }
            Step::Prompt(_) | Step::Calls(_) => Err(Error::bug("a run stopped before its end")),
        };
        if let (Step::Answer(_), Err(error)) = (plan.next(nothing), &answer) {
            plan.failed(error);
        }
        // Whoever watches sees the end, with the answer, when it is appended.
        self.station.gate.journal().commit().await?;
        self.stop(&mut plan, &answer)?;
        self.station.gate.journal().sync().await?;
        Ok(answer)
    }

    /// Ends a run that broke by a mistake of ours: it has an end like any other (U-03).
    ///
    /// # Errors
    /// The journal's failure.
    pub(super) async fn broke(&self, error: Error) -> Result<Pursued> {
        broke(self.station.gate.journal(), (self.run, self.tasks), &error).await?;
        Ok(Pursued::Ended(Err(error)))
    }

    /// Brings the plan to where the records leave it. What is returned was observed of its last reply.
    fn recall(&self, plan: &mut Plan, offer: &mut Offer<'_>, records: &[Record]) -> Vec<Seen> {
        let mut seen = Vec::new();
        for record in records {
            if let Event::Prompted { tools, .. } = &record.event {
                plan.offer(tools);
            }
            if let Event::Replied { reply, label, .. } = &record.event {
                // The tools that it was shown may be others by now.
                plan.read(label);
                plan.replied(reply.clone());
                answer::settle(plan, self.shape.as_ref());
            }
            if let Event::Observed {
                tool,
                observation,
                failed,
                ..
            } = &record.event
            {
                seen.push(Seen {
                    observation: observation.clone(),
                    fared: self.fared(seen.len(), tool, *failed),
                    seq: record.seq,
                });
                if seen.len() == plan.waiting().len() {
                    find_again(plan, offer);
                    plan.observed(std::mem::take(&mut seen));
                }
            }
        }
        seen
    }

    fn caller_of_model(&self, label: Label) -> Caller {
        Caller {
            run: self.run.clone(),
            parent: 0,
            place: Place::default(),
            known: self.known.clone(),
            surface: self.surface,
            origin: Origin::Model,
            reach: self.agent.tools.clone().into(),
            grant: Arc::default(),
            label,
            depth: 0,
            deadline: self.deadline(self.agent.pace.call_timeout_ms),
            budget: Budget::of_calls(self.station.gate.policy().bounds.calls),
        }
    }

    /// So long from now, and not longer than the run may take.
    fn deadline(&self, ms: u64) -> Deadline {
        let now = self.station.gate.journal().clock().steady_ms();
        let rest = self
            .time
            .until
            .map_or(ms, |until| until.saturating_sub(now));
        Deadline::after_ms(ms.min(rest))
    }

    /// Everything that an answer rests on is committed before it is shown, which is at the end of the run.
    async fn show(&self, plan: &Plan, text: String) -> Result<String> {
        let caller = self.caller_of_model(plan.label().clone());
        let show = Show {
            what: "answer",
            bytes: text.len(),
            flags: Vec::new(),
        };
        let label = plan.label().clone();
        let passed = self.station.gate.pass(&caller, show, async move |permit| {
            let _shown = permit.redeem();
            Performed::of(Ok(text), label, Spent::default())
        });
        passed.await?.performed.result
    }

    /// Records the end, once.
    fn stop(&self, plan: &mut Plan, answer: &Result<String>) -> Result<()> {
        let Some((_, limit)) = plan.stop() else {
            return Err(Error::bug("a run ended twice"));
        };
        let (turns, _) = plan.spent();
        let end = match answer {
            Ok(text) => End::Done {
                content: Content::Inline(text.as_str().into()),
            },
            Err(error) => failed(error),
        };
        let stopped = Event::Stopped(Stopped {
            end,
            turns,
            usage: self.used(plan),
            limit,
        });
        self.station
            .gate
            .journal()
            .append(self.run, 0, stopped)
            .map(|_| ())
    }
}

/// What the searches of the last reply have found is shown from then on.
fn find_again(plan: &Plan, offer: &mut Offer<'_>) {
    for call in plan.waiting() {
        if let Way::Search(_, names) = offer.way(&call.tool, &call.args) {
            offer.find(names);
        }
    }
}
