use lazaret_sdk::prelude::*;

/// Counts.
#[tool]
fn count(text: Option<&str>) -> usize {
    text.map_or(0, str::len)
}

fn main() {}
