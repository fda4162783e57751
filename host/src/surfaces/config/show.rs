//! What holds, key by key, and where it was said: for `lazaret config show`.
//!
//! Numbers are read back from what a host is made of, through the very tables that a file is read by; so a key that is
//! added there has to be answered here, and what is shown is what is done. All else is shown as it was said.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::budget::BudgetTable;
use super::chain::ChainTable;
use super::context::ContextTable;
use super::file::{
    AbortTable, CacheTable, ConfigFile, HealthTable, InboundTable, LimitTable, SearchTable,
};
use super::layer::{Keys, Merged, Origin, Place, adds_up, is, named};
use super::mcp_server::McpServerTable;
use super::names::{self, NamesTable};
use super::pace::PaceTable;
use super::secrets::{ScrubTable, VaultTable};
use super::serve::ServeRules;
use super::tools::{self, ToolsTable};
use super::{Config, agent, context, mcp_server};
use crate::guests::catalog::Collisions;
use crate::rules::agent::Agent;
use crate::rules::budget::Caps;
use crate::rules::chain::Terms;
use crate::rules::context::rolling::{Rolling, RollingTable};
use crate::rules::context::tokens::Tokenizer;
use crate::rules::context::window::Window;
use crate::rules::flow::lines::{Browse, Flows, Holding, Mode};
use crate::rules::grant::Access;
use crate::rules::inbound::Inbound;
use crate::rules::manifest::Risk;
use crate::rules::policy::{Mount, Policy};
use crate::rules::questions::Unattended;
use crate::rules::running::RunRules;
use crate::rules::sanitise::{CapTable, Caps as ObservationCaps};
use crate::rules::spans::collector::Pace as TracesPace;
use crate::words::error::{Error, Result};
use crate::words::limits::FETCH_BODY_BYTES;
use crate::words::message::Calling;

/// A key, what holds, and where it was said.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The key with the tables that it stands in.
    pub keys: Keys,
    /// What holds; `null` where nothing does.
    pub value: Value,
    /// Where that was said; nowhere: it is the default.
    pub origins: Vec<Origin>,
    /// The variable or flag that says otherwise, where a workspace's file holds against it.
    pub overruled: Vec<Origin>,
}

/// What to do about what is overruled.
pub const OVERRULED: &str = "leave it out, or change the file: a workspace's file tightens what you say, by `--set` or a variable as well";

/// Keys whose values are handed on as they are, and may be anything.
const UNSHOWN: [&[&str]; 2] = [&["models", "*", "extra"], &["mcp", "*", "env"]];

/// What holds, in the order of the keys.
///
/// # Errors
/// `BadInput`, which a configuration that was read does not cause.
pub fn shown(config: &Config) -> Result<Vec<Shown>> {
    let mut found = BTreeMap::new();
    let effective = serde_json::to_value(Effective::of(config)?)
        .map_err(|error| Error::bug("what holds is no JSON").because(error))?;
    each_leaf(&effective, &mut Keys::new(), &mut |keys, value| {
        found.insert(keys.to_vec(), value.clone());
    });
    let mut shown: Vec<Shown> = found
        .iter()
        .filter(|(keys, value)| !value.is_null() || said(config, keys).is_empty())
        .map(|(keys, value)| Shown {
            keys: keys.clone(),
            value: value.clone(),
            origins: origins(config, keys, value),
            overruled: overruled(config, keys, value),
        })
        .collect();
    let known = |keys: &Keys| found.get(keys).is_some_and(|value| !value.is_null());
    for (layer, keys, origins) in all_said(config) {
        if known(keys) || is_hidden(config, layer, keys) {
            continue;
        }
        let value = layer.value(keys).map_or(Value::Null, json);
        let origins = origins.to_vec();
        let keys = keys.clone();
        shown.push(Shown {
            keys,
            value,
            origins,
            overruled: Vec::new(),
        });
    }
    shown.sort_by(|one, other| one.keys.cmp(&other.keys));
    for shown in &mut shown {
        let above = |form: &[&str]| shown.keys.get(..form.len());
        if UNSHOWN
            .iter()
            .any(|form| above(form).is_some_and(|keys| is(keys, form)))
        {
            shown.value = Value::String("(not shown)".to_owned());
        }
    }
    Ok(shown)
}

fn all_said(config: &Config) -> impl Iterator<Item = (&Merged, &Keys, &[Origin])> {
    let layers = [&config.stack.own, &config.stack.workspace];
    layers.into_iter().flat_map(|layer| {
        layer
            .leaves()
            .map(move |(keys, origins)| (layer, keys, origins))
    })
}

/// Whether somebody else's word is followed: the user's, of a thing that both name; and a profile that was not
/// chosen.
fn is_hidden(config: &Config, layer: &Merged, keys: &[String]) -> bool {
    let own = &config.stack.own;
    let is_theirs = std::ptr::eq(layer, &config.stack.workspace);
    let shadowed = !adds_up(keys) && named(keys).is_some_and(|name| own.defines(name));
    let first = ["profile", "version", "tiers", "scripts"];
    let second = keys
        .first()
        .is_some_and(|key| first.contains(&key.as_str()))
        && own.has(keys);
    is_theirs && (shadowed || second)
}

fn said<'a>(config: &'a Config, keys: &[String]) -> Vec<(&'a Merged, &'a [Origin])> {
    [&config.stack.own, &config.stack.workspace]
        .into_iter()
        .map(|layer| (layer, layer.origins(keys)))
        .filter(|(_, origins)| !origins.is_empty())
        .collect()
}

/// Where a value was said that holds: at its own key, or at the one that stands for all agents.
fn origins(config: &Config, keys: &[String], value: &Value) -> Vec<Origin> {
    let mut places = vec![keys.to_vec()];
    if let [agents, _, rest @ ..] = keys
        && agents == "agents"
    {
        let common = match rest {
            [_] => [vec!["pace".to_owned()], rest.to_vec()].concat(),
            _ => rest.to_vec(),
        };
        places.push(common);
    }
    for keys in places {
        let mut holding = said(config, &keys).into_iter().filter(|(layer, _)| {
            layer
                .value(&keys)
                .is_some_and(|said| same(&json(said), value))
        });
        if let Some((_, origins)) = holding.next() {
            return origins.to_vec();
        }
    }
    Vec::new()
}

/// What was said for this time and does not hold, since a workspace's file says what does.
fn overruled(config: &Config, keys: &[String], value: &Value) -> Vec<Origin> {
    let (own, theirs) = (&config.stack.own, &config.stack.workspace);
    let holds = |layer: &Merged| {
        let said = layer.value(keys);
        said.is_some_and(|said| same(&json(said), value))
    };
    if holds(own) || !holds(theirs) {
        return Vec::new();
    }
    let said = own.origins(keys).iter();
    let said = said.filter(|said| matches!(said.place, Place::Variable(_) | Place::Flag(_)));
    said.cloned().collect()
}

/// Lists are in the order of what they are made of.
fn same(one: &Value, other: &Value) -> bool {
    let sorted = |value: &Value| {
        let mut all: Vec<String> = value.as_array()?.iter().map(Value::to_string).collect();
        all.sort();
        Some(all)
    };
    one == other || sorted(one).is_some() && sorted(one) == sorted(other)
}

fn json(value: &toml::Value) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// A table without entries says nothing.
fn each_leaf(value: &Value, keys: &mut Keys, see: &mut impl FnMut(&[String], &Value)) {
    let Value::Object(table) = value else {
        see(keys, value);
        return;
    };
    for (key, value) in table {
        keys.push(key.clone());
        each_leaf(value, keys, see);
        keys.pop();
    }
}

/// What holds, as the file would say it.
#[derive(Serialize)]
struct Effective {
    unattended: Unattended,
    ask_expires_s: Option<u64>,
    allow_risk: Vec<Risk>,
    collisions: Collisions,
    vault: VaultTable,
    mounts: BTreeMap<String, MountShown>,
    agents: BTreeMap<String, AgentShown>,
    models: BTreeMap<String, ModelShown>,
    #[serde(flatten)]
    policy: PolicyShown,
    #[serde(flatten)]
    runs: RunsShown,
}

#[derive(Serialize)]
struct PolicyShown {
    limits: LimitTable,
    flow: FlowShown,
    inbound: InboundTable,
    scrub: ScrubTable,
    search: SearchTable,
    tools: ToolsTable,
    observations: CapTable,
}

#[derive(Serialize)]
struct RunsShown {
    abort: AbortTable,
    cache: CacheTable,
    health: HealthTable,
    chain: ChainTable,
    compaction: RollingTable,
    context: ContextTable,
    mcp_server: McpServerTable,
    names: NamesTable,
    pace: PaceTable,
    serve: ServeRules,
    traces: TracesPace,
}

#[derive(Serialize)]
struct FlowShown {
    mode: Mode,
    browse: Browse,
    hold: Holding,
    bits: u32,
    strict: bool,
    span_chars: usize,
    floor_chars: usize,
    tracked_chars: usize,
}

#[derive(Serialize)]
struct MountShown {
    access: Access,
    workspace: bool,
    quota_mib: u64,
    max_file_mib: u64,
}

#[derive(Serialize)]
struct AgentShown {
    #[serde(flatten)]
    pace: PaceTable,
    calling: Calling,
    budget: BudgetTable,
    chain: ChainTable,
}

#[derive(Serialize)]
struct ModelShown {
    window_tokens: u64,
    tokenizer: Tokenizer,
}

impl Effective {
    fn of(config: &Config) -> Result<Self> {
        let (own, theirs) = (config.stack.own.file()?, config.stack.workspace.file()?);
        let setup = &config.setup;
        let policy = &setup.policy;
        let agents = setup.agents.iter();
        let models = setup.models.iter();
        let mounts = policy.mounts.iter();
        let answers = [&own, &theirs].into_iter();
        let answer_bytes = answers.filter_map(|file| file.limits.answer_bytes).min();
        Ok(Self {
            unattended: policy.asks.unattended,
            ask_expires_s: policy.asks.expires_ms.map(|ms| ms / 1_000),
            allow_risk: policy.risks.iter().copied().collect(),
            collisions: setup.collisions,
            vault: VaultTable {
                backend: Some(
                    own.vault
                        .backend
                        .or(theirs.vault.backend)
                        .unwrap_or_default(),
                ),
            },
            mounts: mounts
                .map(|(name, mount)| (name.to_string(), mount_of(mount)))
                .collect(),
            agents: agents
                .map(|(name, agent)| (name.clone(), agent_of(agent)))
                .collect(),
            models: models
                .map(|(name, model)| {
                    let shown = ModelShown {
                        window_tokens: model.window.tokens,
                        tokenizer: model.window.counting.tokenizer,
                    };
                    (name.clone(), shown)
                })
                .collect(),
            policy: PolicyShown {
                limits: limits_of(policy, &setup.rules, answer_bytes),
                ..policy_of(policy)
            },
            runs: runs_of(config, &own, &theirs)?,
        })
    }
}

fn policy_of(policy: &Policy) -> PolicyShown {
    PolicyShown {
        limits: LimitTable::default(),
        flow: flow_of(&policy.flows),
        inbound: inbound_of(&policy.inbound),
        scrub: ScrubTable {
            keywords: Some(policy.inbound.guess.keywords),
            entropy: Some(policy.inbound.guess.entropy),
            token_chars: Some(policy.inbound.guess.random.chars),
            token_chars_max: Some(policy.inbound.guess.random.chars_max),
            distinct_chars: Some(policy.inbound.guess.random.distinct_chars),
            entropy_centibits: Some(policy.inbound.guess.random.centibits),
        },
        search: SearchTable {
            results: Some(policy.scripts.search.results),
            results_max: Some(policy.scripts.search.results_max),
            query_chars: Some(policy.scripts.search.query_chars),
            line_chars: Some(policy.scripts.search.brevity.line_chars),
            type_depth: Some(policy.scripts.search.brevity.type_depth),
        },
        tools: tools::shown(policy.bounds.tools),
        observations: caps_of(&policy.inbound.caps),
    }
}

fn runs_of(config: &Config, own: &ConfigFile, theirs: &ConfigFile) -> Result<RunsShown> {
    let setup = &config.setup;
    let RunRules {
        abort,
        caching,
        health,
        attaching: _,
        watching: _,
        system: _,
    } = setup.rules;
    let names = names::together(&[&own.names, &theirs.names])?;
    let collector = setup.places.collector.as_ref();
    let serving = mcp_server::together(&[&own.mcp_server, &theirs.mcp_server])?;
    Ok(RunsShown {
        serve: config.stack.serve.clone(),
        mcp_server: mcp_server::shown(serving),
        traces: collector.map_or_else(TracesPace::default, |collector| collector.pace),
        abort: AbortTable {
            drain: Some(abort.drain),
            grace_ms: Some(abort.grace_ms),
            pending: Some(abort.pending),
        },
        cache: CacheTable {
            entries: Some(caching.entries),
            ttl_ms: Some(caching.ttl_ms),
            keyed_entries: Some(caching.keyed_entries),
            keyed_ttl_ms: Some(caching.keyed_ttl_ms),
        },
        health: HealthTable {
            alpha_percent: Some(health.alpha_percent),
            start_percent: Some(health.start_percent),
            weight_percent: Some(health.weight_percent),
        },
        chain: chain_of(&setup.chains.terms),
        compaction: rolling_of(&context::rolling(&[&own.compaction, &theirs.compaction])?),
        context: context_of(context::together(&[own.context, theirs.context])?),
        names: NamesTable {
            run_script: Some(names.run_script),
            search_tools: Some(names.search_tools),
            read_result: Some(names.read_result),
        },
        pace: agent::common_pace(&[own.pace, theirs.pace], 0)?.spelled_out(),
    })
}

fn limits_of(policy: &Policy, rules: &RunRules, answer_bytes: Option<usize>) -> LimitTable {
    let (bounds, scripts) = (policy.bounds, policy.scripts);
    LimitTable {
        fuel: Some(bounds.guest.fuel),
        cpu_ms: Some(bounds.guest.cpu_ms),
        memory_mib: Some(bounds.guest.memory_bytes >> 20),
        timeout_ms: Some(bounds.timeout_ms),
        calls: Some(bounds.calls),
        script_calls: Some(scripts.calls),
        script_cpu_ms: Some(scripts.cpu_ms),
        script_chars: Some(scripts.chars),
        argument_bytes: Some(bounds.argument_bytes),
        script_wall_ms: scripts.wall_ms,
        retries: Some(bounds.retries.most),
        retry_delay_ms: Some(bounds.retries.silent.delay_ms),
        retry_writes: Some(bounds.retries.writes),
        silent_retries: Some(bounds.retries.silent.retries),
        silent_timeout_ms: Some(bounds.silent_timeout_ms),
        outcome_bytes: Some(bounds.outcome_bytes),
        answer_bytes: Some(answer_bytes.unwrap_or(FETCH_BODY_BYTES)),
        attachments: Some(rules.attaching.files),
        attachment_bytes: Some(rules.attaching.bytes),
        stack_mib: Some(bounds.guest.stack_bytes >> 20),
        handles: Some(bounds.run.handles),
        run_cpu_ms: Some(bounds.run.cpu_ms),
        run_journal_mib: Some(bounds.run.journal_bytes >> 20),
        watch_events: Some(rules.watching.events),
    }
}

fn flow_of(flows: &Flows) -> FlowShown {
    FlowShown {
        mode: flows.mode,
        browse: flows.browse,
        hold: flows.hold,
        bits: flows.bits,
        strict: flows.strict,
        span_chars: flows.guards.span_chars,
        floor_chars: flows.guards.floor_chars,
        tracked_chars: flows.guards.tracked_chars,
    }
}

fn inbound_of(inbound: &Inbound) -> InboundTable {
    InboundTable {
        untrusted: Some(inbound.untrusted),
        trusted: Some(inbound.trusted),
        fail_closed: Some(inbound.fail_closed),
    }
}

fn caps_of(caps: &ObservationCaps) -> CapTable {
    CapTable {
        max_tokens: Some(caps.tokens),
        max_bytes: Some(caps.bytes),
        max_lines: caps.lines,
        max_chars: caps.chars,
        preview_tokens: Some(caps.preview_tokens),
        read_bytes: Some(caps.read_bytes),
        read_bytes_max: Some(caps.read_bytes_max),
        truncation: Some(caps.truncation),
        head_percent: Some(caps.head_percent),
        tail_percent: Some(caps.tail_percent),
    }
}

fn rolling_of(rolling: &Rolling) -> RollingTable {
    RollingTable {
        trigger_percent: Some(rolling.trigger_percent),
        trigger_tokens: Some(rolling.trigger_tokens).filter(|tokens| *tokens > 0),
        target_percent: Some(rolling.target_percent),
        min_turns: Some(rolling.min_turns),
        keep_turns: Some(rolling.keep_turns),
        summary_entries: Some(rolling.entries),
        entry_chars: Some(rolling.entry_chars),
        summary_chars: Some(rolling.all_chars),
        model: Some(rolling.model.clone()).filter(|model| !model.is_empty()),
        after: Some(rolling.after.iter().map(ToString::to_string).collect()),
        after_chars: Some(rolling.after_chars),
    }
}

fn context_of(table: ContextTable) -> ContextTable {
    let usual = Window::of("");
    let counting = context::counting(usual.counting, table);
    ContextTable {
        window_tokens: Some(table.window_tokens.unwrap_or(usual.tokens)),
        reserve_tokens: Some(table.reserve_tokens.unwrap_or(usual.reserve_tokens)),
        cut_latest: Some(table.cut_latest.unwrap_or(usual.cut_latest)),
        chars_per_token: Some(counting.chars_per_token),
        message_tokens: Some(counting.message_tokens),
    }
}

fn chain_of(terms: &Terms) -> ChainTable {
    ChainTable {
        attempts: Some(terms.attempts),
        backoff: Some(terms.backoff),
        backoff_ms: Some(terms.backoff_ms),
        backoff_max_ms: Some(terms.backoff_max_ms),
        cooldown_ms: Some(terms.cooldown_ms),
        retry_after_max_ms: Some(terms.retry_after_max_ms),
        restart_step: Some(terms.restart_step),
        order: Some(terms.order),
        tool_tiers: Some(terms.tool_tiers),
        thoughts: Some(terms.thoughts),
    }
}

fn mount_of(mount: &Mount) -> MountShown {
    MountShown {
        access: mount.access,
        workspace: mount.workspace,
        quota_mib: mount.room.run_bytes >> 20,
        max_file_mib: mount.room.file_bytes >> 20,
    }
}

fn agent_of(agent: &Agent) -> AgentShown {
    let pace = agent.pace;
    AgentShown {
        pace: PaceTable {
            turns: Some(agent.turns),
            session_turns: pace.session_turns,
            calls_per_turn: Some(pace.calls_per_turn),
            calls: Some(pace.calls),
            corrections: Some(pace.corrections),
            failed_turns: Some(pace.failed_turns),
            identical_batches: Some(pace.identical_batches),
            parallel: Some(pace.parallel),
            recover_tool_failures: Some(pace.recover_tool_failures),
            on_denied: Some(pace.on_denied),
            denied_repeats: Some(pace.denied_repeats),
            final_answer_turn: Some(pace.final_answer_turn),
            turn_timeout_ms: Some(pace.turn_timeout_ms),
            call_timeout_ms: Some(pace.call_timeout_ms),
            run_timeout_ms: pace.run_timeout_ms,
        },
        calling: agent.calling,
        budget: budget_of(&agent.caps),
        chain: chain_of(&agent.terms),
    }
}

/// What it may cost is shown as it was said.
fn budget_of(caps: &Caps) -> BudgetTable {
    BudgetTable {
        tokens: Some(caps.tokens).filter(|tokens| *tokens > 0),
        cost: None,
        turns: Some(caps.turns).filter(|turns| *turns > 0),
        wall_ms: Some(caps.wall_ms).filter(|wall_ms| *wall_ms > 0),
        on_exceed: caps.on_exceed,
        unpriced: caps.unpriced,
        reply_tokens: Some(caps.reply_tokens),
    }
}

pub(super) fn written(keys: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let keys = keys.iter().map(|key| {
        if !key.is_empty() && key.chars().all(plain) {
            key.clone()
        } else {
            toml::Value::String(key.clone()).to_string()
        }
    });
    keys.collect::<Vec<_>>().join(".")
}

impl Shown {
    /// The key as a person writes it.
    #[must_use]
    pub fn key(&self) -> String {
        written(&self.keys)
    }

    /// The tables that it stands in, from the outermost, and the key itself, as a person writes them.
    pub fn above(&self) -> impl Iterator<Item = String> {
        let tables = (1..=self.keys.len()).filter_map(move |length| self.keys.get(..length));
        tables.map(written)
    }

    /// Whether it stands at or below these keys.
    #[must_use]
    pub fn is_below(&self, keys: &str) -> bool {
        let own = self.key();
        let rest = own.strip_prefix(keys.trim_end_matches('.'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// Where it was said, for people.
    #[must_use]
    pub fn origin(&self) -> String {
        let places: Vec<String> = self.origins.iter().map(ToString::to_string).collect();
        if places.is_empty() {
            return "default".to_owned();
        }
        places.join(" and ")
    }

    /// What holds, where that is not what was said for this time; nothing where it is.
    #[must_use]
    pub fn against(&self) -> Option<String> {
        let said: Vec<String> = self.overruled.iter().map(ToString::to_string).collect();
        let (key, value) = (self.key(), &self.value);
        (!said.is_empty()).then(|| {
            let said = said.join("` and `");
            format!("`{key} = {value}` holds, and not what `{said}` says")
        })
    }

    /// For programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let places = |origins: &[Origin]| origins.iter().map(place).collect::<Vec<Value>>();
        let mut told = Map::new();
        told.insert("key".to_owned(), self.key().into());
        told.insert("value".to_owned(), self.value.clone());
        told.insert("origins".to_owned(), places(&self.origins).into());
        if !self.overruled.is_empty() {
            told.insert("overruled".to_owned(), places(&self.overruled).into());
        }
        Value::Object(told)
    }
}

fn place(origin: &Origin) -> Value {
    let (sort, place) = match &origin.place {
        Place::Profile(name) => ("profile", (*name).to_owned()),
        Place::File(path) => ("file", path.display().to_string()),
        Place::Variable(name) => ("variable", name.clone()),
        Place::Flag(keys) => ("flag", keys.clone()),
    };
    let mut said = Map::new();
    said.insert("sort".to_owned(), sort.into());
    said.insert("place".to_owned(), place.into());
    if let Some(line) = origin.line {
        said.insert("line".to_owned(), line.into());
    }
    Value::Object(said)
}
