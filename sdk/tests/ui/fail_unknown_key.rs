use lazaret_sdk::prelude::*;

/// Counts.
#[tool(efect = "pure")]
fn count(text: String) -> usize {
    text.len()
}

fn main() {}
