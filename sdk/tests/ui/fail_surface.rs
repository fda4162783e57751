use lazaret_sdk::prelude::*;

/// Counts.
#[tool(surfaces = ["web"])]
fn count(text: String) -> usize {
    text.len()
}

fn main() {}
