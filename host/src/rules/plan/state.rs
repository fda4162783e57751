//! States of a run, and the graph of what may follow what (U-03, O-09).
//!
//! A plan moves along the graph and nowhere else; what a run has recorded is a path in it as well, so that a
//! journal can be checked without the code that wrote it.

use crate::words::error::Code;
use crate::words::event::{EffectKind, End, Event, Record, Stopped};

/// Where a run of an agent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Its model is asked.
    Prompting,
    /// The calls of a reply are made.
    Calling,
    /// It waits for a person, or was cut off where it can be taken up again; nothing of it is in memory.
    Left,
    /// It is over, with an answer.
    Answered,
    /// It is over: somebody gave it up.
    Cancelled,
    /// It is over: a bound of its own was reached.
    Limited,
    /// It is over, and failed.
    Failed,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Prompting,
        Self::Calling,
        Self::Left,
        Self::Answered,
        Self::Cancelled,
        Self::Limited,
        Self::Failed,
    ];

    /// Whether `next` may follow: the whole graph.
    #[must_use]
    pub fn may_become(self, next: Self) -> bool {
        match self {
            Self::Prompting => match next {
                Self::Calling
                | Self::Left
                | Self::Answered
                | Self::Cancelled
                | Self::Limited
                | Self::Failed => true,
                Self::Prompting => false,
            },
            Self::Calling => match next {
                Self::Prompting | Self::Left | Self::Cancelled | Self::Limited | Self::Failed => {
                    true
                }
                Self::Calling | Self::Answered => false,
            },
            Self::Left => match next {
                Self::Prompting
                | Self::Calling
                | Self::Cancelled
                | Self::Limited
                | Self::Failed => true,
                Self::Left | Self::Answered => false,
            },
            Self::Answered | Self::Cancelled | Self::Limited | Self::Failed => false,
        }
    }

    /// Whether nothing may follow.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        !Self::ALL.iter().any(|next| self.may_become(*next))
    }

    /// How a run has ended.
    #[must_use]
    pub fn of(stopped: &Stopped) -> Self {
        match (&stopped.end, stopped.limit) {
            (End::Done { .. }, _) => Self::Answered,
            (
                End::Failed {
                    code: Code::Cancelled,
                    ..
                },
                _,
            ) => Self::Cancelled,
            (End::Failed { .. }, Some(_)) => Self::Limited,
            (End::Failed { .. }, None) => Self::Failed,
        }
    }

    /// Where a record says that its run stands; nothing where it says nothing of that.
    fn said_by(event: &Event) -> Option<Self> {
        match event {
            Event::Prompted { .. } => Some(Self::Prompting),
            Event::Observed { .. } => Some(Self::Calling),
            Event::Judged(judged) if judged.effect == EffectKind::Call => Some(Self::Calling),
            Event::Paused { .. } => Some(Self::Left),
            Event::Stopped(stopped) => Some(Self::of(stopped)),
            Event::Started(_)
            | Event::Brought(_)
            | Event::Attempted(_)
            | Event::Overspent(_)
            | Event::Replied { .. }
            | Event::Judged(_)
            | Event::Finished(_)
            | Event::Scripted(_)
            | Event::Rested { .. }
            | Event::Answered { .. }
            | Event::Expired { .. }
            | Event::Resumed { .. }
            | Event::Compacted(_) => None,
        }
    }
}

/// The way of an agent's run through its states, from its records.
///
/// # Errors
/// A step that is not in the graph, or none at the end where there should be one, in a sentence.
pub fn path_of(records: &[Record]) -> Result<Vec<State>, String> {
    let mut path = vec![State::Prompting];
    for record in records {
        let Some(next) = State::said_by(&record.event) else {
            continue;
        };
        let last = path.last().copied().unwrap_or(State::Prompting);
        if last == next && !last.is_terminal() {
            continue;
        }
        if !last.may_become(next) {
            return Err(format!(
                "record {}: a run that is {last:?} became {next:?}",
                record.seq
            ));
        }
        path.push(next);
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_stays_over_and_everything_else_can_end() {
        for state in State::ALL {
            let ends = [State::Cancelled, State::Failed, State::Limited];
            let can = ends.iter().all(|end| state.may_become(*end));
            assert_eq!(can, !state.is_terminal(), "{state:?}");
            assert!(!state.may_become(state), "{state:?}");
        }
        let terminal = State::ALL.iter().filter(|state| state.is_terminal());
        assert_eq!(terminal.count(), 4);
    }

    #[test]
    fn an_answer_follows_a_question_to_a_model_and_nothing_else() {
        let before = State::ALL.iter();
        let before = before.filter(|state| state.may_become(State::Answered));
        assert_eq!(before.collect::<Vec<_>>(), [&State::Prompting]);
    }
}
