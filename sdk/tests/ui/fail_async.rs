use lazaret_sdk::prelude::*;

/// Counts.
#[tool]
async fn count(text: String) -> usize {
    text.len()
}

fn main() {}
