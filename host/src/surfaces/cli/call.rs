//! `lazaret call`: one tool call.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::going::Going;
use super::print::{self, Spinner};
use super::{Scene, form, inline, run::until_cancelled};
use crate::edges::named;
use crate::guests::dispatch::Request;
use crate::rules::caller::Invocation;
use crate::rules::grant::Pattern;
use crate::rules::json;
use crate::rules::manifest::Retry;
use crate::runs::host::{Called, Host};
use crate::runs::written::Written;
use crate::surfaces::envelope::Envelope;
use crate::surfaces::paint::{faint, foreign, marked};
use crate::surfaces::wish;
use crate::words::error::{Code, Error, Result, why};
use crate::words::event::{Sight, Surface};
use crate::words::inert::one_line;
use crate::words::limits::{
    ARGS_BYTES, CALL_RETRY_DELAY_MS, CALL_RETRY_DELAY_MS_MAX, CALL_TIMEOUT_MS_MAX,
};
use crate::words::message::WishedArgs;
use crate::words::session::{LOCAL, Session, client_of};

/// Call one tool.
///
/// The arguments are a JSON object, `@FILE` to read it from a file, or `-` to read it from standard input.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  lazaret call text.count '{\"text\":\"a b\"}'
  lazaret call text.csv_to_json @table.json --json
  lazaret call text.count --schema
  lazaret call files.remove '{\"path\":\"old.txt\"}' --confirm
  lazaret call web.get_page '{\"url\":\"https://example.com/\"}' --ndjson
  echo '{\"path\":\"README.md\"}' | lazaret call files.read -")]
pub(super) struct Call {
    /// The tool's full name, such as `text.count`.
    tool: String,
    /// Its arguments.
    #[arg(default_value = "{}", value_name = "JSON|@FILE|-")]
    args: String,
    /// The longest that each attempt may take; the tool's own time where it says nothing. Policy may allow less.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=CALL_TIMEOUT_MS_MAX))]
    timeout_ms: Option<u64>,
    /// How often it is made again after a failure that may pass, if the tool changes nothing twice.
    #[arg(long, value_name = "N")]
    retries: Option<u32>,
    /// How long the first wait before that is; each is longer by as much.
    #[arg(long, value_name = "MS", requires = "retries", default_value_t = CALL_RETRY_DELAY_MS, value_parser = clap::value_parser!(u64).range(..=CALL_RETRY_DELAY_MS_MAX))]
    retry_delay_ms: u64,
    /// Confirm the call, where the tool asks for that: what it does cannot be undone.
    #[arg(long)]
    confirm: bool,
    /// Your own name for a call that changes something: made again under it with the same arguments within
    /// `cache.keyed_ttl_ms` (5 minutes), also by another process, it happens no second time, and `usage` of its
    /// envelope says `repeated`.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Whose key it is, where calls are made for many: the same one of somebody else is another.
    #[arg(long, value_name = "ID", requires = "idempotency_key", default_value = LOCAL, value_parser = parse_user)]
    user: String,
    /// Write the call's artifacts into this folder.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print what happens meanwhile as well, one event a line as `run --json` has them; the last line is the envelope.
    #[arg(long)]
    ndjson: bool,
    /// Print what the tool takes, as JSON Schema, and call nothing.
    #[arg(long, conflicts_with_all = ["timeout_ms", "retries", "retry_delay_ms", "confirm", "idempotency_key", "user", "out", "ndjson"])]
    schema: bool,
}

/// Somebody's name, as sessions have it.
pub(super) fn parse_user(text: &str) -> std::result::Result<String, String> {
    let session = Session::of(text, "a");
    session.map_err(|error| error.message().to_owned())?;
    Ok(text.to_owned())
}

impl Call {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        if self.schema {
            let host = scene.open_host().await?;
            let tool = host.catalog().resolve(&self.tool, &[Pattern::all()])?;
            print::value(&tool.declared.input, scene.json);
            return Ok(0);
        }
        let scene = &Scene {
            json: scene.json || self.ndjson,
            ..scene.clone()
        };
        let args = read_args(&self.args)?;
        let broken = matches!(args, WishedArgs::Broken(_));
        let host = scene.open_host().await?;
        let written = written(&host, &self.args)?;
        let request = Request {
            tool: self.tool.clone(),
            args,
        };
        let mut called = self
            .made(scene, &host, (&request, &written), self.confirm)
            .await?;
        match inline::confirms(scene, &host, &request, &called).await? {
            Some(true) => called = self.made(scene, &host, (&request, &written), true).await?,
            Some(false) => called.outcome.result = Err(inline::refused(&self.tool)),
            None => {}
        }
        called = inline::settled(&host, scene, called).await?;
        if broken {
            called.outcome.result = called.outcome.result.map_err(|error| error.hint(QUOTING));
        }
        let written = self
            .out
            .as_ref()
            .map_or(Ok(()), |folder| write_artifacts(&host, folder, &called));
        let status = report(&host, &called, scene).await?;
        // What the tool did is told whether its artifacts could be saved or not.
        if let Err(error) = written {
            print::failed(&error);
            return Ok(status.max(error.code().exit_status()));
        }
        Ok(status)
    }
}

impl Call {
    /// Makes the call, and says what is going on meanwhile.
    async fn made(
        &self,
        scene: &Scene,
        host: &Host,
        (request, written): (&Request, &Written),
        confirmed: bool,
    ) -> Result<Called> {
        let run = host.new_run();
        let mut watcher = host.watch(&run);
        let tasks = host.tasks();
        let spinner = Spinner::new(scene.quiet || scene.json);
        let asked = (request.clone(), written, self.asked(confirmed));
        let mut work = std::pin::pin!(until_cancelled(
            &tasks,
            form::beside(
                host,
                &run,
                scene,
                host.call_asked(run.clone(), Surface::Cli, asked, &tasks)
            )
        ));
        let mut announced = false;
        loop {
            let next = async {
                tokio::select! {
                    biased;
                    called = &mut work => Next::Done(called),
                    sight = watcher.next() => Next::Sight(sight),
                }
            };
            match tokio::time::timeout(print::ANNOUNCED_AFTER, next).await {
                Ok(Next::Done(called)) => {
                    // What was seen after the last look, and is there already.
                    while let Some(sight) = watcher.seen().await {
                        self.see(&spinner, &sight);
                    }
                    return called;
                }
                Ok(Next::Sight(sight)) => announced |= self.see(&spinner, &sight),
                Err(_) if announced => {}
                Err(_) => {
                    spinner.say(&format!("running {}", self.tool));
                    announced = true;
                }
            }
        }
    }

    /// Shows what happens; whether there was anything to show.
    fn see(&self, spinner: &Spinner, sight: &Sight) -> bool {
        if self.ndjson {
            print::compact(sight);
        }
        self.ndjson || progress(spinner, sight)
    }

    /// What is asked of this one call.
    fn asked(&self, confirmed: bool) -> Invocation {
        Invocation {
            key: self.idempotency_key.as_deref().map(Into::into),
            client: client_of(&self.user).into(),
            confirmed,
            timeout_ms: self.timeout_ms,
            retry: self
                .retries
                .map(|retries| Retry::linear(retries, self.retry_delay_ms)),
        }
    }
}

/// What comes next while a call is under way.
enum Next {
    Done(Result<Called>),
    Sight(Sight),
}

/// Shows what a tool says of its progress; whether it said anything.
fn progress(spinner: &Spinner, sight: &Sight) -> bool {
    let far = Going::far(sight);
    if let Some(far) = &far {
        spinner.show(far);
    }
    far.is_some()
}

/// Prints what became of a call; the exit status.
pub(super) async fn report(host: &Host, called: &Called, scene: &Scene) -> Result<u8> {
    let outcome = &called.outcome;
    if scene.json {
        let waits = matches!(&outcome.result, Err(error) if error.code() == Code::Asked);
        let questions = match waits {
            true => wish::questions(host, &called.run).await?,
            false => Vec::new(),
        };
        print::compact(&Envelope::of(called, Surface::Cli).asking(&questions));
    } else {
        if !scene.quiet {
            for line in outcome
                .trail
                .logs
                .iter()
                .filter(|line| line.fields.get("type").is_none())
            {
                print::marked_note(format!(
                    "{} {}",
                    faint(format!("{:5}", line.level)),
                    marked(&line.message)
                ));
            }
        }
        match &outcome.result {
            Ok(Value::String(text)) => print::line(foreign(text)),
            Ok(value) => print::value(value, false),
            Err(error) => print::failure(error, false),
        }
        if !scene.quiet {
            for artifact in &outcome.trail.artifacts {
                let size = artifact.bytes.len();
                print::note(format!(
                    "artifact {} ({}, {size} bytes)",
                    one_line(&artifact.name),
                    one_line(&artifact.media_type)
                ));
            }
        }
        let left = matches!(&outcome.result, Err(error) if error.code() == Code::Asked);
        if left && !scene.quiet {
            let resume = format!("lazaret runs resume {}", called.run);
            print::follow(faint("then go on with it"), &resume);
        }
        if outcome.result.is_err() && !left && !scene.quiet {
            let show = format!("lazaret runs show {}", called.run);
            print::follow(faint("record"), &show);
        }
    }
    let failed = outcome.result.as_ref().err();
    Ok(failed.map_or(0, |error| error.code().exit_status()))
}

/// Reads arguments as they were given on the command line.
pub(super) fn read_args(given: &str) -> Result<WishedArgs> {
    let text = if given == "-" {
        read_input()?
    } else if let Some(path) = given.strip_prefix('@') {
        let bytes = named::read(Path::new(path), "the file", ARGS_BYTES);
        let bytes = bytes.map_err(|error| {
            if error.code() == Code::TooBig {
                too_big(&format!("`{path}`"))
            } else {
                error
            }
        })?;
        String::from_utf8(bytes).map_err(|_| not_text(&format!("`{path}`")))?
    } else {
        given.to_owned()
    };
    Ok(json::parse(&text).map_or_else(|_| WishedArgs::Broken(text), WishedArgs::Json))
}

/// How they came: only what stands on the command line itself was typed.
pub(super) fn written(host: &Host, given: &str) -> Result<Written> {
    match given.strip_prefix('@') {
        _ if given == "-" => Ok(Written::Piped),
        Some(path) => host.written_in(Path::new(path)),
        None => Ok(Written::Typed),
    }
}

/// What a shell does to quotes is the usual reason for arguments that are no JSON.
pub(super) const QUOTING: &str =
    "write them in single quotes: lazaret call text.count '{\"text\":\"a b\"}'";

fn read_input() -> Result<String> {
    let mut bytes = Vec::new();
    let most = u64::try_from(ARGS_BYTES)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    let read = std::io::stdin().take(most).read_to_end(&mut bytes);
    read.map_err(|error| {
        Error::bad_input(format!(
            "standard input cannot be read: {}",
            why(error.kind())
        ))
    })?;
    if bytes.len() > ARGS_BYTES {
        return Err(too_big("standard input"));
    }
    String::from_utf8(bytes).map_err(|_| not_text("standard input"))
}

/// Wrong input, and no mishap: whoever wrote it can write less.
fn too_big(what: &str) -> Error {
    Error::bad_input(format!(
        "{what} has more than {ARGS_BYTES} bytes, the most that arguments may have"
    ))
}

fn not_text(what: &str) -> Error {
    Error::bad_input(format!("{what} is no UTF-8 text"))
}

fn write_artifacts(host: &Host, folder: &Path, called: &Called) -> Result<()> {
    named::make_folder(folder)?;
    for artifact in &called.outcome.trail.artifacts {
        // The name is the guest's; only plain letters of it reach the file system.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let name = artifact
            .name
            .chars()
            .map(|c| if plain(c) { c } else { '_' });
        let name: String = name.skip_while(|c| *c == '.').take(100).collect();
        let file = folder.join(format!("{}-{name}", artifact.id));
        host.save(&file, &artifact.bytes, &called.outcome.label)?;
    }
    Ok(())
}
