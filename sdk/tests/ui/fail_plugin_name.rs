use lazaret_sdk::prelude::*;

/// Counts.
#[tool]
fn count(text: String) -> usize {
    text.len()
}

plugin! { name: "Text", description: "Counts.", tools: [count] }

fn main() {}
