use lazaret_sdk::prelude::*;

plugin! { name: "text", description: "Counts." }

fn main() {}
