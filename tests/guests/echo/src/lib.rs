//! A guest that does next to nothing: what is left is what a call costs.

use lazaret_sdk::prelude::*;

/// Says what it was told.
#[tool(
    effect = "pure",
    example(title = "one word", args = r#"{"text": "a"}"#)
)]
fn echo(
    /// What to say.
    text: String,
) -> String {
    text
}

/// Calls a tool with the same words, again and again.
#[tool(effect = "read-only", calls = ["echo.*"])]
fn repeat(
    /// The tool's full name.
    tool: String,
    /// How often.
    times: u32,
) -> Result<u32, Failure> {
    for _ in 0..times {
        let _: Value = call::invoke(&tool, &json!({"text": "a b"}))?;
    }
    Ok(times)
}

plugin! { name: "echo", description: "Says what it was told.", tools: [echo, repeat] }
