use lazaret_sdk::prelude::*;

/// Counts.
#[tool]
fn count(#[cfg(test)] number: usize) -> usize {
    number
}

fn main() {}
