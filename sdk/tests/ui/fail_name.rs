use lazaret_sdk::prelude::*;

/// Counts.
#[tool(name = "Count!")]
fn count(text: String) -> usize {
    text.len()
}

fn main() {}
