use lazaret_sdk::prelude::*;

/// Counts.
#[tool]
struct Count;

fn main() {}
