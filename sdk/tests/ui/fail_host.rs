use lazaret_sdk::prelude::*;

/// Counts.
#[tool(hosts = ["get https://*.example"])]
fn count(text: String) -> usize {
    text.len()
}

fn main() {}
