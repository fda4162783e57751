use lazaret_sdk::prelude::*;

/// Counts.
#[tool(calls = ["count"])]
fn count(text: String) -> usize {
    text.len()
}

fn main() {}
