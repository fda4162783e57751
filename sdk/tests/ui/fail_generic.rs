use lazaret_sdk::prelude::*;

/// Counts.
#[tool]
fn count<T: AsRef<str>>(text: T) -> usize {
    text.as_ref().len()
}

fn main() {}
