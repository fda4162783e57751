use lazaret_sdk::prelude::*;

#[tool(effect = "pure")]
fn count(text: String) -> usize {
    text.len()
}

fn main() {}
