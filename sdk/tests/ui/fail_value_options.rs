use lazaret_sdk::prelude::*;

#[value(camelCase)]
struct Count;

fn main() {}
