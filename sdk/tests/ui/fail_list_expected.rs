use lazaret_sdk::prelude::*;

/// Counts.
#[tool(hosts = "GET https://a.example")]
fn count(text: String) -> usize {
    text.len()
}

fn main() {}
