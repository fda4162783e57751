//! Guarding: which of the older guards stand, and how closely they look (G-83a).

use std::collections::BTreeSet;

use super::lines::Guard;
use crate::words::limits::{VERBATIM_CHARS, VERBATIM_FLOOR_CHARS, VERBATIM_SPAN_CHARS};

/// The older guards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarding {
    /// Those that stand.
    pub on: BTreeSet<Guard>,
    /// The shortest span of untrusted content that is found.
    pub span_chars: usize,
    /// The shortest argument that is found as a whole though it is shorter than a span.
    pub floor_chars: usize,
    /// Untrusted content of a run that is remembered, folded; the oldest goes first.
    pub tracked_chars: usize,
}

impl Default for Guarding {
    fn default() -> Self {
        Self {
            on: BTreeSet::new(),
            span_chars: VERBATIM_SPAN_CHARS,
            floor_chars: VERBATIM_FLOOR_CHARS,
            tracked_chars: VERBATIM_CHARS,
        }
    }
}

impl<const N: usize> From<[Guard; N]> for Guarding {
    fn from(on: [Guard; N]) -> Self {
        Self {
            on: on.into(),
            ..Self::default()
        }
    }
}
