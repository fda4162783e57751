use lazaret_sdk::prelude::*;

/// Counts.
#[tool(example("{}"))]
fn count(text: String) -> usize {
    text.len()
}

fn main() {}
