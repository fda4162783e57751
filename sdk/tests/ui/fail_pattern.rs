use lazaret_sdk::prelude::*;

/// Counts.
#[tool]
fn count((text, more): (String, String)) -> usize {
    text.len() + more.len()
}

fn main() {}
