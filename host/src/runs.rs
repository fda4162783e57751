//! Runs: one goal pursued to its end, and the host that surfaces talk to.

mod drive;
pub mod explain;
pub mod host;
mod observe;
pub mod provider;
