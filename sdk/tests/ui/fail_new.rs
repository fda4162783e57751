use lazaret_sdk::prelude::*;

/// Counts.
#[tool(new = "create")]
fn count(text: String) -> usize {
    text.len()
}

fn main() {}
