//! Limits of connections over which nobody has brought the token yet.

/// How long such a connection may take for the head of its first request; less, where `[serve] head_ms` says so.
pub const SEAT_FIRST_MS: u64 = 5_000;
/// How long it has its seat for itself: after that whoever comes and finds none free may have it.
pub const SEAT_TURN_MS: u64 = 500;
