//! Scripts, from the outside of the host: what they may do, how they end, and how they go on.

mod agents;
mod barriers;
mod calls;
mod engines;
mod golden;
pub mod kept;
mod lives;
mod questions;
mod stops;
