//! Surfaces: ways in and out. They read configuration, talk to the host, and print.

pub mod catalogue;
pub mod cli;
pub mod config;
pub mod envelope;
pub mod lines;
mod paint;
pub mod wish;
