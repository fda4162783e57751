use lazaret_sdk::prelude::*;

/// Counts.
#[tool(example(title = "a text", args = "{}"))]
fn count(text: String) -> usize {
    text.len()
}

fn main() {}
