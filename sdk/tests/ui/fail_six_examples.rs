use lazaret_sdk::prelude::*;

/// Counts.
#[tool(
    example(title = "1", args = "{}"),
    example(title = "2", args = "{}"),
    example(title = "3", args = "{}"),
    example(title = "4", args = "{}"),
    example(title = "5", args = "{}"),
    example(title = "6", args = "{}")
)]
fn count() -> usize {
    1
}

fn main() {}
