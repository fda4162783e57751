//! The whole host at work: attacks, journals, agents, limits. One binary, since each links the engine.

mod agents;
mod attacks;
mod cache;
mod components;
mod flows;
mod journal;
mod limits;
mod nesting;
mod parallel;
mod scripts;
mod signatures;
