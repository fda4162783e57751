//! The host: everything opened and ready, and the only thing that surfaces talk to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use futures_util::FutureExt;
use serde_json::Value;

use super::consult::Models;
pub use super::goal::{Goal, Most, With};
use super::known::{self, typed_args, typed_in, used_beside};
use super::left::{Hold, Kept};
use super::observe::{ending, hush, show, treat, withhold};
use super::provider::{Model, Provider};
use super::served;
use super::session::Earlier;
pub use super::traces::Traced;
use super::traces::Traces;
use super::written::Written;
use crate::edges::egress::{Egress, Names};
use crate::edges::files::{Files, nested};
use crate::edges::notes::Notes;
use crate::edges::records::RecordLabels;
use crate::edges::state::StateFolder;
use crate::edges::vault::Vault;
use crate::edges::versions::Versions;
use crate::gate::journal::{Journal, Watcher};
use crate::gate::{Gate, Performed};
use crate::guests::cache::Cache;
use crate::guests::catalog::{Catalog, Collisions, Configured};
use crate::guests::compile::Compiler;
use crate::guests::dispatch::{Outcome, Request, dispatch};
use crate::guests::engine;
use crate::guests::plugin::{self, Installed, Plugin, PluginBytes, Whose};
use crate::guests::repeats::Repeats;
use crate::guests::script::Scripts;
use crate::guests::station::{Counsels, Past, Quarantine, Station};
use crate::guests::tasks::Tasks;
use crate::guests::vouched;
use crate::rules::agent::Agent;
use crate::rules::caller::{Budget, Caller, Invocation, Judging, Known, Led, Origin};
use crate::rules::flow::class::Classes;
use crate::rules::flow::handles::{Given, has_handle};
use crate::rules::flow::home::Home;
use crate::rules::grant::Pattern;
use crate::rules::health::Health;
use crate::rules::policy::Policy;
use crate::rules::running::{Caching, RunRules};
use crate::rules::script;
use crate::rules::scrub::{self, Scrub, told};
use crate::rules::server::Terms;
use crate::rules::show::Show;
use crate::rules::spans::collector::Collector;
use crate::rules::tier::Chains;
use crate::words::clock::{Clock, Deadline};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Event, Narrowed, Record, Spent, Started, Stopped, Surface, TracedWith};
use crate::words::id::{Place, RunId, Seq};
use crate::words::key::HostKey;
use crate::words::label::{Label, Source};
use crate::words::length::json_bytes;
use crate::words::limits::{CALL_KEY_CHARS, CALL_TIMEOUT_MS_MAX};
use crate::words::message::WishedArgs;

/// What a host is made of, resolved: a configuration that was read, or a test's own.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What the operator allows.
    pub policy: Policy,
    /// Where each mount of the policy lies.
    pub mounts: BTreeMap<Arc<str>, PathBuf>,
    /// Components beside the bundled ones, by name.
    pub plugins: BTreeMap<String, Installed>,
    /// MCP servers.
    pub servers: Vec<Terms>,
    /// What happens when two plugins of the user's own files have one name.
    pub collisions: Collisions,
    /// Agents by name.
    pub agents: BTreeMap<String, Agent>,
    /// Models by name.
    pub models: BTreeMap<String, Model>,
    /// Those of them that a client's own scripts and calls may consult, first choice first.
    pub counsel: Vec<String>,
    /// On what terms models are asked, and what tiers stand for.
    pub chains: Chains,
    /// The engine of scripts: the bundled one, except where a test brings another.
    pub engine: PluginBytes,
    /// Where secrets are found.
    pub vault: Vault,
    /// How runs go.
    pub rules: RunRules,
    /// Where the outside is, and where the host's own things are.
    pub places: Places,
}

/// Where the outside is, and where the host's own things are.
#[derive(Clone, Debug)]
pub struct Places {
    /// The user's own state folder.
    pub state: PathBuf,
    /// Where records and notes go.
    pub records: Records,
    /// The `lazaret` program, which compiles components in a process of its own.
    pub program: PathBuf,
    /// Where names are looked up.
    pub names: Names,
    /// What the time is.
    pub clock: Clock,
    /// Whom spans of runs are told to; nobody, where nothing is said.
    pub collector: Option<Collector>,
}

/// Where records and notes go.
#[derive(Clone, Debug)]
pub enum Records {
    /// They are forgotten with the process.
    InMemory,
    /// In this folder.
    Folder(PathBuf),
}

/// Everything opened and ready.
#[derive(Debug)]
pub struct Host {
    pub(super) station: Arc<Station>,
    pub(super) kept: Kept,
    pub(super) agents: BTreeMap<String, Agent>,
    pub(super) models: BTreeMap<String, Model>,
    counsel: Vec<String>,
    pub(super) chains: Chains,
    pub(super) rules: RunRules,
    /// Whether the flows of clients are judged, once somebody has asked.
    clients: OnceLock<Judging>,
    /// Of a run that is replayed: what it was told of those before it in its session.
    pub(super) retold: Option<Earlier>,
    /// Who tells a collector what happens; nobody, where none is named.
    traces: Option<Traces>,
}

/// One call that was made through the host.
#[derive(Debug)]
pub struct Called {
    /// The run that it is.
    pub run: RunId,
    /// What became of it.
    pub outcome: Outcome,
}

impl Host {
    /// Opens everything.
    ///
    /// # Errors
    /// What reading, compiling and opening say.
    pub async fn open(setup: Setup) -> Result<Self> {
        Self::open_knowing(setup, scrub::KnownSecrets::default()).await
    }

    /// Opens everything for a process in which another host was open, which knew these secrets: what was changed since is
    /// recognised still. Both know what either learns.
    ///
    /// # Errors
    /// What reading, compiling and opening say.
    pub async fn open_knowing(setup: Setup, known: scrub::KnownSecrets) -> Result<Self> {
        let Setup {
            mut policy,
            mounts,
            plugins,
            servers,
            collisions,
            agents,
            models,
            counsel,
            chains,
            engine,
            vault,
            rules,
            places,
        } = setup;
        // First, so that the files edge finds every folder that is the host's own.
        let kept = Kept::open(&places)?;
        let quarantine = open_quarantine(&places, policy.bounds.guest.stack_bytes)?;
        let (journal, notes) = open_records(&places)?;
        let versions = Versions::open(&StateFolder::open(&places.state)?)?;
        let egress = Egress::new(&places.names, vault.clone(), known.clone());
        egress.learn()?;
        let (looking, plugins) = ((&quarantine, &versions, &known), (plugins, collisions));
        let mut catalog = gather(looking, plugins, &mut policy).await?;
        if !servers.is_empty() {
            let around = served::around(&places, (&vault, &known), &egress)?;
            served::add(&mut catalog, servers, &mut policy, around)?;
        }
        teach(&mut policy, &catalog);
        nested::nest(&mut policy.mounts, &mounts);
        let home = home(&places, &policy.flows.classes);
        let past = open_past((&places, &home), journal.key(), &rules.caching)?;
        let journal = journal.without(&known);
        journal.let_wait(rules.watching.events);
        let traces = Traces::open(&places, (&vault, &known), &models, &journal)?;
        let paths = mounts
            .iter()
            .map(|(name, path)| (path.display().to_string(), format!("{name}:")));
        let scrub = Scrub::new(paths.collect(), known.clone());
        let station = Station {
            files: open_files(&mounts, (&places, home))?,
            gate: Gate::new(Arc::new(policy), journal),
            egress,
            notes,
            quarantine,
            scripts: Scripts::new(engine, plugin::types_reader())?,
            catalog,
            scrub,
            past,
            counsel: Counsels {
                models: Box::new(Models(models.clone())),
                persons: kept.answers.clone(),
            },
            health: Mutex::new(Health::new(rules.health)),
            recorded: None,
        };
        Ok(Self {
            station: Arc::new(station),
            kept,
            agents,
            models,
            counsel,
            chains,
            rules,
            clients: OnceLock::new(),
            retold: None,
            traces,
        })
    }

    /// Ends the MCP servers that were started: each is told to, and waited for. Without this they end with the process.
    pub async fn end_servers(&self) {
        let ends = self
            .catalog()
            .servers()
            .iter()
            .map(|offered| offered.server.end());
        futures_util::future::join_all(ends).await;
    }

    /// The tools.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.station.catalog
    }

    /// What the operator allows.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        self.station.gate.policy()
    }

    /// The secrets that it recognises.
    #[must_use]
    pub fn known_secrets(&self) -> &scrub::KnownSecrets {
        self.station.scrub.known()
    }

    /// Knows each secret that was set or changed since: from now on nobody is shown its value, not even what was written down
    /// before.
    ///
    /// # Errors
    /// `Denied` where one that is kept cannot be read.
    pub fn learn_secrets(&self) -> Result<()> {
        self.station.egress.learn()
    }

    /// The records.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        self.station.gate.journal()
    }

    /// The engine and what belongs to it.
    #[must_use]
    pub fn quarantine(&self) -> &Quarantine {
        &self.station.quarantine
    }

    /// The agents.
    #[must_use]
    pub fn agents(&self) -> &BTreeMap<String, Agent> {
        &self.agents
    }

    /// The models.
    #[must_use]
    pub fn models(&self) -> &BTreeMap<String, Model> {
        &self.models
    }

    /// A name for a run that is about to begin.
    #[must_use]
    pub fn new_run(&self) -> RunId {
        RunId::new(self.journal().clock())
    }

    /// A task set of a run that begins or goes on, as `[abort]` and `[cache]` say.
    #[must_use]
    pub fn tasks(&self) -> Tasks {
        Tasks::of(self.rules)
    }

    /// Sees what happens in a run; ask before it begins.
    #[must_use]
    pub fn watch(&self, run: &RunId) -> Watcher {
        self.journal().watch(run)
    }

    /// Sees what happens in a run from the record at `seq` on, also what has happened already: for whoever comes
    /// late, or comes back.
    ///
    /// ```no_run
    /// # use std::sync::Arc;
    /// # use lazaret::runs::host::{Goal, Host};
    /// # use lazaret::words::event::Surface;
    /// # async fn example(host: Arc<Host>) -> lazaret::words::error::Result<()> {
    /// let goal = Goal::new(host.new_run(), Surface::Dev, "clerk", "Count the words.");
    /// let run = goal.run.clone();
    /// let running = host.start(goal);
    /// let mut watcher = host.watch_from(&run, 0).await?;
    /// println!("{:?}", watcher.next().await);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Journal::watch_from`].
    pub async fn watch_from(&self, run: &RunId, seq: Seq) -> Result<Watcher> {
        self.journal().watch_from(run, seq).await
    }

    /// The secrets with which this host tells a collector of its runs; none where no collector is named.
    pub(super) fn traced_with(&self) -> Vec<TracedWith> {
        let traces = self.traces.as_ref();
        traces.map(Traces::secrets).unwrap_or_default()
    }

    /// A run that was left goes on here.
    pub(super) fn goes_on(&self) -> Event {
        Event::Resumed {
            traced: self.traced_with(),
        }
    }

    /// What became of the spans of this host's runs; nothing where no collector is named.
    #[must_use]
    pub fn traced(&self) -> Option<Traced> {
        self.traces.as_ref().map(Traces::traced)
    }

    /// Calls one tool on behalf of a client: a run of one call, with arguments that somebody typed.
    ///
    /// # Errors
    /// The journal's failure. What the tool did is in the outcome.
    pub async fn call(
        &self,
        run: RunId,
        surface: Surface,
        request: Request,
        tasks: &Tasks,
    ) -> Result<Called> {
        let request = (request, &Written::Typed, Invocation::default());
        self.call_asked(run, surface, request, tasks).await
    }

    /// The same with arguments that may have come otherwise, and with what its client says of this one call: how long it
    /// may take, how often it is made again, and under which key it happens only once.
    ///
    /// # Errors
    /// As [`Host::call`]; `BadInput` for a key that is empty or too long, or holds a secret.
    pub async fn call_asked(
        &self,
        run: RunId,
        surface: Surface,
        (request, written, asked): (Request, &Written, Invocation),
        tasks: &Tasks,
    ) -> Result<Called> {
        if let Some(key) = &asked.key {
            self.check_key(key, &asked.client)?;
        }
        let wished = (run.clone(), written.label());
        let work = self.call_one(wished, surface, (request, asked), tasks);
        let mut called = self.ended_once(&run, tasks, work).await?;
        called.outcome.result = called.outcome.result.map_err(|error| self.named(error));
        Ok(called)
    }

    /// A call that happens once is found by its key and its client's name on record, where no secret stands.
    fn check_key(&self, key: &str, client: &str) -> Result<()> {
        if !(1..=CALL_KEY_CHARS).contains(&key.chars().count()) {
            let what = format!("the key of a call has 1 to {CALL_KEY_CHARS} characters");
            return Err(Error::bad_input(what));
        }
        let known = self.station.scrub.known();
        for (what, text) in [
            ("the key of a call", key),
            ("the name of its client", client),
        ] {
            if known.finds_in(text.as_bytes()) {
                let what = format!("{what} holds the value of a secret, and is kept on record");
                let hint = "name the call, and who calls, by something that may be read";
                return Err(Error::bad_input(what).hint(hint));
            }
        }
        Ok(())
    }

    /// What a client has written, for whoever is told it again: without what is a secret.
    #[must_use]
    pub fn told_again(&self, text: &str) -> String {
        self.station.scrub.clean(text)
    }

    /// A failure with what the system whose profile was chosen calls it.
    fn named(&self, error: Error) -> Error {
        let of_model = error.code() == Code::ProviderFailed;
        let setback = of_model.then(|| error.as_setback());
        let system = self.rules.system;
        let word = system.map(|system| system.word(error.code(), None, setback));
        error.called(word)
    }

    pub(super) async fn call_one(
        &self,
        (run, label): (RunId, Label),
        surface: Surface,
        (request, asked): (Request, Invocation),
        tasks: &Tasks,
    ) -> Result<Called> {
        let wish = match &request.args {
            WishedArgs::Json(args) => args.clone(),
            WishedArgs::Broken(_) => Value::Null,
        };
        let hold = self.begin_unseen(&run, &request.tool, &wish)?;
        let started = Started {
            surface,
            subject: request.tool.clone(),
            goal: String::new(),
            label: label.clone(),
            narrowed: Narrowed {
                call: asked.said(),
                ..Narrowed::default()
            },
            ask_expires_ms: self.policy().asks.expires_ms,
            session: None,
            forked: None,
            attached: Vec::new(),
            traced: self.traced_with(),
        };
        let started = Event::Started(started);
        self.journal().append_first(&run, started, hold.ahead())?;
        let caller = Caller {
            place: Place::default().inside(0),
            known: self.knows(&typed_in(&label, &wish), &[]).asking(asked),
            ..self.client(run.clone(), surface, label)
        };
        let made = dispatch(self.station.clone(), tasks.clone(), caller.clone(), request);
        let outcome = Box::pin(made).await;
        self.end(hold, caller, outcome, tasks).await
    }

    /// Ends a run of one call, or leaves it: then it can be taken up again.
    pub(super) async fn end(
        &self,
        hold: Hold,
        caller: Caller,
        mut outcome: Outcome,
        tasks: &Tasks,
    ) -> Result<Called> {
        let run = caller.run.clone();
        if outcome.tool == script::TOOL {
            // What a script has not waited for, nobody waits for: it is cut off, and its record says so.
            tasks.cancel();
        }
        tasks.drain().await;
        if self.is_left(&outcome) {
            self.leave(&hold, &run).await?;
            hush(&mut outcome, caller.surface, self.policy());
            withhold(&mut outcome, caller.surface, self.policy());
            return Ok(Called { run, outcome });
        }
        let mut outcome = show_held(&caller, outcome)?;
        show(&mut outcome, self.policy().inbound.guess);
        // The record says how it has ended, and who had influence on it, whatever its client is told.
        let (end, label) = (ending(&outcome, self.policy()), outcome.label.clone());
        withhold(&mut outcome, caller.surface, self.policy());
        let flags = treat(&mut outcome, caller.surface, self.policy());
        let bytes = outcome.result.as_ref().map_or(0, json_bytes);
        let show = Show {
            what: "envelope",
            bytes,
            flags,
        };
        let caller = Caller {
            label: label.clone(),
            place: Place::default(),
            ..caller
        };
        let shown = self.station.gate.pass(&caller, show, async move |permit| {
            let _shown = permit.redeem();
            Performed::of(Ok(()), label, Spent::default())
        });
        shown.await?;
        let stopped = Event::Stopped(Stopped {
            end,
            turns: 0,
            usage: used_beside(&self.station, &caller.known),
            limit: None,
        });
        self.journal().append(&run, 0, stopped)?;
        match self.reaches_nobody(&outcome.tool) {
            // What has changed nothing may be forgotten with the machine, and is not waited for.
            true => self.journal().commit().await?,
            false => self.journal().sync().await?,
        }
        hold.end();
        Ok(Called { run, outcome })
    }

    /// Whether a tool changes nothing, tells nobody outside anything, and calls no other that may.
    fn reaches_nobody(&self, tool: &str) -> bool {
        let tool = self.station.catalog.resolve(tool, &[]);
        tool.is_ok_and(|tool| {
            let grant = &tool.grant;
            !tool.declared.is_sink() && grant.fetch.is_empty() && grant.calls.is_empty()
        })
    }

    /// One call without records of a run around it and without waiting for the disk, for benches and tests. The
    /// judgement and the end are in the open batch. The run may have more such calls, and nothing ends it: the journal
    /// knows it until [`Journal::let_go`].
    #[doc(hidden)]
    pub async fn call_batched(&self, run: &RunId, request: Request, tasks: &Tasks) -> Outcome {
        let typed = match &request.args {
            WishedArgs::Json(args) => typed_args(args),
            WishedArgs::Broken(_) => Vec::new(),
        };
        let caller = Caller {
            known: self.knows(&typed, &[]),
            ..self.client(run.clone(), Surface::Cli, Label::of(Source::user()))
        };
        dispatch(self.station.clone(), tasks.clone(), caller, request).await
    }

    /// What a client's own call knows.
    pub(super) fn knows(&self, typed: &[String], records: &[Record]) -> Known {
        let judging = || known::judging(&self.station, &[Pattern::all()]);
        let mode = *self.clients.get_or_init(judging);
        let known = known::known(&self.station, (Led::ByClient, mode), typed, records);
        let models = self.counsel.iter();
        let models: Vec<&Model> = models.filter_map(|name| self.models.get(name)).collect();
        known::asking(known, (&models, self.chains.terms), records)
    }

    pub(super) fn client(&self, run: RunId, surface: Surface, label: Label) -> Caller {
        Caller {
            run,
            parent: 0,
            place: Place::default(),
            known: Known::default(),
            surface,
            origin: Origin::Client,
            reach: Arc::new([Pattern::all()]),
            grant: Arc::default(),
            label,
            depth: 0,
            deadline: Deadline::after_ms(CALL_TIMEOUT_MS_MAX),
            budget: Budget::of_calls(self.policy().bounds.calls),
        }
    }
}

/// The boundary of a run: a panic in it is a mistake of ours, and the host goes on.
pub(super) async fn caught<T>(run: impl Future<Output = Result<T>>) -> Result<T> {
    // Apart from whoever waits for it: a whole run is one future, of many inside each other.
    let run = Box::pin(run);
    let run = std::panic::AssertUnwindSafe(run).catch_unwind().await;
    run.unwrap_or_else(|_| {
        Err(Error::bug(
            "the run panicked; this is a mistake of the host's",
        ))
    })
}

impl Model {
    /// Where asking the model leads, for people.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.provider {
            Provider::Scripted { script } => format!("script {}", script.display()),
            Provider::Remote(remote) => remote.place(),
        }
    }
}

/// Plugins whose words somebody has read. Of another component than that nobody has read anything.
fn read_by_somebody(catalog: &Catalog, policy: &Policy) -> BTreeSet<String> {
    let pinned = &policy.flows.classes.pinned;
    let plugins = catalog.plugins().iter();
    let read = plugins.filter(|plugin| pinned.get(&plugin.name) == Some(&plugin.digest));
    read.map(|plugin| plugin.name.clone()).collect()
}

fn open_quarantine(places: &Places, stack_bytes: usize) -> Result<Quarantine> {
    let (engine, allocation) = engine::of_stack(stack_bytes)?;
    let cache = Cache::open(&StateFolder::open(&places.state)?, &engine)?;
    Quarantine::new(
        (engine, allocation),
        cache,
        Compiler::new(&places.program),
        places.clock.clone(),
    )
}

/// Folders that are the host's own, with all below, and no tool's by any mount.
fn own_folders(places: &Places) -> Vec<PathBuf> {
    let mut own = vec![places.state.clone()];
    match &places.records {
        Records::InMemory => {}
        Records::Folder(path) => own.push(path.clone()),
    }
    own
}

/// A client may see what its script has returned, handles and all: it is the run's own user.
pub(super) fn show_held(caller: &Caller, outcome: Outcome) -> Result<Outcome> {
    let value = match &outcome.result {
        Ok(value) if has_handle(value) => value,
        Ok(_) | Err(_) => return Ok(outcome),
    };
    // What only looks like a handle is a value like any other.
    let Ok(given) = Given::resolve(value, &caller.known.handles()) else {
        return Ok(outcome);
    };
    Ok(Outcome {
        label: outcome.label.join(&given.label),
        result: Ok(given.value),
        ..outcome
    })
}

/// Where labels are read that are kept for all workspaces: one is known by where its records lie.
pub(super) fn home(places: &Places, classes: &Classes) -> Home {
    let name = match &places.records {
        Records::InMemory => String::new(),
        Records::Folder(path) => {
            let whole = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            whole.display().to_string()
        }
    };
    Home::new(name, classes.clone())
}

pub(super) fn open_files(
    mounts: &BTreeMap<Arc<str>, PathBuf>,
    (places, home): (&Places, Home),
) -> Result<Files> {
    let own = own_folders(places);
    match &places.records {
        Records::InMemory => Files::open(mounts, &own, None),
        Records::Folder(_) => {
            let folder = StateFolder::open(&places.state)?;
            let labels = folder.plain_file("files.db")?;
            Files::open(mounts, &own, Some((&labels, home)))
        }
    }
}

/// Labels of records are the user's own, in whatever workspace: a service is the same in each.
pub(super) fn open_record_labels(
    (places, home): (&Places, &Home),
    key: &HostKey,
) -> Result<RecordLabels> {
    let with = (key.clone(), home.clone());
    match &places.records {
        Records::InMemory => RecordLabels::in_memory(with),
        Records::Folder(_) => {
            let folder = StateFolder::open(&places.state)?;
            RecordLabels::open(&folder.plain_file("records.db")?, with)
        }
    }
}

fn open_past(at: (&Places, &Home), key: &HostKey, caching: &Caching) -> Result<Past> {
    let records = open_record_labels(at, key)?;
    let keyed = Repeats::new((caching.keyed_entries, caching.keyed_ttl_ms));
    Ok(Past { keyed, records })
}

fn open_records(places: &Places) -> Result<(Journal, Notes)> {
    let journal = open_journal(places)?;
    let (clock, key) = (places.clock.clone(), journal.key().clone());
    let notes = match &places.records {
        Records::InMemory => Notes::in_memory(clock, key)?,
        Records::Folder(path) => {
            let path = StateFolder::open(path)?.plain_file("notes.db")?;
            Notes::open(&path, clock, key)?
        }
    };
    Ok((journal, notes))
}

/// What to do where the journal's folder cannot be written.
pub const JOURNAL_ELSEWHERE: &str = "make room there, or let yourself write there; the journal stands beside \
                                     `lazaret.toml`, so `--config FILE` with one in another folder has its own";

/// The journal alone: looking at it needs no engine and no plugins.
///
/// # Errors
/// As [`Journal::open`].
pub(super) fn open_journal(places: &Places) -> Result<Journal> {
    let clock = places.clock.clone();
    let key = HostKey::new(&StateFolder::open(&places.state)?.key()?);
    match &places.records {
        Records::InMemory => Journal::in_memory(clock, key),
        Records::Folder(path) => {
            let folder = StateFolder::open(path).and_then(StateFolder::ignored);
            let elsewhere = |error: Error| match error.code() == Code::DiskFailed {
                true => error.hint(JOURNAL_ELSEWHERE),
                false => error,
            };
            let path = folder.map_err(elsewhere)?.plain_file("journal.db")?;
            Journal::open(&path, clock, key)
        }
    }
}

/// What policy has to know of the tools that there are.
fn teach(policy: &mut Policy, catalog: &Catalog) {
    let tools = catalog.tools();
    let declared = tools.map(|tool| (tool.name.clone(), tool.declared.wants.secrets.clone()));
    policy.flows.written.declared = Some(declared.collect());
    policy.flows.classes.read = read_by_somebody(catalog, policy);
    served::read(catalog, &mut policy.flows.classes);
}

/// The bundled plugins and those of the configuration. The bundled ones come with this host, and no other plugin can have
/// their names: so they are trusted.
async fn gather(
    (quarantine, versions, known): (&Quarantine, &Versions, &scrub::KnownSecrets),
    (plugins, collisions): (BTreeMap<String, Installed>, Collisions),
    policy: &mut Policy,
) -> Result<Catalog> {
    let mut bundled = look_at_all(quarantine, plugin::bundled()).await?;
    let own = bundled.iter().map(|plugin| plugin.name.clone());
    let own = own.chain([script::PLUGIN.to_owned()]);
    policy.flows.classes.trusted_plugins.extend(own);
    let mut configured = Configured::default();
    for (name, installed) in plugins {
        let those = match installed.whose {
            Whose::User => &mut configured.own,
            Whose::Workspace => &mut configured.workspace,
        };
        let plugin = vouched::look((quarantine, versions), &name, installed).await;
        let plugin = plugin.map_err(|error| about_plugin(&name, &error))?;
        those.insert(name, plugin);
    }
    let theirs = configured.workspace.values_mut();
    let named = configured.own.values_mut().chain(theirs);
    for plugin in bundled.iter_mut().chain(named) {
        told::clean_manifest(&mut plugin.manifest, known);
    }
    Catalog::gather(bundled, configured, collisions, policy)
}

async fn look_at_all(quarantine: &Quarantine, bundled: &[PluginBytes]) -> Result<Vec<Plugin>> {
    let looking = bundled
        .iter()
        .map(|bytes| Plugin::look(quarantine, bytes.clone()));
    futures_util::future::try_join_all(looking).await
}

fn about_plugin(name: &str, error: &Error) -> Error {
    let about = Error::new(
        error.code(),
        format!("plugin `{name}`: {}", error.message()),
    );
    let about = about.issues(error.issue_list().to_vec());
    error.hints().iter().cloned().fold(about, Error::hint)
}
