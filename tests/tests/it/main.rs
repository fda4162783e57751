//! The whole host at work: attacks, journals, agents, limits. One binary, since each links the engine.

// What a session of MCP holds is a type of many parts.
#![recursion_limit = "256"]

mod again;
mod agents;
mod apart;
mod approval;
mod attached;
mod attacks;
mod brought;
mod budgets;
mod cache;
mod catalogue;
mod chains;
mod changes;
mod clients;
mod clocks;
mod compiles;
mod components;
mod flat;
mod flows;
mod guards;
mod handles;
mod inside;
mod journal;
mod journeys;
mod keys;
mod killed;
mod labels;
mod limits;
mod lookups;
mod manifests;
mod mcp;
mod names;
mod nesting;
mod numbers;
mod observations;
mod own;
mod page;
mod parallel;
mod paths;
mod power;
mod profiles;
mod questions;
mod records;
mod repeats;
mod schema;
mod scripts;
mod secrets;
mod sessions;
mod signatures;
#[path = "../shared/signed.rs"]
mod signed;
mod stages;
mod stops;
mod surfaces;
mod swaps;
mod traces;
mod tuned;
mod turns;
mod unread;
mod usual;
mod vocabulary;
mod wards;
mod watching;
