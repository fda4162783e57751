//! Words: the plain values that every layer speaks in.
//!
//! Nothing here performs input or output, and nothing is `async`: a newcomer can read this layer
//! alone and know what the host talks about.

pub mod attachment;
pub mod bound;
pub mod budget;
pub mod clock;
pub mod error;
pub mod event;
pub mod id;
pub mod inert;
pub mod key;
pub mod label;
pub mod length;
pub mod limits;
pub(crate) mod lock;
pub mod message;
pub mod near;
pub mod session;
pub mod setback;
pub mod vocabulary;
pub mod whose;
