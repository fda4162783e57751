//! What is going on while work goes on, in a few words, for whoever waits at a terminal.

use crate::surfaces::paint::foreign;
use crate::words::event::{Glimpse, Sight};

/// A few words, and how far that is where a tool says so.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Going {
    pub(super) message: String,
    /// 0 to 100.
    pub(super) percent: Option<f32>,
}

impl From<String> for Going {
    fn from(message: String) -> Self {
        Self {
            message,
            percent: None,
        }
    }
}

impl Going {
    /// What is told between two records. A model's words are shown when they are all there, and files with their outcome.
    pub(super) fn of(glimpse: &Glimpse) -> Option<Self> {
        match glimpse {
            Glimpse::Step(step) => Some(step.message.clone().into()),
            Glimpse::Progress {
                tool,
                message,
                percent,
                ..
            } => Some(Self {
                message: format!("{tool}: {message}"),
                percent: *percent,
            }),
            Glimpse::Said { message, .. } => Some(foreign(message).into()),
            Glimpse::Artifact { .. }
            | Glimpse::Missed { .. }
            | Glimpse::Text { .. }
            | Glimpse::Thought { .. } => None,
        }
    }

    /// How far a tool says it is, and nothing else.
    pub(super) fn far(sight: &Sight) -> Option<Self> {
        match sight {
            Sight::Glimpse {
                glimpse: glimpse @ Glimpse::Progress { .. },
                ..
            } => Self::of(glimpse),
            Sight::Glimpse { .. } | Sight::Record(_) => None,
        }
    }
}
