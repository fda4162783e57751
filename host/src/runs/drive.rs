//! Driving a run: asks the plan what comes next, does it, and tells the plan what came of it.

mod calls;
mod prompt;

use std::sync::Arc;

use self::calls::Turn;
use super::brought::{self, goal_with};
use super::offer::{Offer, Way};
use super::provider::Model;
use super::script::Engines;
use crate::gate::{Performed, failed};
use crate::guests::station::Station;
use crate::guests::tasks::Tasks;
use crate::rules::agent::Agent;
use crate::rules::caller::{Budget, Caller, Known, Origin};
use crate::rules::plan::{Plan, Seen, Step};
use crate::rules::show::Show;
use crate::words::clock::Deadline;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Brought, Content, End, Event, Record, Spent, Started, Stopped, Surface};
use crate::words::id::{Place, RunId};
use crate::words::label::Label;
use crate::words::limits::CALL_TIMEOUT_MS_MAX;

/// A run under way.
pub(super) struct Drive<'a> {
    pub(super) station: &'a Arc<Station>,
    pub(super) tasks: &'a Tasks,
    pub(super) run: &'a RunId,
    pub(super) surface: Surface,
    pub(super) agent: &'a Agent,
    pub(super) models: Vec<&'a Model>,
    pub(super) engines: &'a dyn Engines,
    /// What the run knows: answers, values that may steer.
    pub(super) known: Known,
    /// What of other runs it began with.
    pub(super) brought: Vec<Brought>,
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
    pub(super) async fn pursue(&self, started: Started, records: &[Record]) -> Result<Pursued> {
        let journal = self.station.gate.journal();
        let mut offer = Offer::new(self.station, self.agent, self.surface);
        let flows = &self.station.gate.policy().flows;
        let goal = goal_with(&started.goal, &self.brought, flows);
        let mut plan = Plan::new(&goal, started.label.clone(), self.agent.turns);
        let mut earlier = self.recall(&mut plan, &mut offer, records);
        if records.is_empty() {
            journal.append(self.run, 0, Event::Started(started))?;
            for event in brought::events(&self.brought) {
                journal.append(self.run, 0, event)?;
            }
        }
        let answer = loop {
            if self.tasks.is_cancelled() {
                plan.failed(&Error::new(Code::Cancelled, "the run was cancelled"));
            }
            match plan.next(|tool| offer.grouping(self.station, tool)) {
                Step::Prompt(turn) => {
                    plan.read(offer.label());
                    self.prompt(&mut plan, &offer.cards(), turn).await?;
                }
                Step::Calls(groups) => {
                    let earlier = std::mem::take(&mut earlier);
                    let turn = Turn {
                        place: Place::of_turn(plan.spent().0),
                        records,
                        earlier,
                    };
                    let left = self.call(&mut plan, &mut offer, groups, turn).await?;
                    if let Some(why) = left {
                        self.tasks.drain().await;
                        return Ok(Pursued::Left(why));
                    }
                }
                Step::Answer(text) => break Ok(text),
                Step::Fail(code, why) => {
                    let hints = plan.hints().iter().cloned();
                    break Err(hints.fold(Error::new(code, why), Error::hint));
                }
            }
        };
        self.tasks.drain().await;
        let answer = self.show(&plan, answer).await;
        self.stop(&plan, &answer)?;
        journal.sync().await?;
        Ok(Pursued::Ended(answer))
    }

    /// Brings the plan to where the records leave it. What is returned was observed of its last reply.
    fn recall(&self, plan: &mut Plan, offer: &mut Offer<'_>, records: &[Record]) -> Vec<Seen> {
        let mut seen = Vec::new();
        for record in records {
            if let Event::Replied { reply, label, .. } = &record.event {
                // The tools that it was shown may be others by now.
                plan.read(label);
                plan.replied(reply.clone());
            }
            if let Event::Observed { observation, .. } = &record.event {
                seen.push(Seen {
                    observation: observation.clone(),
                    correction: false,
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
            deadline: Deadline::after_ms(CALL_TIMEOUT_MS_MAX),
            budget: Budget::of_calls(self.station.gate.policy().bounds.calls),
        }
    }

    /// Everything that an answer rests on is committed before it is shown.
    async fn show(&self, plan: &Plan, answer: Result<String>) -> Result<String> {
        let text = answer?;
        let caller = self.caller_of_model(plan.label().clone());
        let show = Show {
            what: "answer",
            bytes: text.len(),
        };
        let label = plan.label().clone();
        let passed = self.station.gate.pass(&caller, show, async move |permit| {
            let _shown = permit.redeem();
            Performed::of(Ok(text), label, Spent::default())
        });
        passed.await?.performed.result
    }

    fn stop(&self, plan: &Plan, answer: &Result<String>) -> Result<()> {
        let (turns, mut usage) = plan.spent();
        usage.add(self.known.consults.usage());
        let end = match answer {
            Ok(text) => End::Done {
                content: Content::Inline(text.as_str().into()),
            },
            Err(error) => failed(error),
        };
        let stopped = Event::Stopped(Stopped { end, turns, usage });
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
