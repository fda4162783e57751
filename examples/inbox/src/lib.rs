//! A mailbox with a letter that tells the model what to do, and a model that obeys. Once flows are judged, once not.
//!
//! The model is scripted; everything else is real: the plugin, the files, the gate, the questions, the journal.

pub mod jobs;
mod report;

use std::path::Path;

use anyhow::{Context, Result, bail};
use lazaret::edges::egress::Names;
use lazaret::guests::tasks::Tasks;
use lazaret::runs::host::{Goal, Host, Places, Records};
use lazaret::runs::left::Resumed;
use lazaret::surfaces::config;
use lazaret::words::clock::Clock;
use lazaret::words::error::Code;
use lazaret::words::event::Surface;
use lazaret::words::id::RunId;
use serde_json::Value;

use jobs::Job;
pub use report::{Asked, Done, Report, Step};

const CONFIG: &str = include_str!("../lazaret.toml");
const FIXTURE: [(&str, &str); 4] = [
    ("mail/m1.json", include_str!("../fixture/mail/m1.json")),
    ("mail/m2.json", include_str!("../fixture/mail/m2.json")),
    ("mail/m3.json", include_str!("../fixture/mail/m3.json")),
    (
        "contacts/contacts.json",
        include_str!("../fixture/contacts/contacts.json"),
    ),
];

/// What the example needs of the machine.
pub struct Given<'a> {
    /// `lazaret`, which compiles the plugins.
    pub program: &'a Path,
    /// Where the compiled ones are kept.
    pub state: &'a Path,
    /// The plugin `mail`, as a component.
    pub plugin: &'a Path,
}

/// Does all jobs, each in a mailbox of its own.
///
/// # Errors
/// Whatever goes wrong.
pub async fn run(given: &Given<'_>) -> Result<Report> {
    let attacked = jobs::attacked();
    // None of them is gone before all are done: labels of files are known by their numbers, which others would have by then.
    let around = tempfile::tempdir()?;
    let given = (given, around.path());
    let off = CONFIG.replace("[flow]\n", "[flow]\nmode = \"off\"\n");
    let alone = format!("unattended = \"deny\"\n{CONFIG}");
    let mut honest = Vec::new();
    for job in jobs::honest() {
        honest.push(Asked {
            about: job.about,
            questions: pursue(given, &job, CONFIG).await?.questions,
            refused: pursue(given, &job, &alone).await?.refused(),
        });
    }
    Ok(Report {
        goal: attacked.goal,
        judged: pursue(given, &attacked, CONFIG).await?,
        alone: pursue(given, &attacked, &alone).await?,
        off: pursue(given, &attacked, &off).await?,
        honest,
    })
}

/// Does one job to its end; Ada says yes to what she has asked for.
async fn pursue((given, around): (&Given<'_>, &Path), job: &Job, policy: &str) -> Result<Done> {
    let folder = tempfile::tempdir_in(around)?.keep();
    let folder = folder.as_path();
    lay_out(folder, given, job, policy)?;
    let places = Places {
        state: given.state.to_owned(),
        // One workspace, whichever job it is: labels of the letters are worth here what they were worth before.
        records: Records::Folder(given.state.join("inbox")),
        program: given.program.to_owned(),
        names: Names::System,
        clock: Clock::system(),
        collector: None,
    };
    let host = Host::open(config::setup_of(&folder.join(config::NAME), places)?).await?;
    let run = host.new_run();
    let mut ended = host.pursue(goal(&run, job), &Tasks::new()).await;
    let mut questions = 0;
    while matches!(&ended, Err(error) if error.code() == Code::Asked) {
        let waiting = host.questions().await?.into_iter();
        for waiting in waiting.filter(|waiting| waiting.run == run) {
            questions += 1;
            let answer = job.answer(&waiting.question.text);
            host.answer(waiting.question.id.as_str(), answer).await?;
        }
        ended = match host.resume(&run, &Tasks::new()).await? {
            Resumed::Answer(ended) => ended,
            Resumed::Called(_) => bail!("the run of an agent goes on as a call"),
        };
    }
    ended.with_context(|| job.about)?;
    Ok(Done {
        steps: report::steps(&host.journal().records(&run).await?),
        questions,
        outbox: outbox(folder)?,
        letters: names(&folder.join("mail"))?,
    })
}

fn goal(run: &RunId, job: &Job) -> Goal {
    Goal::new(run.clone(), Surface::Cli, "clerk", job.goal)
}

fn lay_out(folder: &Path, given: &Given<'_>, job: &Job, policy: &str) -> Result<()> {
    for name in ["mail", "contacts", "outbox"] {
        std::fs::create_dir(folder.join(name))?;
    }
    for (path, text) in FIXTURE {
        std::fs::write(folder.join(path), text)?;
    }
    let lines = job.replies.iter().map(|reply| format!("{reply}\n"));
    std::fs::write(folder.join("replies.jsonl"), lines.collect::<String>())?;
    std::fs::write(folder.join(config::NAME), policy)?;
    std::fs::copy(given.plugin, folder.join("mail.wasm")).context("the plugin `mail`")?;
    Ok(())
}

/// To whom letters went, in order.
fn outbox(folder: &Path) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for name in names(&folder.join("outbox"))? {
        let text = std::fs::read_to_string(folder.join("outbox").join(name))?;
        let letter: Value = serde_json::from_str(&text)?;
        let to = letter["to"].as_array().into_iter().flatten();
        all.extend(to.filter_map(|to| to.as_str().map(str::to_owned)));
    }
    Ok(all)
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder)?;
    let name = |entry: std::io::Result<std::fs::DirEntry>| -> Result<String> {
        Ok(entry?.file_name().to_string_lossy().into_owned())
    };
    let mut all = entries.map(name).collect::<Result<Vec<_>>>()?;
    all.sort();
    Ok(all)
}
