//! The whole host at work: attacks, journals, agents, limits. One binary, since each links the engine.

mod agents;
mod attacks;
mod cache;
mod compiles;
mod components;
mod flows;
mod guards;
mod handles;
mod journal;
mod labels;
mod limits;
mod nesting;
mod parallel;
mod scripts;
mod secrets;
mod signatures;
mod swaps;
