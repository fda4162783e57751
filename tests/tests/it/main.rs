//! The whole host at work: attacks, journals, agents, limits. One binary, since each links the engine.

mod agents;
mod apart;
mod approval;
mod attacks;
mod brought;
mod cache;
mod compiles;
mod components;
mod flows;
mod guards;
mod handles;
mod inside;
mod journal;
mod killed;
mod labels;
mod limits;
mod nesting;
mod own;
mod page;
mod parallel;
mod paths;
mod questions;
mod scripts;
mod secrets;
mod signatures;
#[path = "../shared/signed.rs"]
mod signed;
mod swaps;
mod unread;
