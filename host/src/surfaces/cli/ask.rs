//! `lazaret ask`: questions that wait for a person.

use super::inline::{arguments, held, last_of_its_kind};
use super::runs::time;
use super::transcript::short;
use super::{Scene, print};
use crate::rules::json;
use crate::rules::questions::words;
use crate::runs::host::Host;
use crate::runs::left::Waiting;
use crate::surfaces::paint::{faint, foreign, sentence, strong, table, warn};
use crate::surfaces::{again, listed, question};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Answer, Content};
use crate::words::id::shown;

/// Answer the questions that runs wait for.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  lazaret ask list
  lazaret ask show 3f9a01      who asks, with which arguments, and what handles in them hold
  lazaret ask allow 3f9a01     then: lazaret runs resume RUN
  lazaret ask allow 3f9a01 --go-on   both in one
  lazaret ask always 3f9a01    its values may steer for the rest of the run
  lazaret ask deny 3f9a01 --reason 'ask Bob first'
  lazaret ask allow 3f9a01 --with '{\"name\": \"Ada\"}'   a form of a server, whose call waits

A tool is asked about where `lazaret.toml` says so: ask = [\"mail.send\", \"files.*\"]
`unattended = \"deny\"` takes it for a no where nobody can be asked, and `ask_expires_s = 3600` after an hour.")]
pub(super) enum Ask {
    /// List what waits.
    List,
    /// Show one question in full.
    Show {
        /// The question's name or its beginning, or the run that waits for it alone, or `last` for the only one.
        question: String,
    },
    /// Say yes to one question, for this one call.
    Allow {
        /// The question's name or its beginning.
        question: String,
        /// What a form of a server is answered with, as a JSON object.
        #[arg(long, value_name = "JSON", conflicts_with = "go_on")]
        with: Option<String>,
        #[command(flatten)]
        then: Then,
    },
    /// Say yes, and let its values steer for the rest of the run.
    Always {
        /// The question's name or its beginning.
        question: String,
        #[command(flatten)]
        then: Then,
    },
    /// Say no.
    Deny {
        /// The question's name or its beginning, or the run that waits for it alone, or `last` for the only one.
        question: String,
        /// Why not: whoever wished is told so, in at most 500 characters.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        #[command(flatten)]
        then: Then,
    },
}

/// What follows an answer.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Then {
    /// Go on with the run here, unless it waits for another answer still.
    #[arg(long)]
    go_on: bool,
}

/// The only question that waits.
const LAST: &str = "last";

/// A question, what is said to it, and why.
struct Said<'a> {
    question: &'a str,
    answer: Answer,
    reason: &'a str,
}

impl Ask {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        let host = match &self {
            // Whoever looks relies on no policy.
            Self::List | Self::Show { .. } => scene.open(scene.look_at_config()?.setup).await?,
            Self::Allow { .. } | Self::Always { .. } | Self::Deny { .. } => {
                scene.open_host().await?
            }
        };
        match self {
            Self::List => list(&host, scene).await,
            Self::Show { question } => {
                let question = meant(&host, &question).await?;
                let found = host.question(&question).await;
                let waiting = found.map_err(|error| scene.looked_in(error))?;
                show(&host, &waiting, scene).await
            }
            Self::Allow {
                question,
                with: None,
                then,
            } => say(&host, scene, Said::of(&question, Answer::Allow), then).await,
            Self::Allow {
                question,
                with: Some(with),
                ..
            } => {
                let content = json::parse(&with)
                    .map_err(|why| Error::bad_input(format!("`--with` is a JSON object: {why}")))?;
                check_named(&host, &question).await?;
                let answered = host.answer_form(&question, content).await;
                let waiting = answered.map_err(|error| scene.looked_in(error))?;
                told(scene, &waiting, Answer::Allow);
                Ok(0)
            }
            Self::Always { question, then } => {
                say(&host, scene, Said::of(&question, Answer::Always), then).await
            }
            Self::Deny {
                question,
                reason,
                then,
            } => {
                let said = Said {
                    reason: reason.as_deref().unwrap_or_default(),
                    ..Said::of(&question, Answer::Deny)
                };
                say(&host, scene, said, then).await
            }
        }
    }
}

/// The question that is meant: by its own name, by that of the run that waits for it and for no other, or as the only one
/// that waits. Names look alike, and only a run's has a `-` in it.
async fn meant(host: &Host, start: &str) -> Result<String> {
    let is_last = start == LAST;
    if !start.contains('-') && !is_last {
        return Ok(start.to_owned());
    }
    let mut waiting = host.questions().await?;
    waiting.retain(|waiting| is_last || waiting.run.as_str().starts_with(start));
    match waiting.as_slice() {
        [] if is_last => Err(Error::not_found("open question")),
        [] => Ok(start.to_owned()),
        [one] => Ok(one.question.id.to_string()),
        several => {
            let place = match is_last {
                true => String::new(),
                false => format!(" in `{}`", shown(start)),
            };
            let what = format!("{} questions wait{place}", several.len());
            let error = Error::bad_input(what);
            let hint = |one: &Waiting| format!("lazaret ask show {}", one.question.id);
            Err(several.iter().map(hint).fold(error, Error::hint))
        }
    }
}

/// A yes names its question: what waits under any other name by then may be another one than was looked at.
async fn check_named(host: &Host, start: &str) -> Result<()> {
    if !start.contains('-') && start != LAST {
        return Ok(());
    }
    let waiting = host.questions().await?;
    let of_run = |one: &&Waiting| start == LAST || one.run.as_str().starts_with(start);
    let what = format!(
        "`{}` may be another question than the one that was looked at: a yes names it itself",
        shown(start)
    );
    let error = Error::bad_input(what);
    let hint = |one: &Waiting| format!("lazaret ask show {}", one.question.id);
    Err(waiting
        .iter()
        .filter(of_run)
        .take(4)
        .map(hint)
        .fold(error, Error::hint))
}

async fn list(host: &Host, scene: &Scene) -> Result<u8> {
    let waiting = host.questions().await?;
    if scene.json {
        print::list(waiting.iter().map(listed::question));
        return Ok(0);
    }
    let now = host.journal().clock().now_ms();
    let row = |waiting: &Waiting| {
        vec![
            strong(&waiting.question.id),
            faint(time(waiting.at)),
            until(waiting, now),
            short(&in_a_line(waiting)),
            faint(&waiting.run),
        ]
    };
    let rows: Vec<Vec<String>> = waiting.iter().map(row).collect();
    if rows.is_empty() {
        if !scene.quiet {
            print::note("nothing waits for an answer");
        }
    } else {
        print::marked_line(table(&rows).trim_end());
    }
    Ok(0)
}

/// What is asked, so that the values which it is asked about are not what is cut.
fn in_a_line(waiting: &Waiting) -> String {
    let text = words::asked(&waiting.question);
    let arguments = arguments(&waiting.content, &waiting.question.reasons);
    match text.split_once(" with {") {
        Some((what, _)) if !arguments.is_empty() => {
            let values = arguments
                .iter()
                .map(|(key, value)| format!("{} = {}", alone(key), alone(value)));
            format!("{what} with {}", values.collect::<Vec<_>>().join(", "))
        }
        Some(_) | None => text.to_owned(),
    }
}

/// A text among others on a line: one that could be taken for several stands in quotes.
fn alone(text: &str) -> String {
    let odd = |c: char| matches!(c, ',' | '=' | '"' | '\'' | '`');
    match text.contains(odd) || text.trim() != text {
        true => serde_json::Value::from(text).to_string(),
        false => text.to_owned(),
    }
}

/// Until when a question can be answered.
fn until(waiting: &Waiting, now: u64) -> String {
    match waiting.question.until {
        _ if waiting.is_late(now) => warn("too late"),
        Some(until) => faint(format!("until {}", time(until))),
        None => String::new(),
    }
}

async fn show(host: &Host, waiting: &Waiting, scene: &Scene) -> Result<u8> {
    let handed = host.handed(waiting).await?;
    if scene.json {
        print::compact(&listed::question_in_full(waiting, &handed));
        return Ok(0);
    }
    print::marked_line(format!(
        "{} {}",
        strong(&waiting.question.id),
        sentence(words::asked(&waiting.question))
    ));
    let rule = sentence(&waiting.question.rule);
    print::marked_line(format!("{} {rule}", faint("asked by")));
    for reason in words::reasons(&waiting.question.reasons) {
        print::marked_line(format!("{} {}", faint("because "), sentence(reason)));
    }
    for record in &waiting.question.records {
        print::marked_line(format!("{} {}", faint("where   "), sentence(record)));
    }
    print::line(format!("{} {}", faint("run     "), waiting.run));
    print::line(format!("{} {}", faint("since   "), time(waiting.at)));
    if let Some(until) = waiting.question.until {
        print::line(format!("{} {}", faint("until   "), time(until)));
    }
    if waiting.is_late(host.journal().clock().now_ms()) {
        let next = format!("it counts as a no: lazaret runs resume {}", waiting.run);
        print::line(format!("{} {next}", warn("too late")));
    }
    let sources = sentence(&waiting.label.to_string());
    print::marked_line(format!("{} {sources}", faint("under   ")));
    let subject = sentence(&waiting.subject);
    let classes = waiting.question.classes.as_ref();
    let classes = classes.map_or(String::new(), |classes| {
        sentence(&format!(" ({}, risk {})", classes.effect, classes.risk))
    });
    print::marked_line(format!("{} {subject}{classes}", faint("calls   ")));
    if let Content::Inline(args) = &waiting.content {
        print::wished(args);
    }
    if let Some(said) = question::unseen(&waiting.content) {
        print::line(said);
    }
    for one in &handed {
        print::marked_line(held(one));
    }
    if let Some(flag) = words::for_one_run(&waiting.question, &waiting.content) {
        print::marked_line(foreign(&flag));
    }
    if waiting.form().is_none() && !waiting.is_late(host.journal().clock().now_ms()) {
        answers(waiting);
    }
    if !waiting.question.lines.is_empty() {
        let lines = last_of_its_kind(host.policy(), &waiting.question.lines);
        print::line(lines);
    }
    Ok(0)
}

/// How it is answered.
fn answers(waiting: &Waiting) {
    let id = &waiting.question.id;
    let command = |word: &str| foreign(&again::hint(&format!("lazaret ask {word} {id}")));
    print::line(format!("{} {}", faint("answer  "), command("allow")));
    if !waiting.question.values.is_empty() {
        let always = command("always");
        let what = faint(words::ALWAYS);
        print::line(format!("         {always}   {what}"));
    }
    print::line(format!("         {}", command("deny")));
}

impl<'a> Said<'a> {
    fn of(question: &'a str, answer: Answer) -> Self {
        Self {
            question,
            answer,
            reason: "",
        }
    }
}

/// Answers, and goes on with the run where that is wished and nothing else holds it.
async fn say(host: &Host, scene: &Scene, said: Said<'_>, then: Then) -> Result<u8> {
    let question = match said.answer {
        Answer::Deny => meant(host, said.question).await?,
        Answer::Allow | Answer::Always => {
            check_named(host, said.question).await?;
            said.question.to_owned()
        }
    };
    let answered = host.answer_because(&question, said.answer, said.reason);
    let waiting = answered.await.map_err(|error| scene.looked_in(error))?;
    // The call of a form is under way, and goes on by itself.
    if !then.go_on || waiting.form().is_some() {
        told(scene, &waiting, said.answer);
        follows(scene, &waiting);
        return Ok(0);
    }
    let all = host.questions().await?;
    let left = all.iter().find(|other| other.run == waiting.run);
    if let Some(left) = left {
        told(scene, &waiting, said.answer);
        if !scene.quiet && !scene.json {
            let first = faint("it waits for another answer first");
            print::follow(first, &format!("lazaret ask show {}", left.question.id));
        }
        return Ok(Code::Asked.exit_status());
    }
    // What is printed is the run's: its outcome, or its answer.
    if !scene.quiet && !scene.json {
        print::marked_note(format!(
            "{}: {}",
            word(&waiting, said.answer),
            sentence(words::asked(&waiting.question))
        ));
        why_once(&waiting, said.answer);
    }
    super::script::resume(host, &waiting.run, scene).await
}

/// What was answered.
fn told(scene: &Scene, waiting: &Waiting, answer: Answer) {
    if scene.json {
        print::compact(&serde_json::json!({
            "question": waiting.question.id, "answer": waiting.counted(answer), "run": waiting.run,
        }));
        return;
    }
    // The question in a line is cut; what was agreed to is not.
    let said = word(waiting, answer);
    print::marked_line(format!(
        "{said}: {}",
        sentence(words::asked(&waiting.question))
    ));
    if !scene.quiet {
        why_once(waiting, answer);
    }
}

/// Why an answer for the rest of the run holds for one call alone.
fn why_once(waiting: &Waiting, answer: Answer) {
    let why = words::why_once(&waiting.question);
    if let Some(why) = why.filter(|_| answer == Answer::Always) {
        print::note(faint(why));
    }
}

/// What follows. The call of a form is under way, and goes on by itself.
fn follows(scene: &Scene, waiting: &Waiting) {
    if !scene.json && !scene.quiet && waiting.form().is_none() {
        let next = faint("go on with it");
        print::follow(next, &format!("lazaret runs resume {}", waiting.run));
    }
}

fn word(waiting: &Waiting, answer: Answer) -> &'static str {
    match answer {
        Answer::Allow => "allowed",
        Answer::Always if waiting.question.values.is_empty() => "allowed, this once",
        Answer::Always => "allowed, and its values for the rest of the run",
        Answer::Deny => "denied",
    }
}
