use lazaret_sdk::prelude::*;

/// Counts.
#[tool]
fn count(text: String) -> usize {
    text.len()
}

plugin! { name: "text", version: "1.0.0", description: "Counts.", tools: [count] }

fn main() {}
