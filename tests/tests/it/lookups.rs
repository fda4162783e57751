//! Look-ups of names through the whole host: what a tool is told of a name, and when, is no map of the inner network.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lazaret::edges::egress::Slow;
use lazaret::words::limits::LOOKUP_TICK_MS;
use lazaret_tests::prelude::*;
use lazaret_tests::rig::value;

/// What a name leads to: nothing, the inner network, a cloud's metadata service.
const KINDS: [(&str, &[&str]); 3] = [
    ("nobody", &[]),
    ("inner", &["10.0.0.1"]),
    ("cloud", &["169.254.169.254"]),
];

/// How long each of them is looked up, and at which tick whoever asked is answered.
const TOOK: [(u64, u64); 4] = [(0, 1), (30, 1), (120, 1), (LOOKUP_TICK_MS + 20, 2)];

/// By a time that passes only where somebody waits, so that nothing depends on the machine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_leads_nowhere_is_told_like_one_that_leads_inside_and_at_the_same_tick() {
    let ms = Duration::from_millis;
    let (mut table, mut urls, mut ends) = (HashMap::new(), Vec::new(), Vec::new());
    for (took, tick) in TOOK {
        for (kind, addresses) in KINDS {
            let name = format!("{kind}-{took}.names.test");
            let addresses = addresses.iter().map(|one| one.parse().expect("an address"));
            urls.push(format!("http://{name}/"));
            table.insert(name, (ms(took), addresses.collect()));
            ends.push(ms(tick * LOOKUP_TICK_MS));
        }
    }
    let slow = Arc::new(Slow::of(table));
    let policy = "[grants.\"hostile.fetch_each\"]\nfetch = [\"http://*.names.test/\"]";
    let rig = Rig::of(policy).guest("hostile").slow(&slow).open().await;
    let called = rig
        .call("hostile.fetch_each", json!({ "urls": urls }))
        .await;
    let mut told: Vec<&str> = Vec::new();
    for line in value(&called.outcome).as_array().expect("a line for each") {
        told.extend(
            line.as_str()
                .and_then(|line| line.split_once(" -> "))
                .map(|(_, told)| told),
        );
    }
    assert_eq!(
        told.len(),
        KINDS.len() * TOOK.len(),
        "{:?}",
        called.outcome.result
    );
    assert!(told[0].starts_with("denied: "), "{told:?}");
    assert!(told.iter().all(|one| *one == told[0]), "{told:?}");
    assert_eq!(slow.ends(), ends);
    // The journal knows which is which.
    let journal = rig.journal(&called.run).await;
    for reason in ["(no_such_host)", "(private_address)", "(metadata_address)"] {
        assert_eq!(journal.matches(reason).count(), TOOK.len(), "{journal}");
    }
}
