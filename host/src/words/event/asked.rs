//! What the client of one call may say of it, as its run keeps it.

use serde::{Deserialize, Serialize};

/// What a client has said of its one call, beside what it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallAsked {
    /// Its own name for the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// How long it may take, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How often it is made again, and how much longer each wait before that is, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<(u32, u64)>,
    /// Whether it was confirmed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirmed: bool,
    /// Whose name for the call it is; empty for the person at this machine.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub client: String,
}

impl CallAsked {
    /// Whether it has said nothing.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}
