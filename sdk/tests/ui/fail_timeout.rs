use lazaret_sdk::prelude::*;

/// Counts.
#[tool(timeout_ms = 600001)]
fn count(text: String) -> usize {
    text.len()
}

fn main() {}
