use lazaret_sdk::prelude::*;

/// Counts.
#[tool(retry = 3)]
fn count(text: String) -> usize {
    text.len()
}

fn main() {}
