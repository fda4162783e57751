use lazaret_sdk::prelude::*;

/// Counts.
#[tool(effect = "pure", effect = "pure")]
fn count(text: String) -> usize {
    text.len()
}

fn main() {}
