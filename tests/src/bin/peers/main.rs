//! Our codecs beside the providers' own SDKs: `make peers`.
//!
//! Each recorded answer, streamed and whole, is served over loopback to the SDK of its format, and read by our codec:
//! both must have read the same. Then the SDK plays a conversation against those answers, and each request that it
//! sends must be the one that our codec writes for the same prompt. At last our requests go through the SDK's own types, and
//! each reason to stop that those know through our codec.
//! Where the two may differ is a rule with a reason (`rules`), and a rule that nothing needs is an error as well.
//!
//! The SDKs are Python's (`tests/peers`), since those are the ones that all these providers keep up themselves.

mod answers;
mod readings;
mod reasons;
mod requests;
mod rules;
mod sdk;
mod talks;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use lazaret::rules::codec::Wire;
use lazaret_tests::server::Server;

use crate::answers::Answers;
use crate::rules::Rules;
use crate::sdk::Sdk;

/// What there is to compare with, and what came of it.
struct Bench {
    server: Server,
    sdk: Sdk,
    rules: Rules,
    /// How many of what were the same, by format.
    same: BTreeMap<(&'static str, &'static str), usize>,
    different: Vec<String>,
}

impl Bench {
    /// One comparison: `told` is empty where both were the same.
    fn count(&mut self, wire: Wire, what: &'static str, place: &str, told: Option<String>) {
        match told {
            None => *self.same.entry((wire.word(), what)).or_default() += 1,
            Some(told) => {
                let place = format!("{} {place}, {what}", wire.word());
                self.different.push(format!("{place}:\n{told}"));
            }
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let Some(python) = std::env::args().nth(1).map(PathBuf::from) else {
        eprintln!("peers: which Python has the SDKs? `make peers` says it");
        return ExitCode::from(2);
    };
    let mut bench = Bench {
        server: Server::start().await,
        sdk: Sdk::start(&python),
        rules: Rules::default(),
        same: BTreeMap::new(),
        different: Vec::new(),
    };
    for wire in Wire::ALL {
        let answers = Answers::recorded(wire);
        readings::compare(&mut bench, wire, &answers);
        talks::compare(&mut bench, wire, &answers);
        requests::check(&mut bench, wire);
        reasons::check(&mut bench, wire, &answers);
    }
    say(&bench)
}

/// Prints what was the same, and each difference.
fn say(bench: &Bench) -> ExitCode {
    for ((format, what), count) in &bench.same {
        println!("{format:<10} {count:>4} {what}");
    }
    let idle = bench.rules.idle();
    for difference in &bench.different {
        println!("\nDIFFERENT {difference}");
    }
    for why in &idle {
        println!("\nIDLE nothing needs this rule any more: {why}");
    }
    if bench.different.is_empty() && idle.is_empty() {
        println!("all the same, under {} rules", bench.rules.count());
        return ExitCode::SUCCESS;
    }
    ExitCode::FAILURE
}
