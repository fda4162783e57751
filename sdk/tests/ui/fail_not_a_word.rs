use lazaret_sdk::prelude::*;

/// Counts.
#[tool(risk = 3)]
fn count(text: String) -> usize {
    text.len()
}

fn main() {}
