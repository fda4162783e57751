//! Surfaces: ways in and out. They read configuration, talk to the host, and print.

mod again;
pub mod carried;
pub mod catalogue;
pub mod cli;
pub mod config;
pub mod envelope;
pub mod http;
pub mod lines;
pub mod listed;
pub mod mcp;
mod paint;
mod question;
mod spot;
pub mod wish;
