//! The register of numbers: what the five systems use, as it was written down, beside what this program has. Each
//! profile is loaded the way any configuration is.
//!
//! A row says where a number is here: a key, and what it is without a profile and with each; or nowhere, because what it
//! is a number of is not there. What the systems do otherwise beside their numbers is in `profiles.rs`.

use std::collections::BTreeSet;
use std::path::Path;

use lazaret::surfaces::config::profile::PROFILES;
use lazaret::surfaces::config::show::shown;
use lazaret::surfaces::config::{Config, Surroundings};
use serde_json::Value;

use crate::profiles::SEMANTICS;

/// `number | its key | default | profiles`, and a reason where the default is another one than was written down;
/// or `number | not here | why`.
const REGISTER: &str = r#"
loop.max_turns                | pace.turns                | 8      | relavium 17, graphorin 50, sage 3, oxydra 8
loop.max_turns of a session   | pace.session_turns        | null   | relavium 50
loop.max_calls_per_turn       | pace.calls_per_turn       | 64     | sage 3 | no loop here is without a bound: written down as unlimited
loop.max_corrections          | pace.corrections          | 3      | relavium 3, sage 1, graphorin 1
loop.identical_batches        | pace.identical_batches    | 4      | sage 4
tools.max_parallel            | pace.parallel             | 8      | relavium 1, sage 3, graphorin 8
tools.timeout_ms              | limits.silent_timeout_ms  | 60000  | oxydra 30000
tools.timeout_ms, its cap     | pace.call_timeout_ms      | 600000 | sage 45000
tools.retry                   | limits.silent_retries     | 2      |
tools.retry, its cap          | limits.retries            | 5      | relavium 0, graphorin 0, sage 0, oxydra 0, ageniti 2
tools.retry, its delay        | limits.retry_delay_ms     | 100    | ageniti 100
tools.max_result_tokens       | observations.max_tokens   | 16384  |
tools.max_result_bytes        | observations.max_bytes    | 1048576 | relavium 51200, oxydra 16384
tools.max_result_lines        | observations.max_lines    | null   | relavium 2000
tools.max_result_chars        | observations.max_chars    | null   | sage 4000
tools.max_argument_bytes      | limits.argument_bytes     | 65536  | sage 10240
tools.name_max                | tools.name_chars          | 128    |
tools.examples_max            | tools.examples            | 5      |
tools.summary_chars           | tools.summary_chars       | 500    |
search.results                | not here | one search finds tools, for scripts and turns alike: code.search_results
search.max                    | not here | likewise: code.search_max
search.query_chars            | not here | likewise: code.search_query_chars
spill.read_default            | observations.read_bytes   | 65536  |
spill.read_max                | observations.read_bytes_max | 1048576 |
spill.handle_chars            | limits.handles            | 4096   |  | a count, and the length follows from it: `h1` to `h4096` have five characters at most
spill, its reader             | names.read_result         | "handle.read" | graphorin "read_result"
spill.preview_tokens          | observations.preview_tokens | 2048  |
spill.mode                    | not here | nothing is spilled to files
spill.sweep_days              | not here | nothing is spilled to files
code mode, a script           | names.run_script          | "run_script" | graphorin "code_execute"
code mode, a search           | names.search_tools        | "search_tools" | graphorin "code_search"
code.source_chars             | limits.script_chars       | 100000 |
code.timeout_ms               | limits.script_cpu_ms      | 30000  |
code.calls                    | limits.script_calls       | 64     |
code.grace_ms                 | not here | scripts are given up as all runs are: abort.grace_ms
code.search_results           | search.results            | 8      |
code.search_max               | search.results_max        | 25     |
code.search_query_chars       | search.query_chars        | 512    |
code.line_chars               | search.line_chars         | 120    |
code.depth                    | search.type_depth         | 4      |
abort.grace_ms                | abort.grace_ms            | 50     | graphorin 100
abort.drain                   | abort.drain               | false  |
abort.pending                 | abort.pending             | "deny" |
fanout.max_children           | not here | no runs of runs
handoff.default_last_n        | not here | no hand-offs
taint.min_span                | flow.span_chars           | 20     |
taint.floor                   | flow.floor_chars          | 8      |
taint.tracked_chars           | flow.tracked_chars        | 262144 |
taint.runs                    | not here | each run remembers its own, and forgets it with its end
sanitise.budget_ms            | not here | patterns take linear time, and what is too long is withheld unread
scrub.entropy                 | scrub.entropy_centibits   | 380    |
scrub.min_len                 | scrub.token_chars         | 24     |
scrub.max_len                 | scrub.token_chars_max     | 512    |
scrub.distinct                | scrub.distinct_chars      | 8      |
provider.attempts             | chain.attempts            | 1      | oxydra 3
provider.backoff_base         | chain.backoff_ms          | 250    | oxydra 250
provider.backoff_cap          | chain.backoff_max_ms      | 8000   | oxydra 2000
provider.cooldown_ms          | chain.cooldown_ms         | 30000  | sage 60000
provider.cooldown, failures   | not here | a provider rests when it asks for it, and not after so many failures
provider.auth_refresh         | not here | a key is read anew once for each provider and run, as written down: a set and no count
stream.buffer                 | not here | what waits of a stream is bounded by bytes
event.queue                   | limits.watch_events       | 256    |
budget.output_estimate_tokens | agents.a.budget.reply_tokens | 4096 |
budget.max_cost               | agents.a.budget.cost      | null   |
budget.cap                    | agents.a.budget.tokens    | null   |
context.reserve               | context.reserve_tokens    | 1024   | sage 12000
context.fallback_window       | context.window_tokens     | 128000 | sage 120000
context.chars_per_token       | context.chars_per_token   | 4      |
context.per_message           | context.message_tokens    | 4      |
compaction.trigger            | compaction.trigger_percent | 85    | oxydra 80
compaction.target             | compaction.target_percent | 50     |
compaction.min_turns          | compaction.min_turns      | 6      | oxydra 4
compaction.keep               | compaction.keep_turns     | 2      |
compaction.entries            | compaction.summary_entries | 24    |
compaction.entry_chars        | compaction.entry_chars    | 180    |
compaction.total_chars        | compaction.summary_chars  | 4000   |
memory.top_k, vector, text, snippet_chars, chunk, overlap | not here | no memory beyond notes
cache.entries                 | cache.entries             | 50     |
cache.ttl_ms                  | cache.ttl_ms              | 120000 |
cache.min_ttl                 | not here | what is kept for a short time is kept for no other reason than a long one: `cache.ttl_ms` is the whole choice
idempotency.entries           | cache.keyed_entries       | 1000   |
idempotency.ttl_ms            | cache.keyed_ttl_ms        | 300000 |
wasm.memory                   | limits.memory_mib         | 64     |
wasm.stack                    | limits.stack_mib          | 16     |  | the engine of scripts needs 64 times its own to say where one went too deep: 16 MiB, and a key to have less
wasm.cpu                      | limits.cpu_ms             | 10000  |
wasm.output                   | limits.outcome_bytes      | 1048576 |  | what one call gives back stands in one record, and 16 MB of it help no model: files and handles take more
wasm.expression               | not here | no expressions apart from scripts
web.body                      | limits.answer_bytes       | 5242880 |
web.text_chars, matches       | not here | the plugin's own
http.body_max                 | serve.body_bytes          | 1048576 |
mcp.frame_max                 | mcp_server.frame_bytes    | 1048576 |
graph.node_timeout, retries, parallel | not here | no graph of nodes
critic.min_score, loops, temperature | not here | no critic
selector.temperature, timeout, history | not here | nobody selects a route
route.temperature             | not here | no routes
search.min_sources, urls, attempts | not here | no search of the web of its own
health.alpha                  | health.alpha_percent      | 20     |
health.start                  | health.start_percent      | 50     |
health.weight                 | health.weight_percent     | 85     |
canary.window, samples, max_failure, cooldown | not here | no canaries
replay.limit, score, success, total, route | not here | a replay compares record by record, and scores nothing
scheduler.poll, concurrent, per_user, min_interval | not here | no schedule yet
scheduler.turns, history, notify, disable, output_read | not here | no schedule yet
gateway.attachments           | limits.attachments        | 4      |
gateway.bytes                 | limits.attachment_bytes   | 10485760 |
gateway.turns_per_user        | serve.runs_per_user       | 128    | oxydra 3
gateway.queue                 | not here | a run that waits for another of its session is under way: serve.runs_per_user
evaluator.cap, verifier_rounds | not here | nobody evaluates or verifies
merge.low_trust, weight       | not here | runs are not merged
causality.depth               | not here | labels say what had influence
progress.max_artifacts, seq_digits | not here | no artifacts of progress
"#;

/// A row of the register.
struct Row {
    number: &'static str,
    is: Is,
}

/// Where a number is.
enum Is {
    Key {
        key: &'static str,
        default: Value,
        profiles: Vec<(&'static str, Value)>,
    },
    NotHere,
}

fn row(line: &'static str) -> Row {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let (number, is) = match cells[..] {
        [number, "not here", why] if !why.is_empty() => (number, Is::NotHere),
        [number, key, default, profiles] | [number, key, default, profiles, _] => {
            let profiles = profiles.split(", ").filter_map(|said| said.split_once(' '));
            let profiles = profiles.map(|(profile, said)| (profile, value(said)));
            let is = Is::Key {
                key,
                default: value(default),
                profiles: profiles.collect(),
            };
            (number, is)
        }
        _ => panic!("no row: {line}"),
    };
    Row { number, is }
}

fn register() -> Vec<Row> {
    let lines = [REGISTER, SEMANTICS].into_iter().flat_map(str::lines);
    let lines = lines.filter(|line| !line.is_empty());
    lines.map(row).collect()
}

/// A key that holds, its value, and where it was said.
type Held = (String, Value, String);

/// What holds for a user whose whole configuration is this text and one agent.
fn holding(folder: &Path, text: &str) -> Vec<Held> {
    // The user's own file, and not a workspace's, which is looked for upward.
    let user_file = folder.join("own.toml");
    std::fs::write(&user_file, format!("{text}[agents.a]\n")).unwrap();
    let around = Surroundings {
        folder: folder.to_owned(),
        user_file,
        system_file: folder.join("none"),
        variables: Vec::new(),
        flags: Vec::new(),
        home: None,
        state: folder.join("state"),
        program: folder.join("none"),
    };
    let config = Config::read(&around, None).unwrap();
    let all = shown(&config).unwrap();
    all.iter()
        .map(|shown| (shown.key(), shown.value.clone(), shown.origin()))
        .collect()
}

/// Each key of the register has the value that was written down, without a profile and with each; and a profile says
/// nothing beyond the register.
#[test]
fn each_profile_has_the_numbers_of_its_system() {
    let folder = tempfile::tempdir().unwrap();
    let words = PROFILES.map(|profile| profile.word());
    for profile in ["default"].into_iter().chain(words) {
        let text = match profile {
            "default" => String::new(),
            named => format!("profile = {named:?}\n"),
        };
        let held = holding(folder.path(), &text);
        let told: BTreeSet<&str> = register()
            .into_iter()
            .filter_map(|row| agrees(row, profile, &held))
            .collect();
        // What all agents have by `pace` and `chain`, the one agent has as well.
        let beyond = held.iter().filter(|(key, _, origin)| {
            let is_told = told.contains(key.as_str()) || key.starts_with("agents.a.");
            origin.starts_with("profile") && !is_told
        });
        let beyond: Vec<&Held> = beyond.collect();
        assert!(beyond.is_empty(), "{profile} says more: {beyond:?}");
    }
}

/// Whether a row agrees with what holds; its key.
#[track_caller]
fn agrees(row: Row, profile: &str, held: &[Held]) -> Option<&'static str> {
    let Is::Key {
        key,
        default,
        profiles,
    } = row.is
    else {
        return None;
    };
    let number = row.number;
    let said = profiles.into_iter().find(|(named, _)| *named == profile);
    let from = match said {
        Some(_) => format!("profile {profile}"),
        None => "default".to_owned(),
    };
    let expected = said.map_or(default, |(_, value)| value);
    let found = held.iter().find(|(held, _, _)| held == key);
    let (_, got, origin) = found.unwrap_or_else(|| panic!("{number}: there is no key `{key}`"));
    assert_eq!(got, &expected, "{number} with {profile}: `{key}`, {origin}");
    // What a profile has is what it says, and not what holds anyway.
    assert_eq!(origin, &from, "{number} with {profile}: `{key}`");
    Some(key)
}

#[test]
fn each_number_is_listed_once() {
    let mut seen = BTreeSet::new();
    for Row { number, .. } in register() {
        assert!(seen.insert(number), "{number} is listed twice");
    }
    assert!(seen.len() > 90, "{}", seen.len());
}
