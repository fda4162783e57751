//! Lazaret: a native host that runs agents, tools and model-written scripts in WebAssembly
//! quarantine.
//!
//! Layers, lowest first; a file may use its own layer or a lower one: [`words`] ← [`rules`] ←
//! [`gate`] ← [`edges`] ← [`guests`] ← [`runs`] ← [`surfaces`]. `ARCHITECTURE.md` has the picture.

pub mod edges;
pub mod gate;
pub mod guests;
pub mod rules;
pub mod runs;
pub mod surfaces;
pub mod words;
