use lazaret_sdk::prelude::*;

#[value]
fn count() {}

fn main() {}
