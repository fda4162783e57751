//! Bounds of what whoever has failed says of that.

/// Characters of its own words on why: of a tool, a server or a script.
pub const FAILURE_CHARS: usize = 2_000;
/// Such words before they are cleaned and cut: of longer ones their length is told.
pub const FAILURE_BYTES: usize = 256 << 10;
/// What a tool says of its failure for programs, as JSON text.
pub const FAILURE_DETAILS_BYTES: usize = 16 << 10;
/// Of that, what is wrong place by place.
pub const FAILURE_ISSUES: usize = 32;
