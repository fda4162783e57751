use lazaret_sdk::prelude::*;

fn count(text: String) -> usize {
    text.len()
}

plugin! { name: "text", description: "Counts.", tools: [count] }

fn main() {}
