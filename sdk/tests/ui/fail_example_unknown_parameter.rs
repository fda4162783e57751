use lazaret_sdk::prelude::*;

/// Counts.
#[tool(example(title = "a text", args = r#"{"txt": "a"}"#))]
fn count(text: String) -> usize {
    text.len()
}

fn main() {}
