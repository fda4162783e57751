//! HTTP: tools, runs, questions and scripts for programs on this machine, behind one door.
//!
//! Runs belong to the server ([`underway`]) and not to the connection that began them: a client that goes away changes
//! nothing. Whoever watches one is told by its [`feed`], which encodes what happens once for all of them.

mod agents;
mod answer;
mod body;
mod chat;
mod console;
mod door;
mod events;
mod failed;
mod feed;
mod listen;
mod names;
mod openapi;
mod questions;
mod router;
mod runs;
mod scripts;
mod seats;
mod shown;
mod site;
mod token;
mod tools;
mod underway;

pub use self::listen::{Served, serve, serve_clients};
pub use self::names::Names;
pub use self::site::Site;
pub use self::token::Token;
