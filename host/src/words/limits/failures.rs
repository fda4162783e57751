//! Bounds of what whoever has failed says of that.

/// Characters of its own words on why: of a tool, a server or a script.
pub const FAILURE_CHARS: usize = 2_000;
/// What a tool says of its failure for programs, as JSON text.
pub const FAILURE_DETAILS_BYTES: usize = 16 << 10;
/// Of that, what is wrong place by place.
pub const FAILURE_ISSUES: usize = 32;
