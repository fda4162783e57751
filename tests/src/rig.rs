//! A host for one test: `Rig::of(POLICY).guest("hostile").open().await`, then `rig.call(…)`.

mod again;
mod names;

use std::collections::{HashMap, VecDeque};
use std::fs::DirBuilder;
use std::net::IpAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lazaret::edges::egress::{Egress, Slow};
use lazaret::edges::mcp::pins::Pins;
use lazaret::edges::mcp::{Around, Server, parts};
use lazaret::edges::vault::{Backend, Secret, Vault};
use lazaret::guests::dispatch::{Outcome, Request};
use lazaret::guests::plugin::PluginBytes;
use lazaret::guests::tasks::Tasks;
use lazaret::rules::caller::Invocation;
use lazaret::rules::json;
use lazaret::rules::scrub::KnownSecrets;
use lazaret::rules::server::Terms;
use lazaret::rules::server::definition::Listed;
use lazaret::rules::server::pin::Pin;
use lazaret::runs::audit::Audit;
use lazaret::runs::brought::Chosen;
use lazaret::runs::host::{Called, Goal, Host, Places, Records, Setup, With};
use lazaret::runs::left::{Resumed, Waiting};
use lazaret::runs::served;
use lazaret::runs::session::{Joining, Session};
use lazaret::runs::written::Written;
use lazaret::surfaces::config;
use lazaret::words::clock::Clock;
use lazaret::words::error::{Error, Result};
use lazaret::words::event::{Answer, Event, Judged, Record, Surface};
use lazaret::words::id::RunId;
use lazaret::words::message::{Calling, WishedArgs};
use lazaret::words::session::LOCAL;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{Mutex, OnceCell};
use toml::Table;

/// What every clock shows: 2026-03-01T08:05:00Z.
pub const NOW_MS: u64 = 1_772_352_300_000;
/// The agent that [`Rig::replies`] adds.
const AGENT: &str = "agent";

/// What a host is to be made of.
pub struct Rig {
    config: Table,
    folder: TempDir,
    names: HashMap<String, VecDeque<Vec<IpAddr>>>,
    slow: Option<Arc<Slow>>,
    state: PathBuf,
    records: Records,
    engine: Option<PathBuf>,
    clock: Clock,
    secrets: Vec<(String, String)>,
}

/// A host at work, and the folder that it works in.
pub struct Rigged {
    /// The host.
    pub host: Host,
    /// What time it thinks it is.
    pub clock: Clock,
    rig: Rig,
}

/// The folder that everything is built into.
#[must_use]
pub fn target() -> PathBuf {
    let program = std::env::current_exe().expect("this program has a path");
    let folder = program
        .ancestors()
        .find(|folder| folder.ends_with("target"));
    folder.expect("tests run from the target folder").to_owned()
}

impl Rig {
    /// A host whose `lazaret.toml` holds `policy`. It may name files of [`Rig::file`].
    #[must_use]
    pub fn of(policy: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let rig = Self {
            config: Table::new(),
            folder,
            names: HashMap::new(),
            slow: None,
            state: target().join("test-state"),
            records: Records::InMemory,
            engine: None,
            clock: Clock::set(NOW_MS),
            secrets: Vec::new(),
        };
        rig.policy(policy)
    }

    /// With this `lazaret.toml`, in place of what it held.
    #[must_use]
    pub fn policy(mut self, policy: &str) -> Self {
        self.config = toml::from_str(policy).expect("the policy of a test is TOML");
        self
    }

    /// With a component of `target/guests`, under its own name.
    #[must_use]
    pub fn guest(self, name: &str) -> Self {
        let path = target().join("guests").join(format!("{name}.wasm"));
        assert!(
            path.is_file(),
            "{} is missing: `make plugins` builds it",
            path.display()
        );
        self.plugin(name, &path)
    }

    /// With the component at `path`, called `name` in the configuration.
    #[must_use]
    pub fn plugin(mut self, name: &str, path: &Path) -> Self {
        let path = path.to_str().expect("paths of tests are text").into();
        self.table("plugins").insert(name.to_owned(), path);
        self
    }

    /// With a component made of these bytes.
    #[must_use]
    pub fn component(self, name: &str, bytes: &[u8]) -> Self {
        let path = self.path(&format!("{name}.wasm"));
        std::fs::write(&path, bytes).expect("the folder of a test can be written");
        self.plugin(name, &path)
    }

    /// With the name of who has to have signed a component.
    #[must_use]
    pub fn signed_by(mut self, name: &str, by: &str) -> Self {
        let path = self.table("plugins").remove(name);
        let mut plugin = Table::new();
        plugin.insert("path".into(), path.expect("a component"));
        plugin.insert("signed_by".into(), by.into());
        self.table("plugins").insert(name.to_owned(), plugin.into());
        self
    }

    /// With a file below the test's folder.
    #[must_use]
    pub fn file(self, path: &str, text: &str) -> Self {
        let path = self.path(path);
        let above = path.parent().expect("a file has a folder");
        std::fs::create_dir_all(above).expect("the folder of a test can be written");
        std::fs::write(&path, text).expect("the folder of a test can be written");
        self
    }

    /// With a name that leads to these addresses and no others.
    #[must_use]
    pub fn name(self, name: &str, addresses: &[&str]) -> Self {
        let addresses = addresses.iter().map(ToString::to_string).collect();
        self.name_in_turn(name, &[addresses])
    }

    /// With a name that leads somewhere else at each look-up, and to the last of these from then on.
    #[must_use]
    pub fn name_in_turn(mut self, name: &str, answers: &[Vec<String>]) -> Self {
        let parse = |address: &String| address.parse().expect("an address");
        let answers = answers.iter();
        let answers = answers.map(|addresses| addresses.iter().map(parse).collect());
        self.names.insert(name.to_owned(), answers.collect());
        self
    }

    /// With a state folder, and so a compile cache, that no other test sees.
    #[must_use]
    pub fn state(mut self, folder: &Path) -> Self {
        self.state = folder.to_owned();
        self
    }

    /// With records on disk, and a state folder of its own in which everything is compiled already: what
    /// is left here can be taken up by the next host that opens there.
    pub async fn kept(mut self) -> Self {
        self.state = self.path("state");
        self.records = Records::Folder(self.path("records"));
        make_state(&self.state).await;
        self
    }

    /// With a secret in an encrypted file of the test's own.
    #[must_use]
    pub fn secret(mut self, name: &str, value: &str) -> Self {
        self.secrets.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The vault of this test: in its state folder, if that is its own.
    #[must_use]
    pub fn vault(&self) -> Vault {
        let folder = if self.state.starts_with(self.folder()) {
            self.state.clone()
        } else {
            self.path("vault")
        };
        Vault::new(Backend::File, &folder)
    }

    /// With this engine of scripts in place of the bundled one.
    #[must_use]
    pub fn engine(mut self, bytes: &[u8]) -> Self {
        let path = self.path("engine.wasm");
        std::fs::write(&path, bytes).expect("the folder of a test can be written");
        self.engine = Some(path);
        self
    }

    /// At this time, in milliseconds since 1970.
    #[must_use]
    pub fn at(mut self, ms: u64) -> Self {
        self.clock = Clock::set(ms);
        self
    }

    /// With an agent that is answered by these replies, one for each turn. What the policy says of
    /// `[agents.agent]` and `[models.script]` stays.
    #[must_use]
    pub fn replies(mut self, replies: &[Value]) -> Self {
        let lines: Vec<String> = replies.iter().map(Value::to_string).collect();
        let models = self.table("models");
        let model = models
            .entry("script")
            .or_insert_with(|| Table::new().into());
        let model = model.as_table_mut().expect("a model is a table");
        model.insert("provider".into(), "scripted".into());
        model.insert("script".into(), "replies.jsonl".into());
        let agents = self.table("agents");
        let agent = agents.entry(AGENT).or_insert_with(|| Table::new().into());
        let agent = agent.as_table_mut().expect("an agent is a table");
        agent.entry("tools").or_insert_with(|| vec!["*"].into());
        agent.insert("models".into(), vec!["script"].into());
        self.file("replies.jsonl", &lines.join("\n"))
    }

    /// Where something of the test's folder is.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// The test's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn table(&mut self, name: &str) -> &mut Table {
        let entry = self
            .config
            .entry(name)
            .or_insert_with(|| Table::new().into());
        entry.as_table_mut().expect("a section is a table")
    }

    /// Opens the host; it must open.
    pub async fn open(self) -> Rigged {
        self.try_open().await.expect("the host opens")
    }

    /// Opens the host, or says why not.
    ///
    /// # Errors
    /// What opening says.
    pub async fn try_open(self) -> Result<Rigged> {
        // Two hosts that look at one new component would both compile it.
        static OPENING: Mutex<()> = Mutex::const_new(());
        let mut setup = self.setup()?;
        if let Some(engine) = &self.engine {
            setup.engine = PluginBytes::File(engine.clone());
        }
        let opening = OPENING.lock().await;
        let host = Host::open(setup).await?;
        drop(opening);
        Ok(Rigged {
            host,
            clock: self.clock.clone(),
            rig: self,
        })
    }

    /// Looks at the records that are kept here, with no host around them.
    ///
    /// # Panics
    /// Where they cannot be opened.
    #[must_use]
    pub fn audit(&self) -> Audit {
        let setup = self.setup().expect("the policy of a test is sound");
        Audit::of(&setup).expect("the records can be opened")
    }

    /// With what this server says of its tools now, as if a person had read it and said yes.
    ///
    /// # Panics
    /// Where it does not start.
    pub async fn trusting(self, server: &str) -> Self {
        let (listed, terms, around) = self.read(server).await;
        let listed = listed.expect("the server starts");
        let parts = parts(&terms, &around).expect("its files can be read");
        let pins = Pins::at(around.folder);
        pins.keep(&terms, &Pin::of(&terms, &listed, parts))
            .expect("a pin is kept");
        self
    }

    /// What a server of the policy says of itself, as `lazaret servers check` asks.
    ///
    /// # Errors
    /// Why it says nothing.
    pub async fn look(&self, server: &str) -> Result<Listed> {
        self.read(server).await.0
    }

    /// What the policy says of a server, and what it is asked with.
    #[must_use]
    pub fn outside(&self, server: &str) -> (Terms, Around) {
        let setup = self.setup().expect("the policy of a test is sound");
        let known = KnownSecrets::default();
        let egress = Egress::new(&setup.places.names, setup.vault.clone(), known.clone());
        let around = served::around(&setup.places, (&setup.vault, &known), &egress);
        let around = around.expect("the state folder of a test can be opened");
        let terms = setup.servers.into_iter().find(|terms| terms.name == server);
        (terms.expect("a server of the policy"), around)
    }

    async fn read(&self, server: &str) -> (Result<Listed>, Terms, Around) {
        let (terms, around) = self.outside(server);
        let started = Server::new(terms.clone(), around.clone());
        let listed = started.look().await;
        started.end().await;
        (listed, terms, around)
    }

    /// Who a server of the policy is.
    ///
    /// # Panics
    /// Where there is none of that name.
    #[must_use]
    pub fn identity(&self, server: &str) -> String {
        let setup = self.setup().expect("the policy of a test is sound");
        let mut servers = setup.servers.iter();
        let terms = servers.find(|terms| terms.name == server);
        terms
            .expect("a server of the policy")
            .identity()
            .to_string()
    }

    fn setup(&self) -> Result<Setup> {
        let path = self.path(config::NAME);
        let text = toml::to_string(&self.config).expect("a table is TOML");
        std::fs::write(&path, text).expect("the folder of a test can be written");
        self.make_mounts();
        let program = target().join("debug/lazaret");
        assert!(
            program.is_file(),
            "{} is missing: `cargo build -p lazaret`",
            program.display()
        );
        let places = Places {
            state: self.state.clone(),
            records: self.records.clone(),
            program,
            names: self.looking_up(),
            clock: self.clock.clone(),
            collector: None,
        };
        let mut setup = config::setup_of(&path, places)?;
        if !self.secrets.is_empty() {
            let vault = self.vault();
            for (name, value) in &self.secrets {
                vault.store(name, &Secret::new(value.clone())?)?;
            }
            setup.vault = setup.vault.kept_by(vault);
        }
        Ok(setup)
    }
}

impl Rig {
    /// Makes the folders of the test that its mounts speak of.
    fn make_mounts(&self) {
        let mounts = self.config.get("mounts").and_then(toml::Value::as_table);
        let paths = mounts
            .into_iter()
            .flatten()
            .filter_map(|(_, mount)| mount.get("path")?.as_str());
        for path in paths.filter(|path| Path::new(path).is_relative()) {
            std::fs::create_dir_all(self.path(path)).expect("the folder of a test can be written");
        }
    }
}

impl Rigged {
    /// Calls a tool as a person on the command line would.
    pub async fn call(&self, tool: &str, args: Value) -> Called {
        self.call_text(tool, &args.to_string()).await
    }

    /// Calls a tool with arguments as they are typed.
    pub async fn call_text(&self, tool: &str, args: &str) -> Called {
        let (run, tasks) = (self.host.new_run(), Tasks::new());
        self.call_in(run, &tasks, (tool, args)).await
    }

    /// Calls a tool in a run that the test can watch and cancel.
    pub async fn call_in(&self, run: RunId, tasks: &Tasks, (tool, args): (&str, &str)) -> Called {
        let request = Request {
            tool: tool.to_owned(),
            args: json::parse(args)
                .map_or_else(|_| WishedArgs::Broken(args.to_owned()), WishedArgs::Json),
        };
        // Where that is asked for, a person who types a call confirms it; what is said where they do not is a test of its own.
        let tool = self.host.catalog().resolve(tool, &[]);
        let asked = Invocation {
            confirmed: tool.is_ok_and(|tool| tool.declared.requires_confirmation()),
            ..Invocation::default()
        };
        let request = (request, &Written::Typed, asked);
        let called = self.host.call_asked(run, Surface::Cli, request, tasks);
        called.await.expect("the journal takes the call")
    }

    /// Calls a tool as a part of `run`, without records of a run around it.
    pub async fn batched(&self, run: &RunId, tool: &str, args: Value) -> Outcome {
        let request = Request {
            tool: tool.to_owned(),
            args: WishedArgs::Json(args),
        };
        self.host.call_batched(run, request, &Tasks::new()).await
    }

    /// Pursues a goal with the agent of [`Rig::replies`].
    pub async fn pursue(&self, goal: &str) -> (RunId, Result<String>) {
        self.pursue_in(&Tasks::new(), goal, &[]).await
    }

    /// Pursues a goal with fewer tools.
    pub async fn pursue_with(&self, goal: &str, tools: &[&str]) -> (RunId, Result<String>) {
        self.pursue_in(&Tasks::new(), goal, tools).await
    }

    /// Pursues a goal in a run that the test can cancel.
    pub async fn pursue_in(
        &self,
        tasks: &Tasks,
        goal: &str,
        tools: &[&str],
    ) -> (RunId, Result<String>) {
        let pattern = |tool: &&str| (*tool).to_owned().try_into().expect("a pattern");
        let goal = Goal {
            tools: tools.iter().map(pattern).collect(),
            ..self.goal(goal)
        };
        (goal.run.clone(), self.host.pursue(goal, tasks).await)
    }

    /// Pursues a goal, calling tools in this way.
    pub async fn pursue_by(&self, calling: Calling, goal: &str) -> (RunId, Result<String>) {
        let goal = Goal {
            calling: Some(calling),
            ..self.goal(goal)
        };
        (
            goal.run.clone(),
            self.host.pursue(goal, &Tasks::new()).await,
        )
    }

    /// Pursues a goal that begins with what other runs held, each as `RUN:HANDLE=NAME`, and with files of the folder.
    pub async fn pursue_beginning(
        &self,
        goal: &str,
        beginning: (&[String], &[String]),
    ) -> (RunId, Result<String>) {
        let (goal, tasks) = (self.goal_beginning(goal, beginning), Tasks::new());
        (goal.run.clone(), self.host.pursue(goal, &tasks).await)
    }

    /// The goal itself.
    ///
    /// # Panics
    /// Where there is no such handle or file.
    #[must_use]
    pub fn goal_beginning(&self, goal: &str, (handles, files): (&[String], &[String])) -> Goal {
        let chosen = |text: &String| Chosen::parse(text).expect("a choice");
        let attached = |file: &String| {
            let attached = self.host.attach(&self.path(file));
            attached.expect("a file that a model looks at")
        };
        Goal {
            with: With {
                handles: handles.iter().map(chosen).collect(),
                files: files.iter().map(attached).collect(),
                ..With::default()
            },
            ..self.goal(goal)
        }
    }

    /// Pursues a goal in a session.
    pub async fn pursue_in_session(&self, name: &str, goal: &str) -> (RunId, Result<String>) {
        let goal = self.goal(goal);
        let run = goal.run.clone();
        (run, self.pursue_on(name, goal, &Tasks::new()).await)
    }

    /// Likewise, in a run that the test can cancel.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn pursue_on(&self, name: &str, goal: Goal, tasks: &Tasks) -> Result<String> {
        let joining = Joining {
            session: Session::of(LOCAL, name).expect("a name"),
            queue: false,
            compact: false,
        };
        self.host.pursue_in(&joining, goal, tasks).await
    }

    /// Likewise, joining it in this way.
    pub async fn join(&self, joining: &Joining, goal: &str) -> (RunId, Result<String>) {
        let goal = self.goal(goal);
        let run = goal.run.clone();
        (run, self.host.pursue_in(joining, goal, &Tasks::new()).await)
    }

    /// What a person at the command line would have wished, in a run of its own.
    #[must_use]
    pub fn goal(&self, text: &str) -> Goal {
        Goal::new(self.host.new_run(), Surface::Cli, AGENT, text)
    }

    /// Runs a script as a person on the command line would.
    pub async fn script(&self, source: &str) -> Called {
        let (run, tasks) = (self.host.new_run(), Tasks::new());
        self.script_in(run, &tasks, source).await
    }

    /// Runs a script in a run that the test can watch and cancel.
    pub async fn script_in(&self, run: RunId, tasks: &Tasks, source: &str) -> Called {
        let source = source.to_owned();
        let called = self.host.script(run, Surface::Cli, source, tasks).await;
        called.expect("the journal takes the script")
    }

    /// Goes on with a script or call that was left.
    ///
    /// # Errors
    /// Why it cannot go on.
    pub async fn resume(&self, run: &RunId) -> Result<Called> {
        match self.host.resume(run, &Tasks::new()).await? {
            Resumed::Called(called) => Ok(*called),
            Resumed::Answer(answer) => panic!("the run of an agent: {answer:?}"),
        }
    }

    /// Goes on with an agent's run that was left.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn resume_agent(&self, run: &RunId) -> Result<String> {
        match self.host.resume(run, &Tasks::new()).await? {
            Resumed::Answer(answer) => answer,
            Resumed::Called(called) => panic!("no run of an agent: {called:?}"),
        }
    }

    /// Answers the only question that waits.
    pub async fn answer(&self, answer: Answer) -> Waiting {
        let waiting = self.host.questions().await.expect("the journal is well");
        assert_eq!(waiting.len(), 1, "{waiting:?}");
        let question = waiting[0].question.id.as_str().to_owned();
        let answered = self.host.answer(&question, answer).await;
        answered.expect("the question is open")
    }

    /// The vault that this host reads.
    #[must_use]
    pub fn vault(&self) -> Vault {
        self.rig.vault()
    }

    /// Ends this host, and gives back what it was made of.
    #[must_use]
    pub fn close(self) -> Rig {
        self.rig
    }

    /// Ends this host, and opens another one on what it leaves.
    pub async fn restart(self) -> Self {
        self.close().open().await
    }

    /// Looks at the records that are kept here.
    ///
    /// # Panics
    /// Where they cannot be opened.
    #[must_use]
    pub fn audit(&self) -> Audit {
        self.rig.audit()
    }

    /// What happened in a run, as words.
    pub async fn words(&self, run: &RunId) -> Vec<&'static str> {
        let records = self.records(run).await;
        records.iter().map(|record| record.event.word()).collect()
    }

    /// How often a guest of the script in this run has begun.
    pub async fn lives(&self, run: &RunId) -> usize {
        let records = self.records(run).await;
        let lives = records
            .iter()
            .filter(|record| matches!(record.event, Event::Scripted(_)));
        lives.count()
    }

    /// All records of a run.
    pub async fn records(&self, run: &RunId) -> Vec<Record> {
        self.host
            .journal()
            .records(run)
            .await
            .expect("the run is in the journal")
    }

    /// All records of a run as stable text.
    pub async fn journal(&self, run: &RunId) -> String {
        let text = crate::golden::render(&self.records(run).await);
        text.replace(self.folder(), "FOLDER")
    }

    /// The test's folder.
    #[must_use]
    pub fn folder(&self) -> &str {
        self.rig
            .folder
            .path()
            .to_str()
            .expect("paths of tests are text")
    }

    /// Where something of the test's folder is.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        self.rig.path(path)
    }

    /// Asserts that the host still does what it is there for.
    pub async fn assert_alive(&self) {
        let called = self
            .call("text.count", serde_json::json!({"text": "a b"}))
            .await;
        let value = called.outcome.result.expect("the host still counts");
        assert_eq!(value["words"], 2);
    }
}

/// Makes a state folder in which everything is compiled already.
///
/// # Panics
/// Where it cannot be made.
pub async fn make_state(folder: &Path) {
    let shared = compiled().await;
    for folder in [folder, &folder.join("cache")] {
        let made = DirBuilder::new().mode(0o700).recursive(true).create(folder);
        made.expect("the folder of a test can be written");
    }
    std::fs::copy(shared.join("key"), folder.join("key")).expect("a key");
    for entry in std::fs::read_dir(shared.join("cache")).expect("a cache") {
        let entry = entry.expect("an entry");
        // Another test may just be writing an entry of its own.
        let to = folder.join("cache").join(entry.file_name());
        if std::fs::hard_link(entry.path(), &to).is_err() {
            // The folders of tests may lie on another disk.
            let _ = std::fs::copy(entry.path(), to);
        }
    }
}

/// The shared state folder, once it holds the code of everything that [`Rig::kept`] tests need.
async fn compiled() -> PathBuf {
    static COMPILED: OnceCell<PathBuf> = OnceCell::const_new();
    let compile = async || {
        let rig = Rig::of("").guest("hostile").guest("echo");
        let state = rig.state.clone();
        let rig = rig.open().await;
        let typed = rig.script("const one: number = 1; return one").await;
        assert_eq!(value(&typed.outcome), 1);
        for (tool, args) in [
            ("files.list", json!({"path": "."})),
            ("notes.list", json!({})),
            ("clock.now", json!({})),
            ("text.count", json!({"text": "a"})),
            ("handle.count", json!({"value": "a", "unit": "chars"})),
            ("web.get_page", json!({"url": "http://127.0.0.1/"})),
            ("hostile.echo", json!({"text": "a"})),
            ("echo.echo", json!({"text": "a"})),
        ] {
            // Whatever comes of it, its code is there afterwards.
            rig.call(tool, args).await;
        }
        state
    };
    COMPILED.get_or_init(compile).await.clone()
}

/// What a call returned; it must have.
#[must_use]
pub fn value(outcome: &Outcome) -> &Value {
    match &outcome.result {
        Ok(value) => value,
        Err(error) => panic!("{} failed: {error:?}", outcome.tool),
    }
}

/// Why a call failed; it must have.
#[must_use]
pub fn error(outcome: &Outcome) -> &Error {
    match &outcome.result {
        Ok(value) => panic!("{} returned {value}", outcome.tool),
        Err(error) => error,
    }
}

/// Starts this test program once more for one test alone, which is told so by `mark`; it has to pass.
pub async fn alone(test: &str, mark: &str) {
    alone_with(test, &[(mark, Path::new("1"))]).await;
}

/// Likewise, with these variables.
pub async fn alone_with(test: &str, variables: &[(&str, &Path)]) {
    let itself = std::env::current_exe().expect("this program has a path");
    let mut alone = tokio::process::Command::new(itself);
    alone
        .args(["--exact", test])
        .envs(variables.iter().copied());
    let output = alone.output().await.expect("it starts once more");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
}

/// How much memory this process has.
#[must_use]
pub fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux says");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number
        .and_then(|number| number.parse().ok())
        .expect("a number of KiB")
}

/// The judgements of calls of one tool, in order.
#[must_use]
pub fn judged<'a>(records: &'a [Record], tool: &str) -> Vec<&'a Judged> {
    let judged = records.iter().filter_map(|record| match &record.event {
        Event::Judged(judged) if judged.subject == tool => Some(judged),
        _ => None,
    });
    judged.collect()
}
