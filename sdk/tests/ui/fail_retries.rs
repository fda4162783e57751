use lazaret_sdk::prelude::*;

/// Counts.
#[tool(retry(retries = 6, delay_ms = 0))]
fn count(text: String) -> usize {
    text.len()
}

fn main() {}
