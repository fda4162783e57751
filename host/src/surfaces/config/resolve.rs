//! Resolving: from what was written to what a host is made of.
//!
//! Two add up: the user's own words ([`super::stack`]), and a workspace's file that is trusted. Blocks and limits of
//! that only tighten; where both name one thing, the user's own words win.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::agent;
use super::beside;
use super::bounds;
use super::budget::{self, PriceTable};
use super::chain::{self, ChainTable};
use super::context::{self, ContextTable};
use super::file::{
    ConfigFile, FetchEntry, FetchTable, GrantTable, LimitTable, ModelTable, MountTable,
    PluginEntry, RemoteTable, looking,
};
use super::flow::{self, FlowTable};
use super::mcp;
use super::mcp_server;
use super::names;
use super::pace::PaceTable;
use super::secrets;
use super::tools;
use super::traces;
use super::wards;
use crate::edges::vault::{Backend, Vault};
use crate::guests::catalog::Collisions;
use crate::guests::plugin::{self, Installed, Whose};
use crate::rules::bounds::Bounds;
use crate::rules::codec::Wire;
use crate::rules::file::AT_HOME;
use crate::rules::grant::{Access, Destination, FetchBounds, Grant, MountGrant, Pattern};
use crate::rules::inbound::{Inbound, Treatment};
use crate::rules::manifest::Risk;
use crate::rules::policy::{Line, Mount, Policy, Room, ScriptRules};
use crate::rules::price::Priced;
use crate::rules::questions::AskRules;
use crate::rules::running::{Abort, Caching, RunRules};
use crate::rules::tier::Chains;
use crate::runs::host::{Places, Setup};
use crate::runs::provider::{Model, Provider, Remote};
use crate::words::error::{Error, Result};
use crate::words::id::{is_name, shown};
use crate::words::limits::{
    ARGS_BYTES, ASK_EXPIRES_S_MAX, CALL_RETRY_DELAY_MS_MAX, CANCEL_GRACE_MS_MAX,
    GUEST_MEMORY_BYTES, GUEST_MEMORY_BYTES_MAX, MOUNT_MIB_MAX, REPEATS_MAX, REPEATS_TTL_MS_MAX,
    SCRIPT_CALLS_MAX, SCRIPT_CHARS, SCRIPT_CPU_MS_MAX,
};

/// What holds where nothing is configured: pure tools, and reading the working directory, where there is one to read.
pub(super) fn default(folder: Option<&Path>, origin: &str, places: Places) -> Setup {
    let root: Arc<str> = ".".into();
    let mut setup = empty(origin, places);
    let Some(folder) = folder else {
        AT_HOME.clone_into(&mut setup.policy.origin);
        return setup;
    };
    let policy = &mut setup.policy;
    policy.folders = beside::folders([folder].into_iter());
    policy.mounts.insert(
        root.clone(),
        Mount {
            access: Access::Read,
            workspace: false,
            room: Room::default(),
            inside: Arc::default(),
        },
    );
    let mounts = vec![MountGrant {
        mount: root.clone(),
        access: Access::Read,
    }];
    if let Ok(tools) = Pattern::try_from("files.*".to_owned()) {
        policy.lines.push(Line {
            tools,
            grant: Grant {
                mounts,
                ..Grant::default()
            },
        });
    }
    setup.mounts.insert(root, folder.to_owned());
    setup
}

/// What grants nothing.
pub(super) fn empty(origin: &str, places: Places) -> Setup {
    Setup {
        policy: Policy::nothing(origin),
        mounts: BTreeMap::new(),
        plugins: BTreeMap::new(),
        servers: Vec::new(),
        collisions: Collisions::default(),
        agents: BTreeMap::new(),
        models: BTreeMap::new(),
        counsel: Vec::new(),
        chains: Chains::default(),
        engine: plugin::script_engine(),
        vault: Vault::new(Backend::default(), &places.state),
        rules: RunRules::default(),
        places,
    }
}

/// What the files say together, in order, over what a host begins with: the first wins where two name one thing.
pub(super) fn resolve(mut setup: Setup, files: &[(&Path, &ConfigFile)]) -> Result<Setup> {
    let tables: Vec<&FlowTable> = files.iter().map(|(_, file)| &file.flow).collect();
    setup.policy.flows = flow::nothing_said(&tables)?;
    setup.policy.bounds.tools = tools::together(files)?;
    if let Some(backend) = files.iter().find_map(|(_, file)| file.vault.backend) {
        setup.vault = Vault::new(backend, &setup.places.state);
    }
    let patience = files
        .iter()
        .fold(ChainTable::default(), |above, (_, file)| {
            above.over(file.chain)
        });
    setup.chains.terms = patience.terms("chain")?;
    for (place, (path, file)) in files.iter().enumerate() {
        let paces: Vec<_> = files.iter().map(|(_, file)| file.pace).collect();
        let contexts: Vec<_> = files.iter().map(|(_, file)| file.context).collect();
        let said = Said {
            file,
            whose: whose(place),
            patience,
            pace: agent::common_pace(&paces, place)?,
            context: context::together(&contexts)?,
        };
        add(&mut setup, path, &said).map_err(|error| about(&path.display().to_string(), &error))?;
    }
    beside::look(&mut setup.policy, files.iter().map(|(path, _)| *path));
    // More than the default may be asked for, and the least of what is asked for holds.
    let asked = files
        .iter()
        .filter_map(|(_, file)| file.limits.memory_mib)
        .min();
    setup.policy.bounds.guest.memory_bytes =
        asked.map_or(GUEST_MEMORY_BYTES, |mib| mib.saturating_mul(1 << 20));
    // The longest wait that is asked for holds, however short the usual one is.
    let waits = files
        .iter()
        .filter_map(|(_, file)| file.limits.retry_delay_ms);
    if let Some(delay_ms) = waits.max() {
        setup.policy.bounds.retries.silent.delay_ms = delay_ms;
    }
    setup.policy.scripts = script_rules(files)?;
    setup.policy.asks = ask_rules(mem::take(&mut setup.policy.asks), files)?;
    setup.policy.inbound = inbound(files);
    setup.rules = RunRules {
        abort: abort(files)?,
        caching: caching(files)?,
        health: bounds::weights(files)?,
        attaching: bounds::attaching(files)?,
        watching: bounds::watching(files)?,
        system: None,
    };
    bounds::silent(&mut setup.policy.bounds, files)?;
    bounds::room(&mut setup.policy.bounds, files)?;
    bounds::answers(&mut setup.policy, files)?;
    setup.policy.inbound.caps = context::caps(files)?;
    setup.policy.inbound.guess = secrets::guess(files.iter().map(|(_, file)| file.scrub))?;
    context::roll(&mut setup, files)?;
    let told = files.iter().map(|(_, file)| &file.traces);
    setup.places.collector = traces::collector(told, &mut setup.vault)?;
    let tables: Vec<_> = files.iter().map(|(_, file)| &file.names).collect();
    let names = names::together(&tables)?;
    for agent in setup.agents.values_mut() {
        agent.names.clone_from(&names);
    }
    let tables: Vec<_> = files.iter().map(|(_, file)| &file.mcp_server).collect();
    mcp_server::together(&tables)?;
    check_names(&setup)?;
    budget::check(&setup)?;
    Ok(setup)
}

/// Whose file stands at this place: the user's own words are one file, which comes first.
fn whose(place: usize) -> Whose {
    match place {
        0 => Whose::User,
        _ => Whose::Workspace,
    }
}

/// Bounds of scripts: as for memory, the least of what is asked for holds.
fn script_rules(files: &[(&Path, &ConfigFile)]) -> Result<ScriptRules> {
    let rules = ScriptRules::default();
    let limits = || files.iter().map(|(_, file)| file.limits);
    let rules = ScriptRules {
        calls: limits()
            .filter_map(|limits| limits.script_calls)
            .min()
            .unwrap_or(rules.calls),
        cpu_ms: limits()
            .filter_map(|limits| limits.script_cpu_ms)
            .min()
            .unwrap_or(rules.cpu_ms),
        wall_ms: limits().filter_map(|limits| limits.script_wall_ms).min(),
        chars: limits()
            .filter_map(|limits| limits.script_chars)
            .min()
            .unwrap_or(rules.chars),
        search: bounds::search(files)?,
    };
    let wrong = |key: &str, most: u64| {
        let what = format!("[limits] {key} is from 1 to {most}");
        Err(Error::bad_input(what))
    };
    if !(1..=SCRIPT_CALLS_MAX).contains(&rules.calls) {
        return wrong("script_calls", u64::from(SCRIPT_CALLS_MAX));
    }
    if !(1..=SCRIPT_CPU_MS_MAX).contains(&rules.cpu_ms) {
        return wrong("script_cpu_ms", SCRIPT_CPU_MS_MAX);
    }
    if rules.wall_ms == Some(0) {
        return wrong("script_wall_ms", u64::MAX);
    }
    if !(1..=SCRIPT_CHARS).contains(&rules.chars) {
        return wrong(
            "script_chars",
            u64::try_from(SCRIPT_CHARS).unwrap_or(u64::MAX),
        );
    }
    Ok(rules)
}

/// Questions: whoever denies has their way, and the shortest time holds.
fn ask_rules(asks: AskRules, files: &[(&Path, &ConfigFile)]) -> Result<AskRules> {
    let files = || files.iter().map(|(_, file)| file);
    let expires_s = files().filter_map(|file| file.ask_expires_s).min();
    Ok(AskRules {
        unattended: files()
            .filter_map(|file| file.unattended)
            .max()
            .unwrap_or_default(),
        expires_ms: expires_s.map(expires_ms).transpose()?,
        ..asks
    })
}

/// Giving up: the first file that says something has its way, since none of it grants anything.
fn abort(files: &[(&Path, &ConfigFile)]) -> Result<Abort> {
    let tables = || files.iter().map(|(_, file)| file.abort);
    let default = Abort::default();
    let abort = Abort {
        drain: tables()
            .find_map(|table| table.drain)
            .unwrap_or(default.drain),
        grace_ms: tables()
            .find_map(|table| table.grace_ms)
            .unwrap_or(default.grace_ms),
        pending: tables()
            .find_map(|table| table.pending)
            .unwrap_or(default.pending),
    };
    if abort.grace_ms > CANCEL_GRACE_MS_MAX {
        let what = format!("[abort] grace_ms is at most {CANCEL_GRACE_MS_MAX}");
        return Err(Error::bad_input(what));
    }
    Ok(abort)
}

/// Caching: the smallest numbers hold.
fn caching(files: &[(&Path, &ConfigFile)]) -> Result<Caching> {
    let tables = || files.iter().map(|(_, file)| file.cache);
    let default = Caching::default();
    let caching = Caching {
        entries: tables()
            .filter_map(|table| table.entries)
            .min()
            .unwrap_or(default.entries),
        ttl_ms: tables()
            .filter_map(|table| table.ttl_ms)
            .min()
            .unwrap_or(default.ttl_ms),
        keyed_entries: tables()
            .filter_map(|table| table.keyed_entries)
            .min()
            .unwrap_or(default.keyed_entries),
        keyed_ttl_ms: tables()
            .filter_map(|table| table.keyed_ttl_ms)
            .min()
            .unwrap_or(default.keyed_ttl_ms),
    };
    let entries = caching.entries.max(caching.keyed_entries);
    let ttl_ms = caching.ttl_ms.max(caching.keyed_ttl_ms);
    if entries > REPEATS_MAX || ttl_ms > REPEATS_TTL_MS_MAX {
        let what = format!(
            "[cache] keeps at most {REPEATS_MAX} outcomes, and each for at most {REPEATS_TTL_MS_MAX} ms"
        );
        return Err(Error::bad_input(what));
    }
    Ok(caching)
}

/// The time that a question may wait, in milliseconds.
fn expires_ms(seconds: u64) -> Result<u64> {
    if (1..=ASK_EXPIRES_S_MAX).contains(&seconds) {
        return Ok(seconds * 1_000);
    }
    let what = format!("`ask_expires_s` is from 1 to {ASK_EXPIRES_S_MAX}");
    Err(Error::bad_input(what).hint("leave it out: then questions wait for as long as it takes"))
}

/// Text that comes in: whatever one of the files asks for is done.
fn inbound(files: &[(&Path, &ConfigFile)]) -> Inbound {
    let tables = || files.iter().map(|(_, file)| file.inbound);
    let all = |asked: Option<Treatment>, more| Some(asked.map_or(more, |asked| asked.and(more)));
    let untrusted = tables().filter_map(|table| table.untrusted);
    let trusted = tables().filter_map(|table| table.trusted);
    let closed = tables().filter_map(|table| table.fail_closed);
    let default = Inbound::default();
    Inbound {
        untrusted: untrusted.fold(None, all).unwrap_or(default.untrusted),
        trusted: trusted.fold(None, all).unwrap_or(default.trusted),
        fail_closed: closed.max().unwrap_or(default.fail_closed),
        ..default
    }
}

/// A file, whose it is, and what holds for its agents where they say nothing themselves.
struct Said<'a> {
    file: &'a ConfigFile,
    whose: Whose,
    patience: ChainTable,
    pace: PaceTable,
    context: ContextTable,
}

fn add(setup: &mut Setup, path: &Path, said: &Said<'_>) -> Result<()> {
    let file = said.file;
    let folder = path.parent().unwrap_or(Path::new("."));
    setup.policy.block.extend(file.block.iter().cloned());
    setup.policy.asks.tools.extend(file.ask.iter().cloned());
    wards::add(&mut setup.policy.wards, file)?;
    add_confirmed(&mut setup.policy, &file.confirmed)?;
    if let Some(risks) = &file.allow_risk {
        let risks: BTreeSet<Risk> = risks.iter().copied().collect();
        setup.policy.risks = setup.policy.risks.intersection(&risks).copied().collect();
    }
    if file.collisions == Collisions::Error {
        setup.collisions = Collisions::Error;
    }
    tighten(&mut setup.policy.bounds, &file.limits).map_err(|error| in_table("limits", &error))?;
    mcp::add(&mut setup.servers, &mut setup.vault, (folder, &file.mcp))?;
    for (name, table) in &file.mounts {
        check_mount_name(name)?;
        let path = mount_path(folder, name, &table.path)?;
        let room = room(table).map_err(|error| in_table(&format!("mounts.{name}"), &error))?;
        let name: Arc<str> = name.as_str().into();
        setup.policy.mounts.entry(name.clone()).or_insert(Mount {
            access: table.access,
            workspace: table.workspace,
            room,
            inside: Arc::default(),
        });
        if table.own && !setup.mounts.contains_key(&name) {
            setup
                .policy
                .flows
                .classes
                .own_mounts
                .insert(name.to_string());
        }
        setup.mounts.entry(name).or_insert(path);
    }
    flow::add(&mut setup.policy.flows, &file.flow)?;
    for (tools, table) in &file.grants {
        let tools = Pattern::try_from(tools.clone())?;
        let grant =
            grant(table).map_err(|error| in_table(&format!("grants.\"{tools}\""), &error))?;
        setup.policy.lines.push(Line { tools, grant });
    }
    for (name, component) in &file.plugins {
        check_name("a plugin", name)?;
        setup
            .plugins
            .entry(name.clone())
            .or_insert_with(|| installed((folder, said.whose), component));
    }
    for (name, table) in &file.agents {
        check_name("an agent", name)?;
        let mut agent = agent::agent(name, table, (said.patience, said.pace))?;
        agent.answer = chain::answer(folder, name, table)?;
        setup.agents.entry(name.clone()).or_insert(agent);
    }
    chain::add_tiers(&mut setup.chains.tiers, &file.tiers);
    if setup.counsel.is_empty() {
        setup.counsel.clone_from(&file.scripts.models);
    }
    for (name, table) in &file.models {
        check_name("a model", name)?;
        if !setup.models.contains_key(name) {
            add_model(setup, (folder, said.context), name, table)
                .map_err(|error| in_table(&format!("models.{name}"), &error))?;
        }
    }
    Ok(())
}

fn installed((folder, whose): (&Path, Whose), component: &PluginEntry) -> Installed {
    Installed {
        path: absolute(folder, component.path()),
        signed_by: component.signed_by(),
        whose,
    }
}

/// What counts as confirmed is named tool by tool: a pattern would speak of tools that are not there yet.
fn add_confirmed(policy: &mut Policy, lines: &[Pattern]) -> Result<()> {
    if let Some(line) = lines.iter().find(|line| !line.is_exact()) {
        let what = format!("`confirmed = [\"{line}\"]` names no tool alone");
        return Err(Error::bad_input(what).hint("write a full name, such as `files.remove`"));
    }
    policy.asks.confirmed.extend(lines.iter().cloned());
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a configured path is made plain, and not opened"
)]
/// `..` and `.` of a configured path go, so that it can be recognised in what tools say.
pub(super) fn absolute(folder: &Path, path: &Path) -> PathBuf {
    let joined = folder.join(path);
    joined.canonicalize().unwrap_or(joined)
}

/// A path that is written as one below the file must lie there: the file was trusted for what it says,
/// and a link that leads elsewhere says something else.
fn mount_path(folder: &Path, name: &str, path: &Path) -> Result<PathBuf> {
    let resolved = absolute(folder, path);
    let plain = path.is_relative() && !path.components().any(|part| part == Component::ParentDir);
    if plain && !resolved.starts_with(absolute(folder, Path::new("."))) {
        let what = format!(
            "[mounts.{}]: `{}` is a link that leads out of the folder of this file",
            shown(name),
            path.display()
        );
        return Err(
            Error::bad_input(what).hint(format!("write `path = \"{}\"`", resolved.display()))
        );
    }
    Ok(resolved)
}

fn room(table: &MountTable) -> Result<Room> {
    let bytes = |key: &str, mib: Option<u64>, default: u64| match mib {
        None => Ok(default),
        Some(mib @ 1..=MOUNT_MIB_MAX) => Ok(mib << 20),
        Some(_) => Err(
            Error::bad_input(format!("`{key}` is not between 1 and {MOUNT_MIB_MAX}"))
                .hint("a mount that nothing may be written to says `access = \"read\"`"),
        ),
    };
    let most = Room::default();
    let run_bytes = bytes("quota_mib", table.quota_mib, most.run_bytes)?;
    let file_bytes = bytes("max_file_mib", table.max_file_mib, most.file_bytes)?;
    Ok(Room {
        run_bytes,
        file_bytes,
    })
}

pub(super) fn grant(table: &GrantTable) -> Result<Grant> {
    let fetch = table.fetch.iter().map(destination).collect::<Result<_>>()?;
    let mounts = table.mounts.iter();
    let mounts = mounts
        .map(|(mount, access)| MountGrant {
            mount: mount.as_str().into(),
            access: *access,
        })
        .collect();
    Ok(Grant {
        fetch,
        mounts,
        notes: table.notes,
        calls: table.calls.clone(),
        secrets: table
            .secrets
            .iter()
            .map(secrets::secret)
            .collect::<Result<_>>()?,
        wasi_files: table.wasi_files,
        plain_names: false,
    })
}

fn destination(entry: &FetchEntry) -> Result<Destination> {
    let table = match entry {
        FetchEntry::Url(url) => &FetchTable {
            url: url.clone(),
            methods: looking(),
            private: false,
            max_request_bytes: None,
            max_answer_bytes: None,
            per_minute: None,
        },
        FetchEntry::Table(table) => table,
    };
    let methods: Vec<&str> = table.methods.iter().map(String::as_str).collect();
    if methods.is_empty() {
        return Err(Error::bad_input(
            "`methods` is empty, so the line could never match",
        ));
    }
    let bounds = fetch_bounds(table)?;
    Ok(Destination::parse(&table.url, &methods, table.private)?.bounded(bounds))
}

/// A bound that is written is one that holds: more than the host allows at all is a mistake.
fn fetch_bounds(table: &FetchTable) -> Result<FetchBounds> {
    let most = FetchBounds::default();
    let bounds = FetchBounds {
        request_bytes: table.max_request_bytes.unwrap_or(most.request_bytes),
        answer_bytes: table.max_answer_bytes.unwrap_or(most.answer_bytes),
        per_minute: table.per_minute.unwrap_or(most.per_minute),
    };
    let wrong = |key: &str, least: u32, most: usize| {
        let url = shown(&table.url);
        let what = format!("`{key}` of the destination `{url}` is not between {least} and {most}");
        Err(Error::bad_input(what))
    };
    if bounds.request_bytes > most.request_bytes {
        return wrong("max_request_bytes", 0, most.request_bytes);
    }
    if !(1..=most.answer_bytes).contains(&bounds.answer_bytes) {
        return wrong("max_answer_bytes", 1, most.answer_bytes);
    }
    if !(1..=most.per_minute).contains(&bounds.per_minute) {
        let most = usize::try_from(most.per_minute).unwrap_or(usize::MAX);
        return wrong("per_minute", 1, most);
    }
    Ok(bounds)
}

/// What a model's tokens cost, or what holds where that is not said.
fn price(table: Option<&PriceTable>, otherwise: Priced) -> Result<Priced> {
    table.map_or(Ok(otherwise), budget::priced)
}

fn add_model(
    setup: &mut Setup,
    (folder, context): (&Path, ContextTable),
    name: &str,
    table: &ModelTable,
) -> Result<()> {
    let window = context::window(name, table, context)?;
    let (wire, table) = match table {
        ModelTable::Scripted(table) => {
            let model = Model {
                name: name.to_owned(),
                provider: Provider::Scripted {
                    script: absolute(folder, &table.script),
                },
                can: table.can,
                accepts: table.accepts,
                priced: price(table.price.as_ref(), Priced::Free)?,
                window,
            };
            setup.models.insert(name.to_owned(), model);
            return Ok(());
        }
        ModelTable::OpenAi(table) => (Wire::OpenAi, table),
        ModelTable::Responses(table) => (Wire::Responses, table),
        ModelTable::Anthropic(table) => (Wire::Anthropic, table),
        ModelTable::Gemini(table) => (Wire::Gemini, table),
        ModelTable::Ollama(table) => (Wire::Ollama, table),
    };
    let mut can = table.can;
    if wire == Wire::Ollama {
        // Its format has no place for them.
        can.documents = Some(false);
    }
    let model = Model {
        name: name.to_owned(),
        provider: remote(setup, name, wire, table)?,
        can,
        accepts: table.accepts,
        priced: price(table.price.as_ref(), Priced::Unknown)?,
        window,
    };
    setup.models.insert(name.to_owned(), model);
    Ok(())
}

fn remote(setup: &mut Setup, name: &str, wire: Wire, table: &RemoteTable) -> Result<Provider> {
    let model = &table.model;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    // For one of them it stands in the URL.
    let is_plain = wire != Wire::Gemini || model.chars().all(fits);
    if model.is_empty() || !is_plain {
        let what = format!("`model` is no model's name: `{}`", shown(model));
        return Err(Error::bad_input(what).hint("it is written as the provider writes it"));
    }
    if let Some(key) = wire
        .own_keys()
        .iter()
        .find(|key| table.extra.contains_key(**key))
    {
        let what = format!("`extra` has `{key}`, which the host writes itself");
        return Err(Error::bad_input(what).hint(format!("take `{key}` out of `extra`")));
    }
    let base = table.url.trim_end_matches('/');
    let path = wire.path(model, table.stream);
    let place = path
        .split_once('?')
        .map_or(path.as_str(), |(place, _)| place);
    let destination = Destination::parse(&format!("{base}{place}"), &["POST"], table.private)?;
    let destination = destination.of_model();
    let secret = if table.key_env.is_empty() {
        String::new()
    } else {
        format!("models.{name}")
    };
    if !secret.is_empty() {
        setup.vault = setup.vault.clone().with_variable(&secret, &table.key_env);
    }
    Ok(Provider::Remote(Box::new(Remote {
        wire,
        destination,
        url: format!("{base}{path}"),
        model: model.clone(),
        secret,
        extra: table.extra.clone(),
        account: format!("{base} {}", table.key_env),
        streams: table.stream,
        summary_chars: setup.policy.bounds.tools.summary_chars,
    })))
}

fn tighten(bounds: &mut Bounds, table: &LimitTable) -> Result<()> {
    let memory_bytes = table.memory_mib.map(|mib| mib.saturating_mul(1 << 20));
    if memory_bytes.is_some_and(|bytes| bytes == 0 || bytes > GUEST_MEMORY_BYTES_MAX) {
        let most = GUEST_MEMORY_BYTES_MAX >> 20;
        return Err(Error::bad_input(format!(
            "`memory_mib` is not between 1 and {most}"
        )));
    }
    let zero = [
        ("fuel", table.fuel),
        ("cpu_ms", table.cpu_ms),
        ("timeout_ms", table.timeout_ms),
    ];
    if let Some((name, _)) = zero.iter().find(|(_, value)| *value == Some(0)) {
        return Err(Error::bad_input(format!(
            "`{name}` is 0, so no tool could ever run"
        )));
    }
    bounds.guest.fuel = table
        .fuel
        .unwrap_or(bounds.guest.fuel)
        .min(bounds.guest.fuel);
    bounds.guest.cpu_ms = table
        .cpu_ms
        .unwrap_or(bounds.guest.cpu_ms)
        .min(bounds.guest.cpu_ms);
    bounds.timeout_ms = table
        .timeout_ms
        .unwrap_or(bounds.timeout_ms)
        .min(bounds.timeout_ms);
    bounds.calls = table.calls.unwrap_or(bounds.calls).min(bounds.calls);
    if table
        .argument_bytes
        .is_some_and(|bytes| !(2..=ARGS_BYTES).contains(&bytes))
    {
        let what = format!("`argument_bytes` is not between 2 and {ARGS_BYTES}");
        return Err(Error::bad_input(what));
    }
    let bytes = table.argument_bytes.unwrap_or(bounds.argument_bytes);
    bounds.argument_bytes = bytes.min(bounds.argument_bytes);
    let most = table.retries.unwrap_or(bounds.retries.most);
    bounds.retries.most = most.min(bounds.retries.most);
    if table
        .retry_delay_ms
        .is_some_and(|ms| ms > CALL_RETRY_DELAY_MS_MAX)
    {
        let what = format!("`retry_delay_ms` is more than {CALL_RETRY_DELAY_MS_MAX}");
        return Err(Error::bad_input(what));
    }
    Ok(())
}

/// A name that stands for something must exist: a line about a mount that is not there never matches.
fn check_names(setup: &Setup) -> Result<()> {
    for line in &setup.policy.lines {
        for wish in &line.grant.mounts {
            if !setup.policy.mounts.contains_key(&wish.mount) {
                let known: Vec<&str> = setup.policy.mounts.keys().map(AsRef::as_ref).collect();
                let name = shown(&wish.mount);
                let error = Error::bad_input(format!(
                    "{}: [grants.\"{}\"] speaks of the mount `{name}`, which is not there",
                    setup.policy.origin, line.tools
                ));
                let error = error.hint(format!("write `[mounts.{name}]` with its `path`"));
                return Err(if known.is_empty() {
                    error
                } else {
                    error.hint(format!("mounts that are there: {}", known.join(", ")))
                });
            }
        }
    }
    chain::check(setup)
}

fn check_mount_name(name: &str) -> Result<()> {
    let ok = name == "."
        || (!name.is_empty()
            && name != ".."
            && !name.contains(['/', '\\', '\0'])
            && name.len() <= 64);
    if ok {
        Ok(())
    } else {
        Err(
            Error::bad_input(format!("`{}` is no name for a mount", shown(name)))
                .hint("names have at most 64 bytes and no `/` or `\\`"),
        )
    }
}

pub(super) fn check_name(what: &str, name: &str) -> Result<()> {
    if is_name(name) {
        return Ok(());
    }
    Err(
        Error::bad_input(format!("`{}` is no name for {what}", shown(name)))
            .hint("names have lower-case letters, digits, `-` and `_`, and begin with a letter"),
    )
}

pub(super) fn in_table(table: &str, error: &Error) -> Error {
    renamed(format!("[{table}]: {}", error.message()), error)
}

/// An error with another sentence.
pub(super) fn renamed(what: String, error: &Error) -> Error {
    let renamed = Error::new(error.code(), what);
    error.hints().iter().cloned().fold(renamed, Error::hint)
}

/// An error that seemed to be about a file, and is about another place.
pub(super) fn about_instead(place: &str, path: &Path, error: &Error) -> Error {
    let file = format!("`{}`: ", path.display());
    let message = error.message();
    let message = message.strip_prefix(file.as_str()).unwrap_or(message);
    renamed(format!("`{place}`: {message}"), error)
}

/// An error with the place that it is about; nothing is added where that has no name.
pub(super) fn about(place: &str, error: &Error) -> Error {
    let what = if place.is_empty() {
        error.message().to_owned()
    } else {
        format!("`{place}`: {}", error.message())
    };
    renamed(what, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[&str], expected: (Treatment, Treatment, bool)) {
        let files: Vec<ConfigFile> = files
            .iter()
            .map(|text| toml::from_str(text).unwrap())
            .collect();
        let files: Vec<_> = files.iter().map(|file| (Path::new("f"), file)).collect();
        let inbound = inbound(&files);
        let got = (inbound.untrusted, inbound.trusted, inbound.fail_closed);
        assert_eq!(got, expected);
    }

    #[test]
    fn what_one_file_asks_of_inbound_text_another_does_not_take_back() {
        use Treatment::{Flag, None, StripAndWrap, Wrap};
        check(&["", ""], (Wrap, None, true));
        let own = "[inbound]\nuntrusted = \"strip\"\ntrusted = \"flag\"";
        let theirs = "[inbound]\nuntrusted = \"wrap\"\ntrusted = \"none\"\nfail_closed = false";
        check(&[own, theirs], (StripAndWrap, Flag, false));
        check(&[theirs, own], (StripAndWrap, Flag, false));
        let closed = "[inbound]\nfail_closed = true";
        check(&[theirs, closed], (Wrap, None, true));
        check(&["[inbound]\nuntrusted = \"none\""], (None, None, true));
    }
}
