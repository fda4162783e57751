//! What all that belongs to one run shares.

/// Processor time of all guests of one run in ticks of a millisecond, where policy does not say.
pub const RUN_CPU_MS: u64 = 3_600_000;
/// Largest value of `[limits] run_cpu_ms`.
pub const RUN_CPU_MS_MAX: u64 = 7 * 24 * 3_600_000;
/// What the records of one run, and their contents, take in the journal, where policy does not say.
pub const RUN_JOURNAL_BYTES: u64 = 1 << 30;
/// Largest value of `[limits] run_journal_mib`.
pub const RUN_JOURNAL_MIB_MAX: u64 = 1 << 20;
/// What a record counts for beside what it holds.
pub const RECORD_BYTES: usize = 1 << 10;
