//! The register of numbers: what the five systems use, as it was written down, beside what this program has. Each
//! profile is loaded the way any configuration is.
//!
//! A row says where a number is here: a key, and what it is without a profile and with each; a fixed limit, and why it
//! has no key; or nowhere, because what it is a number of is not there.

use std::collections::BTreeSet;
use std::path::Path;

use lazaret::surfaces::config::profile::PROFILES;
use lazaret::surfaces::config::show::shown;
use lazaret::surfaces::config::{Config, Surroundings};
use lazaret::words::limits;
use serde_json::Value;

use Is::{Elsewhere, Fixed, Key};

/// Where a number of the register is.
enum Is {
    /// It is this key, has this value, and these with the profiles named.
    Key(&'static str, Value, Vec<(&'static str, Value)>),
    /// It has this value and no key, and this is why.
    Fixed(u64, &'static str),
    /// It is no number of this program, and this is why.
    Elsewhere(&'static str),
}

type Row = (&'static str, Is);

fn wide(number: usize) -> u64 {
    number.try_into().unwrap()
}

fn key(key: &'static str, value: impl Into<Value>) -> Is {
    Key(key, value.into(), Vec::new())
}

fn differs<const N: usize>(
    key: &'static str,
    value: impl Into<Value>,
    profiles: [(&'static str, i64); N],
) -> Is {
    let profiles = profiles.map(|(profile, value)| (profile, value.into()));
    Key(key, value.into(), profiles.into())
}

/// Turns and calls.
fn loops() -> Vec<Row> {
    vec![
        (
            "loop.max_turns",
            differs(
                "pace.turns",
                8,
                [
                    ("relavium", 17),
                    ("graphorin", 50),
                    ("sage", 3),
                    ("oxydra", 8),
                ],
            ),
        ),
        // Of what was written down as unlimited the host bounds what it looks at.
        (
            "loop.max_calls_per_turn",
            differs(
                "pace.calls_per_turn",
                wide(limits::CALLS_PER_TURN),
                [("sage", 3)],
            ),
        ),
        (
            "loop.max_corrections",
            differs(
                "pace.corrections",
                3,
                [("relavium", 3), ("sage", 1), ("graphorin", 1)],
            ),
        ),
        (
            "loop.identical_batches",
            differs("pace.identical_batches", 4, [("sage", 4)]),
        ),
        (
            "tools.max_parallel",
            differs(
                "pace.parallel",
                8,
                [("relavium", 1), ("sage", 3), ("graphorin", 8)],
            ),
        ),
        ("abort.grace_ms", key("abort.grace_ms", 50)),
        ("abort.drain", key("abort.drain", false)),
        ("abort.pending", key("abort.pending", "deny")),
        ("fanout.max_children", Elsewhere("no runs of runs")),
        ("handoff.default_last_n", Elsewhere("no hand-offs")),
        (
            "stream.buffer",
            Elsewhere("pieces of an answer wait by bytes and not by number"),
        ),
        (
            "event.queue",
            Fixed(
                wide(limits::WATCH_EVENTS),
                "a watcher who is slower misses deltas only, and reads the journal",
            ),
        ),
        ("evaluator.cap", Elsewhere("no evaluator")),
        ("evaluator.verifier_rounds", Elsewhere("no verifier")),
        (
            "progress.max_artifacts",
            Elsewhere("no artifacts of progress"),
        ),
        ("progress.seq_digits", Elsewhere("no artifacts of progress")),
        ("merge.low_trust", Elsewhere("no merge of several runs")),
        ("merge.weight", Elsewhere("no merge of several runs")),
        (
            "causality.depth",
            Elsewhere("no graph of causes: labels say what had influence"),
        ),
    ]
}

/// Calls of tools.
fn tools() -> Vec<Row> {
    let none: [(&'static str, i64); 4] = [
        ("relavium", 0),
        ("graphorin", 0),
        ("sage", 0),
        ("oxydra", 0),
    ];
    vec![
        (
            "tools.timeout_ms",
            Fixed(
                limits::CALL_TIMEOUT_MS,
                "a manifest's own number; the keys `limits.timeout_ms` and `pace.call_timeout_ms` cap it",
            ),
        ),
        // Sage's forty-five seconds cap whatever a manifest says.
        (
            "tools.timeout_ms, its cap",
            differs(
                "pace.call_timeout_ms",
                limits::CALL_TIMEOUT_MS_MAX,
                [("sage", 45_000)],
            ),
        ),
        (
            "tools.retry",
            differs(
                "limits.retries",
                limits::CALL_RETRIES_MAX,
                [none[0], none[1], none[2], none[3], ("ageniti", 2)],
            ),
        ),
        (
            "tools.retry, its delay",
            differs("limits.retry_delay_ms", 100, [("ageniti", 100)]),
        ),
        (
            "tools.max_result_tokens",
            key("observations.max_tokens", 16_384),
        ),
        (
            "tools.max_result_bytes",
            differs(
                "observations.max_bytes",
                1 << 20,
                [("relavium", 50 << 10), ("oxydra", 16 << 10)],
            ),
        ),
        (
            "tools.max_result_lines",
            differs("observations.max_lines", Value::Null, [("relavium", 2_000)]),
        ),
        (
            "tools.max_result_chars",
            differs("observations.max_chars", Value::Null, [("sage", 4_000)]),
        ),
        (
            "tools.max_argument_bytes",
            differs("limits.argument_bytes", 64 << 10, [("sage", 10 << 10)]),
        ),
        (
            "tools.name_max",
            Fixed(
                wide(limits::TOOL_NAME_CHARS),
                "a name that one host takes, all do",
            ),
        ),
        (
            "tools.examples_max",
            Fixed(
                wide(limits::MANIFEST_EXAMPLES),
                "a manifest that one host takes, all do",
            ),
        ),
        (
            "tools.summary_chars",
            Fixed(
                wide(limits::SUMMARY_CHARS),
                "it is for a person, beside the whole on record",
            ),
        ),
        (
            "search.results",
            Elsewhere("one search finds tools, for scripts and turns alike: code.search_results"),
        ),
        ("search.max", Elsewhere("likewise: code.search_max")),
        (
            "search.query_chars",
            Elsewhere("likewise: code.search_query_chars"),
        ),
        (
            "spill.read_default",
            Elsewhere("outcomes that are held are handles, and are read whole or by a function"),
        ),
        ("spill.read_max", Elsewhere("likewise")),
        ("spill.handle_chars", Elsewhere("likewise")),
        ("spill.mode", Elsewhere("nothing is spilled to files")),
        ("spill.sweep_days", Elsewhere("nothing is spilled to files")),
        ("cache.entries", key("cache.entries", 50)),
        ("cache.ttl_ms", key("cache.ttl_ms", 120_000)),
        (
            "cache.min_ttl",
            Elsewhere("a short time is as good as a long one"),
        ),
        ("idempotency.entries", key("cache.keyed_entries", 1_000)),
        ("idempotency.ttl_ms", key("cache.keyed_ttl_ms", 300_000)),
        (
            "web.body",
            Fixed(
                wide(limits::FETCH_BODY_BYTES),
                "a line of `fetch` says less for its destination: `max_answer_bytes`",
            ),
        ),
        ("web.text_chars", Elsewhere("the plugin's own")),
        ("web.matches", Elsewhere("the plugin's own")),
    ]
}

/// Scripts and guests.
fn guests() -> Vec<Row> {
    vec![
        ("code.source_chars", key("limits.script_chars", 100_000)),
        ("code.timeout_ms", key("limits.script_cpu_ms", 30_000)),
        ("code.calls", key("limits.script_calls", 64)),
        (
            "code.grace_ms",
            Elsewhere("scripts are given up as runs are: abort.grace_ms"),
        ),
        ("code.search_results", key("search.results", 8)),
        (
            "code.search_max",
            Fixed(
                wide(limits::SEARCH_HITS_MAX),
                "so many fit an observation, which is checked when the program is built",
            ),
        ),
        (
            "code.search_query_chars",
            Fixed(
                wide(limits::SEARCH_QUERY_CHARS),
                "part of a card that all models are shown alike",
            ),
        ),
        (
            "code.line_chars",
            Fixed(
                wide(limits::CATALOGUE_LINE_CHARS),
                "so many lines fit an observation, likewise",
            ),
        ),
        (
            "code.depth",
            Fixed(
                wide(limits::SIGNATURE_DEPTH),
                "signatures of one depth fit their bytes, likewise",
            ),
        ),
        ("wasm.memory", key("limits.memory_mib", 64)),
        (
            "wasm.stack",
            Fixed(
                wide(limits::WASM_STACK_BYTES),
                "it is laid out when the engine starts, and the script engine needs sixteen times its own",
            ),
        ),
        ("wasm.cpu", key("limits.cpu_ms", 10_000)),
        (
            "wasm.output",
            Fixed(
                wide(limits::OUTCOME_BYTES),
                "what crosses the boundary is bounded once, for all; [observations] says less for a model",
            ),
        ),
        (
            "wasm.expression",
            Elsewhere("no expressions apart from scripts"),
        ),
        ("http.body_max", Elsewhere("no server yet")),
        ("mcp.frame_max", Elsewhere("no server yet")),
    ]
}

/// What is kept from models, and found again in what they say.
fn guards() -> Vec<Row> {
    let tiles = "what is remembered is indexed by tiles that fit this length";
    vec![
        (
            "taint.min_span",
            Fixed(wide(limits::VERBATIM_SPAN_CHARS), tiles),
        ),
        (
            "taint.floor",
            Fixed(wide(limits::VERBATIM_FLOOR_CHARS), tiles),
        ),
        (
            "taint.tracked_chars",
            Fixed(
                wide(limits::VERBATIM_CHARS),
                "a bound on memory, and labels need none of it",
            ),
        ),
        (
            "taint.runs",
            Elsewhere("each run remembers its own, and forgets it with its end"),
        ),
        (
            "sanitise.budget_ms",
            Elsewhere("patterns take linear time, and too much text is withheld unread"),
        ),
        ("scrub.entropy", key("scrub.entropy_centibits", 380)),
        ("scrub.min_len", key("scrub.token_chars", 24)),
        ("scrub.max_len", key("scrub.token_chars_max", 512)),
        ("scrub.distinct", key("scrub.distinct_chars", 8)),
    ]
}

/// Models and their windows.
fn models() -> Vec<Row> {
    vec![
        (
            "provider.attempts",
            differs("chain.attempts", 1, [("oxydra", 3)]),
        ),
        (
            "provider.backoff_base",
            differs("chain.backoff_ms", 250, [("oxydra", 250)]),
        ),
        (
            "provider.backoff_cap",
            differs("chain.backoff_max_ms", 8_000, [("oxydra", 2_000)]),
        ),
        (
            "provider.cooldown_ms",
            differs("chain.cooldown_ms", 30_000, [("sage", 60_000)]),
        ),
        (
            "provider.breaker_failures",
            Elsewhere("a provider rests when it asks for it"),
        ),
        (
            "provider.auth_refresh",
            Elsewhere("keys are read anew for each request"),
        ),
        (
            "budget.output_estimate_tokens",
            key("agents.a.budget.reply_tokens", 4_096),
        ),
        ("budget.max_cost", key("agents.a.budget.cost", Value::Null)),
        ("budget.cap", key("agents.a.budget.tokens", Value::Null)),
        (
            "context.reserve",
            differs("context.reserve_tokens", 1_024, [("sage", 12_000)]),
        ),
        (
            "context.fallback_window",
            differs("context.window_tokens", 128_000, [("sage", 120_000)]),
        ),
        (
            "context.chars_per_token",
            Fixed(
                wide(limits::CHARS_PER_TOKEN),
                "an estimate; `tokenizer` of a model counts",
            ),
        ),
        (
            "context.per_message",
            Fixed(
                limits::CONTEXT_MESSAGE_TOKENS,
                "what providers put around a message",
            ),
        ),
        (
            "compaction.trigger",
            differs("compaction.trigger_percent", 85, [("oxydra", 80)]),
        ),
        ("compaction.target", key("compaction.target_percent", 50)),
        (
            "compaction.min_turns",
            differs("compaction.min_turns", 6, [("oxydra", 4)]),
        ),
        ("compaction.keep", key("compaction.keep_turns", 2)),
        ("compaction.entries", key("compaction.summary_entries", 24)),
        ("compaction.entry_chars", key("compaction.entry_chars", 180)),
        (
            "compaction.total_chars",
            key("compaction.summary_chars", 4_000),
        ),
    ]
}

/// What this program does not do.
fn absent() -> Vec<Row> {
    let of = |keys: &[&'static str], why: &'static str| -> Vec<Row> {
        keys.iter().map(|key| (*key, Elsewhere(why))).collect()
    };
    [
        of(
            &[
                "memory.top_k",
                "memory.vector",
                "memory.text",
                "memory.snippet_chars",
                "memory.chunk",
                "memory.overlap",
            ],
            "no memory beyond notes",
        ),
        of(
            &[
                "graph.node_timeout",
                "graph.retries",
                "graph.parallel",
                "route.temperature",
                "selector.temperature",
                "selector.timeout",
                "selector.history",
            ],
            "no graph of nodes, and so no routes",
        ),
        of(
            &["critic.min_score", "critic.loops", "critic.temperature"],
            "no critic",
        ),
        of(
            &["search.min_sources", "search.urls", "search.attempts"],
            "no search of the web of its own",
        ),
        of(
            &[
                "health.alpha",
                "health.start",
                "health.weight",
                "canary.window",
                "canary.samples",
                "canary.max_failure",
                "canary.cooldown",
            ],
            "no canaries; health of providers orders a chain and has no weights",
        ),
        of(
            &[
                "replay.limit",
                "replay.score",
                "replay.success",
                "replay.total",
                "replay.route",
            ],
            "a replay compares record by record, and scores nothing",
        ),
        of(
            &[
                "scheduler.poll",
                "scheduler.concurrent",
                "scheduler.per_user",
                "scheduler.min_interval",
                "scheduler.turns",
                "scheduler.history",
                "scheduler.notify",
                "scheduler.disable",
                "scheduler.output_read",
            ],
            "no schedule yet",
        ),
        of(
            &[
                "gateway.attachments",
                "gateway.bytes",
                "gateway.turns_per_user",
                "gateway.queue",
            ],
            "no gateway",
        ),
    ]
    .concat_rows()
}

trait ConcatRows {
    fn concat_rows(self) -> Vec<Row>;
}

impl<const N: usize> ConcatRows for [Vec<Row>; N] {
    fn concat_rows(self) -> Vec<Row> {
        self.into_iter().flatten().collect()
    }
}

fn register() -> Vec<Row> {
    [loops(), tools(), guests(), guards(), models(), absent()].concat_rows()
}

/// What holds for a user whose whole configuration is this text and one agent.
fn holding(folder: &Path, text: &str) -> Vec<(String, Value, String)> {
    let user_file = folder.join("lazaret.toml");
    std::fs::write(&user_file, format!("{text}[agents.a]\n")).unwrap();
    let around = Surroundings {
        folder: folder.join("empty"),
        user_file,
        system_file: folder.join("none"),
        variables: Vec::new(),
        flags: Vec::new(),
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
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let register = register();
    let mut places = vec![("default", String::new())];
    places.extend(
        PROFILES.map(|profile| (profile.word(), format!("profile = {:?}\n", profile.word()))),
    );
    for (profile, text) in places {
        let held = holding(folder.path(), &text);
        let mut told = BTreeSet::new();
        for (name, is) in &register {
            let Key(key, value, profiles) = is else {
                continue;
            };
            let named = profiles.iter().find(|(named, _)| *named == profile);
            let expected = named.map_or(value, |(_, value)| value);
            let found = held.iter().find(|(held, _, _)| held == key);
            let (_, got, origin) =
                found.unwrap_or_else(|| panic!("{name}: there is no key `{key}`"));
            assert_eq!(got, expected, "{name} with {profile}: `{key}`, {origin}");
            // What a profile has is what it says, and not what holds anyway.
            let from = if named.is_some() {
                format!("profile {profile}")
            } else {
                "default".to_owned()
            };
            assert_eq!(origin, &from, "{name} with {profile}: `{key}`");
            told.insert(*key);
        }
        // What all agents have by `pace` and `chain`, the one agent has as well.
        let beyond = held.iter().filter(|(key, _, origin)| {
            origin.starts_with("profile")
                && !told.contains(key.as_str())
                && !key.starts_with("agents.a.")
        });
        let beyond: Vec<_> = beyond.collect();
        assert!(
            beyond.is_empty(),
            "{profile} says more than the register: {beyond:?}"
        );
    }
}

/// A number without a key has the value that was written down, or a reason why not.
#[test]
fn numbers_without_a_key_say_why() {
    let written = [
        ("event.queue", 256),
        ("tools.timeout_ms", 60_000),
        ("tools.name_max", 128),
        ("tools.examples_max", 5),
        ("tools.summary_chars", 500),
        ("web.body", 5 << 20),
        ("code.search_max", 25),
        ("code.search_query_chars", 512),
        ("code.line_chars", 120),
        ("code.depth", 4),
        // One megabyte and sixteen were written down: the engine of scripts needs more of the one, and a model
        // less of the other.
        ("wasm.stack", 16 << 20),
        ("wasm.output", 1 << 20),
        ("taint.min_span", 20),
        ("taint.floor", 8),
        ("taint.tracked_chars", 262_144),
        ("context.chars_per_token", 4),
        ("context.per_message", 4),
    ];
    let mut seen = BTreeSet::new();
    for (name, is) in register() {
        assert!(seen.insert(name), "{name} is listed twice");
        match is {
            Key(..) => {}
            Elsewhere(why) => assert!(!why.is_empty(), "{name}"),
            Fixed(value, why) => {
                assert!(!why.is_empty(), "{name}");
                let row = written.iter().find(|(row, _)| *row == name);
                assert_eq!(row.map(|(_, value)| *value), Some(value), "{name}");
            }
        }
    }
    assert!(written.iter().all(|(name, _)| seen.contains(name)));
}
