use lazaret_sdk::prelude::*;

/// Counts.
#[tool]
fn count(text: String) {
    drop(text);
}

fn main() {}
