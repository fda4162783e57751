//! MCP: the host as a server of the Model Context Protocol, so that any client of it has these tools and scripts.
//!
//! ```text
//! client ─▶ frames (stdio) ─┐                         ┌─▶ tools: what is offered, under names that clients take
//!           http            ├─▶ session (one client) ─┤
//!                           ┘                         └─▶ call ─▶ wish ─▶ Host ─▶ told: content, structured content
//!                                                            └─ ask: a question, put to the client's user or left
//! ```
//!
//! The protocol itself is a library's; what is here is what a message of it means. Whatever a client sends some model
//! wrote, so nothing of it counts as typed.

mod ask;
mod call;
mod confirm;
pub mod desk;
mod form;
mod frames;
pub mod http;
mod live;
mod open;
mod pipes;
mod session;
mod sessions;
pub mod stdio;
mod ticket;
mod told;
pub mod tools;
