//! Profiles: the numbers and names of the five systems that Lazaret is measured against, as layers that come with
//! the program. One is chosen by `profile = "sage"`; whatever else is said is said over it.

use serde::{Deserialize, Serialize};

use super::layer::{Layer, Place};
use crate::words::error::Result;
use crate::words::vocabulary::System;

/// A profile of the program's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Many turns, one call after the other, short outcomes.
    Relavium,
    /// Very many turns, one correction.
    Graphorin,
    /// Few turns with few calls, and a long rest for a provider that wants it.
    Sage,
    /// A call that may succeed later is made again.
    Ageniti,
    /// Short outcomes, models that are asked again, and a few runs of each user at once.
    Oxydra,
}

/// All of them.
pub const PROFILES: [Profile; 5] = [
    Profile::Relavium,
    Profile::Graphorin,
    Profile::Sage,
    Profile::Ageniti,
    Profile::Oxydra,
];

impl Profile {
    /// Its name in the configuration.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Relavium => "relavium",
            Self::Graphorin => "graphorin",
            Self::Sage => "sage",
            Self::Ageniti => "ageniti",
            Self::Oxydra => "oxydra",
        }
    }

    /// The system that it is of.
    #[must_use]
    pub fn system(self) -> System {
        match self {
            Self::Relavium => System::Relavium,
            Self::Graphorin => System::Graphorin,
            Self::Sage => System::Sage,
            Self::Ageniti => System::Ageniti,
            Self::Oxydra => System::Oxydra,
        }
    }

    /// Its text: a configuration like any other.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Relavium => include_str!("profiles/relavium.toml"),
            Self::Graphorin => include_str!("profiles/graphorin.toml"),
            Self::Sage => include_str!("profiles/sage.toml"),
            Self::Ageniti => include_str!("profiles/ageniti.toml"),
            Self::Oxydra => include_str!("profiles/oxydra.toml"),
        }
    }

    /// The profile of this name. What no profile is called by is refused where the layer is read.
    pub(super) fn of(word: &str) -> Option<Self> {
        PROFILES.into_iter().find(|profile| profile.word() == word)
    }

    /// As a layer.
    ///
    /// # Errors
    /// Never, for the texts that are there.
    pub(super) fn layer(self) -> Result<Layer> {
        Layer::of_text(Place::Profile(self.word()), self.text())
    }
}

/// `version`: which form of `lazaret.toml` a file is written in.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema,
)]
#[serde(try_from = "i64")]
#[schemars(extend("const" = 1))]
pub struct Version(());

impl TryFrom<i64> for Version {
    type Error = String;

    fn try_from(version: i64) -> std::result::Result<Self, String> {
        if version == 1 {
            return Ok(Self(()));
        }
        Err(format!(
            "`version = {version}` is no form of this file that this lazaret reads: it reads `version = 1`; what is \
             written for a later one needs a later lazaret"
        ))
    }
}
