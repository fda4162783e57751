//! Room: what is left of a run's budget for questions to models that are no turn, and come in the middle of its calls. Each is
//! weighed before it leaves, as a turn is; many at once see each only what the others leave.

use std::sync::Arc;

use super::Consults;
use crate::rules::budget::{Ahead, Caps, OnExceed, Purse, Used, blind, used_up};
use crate::words::budget::Over;
use crate::words::error::Result;
use crate::words::lock::lock;
use crate::words::message::{Cost, Usage};

/// The budget of a run, and what its turns have used of it. A client's own calls have no cap.
#[derive(Clone, Debug, Default)]
pub struct Room {
    /// Whose budget it is, by the name of the agent.
    pub agent: String,
    /// The budget.
    pub caps: Caps,
    /// What persons have granted beyond it.
    pub purse: Purse,
    /// What the replies of turns have used.
    pub turns: Usage,
}

impl Room {
    /// Whether the run goes on beyond this. Where a person is asked for more, that is before a turn: nobody is in the middle
    /// of a call.
    fn lets(&self, over: &Over) -> bool {
        match self.caps.on_exceed {
            OnExceed::Fail => false,
            OnExceed::Warn => true,
            OnExceed::Ask => self.purse.covers(over),
        }
    }
}

/// What is paid from it beside the turns.
#[derive(Debug, Default)]
pub(super) struct Till {
    room: Room,
    /// What was used.
    pub(super) used: Usage,
    /// What is taken for questions that are under way.
    taken: Ahead,
}

impl Till {
    /// After earlier lives of the run, which have used this.
    pub(super) fn after(used: Usage) -> Self {
        Self {
            used,
            ..Self::default()
        }
    }

    fn take(&mut self, ahead: Ahead) -> Result<()> {
        let caps = self.room.caps;
        let mut usage = self.used;
        usage.add(self.room.turns);
        if caps.is_blind(usage) {
            return Err(blind(&self.room.agent));
        }
        // What was taken for others counts as used, until they say what it came to.
        usage.add(Usage {
            input_tokens: self.taken.tokens,
            cost: Cost::of(self.taken.micros),
            ..Usage::default()
        });
        let used = Used {
            usage,
            ..Used::default()
        };
        let over = caps.over(used, ahead).find(|over| !self.room.lets(over));
        if let Some(over) = over {
            return Err(used_up(&self.room.agent, &over, "the next question"));
        }
        self.taken.tokens = self.taken.tokens.saturating_add(ahead.tokens);
        self.taken.micros = self.taken.micros.saturating_add(ahead.micros);
        Ok(())
    }

    fn give_back(&mut self, ahead: Ahead) {
        self.taken.tokens = self.taken.tokens.saturating_sub(ahead.tokens);
        self.taken.micros = self.taken.micros.saturating_sub(ahead.micros);
    }
}

impl Consults {
    /// What the calls that are made next have room for.
    pub fn within(&self, room: Room) {
        lock(&self.till).room = room;
    }

    /// How many tokens an answer is taken to have before it is there.
    #[must_use]
    pub fn reply_tokens(&self) -> u64 {
        lock(&self.till).room.caps.reply_tokens
    }

    /// Takes what a question may come to, before it leaves.
    ///
    /// # Errors
    /// `OverBudget` where the budget of the run has no room for it.
    pub fn take(self: &Arc<Self>, ahead: Ahead) -> Result<Taken> {
        lock(&self.till).take(ahead)?;
        Ok(Taken {
            consults: self.clone(),
            ahead,
        })
    }
}

/// What is taken for one question, until it is known what that came to, or this is dropped.
#[derive(Debug)]
pub struct Taken {
    pub(super) consults: Arc<Consults>,
    ahead: Ahead,
}

impl Taken {
    /// Spends what the question came to, in place of what was taken for it: nobody sees both.
    pub fn settle(&mut self, used: Usage) {
        let ahead = std::mem::take(&mut self.ahead);
        let mut till = lock(&self.consults.till);
        till.used.add(used);
        till.give_back(ahead);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        lock(&self.consults.till).give_back(self.ahead);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::budget::Unpriced;
    use crate::words::budget::Budgeted;
    use crate::words::error::{Code, Error};

    fn caps() -> Caps {
        Caps {
            tokens: 1_000,
            cost_micros: 500,
            reply_tokens: 10,
            ..Caps::default()
        }
    }

    fn room(caps: Caps) -> Room {
        Room {
            agent: "a".to_owned(),
            caps,
            ..Room::default()
        }
    }

    fn within(room: Room) -> Arc<Consults> {
        let consults = Consults::of(Vec::new(), (0, used(100, 50)));
        consults.within(room);
        consults
    }

    fn used(tokens: u64, micros: u64) -> Usage {
        Usage {
            output_tokens: tokens,
            cost: Cost::of(micros),
            ..Usage::default()
        }
    }

    fn ahead(tokens: u64, micros: u64) -> Ahead {
        Ahead {
            tokens,
            micros,
            turns: 0,
        }
    }

    fn refused(taken: Result<Taken>) -> Error {
        let error = taken.unwrap_err();
        assert_eq!(error.code(), Code::OverBudget, "{error:?}");
        error
    }

    #[test]
    fn a_question_has_the_room_that_is_left() {
        let consults = within(Room {
            turns: used(200, 150),
            ..room(caps())
        });
        assert_eq!(consults.reply_tokens(), 10);
        drop(consults.take(ahead(700, 300)).unwrap());
        let error = refused(consults.take(ahead(701, 0)));
        let expected = "the budget of this run is used up: 300 of 1000 tokens used; the next question takes about 701 tokens";
        assert_eq!(error.message(), expected);
        let hints = error.hints().join("\n");
        assert!(
            hints.contains("[agents.a.budget]\ntokens = 2000"),
            "{hints}"
        );
        let error = refused(consults.take(ahead(0, 301)));
        assert!(error.message().contains("0.0002 of 0.0005 used"), "{error}");
        consults.spend(used(700, 0));
        assert!(consults.take(ahead(0, 0)).is_ok());
        refused(consults.take(ahead(1, 0)));
    }

    #[test]
    fn many_at_once_see_what_the_others_leave() {
        let consults = within(room(caps()));
        let first = consults.take(ahead(500, 0)).unwrap();
        refused(consults.take(ahead(401, 0)));
        let second = consults.take(ahead(400, 450)).unwrap();
        refused(consults.take(ahead(1, 0)));
        refused(consults.take(ahead(0, 1)));
        consults.spend(used(20, 0));
        drop((first, second));
        assert!(consults.take(ahead(880, 450)).is_ok());
        refused(consults.take(ahead(881, 0)));
        assert_eq!(consults.usage(), used(120, 50));
    }

    #[test]
    fn what_a_question_came_to_stands_in_place_of_what_was_taken_for_it() {
        let consults = within(room(caps()));
        let mut taken = consults.take(ahead(500, 300)).unwrap();
        taken.settle(used(20, 10));
        assert!(consults.take(ahead(880, 440)).is_ok());
        refused(consults.take(ahead(881, 0)));
        // Nothing is given back twice.
        let _other = consults.take(ahead(100, 100)).unwrap();
        drop(taken);
        refused(consults.take(ahead(781, 0)));
        refused(consults.take(ahead(0, 341)));
        assert_eq!(consults.usage(), used(120, 60));
    }

    #[test]
    fn what_a_run_may_go_beyond_its_questions_may() {
        let over = Over {
            budget: Budgeted::Tokens,
            spent: 1_000,
            ahead: 1,
            cap: 1_000,
        };
        let with = |on_exceed| {
            room(Caps {
                on_exceed,
                ..caps()
            })
        };
        assert!(within(with(OnExceed::Warn)).take(ahead(5_000, 0)).is_ok());
        let mut asks = with(OnExceed::Ask);
        refused(within(asks.clone()).take(ahead(901, 0)));
        asks.purse.grant(&over);
        let granted = within(asks);
        assert!(granted.take(ahead(1_900, 0)).is_ok());
        refused(granted.take(ahead(1_901, 0)));
    }

    #[test]
    fn a_cap_that_nobody_can_check_has_no_room() {
        let unknown = Usage {
            cost: Cost::unknown(),
            ..Usage::default()
        };
        for (unpriced, fits) in [(Unpriced::Fail, false), (Unpriced::Allow, true)] {
            let caps = Caps { unpriced, ..caps() };
            let consults = within(room(caps));
            consults.spend(unknown);
            assert_eq!(consults.take(ahead(1, 0)).is_ok(), fits);
        }
    }

    #[test]
    fn a_client_has_no_cap() {
        let consults = Arc::<Consults>::default();
        consults.spend(used(u64::MAX, u64::MAX));
        assert!(consults.take(ahead(u64::MAX, u64::MAX)).is_ok());
        assert!(consults.take(ahead(1, 1)).is_ok());
    }
}
