//! The engine of code mode: QuickJS-ng as a component that imports nothing.
//!
//! One guest runs one script. The host drives it: `start` evaluates the source, and every `resume` hands in one
//! answer. A step says what the script newly waits for, or how it ended, and what it wrote to its console. All that
//! the host sees (requests, values, failures) is made by Rust and the interpreter's own C functions; nothing that a
//! script can replace takes part in it. The parts of the runtime that are easier said in JavaScript are in `prelude/`,
//! which is evaluated before the script, at pre-initialisation.
//!
//! Same source, bounds, seed and answers in the same order: same steps. There is no other clock than the `now` of a
//! step, no other chance than the seed.

mod answers;
mod clock;
mod decode;
mod ending;
mod engine;
mod export;
mod failure;
mod heap;
mod log;
mod meter;
mod natives;
mod random;
mod source;
mod state;
mod text;
mod timers;
mod tools;
mod url;
mod value;

pub use engine::{Engine, Mistake};

/// What passes between host and engine, as `wit/script.wit` says it.
pub use bindings::exports::lazaret::script::steps::{
    Answer, Bounds, Call, Failure, Level, Line, Outcome, Progress, Reason, Request, Step,
    ToolError, Wish,
};

mod bindings {
    #![allow(missing_docs, reason = "generated")]

    wit_bindgen::generate!({
        path: "../../wit/script.wit",
        world: "engine",
        additional_derives: [PartialEq],
        pub_export_macro: true,
    });
}
