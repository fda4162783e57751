//! Crashes: a run of some thirty records that is stopped anywhere, and what must be true afterwards.
//!
//! The run reads what a stranger wrote, looks, appends to a file, sends to a server, runs a script that does the same, asks a person, and removes a
//! file. The server is a witness outside ([`Witness`]): it, and not our own records, says how often something has
//! happened. A process that works on a run is this package's `crash`, or `lazaret` itself.

mod checks;
mod kills;
mod witness;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use lazaret::edges::egress::Names;
use lazaret::guests::tasks::Tasks;
use lazaret::runs::host::{Goal, Host, Places, Records};
use lazaret::surfaces::config;
use lazaret::words::clock::Clock;
use lazaret::words::error::{Code, Result};
use lazaret::words::event::{Answer, Event, Surface};
use lazaret::words::id::RunId;
use serde_json::json;

pub use self::checks::{Tally, check};
pub use self::kills::{Kills, Stops, every_stop, random_kills};
pub use self::witness::Witness;
use crate::disk::Trouble;
use crate::rig::{make_state, target};

/// The agent that works.
const AGENT: &str = "a";

/// Where runs are worked on: a workspace with its configuration, a state folder, and the witness.
#[derive(Clone, Debug)]
pub struct Scene {
    root: PathBuf,
}

impl Scene {
    /// A scene that is ready to begin in `root`, which is an empty folder.
    ///
    /// # Panics
    /// Where it cannot be written.
    pub async fn new(root: &Path, witness: &Witness) -> Self {
        let scene = Self {
            root: root.to_owned(),
        };
        for folder in ["here", "inbox"] {
            std::fs::create_dir_all(scene.path(folder)).expect("a folder can be made");
        }
        scene.write("inbox/letter.txt", "Work well.");
        Box::pin(make_state(&scene.state())).await;
        let url = witness.url();
        let policy = format!(
            r#"
            ask = ["files.remove"]
            [flow]
            mode = "shadow"
            hold = "never"
            [mounts.here]
            path = "here"
            access = "write"
            own = true
            [mounts.inbox]
            path = "inbox"
            [grants."files.*"]
            mounts = {{ here = "write", inbox = "read" }}
            [grants."files.remove"]
            mounts = {{ here = "write" }}
            [grants."web.post"]
            fetch = [{{ url = "{url}/", methods = ["POST"], private = true }}]
            [agents.{AGENT}]
            instructions = "Work."
            tools = ["*"]
            models = ["m"]
            calling = "both"
            [models.m]
            provider = "scripted"
            script = "replies.jsonl"
            "#
        );
        scene.write(config::NAME, &policy);
        scene
    }

    /// Sets the scene for another run: `name` tells its effects apart from those of all others.
    pub fn set(&self, name: &str, witness: &Witness) {
        let url = witness.url();
        let effect = |n: u32| format!("{url}/{name}/{n}");
        let log = format!("here/{name}.log");
        let append =
            |text: &str| json!({"path": log, "content": format!("{text}\n"), "mode": "append"});
        let source = format!(
            "const told = []; \
             for (const call of [() => tools.web.post({{url: '{}', text: 'x'}}), () => tools.files.write({})]) {{ \
             try {{ await call(); told.push('done') }} catch (error) {{ told.push(String(error.message)) }} }} \
             return told",
            effect(2),
            append("script")
        );
        let call = |tool: &str, args: serde_json::Value| json!({"tool": tool, "args": args});
        let turn = |calls: &[serde_json::Value]| json!({"calls": calls}).to_string();
        let replies = [
            turn(&[
                call("text.count", json!({"text": "a b"})),
                call("files.read", json!({"path": "inbox/letter.txt"})),
                call("files.read", json!({"path": format!("here/{name}.old")})),
            ]),
            turn(&[call("web.post", json!({"url": effect(1), "text": "x"}))]),
            turn(&[
                call("files.write", append("turn")),
                call("run_script", json!({"source": source})),
            ]),
            turn(&[call(
                "files.remove",
                json!({"path": format!("here/{name}.old")}),
            )]),
            turn(&[call("web.post", json!({"url": effect(3), "text": "x"}))]),
            json!({"text": "done"}).to_string(),
        ];
        self.write("replies.jsonl", &replies.join("\n"));
        self.write(&format!("here/{name}.old"), "old\n");
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.path(path), text).expect("the folder of a test can be written");
    }

    /// Where something of the workspace is.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join("ws").join(path)
    }

    fn state(&self) -> PathBuf {
        self.root.join("state/lazaret")
    }

    /// Where everything is, as `lazaret` itself finds it.
    #[must_use]
    pub fn places(&self) -> Places {
        Places {
            state: self.state(),
            records: Records::Folder(self.path(".lazaret")),
            program: target().join("debug/lazaret"),
            names: Names::System,
            clock: Clock::system(),
            collector: None,
        }
    }

    /// A host at work here.
    ///
    /// # Errors
    /// As [`Host::open`].
    pub async fn host(&self) -> Result<Host> {
        Host::open(config::setup_of(&self.path(config::NAME), self.places())?).await
    }

    /// A process that begins or goes on with the newest run here, and meets this trouble.
    ///
    /// # Panics
    /// Where it does not start.
    #[must_use]
    pub fn spawn(&self, program: &Path, trouble: Trouble) -> Child {
        let trouble = match trouble {
            Trouble::KilledBefore(at) => format!("before:{at}"),
            Trouble::KilledAfterSync(at) => format!("after:{at}"),
            Trouble::None
            | Trouble::FullFrom(_)
            | Trouble::HalfOf(_)
            | Trouble::BrokenFrom(_)
            | Trouble::SyncFails(_) => "none".to_owned(),
        };
        let mut command = Command::new(program);
        command.arg("--work").arg(&self.root).arg(trouble);
        let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        started.expect("the program of crashes starts")
    }

    /// `lazaret` as a person runs it here.
    #[must_use]
    pub fn lazaret(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(target().join("debug/lazaret"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", &self.root)
            .env("XDG_STATE_HOME", self.root.join("state"))
            .env("XDG_CONFIG_HOME", self.root.join("config"))
            .current_dir(self.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

/// A scene that another process has made.
#[must_use]
pub fn scene_at(root: &Path) -> Scene {
    Scene {
        root: root.to_owned(),
    }
}

/// Works until the newest run has ended: begins one where there is none but `before`, says yes to what it asks, and
/// goes on with what was left.
///
/// # Errors
/// What the host says, except of a run that asks.
pub async fn work(host: &Host, before: Option<&RunId>) -> Result<RunId> {
    loop {
        let newest = match host.journal().find("last").await {
            Ok(run) => Some(run),
            Err(error) if error.code() == Code::NotFound => None,
            Err(error) => return Err(error),
        };
        let Some(run) = newest.filter(|run| Some(run) != before) else {
            begin(host).await?;
            continue;
        };
        let records = host.journal().records(&run).await?;
        if matches!(
            records.last().map(|last| &last.event),
            Some(Event::Stopped(_))
        ) {
            return Ok(run);
        }
        for waiting in host.questions().await? {
            if waiting.run == run {
                let id = waiting.question.id.as_str();
                Box::pin(host.answer(id, Answer::Allow)).await?;
            }
        }
        Box::pin(host.resume(&run, &Tasks::new())).await?;
    }
}

async fn begin(host: &Host) -> Result<()> {
    let goal = Goal::new(host.new_run(), Surface::Cli, AGENT, "work");
    match Box::pin(host.pursue(goal, &Tasks::new())).await {
        Err(error) if error.code() == Code::Asked => Ok(()),
        other => other.map(|_| ()),
    }
}
