//! Plugin `handle`: what can be done with an outcome that is held back.
//!
//! Each tool computes with the values that it is given, in a guest that reaches nothing. That a value is held,
//! and that what is made of it is held again, is the host's doing; see `rules/flow/handles.rs` there. Any other
//! tool takes handles as well.

mod apart;
mod find;
mod part;
mod pick;
mod range;
mod scalar;

use lazaret_sdk::prelude::*;

plugin! {
    name: "handle",
    description: "Works with handles: outcomes that the host holds back, since others had influence on them. \
        Pass a handle as it is, as `{\"$handle\": \"h12\"}`, wherever a tool takes a value. What is made of a \
        handle is a handle again; only `read` shows it.",
    tools: [
        part::read,
        part::adopt,
        part::field,
        part::slice,
        part::join,
        part::template,
        find::find,
        pick::pick,
        scalar::count,
        scalar::scalar,
        apart::isolate,
        apart::consult,
    ],
}
