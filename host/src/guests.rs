//! Guests: components, and the one path on which they are called.
//!
//! [`engine`] holds the settings of the one engine, [`cache`] and [`compile`] turn bytes into code,
//! [`catalog`] knows the tools, [`guest`] is one instance for one call, and [`dispatch`] is the path
//! that every call takes, whoever made it. [`script`] is the engine of scripts: a guest that the host
//! drives step by step.

pub mod apart;
mod bindings;
pub mod cache;
pub mod catalog;
pub mod compile;
pub mod crowd;
pub mod dispatch;
pub mod engine;
pub mod guest;
mod heard;
mod imports;
mod meter;
pub mod plugin;
pub mod recorded;
pub mod repeats;
pub mod script;
mod slots;
pub mod station;
mod stop;
pub mod tasks;
mod ticker;
pub mod vouched;
mod wasi;
