//! The order of a call's stages (row A-02): of two faults, that of the earlier stage is told.

use lazaret::surfaces::wish::{self, Options};
use lazaret::words::event::Surface;
use lazaret_tests::prelude::*;
use lazaret_tests::saying;

/// The stages, in their order: the code of a fault there.
const STAGES: [&str; 8] = [
    "ACTION_NOT_FOUND",
    "UNSUPPORTED_SURFACE",
    "VALIDATION_ERROR",
    "CONFIRMATION_REQUIRED",
    "AUTHORIZATION_ERROR",
    // As the step before it fails, in its own words.
    "CONFLICT",
    // As the tool fails.
    "RATE_LIMITED",
    "OUTPUT_VALIDATION_ERROR",
];
const UNKNOWN: usize = 0;
const SURFACE: usize = 1;
const INPUT: usize = 2;
const CONFIRM: usize = 3;
const PERMISSION: usize = 4;
const STEP: usize = 5;
const RUN: usize = 6;
const OUTPUT: usize = 7;

/// The plugin with these faults of its own.
fn plugin(faults: &[usize]) -> String {
    let own = [PERMISSION, STEP, RUN, OUTPUT].map(|stage| match faults.contains(&stage) {
        true => '1',
        false => '0',
    });
    format!("m{}", own.iter().collect::<String>())
}

fn component(name: &str, faults: &[usize]) -> Vec<u8> {
    let more = json!({
        "surfaces": ["json"],
        "requires_confirmation": true,
        "retry": false,
        "input": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        "output": {"type": "string"},
    });
    if faults.contains(&RUN) {
        return saying::failing(name, &more, false, &json!({"code": STAGES[RUN]}));
    }
    let says = if faults.contains(&OUTPUT) {
        "3"
    } else {
        "\"done\""
    };
    saying::component(name, &more, says)
}

async fn open(all: &[Vec<usize>]) -> Rigged {
    let mut policy = String::new();
    let mut components = std::collections::BTreeMap::new();
    for faults in all {
        let name = plugin(faults);
        if components.contains_key(&name) {
            continue;
        }
        if faults.contains(&PERMISSION) {
            policy.push_str(&format!(
                "[[permissions]]\ntools = \"{name}.*\"\nverdict = false\n"
            ));
        }
        if faults.contains(&STEP) {
            policy.push_str(&format!(
                "[[steps]]\ntools = \"{name}.*\"\nbefore = \"odd.run\"\n"
            ));
        }
        let bytes = component(&name, faults);
        components.insert(name, bytes);
    }
    let odd = saying::failing("odd", &json!({}), false, &json!({"code": STAGES[STEP]}));
    let rig = Rig::of(&policy).component("odd", &odd);
    let rig = components
        .iter()
        .fold(rig, |rig, (name, bytes)| rig.component(name, bytes));
    rig.open().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_earliest_stages_code_wins() {
    let mut all: Vec<Vec<usize>> = vec![vec![]];
    for one in 0..STAGES.len() {
        all.push(vec![one]);
        // A tool that fails returns nothing that could be wrong.
        let others = (one + 1..STAGES.len()).filter(|other| (one, *other) != (RUN, OUTPUT));
        all.extend(others.map(|other| vec![one, other]));
    }
    // All at once as well.
    all.push((0..STAGES.len()).filter(|stage| *stage != OUTPUT).collect());
    let rig = open(&all).await;
    for faults in &all {
        let has = |stage| faults.contains(&stage);
        let short = if has(UNKNOWN) { "nope" } else { "run" };
        let surface = if has(SURFACE) {
            Surface::Http
        } else {
            Surface::Json
        };
        let input = if has(INPUT) {
            json!({"n": "x"})
        } else {
            json!({"n": 1})
        };
        let options = Options {
            confirm: !has(CONFIRM),
            ..Options::default()
        };
        let tool = format!("{}.{short}", plugin(faults));
        let (run, tasks) = (rig.host.new_run(), Tasks::new());
        let answered =
            wish::call(&rig.host, (run, surface), (&tool, input), &options, &tasks).await;
        let code = answered.envelope["error"]["code"].as_str();
        let expected = faults.first().map(|stage| STAGES[*stage]);
        assert_eq!(code, expected, "{faults:?}: {}", answered.envelope);
    }
}
