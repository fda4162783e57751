//! What steps of policy have made of a call, and what was said to that.

use serde::{Deserialize, Serialize};

use super::{Content, Verdict, Weighed};
use crate::words::label::Label;

/// A call with the arguments that steps before it have given it, judged as it then was. Nothing was made of it where
/// the verdict is no allowance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remade {
    /// Its arguments.
    pub content: Content,
    /// What had influenced it by then: the steps as well.
    pub label: Label,
    /// Of a sink: each value that steers, and why it may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weighed: Vec<Weighed>,
    /// The decision; never a question, since the call is being made.
    pub verdict: Verdict,
}
