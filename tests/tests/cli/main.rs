//! The command line as a person or a script meets it: one process for each command, real plugins, real
//! files, loopback alone. Every test reads exit status and words.

mod audit;
mod bounds;
mod brought;
mod call;
mod chain;
mod config;
mod confirm;
mod consult;
mod demo;
mod denied;
mod doctor;
mod envelope;
mod flows;
mod hostile;
mod inline;
mod journal;
mod json;
mod layers;
mod left;
mod own;
mod piped;
mod plugin;
mod policy;
mod provider;
mod questions;
mod refused;
mod replay;
mod run;
mod script;
mod scripted;
mod secret;
mod server;
mod sessions;
mod shell;
mod shown;
#[path = "../shared/signed.rs"]
mod signed;
mod station;
mod stop;
mod tls;
mod trust;
mod two_files;
mod watching;
mod wires;
