//! `lazaret run`: an agent pursues a goal.

use std::future::Future;
use std::io::{IsTerminal, Read};
use std::path::PathBuf;

use tokio::signal::unix::{SignalKind, signal};

use super::inline::{self, Heard};
use super::print::{self, ANNOUNCED_AFTER, Spinner};
use super::transcript::Transcript;
use super::{Scene, form};
use crate::guests::tasks::Tasks;
use crate::rules::advice::vouches_for_nothing;
use crate::rules::grant::Pattern;
use crate::rules::price::micros;
use crate::rules::rendered::rendered;
use crate::rules::script;
use crate::runs::brought::Chosen;
use crate::runs::host::{Goal, Host, Most, With};
use crate::runs::session::{Joining, Session};
use crate::surfaces::config::chain::schema;
use crate::surfaces::config::file::ConfigFile;
use crate::surfaces::config::trust::Standing;
use crate::surfaces::config::{AGENT, Config, NAME, trust_command};
use crate::surfaces::paint::{faint, foreign};
use crate::words::error::{Code, Error, Result, why};
use crate::words::event::{Event, Sight, Surface, Verdict};
use crate::words::id::{RunId, ToolName, shown};
use crate::words::limits::GOAL_BYTES;
use crate::words::message::Calling;
use crate::words::near::nearest;
use crate::words::session::LOCAL;

/// Let an agent pursue a goal.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  lazaret run \"Which figures changed since March?\" --agent analyst
  lazaret run --agent analyst --json < goal.txt     one event a line
  lazaret run --session work \"And before that?\"     go on with what was said in this session
  lazaret run --attach chart.png \"Which year is the highest?\"
  lazaret run --with last:h1=letter \"Answer it\"     go on with what the last run held, unread
`lazaret runs show` lists what a run holds.")]
pub(super) struct Run {
    /// What it shall do; read from standard input where it is left out.
    prompt: Option<String>,
    /// Which agent of the configuration; the only one where it is left out.
    #[arg(long)]
    agent: Option<String>,
    /// Which model, instead of the agent's own.
    #[arg(long)]
    model: Option<String>,
    /// Only these of the agent's tools, such as `files.read` or `text.*`.
    #[arg(long, value_name = "TOOLS", value_parser = parse_pattern)]
    tool: Vec<Pattern>,
    /// How the model calls tools: one by one, from scripts alone, or either way.
    #[arg(long, value_name = "direct|code|both", value_parser = parse_calling)]
    calling: Option<Calling>,
    /// The answer is a JSON value that fits the JSON Schema in this file.
    #[arg(long, value_name = "FILE")]
    answer_schema: Option<PathBuf>,
    /// A value that the model may act on as if you had typed it, as a whole, such as an address, or a title of a record.
    #[arg(long, value_name = "VALUE", value_parser = parse_vouched)]
    vouch: Vec<String>,
    /// End before the models have cost more, in the currency of their prices; less than the agent may, never more.
    #[arg(long, value_name = "AMOUNT", value_parser = parse_amount)]
    max_cost: Option<u64>,
    /// End before more tokens were read and written; likewise.
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: Option<u64>,
    /// Begin with what another run holds, unread: the model may pass it on, and is under no influence of it.
    #[arg(long, value_name = "RUN:HANDLE[=NAME]", value_parser = parse_chosen)]
    with: Vec<Chosen>,
    /// A picture, PDF or text that the model looks at; nothing in it counts as your words.
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    #[command(flatten)]
    joining: JoiningArguments,
}

/// In which session.
#[derive(Debug, clap::Args)]
struct JoiningArguments {
    /// Go on with this session, or begin it: the model is told what was said in its runs before.
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Whose session it is, where one host serves many.
    #[arg(long, value_name = "ID", requires = "session", default_value = LOCAL)]
    user: String,
    /// Wait where another run of the session goes on, instead of giving up.
    #[arg(long, requires = "session")]
    queue: bool,
    /// Fold what was said before into a summary first.
    #[arg(long, requires = "session")]
    compact: bool,
}

impl JoiningArguments {
    fn joining(&self) -> Result<Option<Joining>> {
        let Some(name) = &self.session else {
            return Ok(None);
        };
        Ok(Some(Joining {
            session: Session::of(&self.user, name)?,
            queue: self.queue,
            compact: self.compact,
        }))
    }
}

/// As an argument of the command line.
pub(super) fn parse_chosen(text: &str) -> std::result::Result<Chosen, String> {
    Chosen::parse(text).map_err(|error| {
        let hints = error.hints().iter().map(|hint| format!("; {hint}"));
        format!("{}{}", error.message(), hints.collect::<String>())
    })
}

fn parse_amount(text: &str) -> std::result::Result<u64, String> {
    let amount: f64 = text
        .parse()
        .map_err(|_| "an amount such as 0.50".to_owned())?;
    match micros(amount)? {
        0 => Err("more than 0".to_owned()),
        micros => Ok(micros),
    }
}

pub(super) fn parse_vouched(text: &str) -> std::result::Result<String, String> {
    match text.trim().is_empty() {
        true => {
            Err("a value such as an address; nothing is vouched for by an empty one".to_owned())
        }
        false => Ok(text.to_owned()),
    }
}

/// Says so where somebody vouches for a folder, which is no value of any argument.
pub(super) fn warn_of_folders(scene: &Scene, vouched: &[String]) {
    let folders = vouched
        .iter()
        .filter_map(|value| vouches_for_nothing(value));
    for (what, fix) in folders.filter(|_| !scene.quiet) {
        print::warning(&format!("--vouch: {what}"), &fix);
    }
}

fn parse_calling(text: &str) -> std::result::Result<Calling, String> {
    match text {
        "direct" => Ok(Calling::Direct),
        "code" => Ok(Calling::Code),
        "both" => Ok(Calling::Both),
        _ => Err("direct, code or both".to_owned()),
    }
}

fn parse_pattern(text: &str) -> std::result::Result<Pattern, String> {
    Pattern::try_from(text.to_owned()).map_err(|error| error.message().to_owned())
}

impl Run {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        let joining = self.joining.joining()?;
        let piped = self.prompt.is_none();
        let text = match self.prompt {
            Some(text) => text,
            None => read_goal()?,
        };
        check_prompt(&text)?;
        warn_of_folders(scene, &self.vouch);
        let host = scene.open_host().await?;
        let agent = match self.agent {
            Some(agent) => agent,
            None => only_agent(&host).map_err(|error| untrusted(scene).unwrap_or(error))?,
        };
        check_tools(&host, &agent, &self.tool)?;
        let files: Result<_> = self.attach.iter().map(|file| host.attach(file)).collect();
        let goal = Goal {
            run: host.new_run(),
            surface: Surface::Cli,
            agent,
            text,
            tools: self.tool,
            models: self.model.into_iter().collect(),
            calling: self.calling,
            answer: self.answer_schema.as_deref().map(schema).transpose()?,
            vouch: self.vouch,
            most: Most {
                tokens: self.max_tokens.unwrap_or(0),
                cost_micros: self.max_cost.unwrap_or(0),
            },
            with: With {
                handles: self.with,
                files: files?,
                ..With::default()
            },
            piped,
        };
        match joining {
            Some(joining) => pursue_in(&host, &joining, goal, scene).await,
            None => pursue(&host, goal, scene).await,
        }
    }
}

/// Pursues a goal and prints what happens, to its end.
pub(super) async fn pursue(host: &Host, goal: Goal, scene: &Scene) -> Result<u8> {
    let tasks = host.tasks();
    let run = goal.run.clone();
    follow(host, &run, scene, &tasks, host.pursue(goal, &tasks)).await
}

async fn pursue_in(host: &Host, joining: &Joining, goal: Goal, scene: &Scene) -> Result<u8> {
    let tasks = host.tasks();
    let run = goal.run.clone();
    let work = host.pursue_in(joining, goal, &tasks);
    match joining.queue && !scene.quiet {
        true => {
            let work = saying_that_it_waits(host, &run, work);
            follow(host, &run, scene, &tasks, work).await
        }
        false => follow(host, &run, scene, &tasks, work).await,
    }
}

/// Says so where a run has not begun after a moment, since it waits for another of its session.
async fn saying_that_it_waits<T>(host: &Host, run: &RunId, work: impl Future<Output = T>) -> T {
    let mut watcher = host.watch(run);
    let mut work = std::pin::pin!(work);
    let begins = async {
        tokio::select! {
            biased;
            answer = &mut work => Some(answer),
            _ = watcher.next() => None,
        }
    };
    match tokio::time::timeout(ANNOUNCED_AFTER, begins).await {
        Ok(Some(answer)) => return answer,
        Ok(None) => {}
        Err(_) => {
            print::note("another run of the session goes on, and this one waits for its end …");
        }
    }
    work.await
}

/// Prints what happens in a run that is pursued, to its end.
pub(super) async fn follow(
    host: &Host,
    run: &RunId,
    scene: &Scene,
    tasks: &Tasks,
    work: impl Future<Output = Result<String>>,
) -> Result<u8> {
    let mut watcher = host.watch(run);
    let spinner = Spinner::new(scene.quiet || scene.json);
    // None of a run that begins; of one that goes on, what it was before counts as well.
    let earlier = host.journal().records(run).await.unwrap_or_default();
    let mut transcript = Transcript::live(host.policy(), &earlier);
    let (mut begun, mut stopped, mut left) = (false, false, false);
    let mut unanswered = 0;
    let mut see = |sight: &Sight| {
        begun = true;
        if let Sight::Record(record) = sight {
            stopped |= matches!(record.event, Event::Stopped(_));
            left = matches!(record.event, Event::Paused { .. });
            unanswered += usize::from(nobody_answered(&record.event));
        }
        if scene.json {
            print::compact(sight);
        } else if !scene.quiet {
            spinner.around(|| transcript.print(sight));
            if let Some(going_on) = transcript.going_on(sight) {
                spinner.show(&going_on);
            }
        }
    };
    let answer = {
        let work = form::beside(host, run, scene, work);
        let mut work = std::pin::pin!(until_cancelled(tasks, work));
        loop {
            tokio::select! {
                sight = watcher.next() => see(&sight),
                answer = &mut work => break answer,
            }
        }
    };
    // What was seen after the last look, and is there already.
    while let Some(sight) = watcher.seen().await {
        see(&sight);
    }
    drop(spinner);
    if let Some(advice) = transcript.rest() {
        print::note(advice);
    }
    // A run that never began, for want of its agent say, left no record.
    let answer = match answer {
        Err(error) if error.code() == Code::Asked => match inline::ask(host, run, scene).await? {
            Heard::All => return Box::pin(super::script::resume(host, run, scene)).await,
            Heard::Some(rest) => Err(rest),
            Heard::Nothing => Err(error),
        },
        answer @ (Ok(_) | Err(_)) => answer,
    };
    if unanswered > 0 && scene.quiet && !scene.json {
        let calls = print::counted(unanswered, "call");
        let what = format!("{calls} denied, since nobody was there to be asked");
        print::follow(what, &format!("lazaret runs show {run}"));
    }
    match answer {
        // With --json the last event says why a run failed; where there is none, this does.
        Err(error) if !begun || (scene.json && !stopped) => Err(error),
        answer => finish(scene, (run, left), answer),
    }
}

/// Whether a question was taken for a no, since nobody could be asked.
fn nobody_answered(event: &Event) -> bool {
    let Event::Judged(judged) = event else {
        return false;
    };
    matches!(&judged.verdict, Verdict::Deny(denial) if denial.rule == "unattended")
}

/// Prints the answer, or why there is none, and what can be done with the run; `left` says that it has not ended.
fn finish(scene: &Scene, (run, left): (&RunId, bool), answer: Result<String>) -> Result<u8> {
    let waits =
        |error: &Error| error.code() == Code::Asked || left && error.code() == Code::Cancelled;
    let record = || print::follow(faint("record"), &format!("lazaret runs show {run}"));
    match answer {
        Ok(text) => {
            if !scene.json {
                // In this order: what is read as Markdown is what is shown.
                print::line(rendered(&foreign(&text)));
            }
            if !scene.json && !scene.quiet {
                record();
            }
            Ok(0)
        }
        Err(error) if waits(&error) && !scene.json => {
            print::failure(&error, false);
            let next = match error.code() == Code::Asked {
                true => faint("then go on with it"),
                false => faint("go on with it"),
            };
            print::follow(next, &format!("lazaret runs resume {run}"));
            Ok(error.code().exit_status())
        }
        // The events have said it already.
        Err(error) if scene.json => Ok(error.code().exit_status()),
        Err(error) => {
            print::failure(&error, false);
            if !scene.quiet {
                record();
            }
            Ok(error.code().exit_status())
        }
    }
}

/// Does the work; Ctrl-C gives it up, a second one at once where the first waits for its step (`[abort] drain`),
/// and one more does not wait for it to end.
pub(super) async fn until_cancelled<T>(
    tasks: &Tasks,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    // Listened for before the work begins: until then Ctrl-C would end the process without a record.
    let mut interrupts = signal(SignalKind::interrupt())
        .map_err(|error| Error::bug("Ctrl-C cannot be listened for").because(error))?;
    let mut work = std::pin::pin!(work);
    tokio::select! {
        biased;
        done = work.as_mut() => return done,
        Some(()) = interrupts.recv() => {}
    }
    loop {
        tasks.give_up();
        tokio::select! {
            biased;
            done = work.as_mut() => return done,
            Some(()) = interrupts.recv() => {}
        }
        if tasks.is_cancelled() {
            return Err(Error::new(Code::Cancelled, "cancelled"));
        }
    }
}

fn read_goal() -> Result<String> {
    if std::io::stdin().is_terminal() {
        return Err(Error::bad_input("there is no prompt").hint("lazaret run \"what it shall do\""));
    }
    let mut bytes = Vec::new();
    let most = u64::try_from(GOAL_BYTES)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    std::io::stdin()
        .take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| {
            Error::bad_input(format!(
                "standard input cannot be read: {}",
                why(error.kind())
            ))
        })?;
    // Nobody has read on, so that how many there are is not known.
    if bytes.len() > GOAL_BYTES {
        let what =
            format!("the prompt has more than {GOAL_BYTES} bytes, the most that one may have");
        return Err(Error::new(Code::TooBig, what).hint("attach a file: --attach FILE"));
    }
    String::from_utf8(bytes).map_err(|_| Error::bad_input("standard input is no UTF-8 text"))
}

fn check_prompt(text: &str) -> Result<()> {
    match text.trim().is_empty() {
        true => {
            Err(Error::bad_input("the prompt is empty").hint("lazaret run \"what it shall do\""))
        }
        false => Ok(()),
    }
}

/// Refuses what names no tool of the agent's: a run without it would only seem to have it.
fn check_tools(host: &Host, agent: &str, wanted: &[Pattern]) -> Result<()> {
    let Some(known) = host.agents().get(agent) else {
        return Ok(());
    };
    let own = |name: &ToolName| known.tools.iter().any(|tools| tools.matches(name));
    let names: Vec<&ToolName> = host
        .catalog()
        .tools()
        .map(|tool| &tool.name)
        .filter(|name| own(name))
        .collect();
    // What it may not have at all is refused where the run begins.
    let is_own = |tools: &&Pattern| known.tools.iter().any(|own| own.covers(tools));
    let is_none = |tools: &&Pattern| !names.iter().any(|name| tools.matches(name));
    // Scripts are offered by `--calling`, and are in no catalog.
    let mut missing = wanted
        .iter()
        .filter(|tools| tools.to_string() != script::TOOL)
        .filter(is_own)
        .filter(is_none);
    let Some(missing) = missing.next() else {
        return Ok(());
    };
    let said = missing.to_string();
    let near = nearest(&said, names.iter().map(|name| name.as_str()));
    let what = format!("the agent `{}` has no tool `{said}`", shown(agent));
    Err(Error::bad_input(what).hint(match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("`tools` in [agents.{}] says which it has", shown(agent)),
    }))
}

/// That the workspace's file has an agent, and does not count; nothing where that is not so.
fn untrusted(scene: &Scene) -> Option<Error> {
    let config = Config::look(&scene.around, scene.config.as_deref()).ok()?;
    let (path, standing) = config.workspace?;
    let file = ConfigFile::read(&path).ok()?;
    let agent = file
        .agents
        .keys()
        .next()
        .filter(|_| standing != Standing::Trusted)?;
    let what = format!(
        "no agent is configured: `{}` has the agent `{}`, and is not trusted",
        path.display(),
        shown(agent)
    );
    let trust = trust_command(&path, scene.config.is_some());
    Some(Error::bad_input(what).hint(format!("read it, then run `{trust}`")))
}

fn only_agent(host: &Host) -> Result<String> {
    let mut names = host.agents().keys();
    match (names.next(), names.next()) {
        (Some(only), None) => Ok(only.clone()),
        (None, _) => Err(Error::bad_input("no agent is configured")
            .hint(format!(
                "write one, and the model that it asks, in `{NAME}`:\n{AGENT}"
            ))
            .hint("`lazaret demo` shows a whole configuration")),
        (Some(_), Some(_)) => {
            let names: Vec<&str> = host.agents().keys().map(String::as_str).collect();
            Err(Error::bad_input("there is more than one agent")
                .hint(format!("--agent {}", names.join(" | "))))
        }
    }
}
