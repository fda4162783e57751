//! Runs: one goal pursued to its end, and the host that surfaces talk to.

mod attached;
pub mod audit;
pub mod brought;
mod chain;
mod consult;
mod drive;
mod ended;
pub mod explain;
pub mod flowed;
pub mod goal;
pub mod host;
mod known;
mod lanes;
pub mod left;
mod observe;
mod offer;
pub mod provider;
pub mod rejudge;
pub mod repair;
pub mod replay;
pub mod rest;
pub mod running;
mod script;
pub mod served;
pub mod session;
pub mod traces;
pub mod written;
