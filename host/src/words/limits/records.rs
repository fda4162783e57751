//! Bounds of what is kept of files and of records of services.

/// Records of one service of which a label is kept; past it, what is known of one is said of each.
pub const RECORDS_PER_SERVICE: usize = 65_536;
/// Ids of one call that are looked up one by one; past it, what is known of any counts.
pub const RECORDS_PER_CALL: usize = 4_096;
/// Places of one mount, or of one shelf of notes, for each of which it is kept that somebody took something away there; past
/// it, it is kept of a folder, or of the whole.
pub const GAPS: usize = 1_000;
/// Files that a list of kept labels shows.
pub const FILES_LISTED: usize = 1_000;
