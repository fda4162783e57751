use lazaret_sdk::prelude::*;

/// Counts.
#[tool]
fn count(#[default = 3] number: usize) -> usize {
    number
}

fn main() {}
