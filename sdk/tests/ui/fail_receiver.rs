use lazaret_sdk::prelude::*;

struct Counter;

impl Counter {
    /// Counts.
    #[tool]
    fn count(&self, text: String) -> usize {
        text.len()
    }
}

fn main() {}
