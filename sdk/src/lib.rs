//! Write tools for Lazaret in Rust: a tool is a plain function.
//!
//! ```
//! use lazaret_sdk::prelude::*;
//!
//! /// What was counted.
//! #[value]
//! struct Count {
//!     /// Number of lines.
//!     lines: usize,
//!     /// Number of words.
//!     words: usize,
//! }
//!
//! /// Counts the lines and words of a text.
//! #[tool(effect = "pure", example(title = "two words", args = r#"{"text": "a b"}"#))]
//! fn count(
//!     /// The text to count.
//!     text: String,
//! ) -> Count {
//!     Count { lines: text.lines().count(), words: text.split_whitespace().count() }
//! }
//!
//! plugin! {
//!     name: "text",
//!     description: "Counts texts.",
//!     tools: [count],
//! }
//! # fn main() {
//! let outcome = Plugin::call("count", json!({ "text": "a b" })).unwrap();
//! assert_eq!(outcome, json!({ "lines": 1, "words": 2 }));
//! # }
//! ```
//!
//! A crate of your own needs no more than this in its `Cargo.toml`; there is no crate of this name on crates.io:
//!
//! ```toml
//! [package]
//! name = "counts"
//! version = "0.1.0"
//! edition = "2024"
//!
//! [lib]
//! crate-type = ["cdylib"]
//!
//! [dependencies]
//! lazaret-sdk = { path = "../lazaret/sdk" }
//!
//! [profile.guest]
//! inherits = "release"
//! opt-level = "s"
//! lto = true
//! panic = "abort"
//! strip = true
//! ```
//!
//! `rustup target add wasm32-wasip2`, then `cargo build --profile guest --target wasm32-wasip2` makes
//! `target/wasm32-wasip2/guest/counts.wasm`. Its name in `[plugins]` is the `name` of `plugin!`.
//!
//! A tool has no files, network, environment or secrets of its own. It asks the host, which may
//! refuse: [`fetch`] sends a request, with a [`secret`] that the host fills in, [`files`] reads and writes below the granted mounts,
//! [`notes`] outlive the run, [`call`] runs another tool, [`artifacts`] hands over a file, [`log`]
//! says what is happening. What a plugin does not use, its component does not import. Outside
//! WebAssembly these functions compile but panic when they are called: keep what a tool computes
//! apart from what it asks for, and test that.
//!
//! A tool fails by returning a [`Failure`]; `?` makes one of any error, and [`bad_input!`] one that
//! blames the arguments. A panic is a trap: the host reports it and the guest is gone, but nothing
//! else is.

#![warn(missing_docs)]

// The macros name this crate by its name, in its own tests too.
extern crate self as lazaret_sdk;

pub mod artifacts;
#[allow(missing_docs, clippy::all)]
#[doc(hidden)]
pub mod bindings;
pub mod call;
#[doc(hidden)]
pub mod export;
mod failure;
pub mod fetch;
pub mod files;
pub mod log;
pub mod notes;
mod schema;
mod secret;

pub use failure::{Code, Failure, OrFail, Reason, Refusal};
pub use lazaret_sdk_macros::{plugin, tool, value};
pub use secret::secret;
pub use serde_json::{Value, json};

/// Everything that most plugins use.
pub mod prelude {
    pub use crate::{
        Code, Failure, OrFail, Refusal, Value, artifacts, bad_input, call, fail, fetch, files,
        json, log, notes, plugin, tool, value,
    };
}
