//! `handle.isolate` and `handle.consult`: what is held is worked on where it can do nothing.
//!
//! What is declared here is what a caller sees. Both are performed by the host: a plugin has neither the engine of
//! scripts nor a model.

use lazaret_sdk::prelude::*;

/// Runs a pure function over what is held, in a fresh guest that has no tools; what it returns is held again.
///
/// `code` is JavaScript: one function, given the values of `of` in order. If it fails, you learn where in your code;
/// what it said is held.
#[tool(
    effect = "pure",
    example(
        title = "letters with a sender",
        args = r#"{"code": "(letters) => letters.filter(letter => letter.from)", "of": [{"$handle": "h12"}]}"#
    )
)]
pub fn isolate(
    /// One function, such as `(page) => page.markdown.split("\n")[0]`. Your own words: no handle stands here.
    code: String,
    /// What it is given: handles and plain values, one for each parameter.
    of: Vec<Value>,
) -> Result<Value, Failure> {
    let _given = (code, of);
    Err(Failure::new("the host runs this, and no plugin"))
}

/// Asks the model one question about what is held, without tools and without anything said before; the answer is held.
///
/// The answer fits `shape`, a JSON Schema: the smaller it is, the less the text can make of it.
#[tool(
    effect = "read-only",
    example(
        title = "who wrote a letter",
        args = r#"{"of": [{"$handle": "h12"}], "question": "Who wrote this?", "shape": {"type": "string", "maxLength": 80}}"#
    )
)]
pub fn consult(
    /// What the question is about: handles and plain values.
    of: Vec<Value>,
    /// The question. Your own words: no handle stands here.
    question: String,
    /// A JSON Schema for the answer; a text where there is none.
    shape: Option<Value>,
) -> Result<Value, Failure> {
    let _given = (of, question, shape);
    Err(Failure::new("the host asks, and no plugin"))
}
