use lazaret_sdk::prelude::*;

/// Counts.
#[tool(effect = "harmless")]
fn count(text: String) -> usize {
    text.len()
}

fn main() {}
