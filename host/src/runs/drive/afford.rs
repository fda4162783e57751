//! What a run may still use of its models: before a prompt leaves, and when its answer is there.

use super::super::known::used_beside;
use super::super::provider::Model;
use super::Drive;
use crate::gate::{Performed, all_asked};
use crate::rules::budget::{Ahead, OnExceed, Overspend, Purse, Used, blind, used_up};
use crate::rules::caller::{Caller, Room};
use crate::rules::plan::Plan;
use crate::words::budget::{Budgeted, Over};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Event, Spent};
use crate::words::id::Place;
use crate::words::label::Label;
use crate::words::message::Usage;

/// Whether a prompt may leave, as far as budgets go.
pub(super) enum Afford {
    /// It may.
    Yes,
    /// The run ends: which budget is used up, and what is said of it.
    No(Budgeted, Error),
    /// The run is left, since a person has to say.
    Asked(Error),
}

impl Drive<'_> {
    /// Weighs what was used and what the next prompt is taken to use.
    ///
    /// # Errors
    /// The journal's failure.
    pub(super) async fn afford(
        &self,
        plan: &Plan,
        ahead: Ahead,
        purse: &mut Purse,
    ) -> Result<Afford> {
        let caps = &self.agent.caps;
        if caps.is_nothing() {
            return Ok(Afford::Yes);
        }
        let used = self.used_in_all(plan, purse);
        if caps.is_blind(used.usage) {
            return Ok(Afford::No(Budgeted::Cost, blind(&self.agent.name)));
        }
        for over in caps.over(used, ahead) {
            match caps.on_exceed {
                OnExceed::Fail => return Ok(Afford::No(over.budget, self.over_budget(&over))),
                OnExceed::Warn if purse.warn(&over) => {
                    let journal = self.station.gate.journal();
                    journal.append(self.run, 0, Event::Overspent(over))?;
                }
                OnExceed::Ask if !purse.covers(&over) => {
                    match self.ask_for(plan, (over, purse.cap(&over))).await {
                        Ok(()) => purse.grant(&over),
                        Err(error) if error.code() == Code::Asked => {
                            let asked = all_asked("the run", std::iter::once(&error));
                            return Ok(Afford::Asked(asked.unwrap_or(error)));
                        }
                        Err(error) if error.code() == Code::Denied => {
                            let denied = Error::new(Code::OverBudget, error.message());
                            return Ok(Afford::No(over.budget, denied));
                        }
                        Err(error) => return Err(error),
                    }
                }
                OnExceed::Warn | OnExceed::Ask => {}
            }
        }
        Ok(Afford::Yes)
    }

    /// What an answer has cost is known when it is there. Calls of a run that may not read what comes of them are not made;
    /// an answer that is whole is given.
    pub(super) fn spent(&self, plan: &mut Plan) {
        let caps = &self.agent.caps;
        if caps.is_nothing() || plan.waiting().is_empty() {
            return;
        }
        let used = self.used(plan);
        // How long it took is looked at before the next turn.
        let all = Used {
            usage: used,
            ..Used::default()
        };
        let over = caps.over(all, Ahead::default()).next();
        match (over, caps.on_exceed) {
            _ if caps.is_blind(used) => plan.spent_up(Budgeted::Cost, &blind(&self.agent.name)),
            (Some(over), OnExceed::Fail) => plan.spent_up(over.budget, &self.over_budget(&over)),
            (Some(_), OnExceed::Warn | OnExceed::Ask) | (None, _) => {}
        }
    }

    /// Whether what is about to be used is within the budgets, or it was settled that the run goes on beyond them.
    pub(super) fn is_within(&self, plan: &Plan, ahead: Ahead, purse: &Purse) -> bool {
        let caps = &self.agent.caps;
        let used = self.used_in_all(plan, purse);
        let mut over = caps.over(used, ahead);
        caps.is_nothing()
            || !caps.is_blind(used.usage) && over.all(|over| purse.settles(&over, caps.on_exceed))
    }

    /// Turns, attempts that failed, questions about what is held and summaries are paid from one purse.
    pub(super) fn used(&self, plan: &Plan) -> Usage {
        let (_, mut usage) = plan.spent();
        usage.add(used_beside(self.station, &self.known));
        usage
    }

    fn used_in_all(&self, plan: &Plan, purse: &Purse) -> Used {
        Used {
            usage: self.used(plan),
            turns: plan.spent().0.into(),
            wall_ms: purse.wall_ms(self.station.gate.journal().stamped(self.run)),
        }
    }

    /// What a turn of so many tokens is taken to use: the dearest of the run's models may be the one that answers.
    pub(super) fn ahead(&self, input: u64) -> Ahead {
        Ahead {
            turns: 1,
            ..self.ahead_of(&self.models.all, input)
        }
    }

    /// Likewise, of a prompt for these.
    pub(super) fn ahead_of(&self, models: &[&Model], input: u64) -> Ahead {
        let reply = self.agent.caps.reply_tokens;
        let prices = models.iter().map(|model| model.priced.ahead(input, reply));
        Ahead {
            tokens: input.saturating_add(reply),
            micros: prices.max().unwrap_or(0),
            turns: 0,
        }
    }

    /// A person is asked whether the run may go on, over the cap that holds by now.
    async fn ask_for(&self, plan: &Plan, (over, cap): (Over, u64)) -> Result<()> {
        let caller = Caller {
            // The run's own: in whichever turn it is asked, the same is asked.
            place: Place::of_turn(0),
            ..self.caller_of_model(plan.label().clone())
        };
        let overspend = Overspend {
            over,
            cap,
            agent: self.agent.name.clone(),
        };
        let passed = self.station.gate.pass(&caller, overspend, async |permit| {
            let _granted = permit.redeem();
            Performed::of(Ok(()), Label::default(), Spent::default())
        });
        passed.await?.performed.result
    }

    /// What questions in the middle of the calls that come next may use.
    pub(super) fn make_room(&self, plan: &Plan, purse: &Purse) {
        let (_, turns) = plan.spent();
        self.known.consults.within(Room {
            agent: self.agent.name.clone(),
            caps: self.agent.caps,
            purse: purse.clone(),
            turns,
        });
    }

    fn over_budget(&self, over: &Over) -> Error {
        used_up(&self.agent.name, over, "the next turn")
    }
}
