//! Edges: the few files that touch the world, each taking a permit by value.
//!
//! An edge does not decide. It does what the permit says, within the limits, and reports what
//! influenced the outcome.

pub mod answers;
pub(crate) mod aside;
mod book;
pub mod egress;
pub mod files;
pub(crate) mod labels;
pub mod mcp;
pub mod memory;
pub mod named;
pub mod notes;
pub mod records;
pub mod state;
pub mod vault;
pub mod versions;
