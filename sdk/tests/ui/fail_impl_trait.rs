use lazaret_sdk::prelude::*;

/// Counts.
#[tool]
fn count(text: impl AsRef<str>) -> usize {
    text.as_ref().len()
}

fn main() {}
