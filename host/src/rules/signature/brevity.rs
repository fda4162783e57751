//! Brevity: how much of a tool is told where many are.

use crate::words::limits::{CATALOGUE_LINE_CHARS, SIGNATURE_DEPTH};

/// How much of a tool is told, as `[search]` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brevity {
    /// Characters of its line in the catalogue.
    pub line_chars: usize,
    /// How deep its types go; what lies deeper is `unknown`.
    pub type_depth: usize,
}

impl Default for Brevity {
    fn default() -> Self {
        Self {
            line_chars: CATALOGUE_LINE_CHARS,
            type_depth: SIGNATURE_DEPTH,
        }
    }
}
