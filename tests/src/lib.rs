//! The rig: the whole host, with only its outside replaced.
//!
//! Gate, journal, edges, engine, guests and plugins are the real ones. The clock stands still, names
//! are looked up in a table, the network is a server on loopback that the test answers from, the
//! model is a script, and records are kept in memory.

// A whole run is one future, of many inside each other.
#![recursion_limit = "256"]

/// Says something past a test's own output, which is shown of failures alone: counts of what was tried.
#[macro_export]
macro_rules! told {
    ($($words:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

pub mod attack;
pub mod authority;
pub mod client;
pub mod crash;
pub mod disk;
pub mod forge;
pub mod golden;
pub mod heard;
pub mod nobody;
pub mod rig;
pub mod saying;
pub mod server;
pub mod spell;
pub mod typescript;
pub mod verdict;
pub mod wait;

/// What one test needs.
pub mod prelude {
    pub use crate::golden::assert_golden;
    pub use crate::rig::{NOW_MS, Rig, Rigged, target};
    pub use crate::server::{Answer, Server};
    pub use lazaret::guests::tasks::Tasks;
    pub use lazaret::words::error::Code;
    pub use serde_json::{Value, json};
}
