//! `lazaret script`: a script against the configured tools, without a model.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::call::report;
use super::going::Going;
use super::print::{self, Spinner};
use super::run::{parse_chosen, until_cancelled};
use super::{Scene, form, inline};
use crate::edges::named;
use crate::guests::tasks::Tasks;
use crate::runs::brought::Chosen;
use crate::runs::host::{Called, Host};
use crate::runs::left::{Program, Resumed};
use crate::runs::rest;
use crate::runs::written::Written;
use crate::surfaces::paint::{faint, shown_path};
use crate::words::error::{Code, Error, Result, why};
use crate::words::event::{EffectKind, Event, Sight, Surface, Verdict};
use crate::words::id::RunId;
use crate::words::limits::SCRIPT_CHARS;

/// Run a script against the configured tools.
///
/// A script is the body of an async function in JavaScript or TypeScript. What it returns is printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  lazaret script -e 'return 1+1'
  lazaret script orders.ts --json                        the envelope, with usage, logs and label
  lazaret script -e 'return await tools.files.list({path: \".\"})'
  lazaret script orders.js --watch                       again whenever the file changes
  echo 'return 2' | lazaret script -

In a script:
  const page = await tools.web.get_page({url});          call a tool by its name
  await Promise.all(paths.map(path => tools.files.read({path})));
  try { … } catch (error) { error.code, error.message, error.retryable }
  await reveal(handle(\"x\"))                              what a handle holds, such as `--with last:h1=x`
  await isolate(x => x.text, handle(\"x\"))               a function over it, which has no tools
  await consult([handle(\"x\")], \"who wrote it?\")        a question to a model of `[scripts]`
What it returns is told as JSON: a `Map` or `Set` comes out as `{}`, so make an object of it.
There is no `Intl`, and `tools` has no list of its names: `lazaret tools --format ts` prints them
with their types.")]
pub(super) struct Script {
    /// The script; `-` for standard input.
    #[arg(conflicts_with = "source")]
    file: Option<PathBuf>,
    /// The script itself.
    #[arg(
        short = 'e',
        long = "eval",
        value_name = "SRC",
        allow_hyphen_values = true
    )]
    source: Option<String>,
    /// Run it again whenever the file changes, until Ctrl-C.
    #[arg(long, requires = "file", conflicts_with = "source")]
    watch: bool,
    /// Begin with what another run holds; `handle("NAME")` in the script. Outcomes are held then, unless `[flow] hold`
    /// says otherwise.
    #[arg(long, value_name = "RUN:HANDLE[=NAME]", value_parser = parse_chosen)]
    with: Vec<Chosen>,
}

/// How often a watched file is looked at.
const LOOK_MS: u64 = 200;

impl Script {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        let source = self.read()?;
        let host = scene.open_host().await?;
        let program = Program {
            source,
            written: self.written(&host)?,
            with: &self.with,
        };
        let status = run(&host, program, scene).await?;
        match &self.file {
            Some(file) if self.watch => watch(&host, (file, &self.with), scene).await,
            Some(_) | None => Ok(status),
        }
    }

    /// How it came.
    fn written(&self, host: &Host) -> Result<Written> {
        match &self.file {
            Some(file) if file == Path::new("-") => Ok(Written::Piped),
            Some(file) => host.program_in(file),
            None => Ok(Written::Typed),
        }
    }

    fn read(&self) -> Result<String> {
        match (&self.source, &self.file) {
            (Some(source), _) => Ok(source.clone()),
            (None, Some(file)) if self.watch && file == Path::new("-") => {
                Err(Error::bad_input("standard input cannot be watched"))
            }
            (None, Some(file)) if file == Path::new("-") => read_input(),
            (None, Some(file)) => read_file(file),
            (None, None) => Err(Error::bad_input("there is no script")
                .hint("lazaret script FILE, or: lazaret script -e 'return 1+1'")),
        }
    }
}

/// Bytes of the longest script: a character has at most four.
const SOURCE_BYTES: usize = SCRIPT_CHARS * 4;

fn read_file(path: &Path) -> Result<String> {
    let bytes = named::read(path, "the script", SOURCE_BYTES)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Error::bad_input(format!("`{}` is no UTF-8 text", path.display())))?;
    // What says who runs the file is for the shell; its line stays, so that places in the source do.
    Ok(match text.strip_prefix("#!") {
        Some(rest) => format!("//{rest}"),
        None => text,
    })
}

fn read_input() -> Result<String> {
    let mut text = String::new();
    let most = u64::try_from(SOURCE_BYTES).unwrap_or(u64::MAX);
    let read = std::io::stdin().take(most).read_to_string(&mut text);
    read.map_err(|error| {
        let why = why(error.kind());
        Error::bad_input(format!("standard input cannot be read: {why}"))
    })?;
    Ok(text)
}

async fn watch(host: &Host, (file, with): (&Path, &[Chosen]), scene: &Scene) -> Result<u8> {
    let mut before = read_file(file).unwrap_or_default();
    if !scene.quiet {
        print::note(faint(format!("watching {}; Ctrl-C ends", shown_path(file))));
    }
    let tasks = Tasks::new();
    let watching = async {
        loop {
            let clock = host.journal().clock();
            rest::until(clock, clock.now_ms().saturating_add(LOOK_MS)).await;
            // A file that is being written may be gone for a moment.
            let Ok(source) = read_file(file) else {
                continue;
            };
            if source != before {
                before.clone_from(&source);
                if !scene.quiet {
                    print::note(faint("again:"));
                }
                let program = Program {
                    source,
                    written: host.program_in(file)?,
                    with,
                };
                run(host, program, scene).await?;
            }
        }
    };
    let watching = tasks.unless_cancelled(watching);
    match until_cancelled(&tasks, watching).await {
        Err(error) if error.code() == Code::Cancelled => Ok(0),
        ended => ended,
    }
}

async fn run(host: &Host, program: Program<'_>, scene: &Scene) -> Result<u8> {
    let run = host.new_run();
    let tasks = host.tasks();
    let work = host.program(run.clone(), Surface::Cli, program, &tasks);
    let called = see(host, &run, scene, until_cancelled(&tasks, work)).await?;
    let called = inline::settled(host, scene, called).await?;
    tell(host, &called, scene).await
}

/// Goes on with a run that was left.
pub(super) async fn resume(host: &Host, run: &RunId, scene: &Scene) -> Result<u8> {
    let tasks = host.tasks();
    if host.is_of_agent(run).await? {
        let work = async {
            match host.resume(run, &tasks).await? {
                Resumed::Answer(answer) => answer,
                Resumed::Called(_) => Err(Error::bug("an agent's run that was a call")),
            }
        };
        return super::run::follow(host, run, scene, &tasks, work).await;
    }
    let called = again(host, run, scene).await?;
    let called = inline::settled(host, scene, called).await?;
    tell(host, &called, scene).await
}

/// Goes on with a call or a script, to its end or to where it is left again.
pub(super) async fn again(host: &Host, run: &RunId, scene: &Scene) -> Result<Called> {
    let tasks = host.tasks();
    let work = async {
        match Box::pin(host.resume(run, &tasks)).await? {
            Resumed::Called(called) => Ok(*called),
            Resumed::Answer(_) => Err(Error::bug("a call that was an agent's run")),
        }
    };
    see(host, run, scene, until_cancelled(&tasks, work)).await
}

/// Prints the outcome, and how to go on where the run was left.
async fn tell(host: &Host, called: &Called, scene: &Scene) -> Result<u8> {
    if let Err(error) = &called.outcome.result
        && matches!(error.code(), Code::Asked | Code::Cancelled)
        && !scene.json
    {
        print::failure(error, false);
        let resume = format!("lazaret runs resume {}", called.run);
        print::follow(faint("go on with it"), &resume);
        return Ok(error.code().exit_status());
    }
    report(host, called, scene).await
}

/// Shows what happens while the work goes on.
async fn see(
    host: &Host,
    run: &RunId,
    scene: &Scene,
    work: impl Future<Output = Result<Called>>,
) -> Result<Called> {
    let mut watcher = host.watch(run);
    let spinner = Spinner::new(scene.quiet || scene.json);
    let mut work = std::pin::pin!(form::beside(host, run, scene, work));
    let mut latest = Going::from("running the script".to_owned());
    let mut announced = false;
    loop {
        let next = async {
            tokio::select! {
                biased;
                called = &mut work => Err(called),
                sight = watcher.next() => Ok(sight),
            }
        };
        match tokio::time::timeout(print::ANNOUNCED_AFTER, next).await {
            Ok(Err(called)) => return called,
            Ok(Ok(sight)) => latest = doing(&sight).unwrap_or(latest),
            Err(_) => announced = true,
        }
        if announced {
            spinner.show(&latest);
        }
    }
}

/// What a script is doing, in a few words.
fn doing(sight: &Sight) -> Option<Going> {
    match sight {
        Sight::Record(record) => {
            let Event::Judged(judged) = &record.event else {
                return None;
            };
            let begins = judged.effect == EffectKind::Call
                && matches!(judged.verdict, Verdict::Allow { .. });
            begins.then(|| format!("running {}", judged.subject).into())
        }
        Sight::Glimpse { glimpse, .. } => Going::of(glimpse),
    }
}
