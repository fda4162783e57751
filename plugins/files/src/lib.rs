//! Plugin `files`: folders and files below the mounts that were granted.
//!
//! Every access is a request that the host judges by path; this plugin adds what a model needs:
//! ranges of lines, search, and bounds on what comes back.

mod change;
mod glob;
mod look;
mod read;
mod search;
mod tree;

use lazaret_sdk::prelude::*;

plugin! {
    name: "files",
    description: "Lists, reads, searches, writes, moves and removes files below the granted \
        folders. Paths are relative and use `/`; the empty path is the root.",
    tools: [
        look::list,
        look::stat,
        read::read,
        search::search,
        change::write,
        change::move_to,
        change::remove,
    ],
}
