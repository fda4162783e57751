//! Setbacks: why a model gave no reply, in the few kinds that its run has to tell apart.
//!
//! A provider's status and the kind of its error become one of these, never the text of it: what is
//! said is the server's, and must not decide who is asked next.

use serde::{Deserialize, Serialize};

/// Why a model that was asked gave no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setback {
    /// It wants fewer requests.
    Limited,
    /// It has failed by itself, or has too much to do.
    Overloaded,
    /// It took too long.
    TooSlow,
    /// It was not reached, or what it sent broke off.
    Broken,
    /// It did not accept the key.
    Unauthorised,
    /// It cannot read as much as it was told.
    TooLong,
    /// It does not stream; what is not streamed it may answer.
    Unstreamed,
    /// It, or its provider, withholds what it would say.
    Filtered,
    /// The same request would meet the same again.
    Lasting,
}

impl Setback {
    /// All that there are.
    pub const ALL: [Self; 9] = [
        Self::Limited,
        Self::Overloaded,
        Self::TooSlow,
        Self::Broken,
        Self::Unauthorised,
        Self::TooLong,
        Self::Unstreamed,
        Self::Filtered,
        Self::Lasting,
    ];

    /// For people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Limited => "wants fewer requests",
            Self::Overloaded => "failed or is overloaded",
            Self::TooSlow => "took too long",
            Self::Broken => "broke off",
            Self::Unauthorised => "did not accept the key",
            Self::TooLong => "cannot read as much",
            Self::Unstreamed => "does not stream",
            Self::Filtered => "withholds its answer",
            Self::Lasting => "failed",
        }
    }

    /// Whether the same model may answer the same prompt later (R-12a).
    #[must_use]
    pub fn may_pass(self) -> bool {
        match self {
            Self::Limited | Self::Overloaded | Self::TooSlow | Self::Broken => true,
            Self::Unauthorised
            | Self::TooLong
            | Self::Unstreamed
            | Self::Filtered
            | Self::Lasting => false,
        }
    }
}

/// Why a model of a run is not asked at all; what weighs more comes first: what policy forbids, then what cannot
/// be, then what passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Miss {
    /// The prompt holds what nobody outside may read.
    Secret,
    /// It may be told nothing private, and the prompt holds such.
    Private,
    /// The prompt is longer than it reads.
    Context,
    /// It calls no tools.
    Tools,
    /// It looks at no pictures.
    Images,
    /// It reads no documents.
    Documents,
    /// It keeps to no shape.
    Structured,
    /// Its provider wanted fewer requests a short while ago.
    Cooling,
}

impl Miss {
    /// For people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Cooling => "its provider wanted fewer requests a short while ago",
            Self::Private => "it may be told nothing private, and the prompt holds such",
            Self::Secret => "the prompt holds what nobody outside may read",
            Self::Context => "the prompt is longer than it reads",
            Self::Tools => "it calls no tools",
            Self::Images => "it looks at no pictures",
            Self::Documents => "it reads no documents",
            Self::Structured => "it keeps to no shape",
        }
    }
}
