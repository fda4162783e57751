//! Asking on the terminal: a run that waits for an answer gets it here and goes on in the same process.
//!
//! What is shown and how an answer is read are plain functions; only [`ask`] touches the terminal.

use std::io::{BufRead, IsTerminal, Write};
use std::sync::Mutex;

use rustix::termios::{QueueSelector, tcflush};
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use super::runs::time;
use super::{Scene, print, script};
use crate::gate::{all_asked, asked};
use crate::guests::dispatch::Request;
use crate::rules::call::confirm::rule;
use crate::rules::call::wished;
use crate::rules::flow::{Handed, brief};
use crate::rules::manifest::Declared;
use crate::rules::policy::Policy;
use crate::rules::questions::{Unattended, words};
use crate::runs::host::{Called, Host};
use crate::runs::left::Waiting;
use crate::surfaces::config::NAME;
use crate::surfaces::paint::{faint, foreign, phrase, sentence, strong, warn};
use crate::surfaces::question;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Answer, Content};
use crate::words::id::{RunId, ToolName, shown};
use crate::words::inert::{narrow, narrow_json};
use crate::words::lock::lock;

/// What a person has said at the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Answer(Answer),
    /// Show the arguments in full.
    Show,
    /// Leave the run as it is.
    Leave,
}

/// Whether somebody is there to be asked: at a terminal, and not through a program.
pub(super) fn may_ask(scene: &Scene) -> bool {
    let wanted = scene.ask && !scene.json && !scene.quiet;
    wanted && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// What becomes of a question in this process, where policy says so of one that nobody is there to answer.
pub(super) fn unattended(scene: &Scene, policy: Unattended) -> Unattended {
    match scene.unattended {
        // Somebody is.
        _ if may_ask(scene) => Unattended::Pause,
        Some(said) => said,
        // `--no-ask` leaves the run, also where nobody could be asked.
        None if !scene.ask => Unattended::Pause,
        None => policy,
    }
}

/// A call or script that waits for answers: asked about here, as often as it waits, and gone on with.
pub(super) async fn settled(host: &Host, scene: &Scene, mut called: Called) -> Result<Called> {
    while matches!(&called.outcome.result, Err(error) if error.code() == Code::Asked) {
        match ask(host, &called.run, scene).await? {
            // A run is a large future, and this one is begun from within another's.
            Heard::All => called = Box::pin(script::again(host, &called.run, scene)).await?,
            Heard::Some(rest) => {
                called.outcome.result = Err(rest);
                break;
            }
            Heard::Nothing => break,
        }
    }
    Ok(called)
}

/// What a person says here of what its client has not confirmed, a call of a kind that has to be; nothing where nobody
/// was asked, or has answered.
pub(super) async fn confirms(
    scene: &Scene,
    host: &Host,
    request: &Request,
    called: &Called,
) -> Result<Option<bool>> {
    let result = &called.outcome.result;
    let unconfirmed = matches!(result, Err(error) if error.code() == Code::Unconfirmed);
    if !unconfirmed || !may_ask(scene) {
        return Ok(None);
    }
    let tool = host.catalog().resolve(&request.tool, &[])?;
    let content = wished(&request.args);
    print::marked_note(confirmation(&tool.name, &tool.declared, &content));
    loop {
        prompt(&faint("y / n / show (full arguments) / q (leave it) >"));
        let Some(line) = line().await? else {
            print::note("");
            return Ok(None);
        };
        match read(&line, false) {
            Some(Said::Answer(answer)) => return Ok(Some(answer != Answer::Deny)),
            Some(Said::Show) => print::marked_note(in_full(&content, &[])),
            Some(Said::Leave) => return Ok(None),
            None => print::marked_note(no_answer(&line, false)),
        }
    }
}

/// What a no at the prompt makes of a call.
pub(super) fn refused(tool: &str) -> Error {
    let what = format!("you said no, so `{}` was not called", shown(tool));
    Error::new(Code::Unconfirmed, what)
}

/// What is to be done, for whoever confirms it.
fn confirmation(tool: &ToolName, declared: &Declared, content: &Content) -> String {
    let mut text = format!(
        "{} shall `{}` be called? {}",
        warn("?"),
        strong(foreign(tool.as_str())),
        faint(format!("(asked by {})", rule(declared)))
    );
    for (path, value) in arguments(content, &[]) {
        let line = format!("\n    {} = {}", foreign(&path), strong(foreign(&value)));
        text.push_str(&line);
    }
    let (effect, risk) = (declared.effect.word(), declared.risk.word());
    text.push_str(&format!(
        "\n  {} {effect}, risk {risk}",
        faint("the tool is")
    ));
    text
}

/// What came of asking at the terminal.
pub(super) enum Heard {
    /// Everything was answered: the run goes on.
    All,
    /// Something was; this is what the run still waits for.
    Some(Error),
    /// Nobody was asked, or nothing was answered.
    Nothing,
}

/// What a run still waits for.
fn rest(waiting: &[Waiting]) -> Heard {
    let errors: Vec<Error> = waiting.iter().map(|one| asked(&one.question)).collect();
    all_asked("the run", errors.iter()).map_or(Heard::All, Heard::Some)
}

/// Asks all that a run waits for, one after the other.
pub(super) async fn ask(host: &Host, run: &RunId, scene: &Scene) -> Result<Heard> {
    if !may_ask(scene) {
        return Ok(Heard::Nothing);
    }
    let mut waiting = host.questions().await?;
    waiting.retain(|waiting| waiting.run == *run && waiting.form().is_none());
    for (place, one) in waiting.iter().enumerate() {
        let Some(answer) = put(host, one).await? else {
            return Ok(match place {
                0 => Heard::Nothing,
                _ => rest(waiting.get(place..).unwrap_or_default()),
            });
        };
        match host.answer(one.question.id.as_str(), answer).await {
            Ok(_) => {}
            // Too late it counts as a no, and somebody else may have been faster: the run learns so when it goes on.
            Err(late) if late.code() == Code::Conflict => {
                print::failed(&late);
                continue;
            }
            Err(error) => return Err(error),
        }
        if answer != Answer::Deny && !one.question.lines.is_empty() {
            print::note(last_of_its_kind(host.policy(), &one.question.lines));
        }
        // It may have answered for others that wait as well: they are judged again, and asked if it has not.
        if answer == Answer::Always {
            break;
        }
    }
    Ok(match waiting.is_empty() {
        true => Heard::Nothing,
        false => Heard::All,
    })
}

/// Puts one question until it is answered; nothing where the run is to be left.
async fn put(host: &Host, waiting: &Waiting) -> Result<Option<Answer>> {
    print::marked_note(question(waiting));
    forget_typed();
    let always = !waiting.question.values.is_empty();
    loop {
        prompt(&choices(always));
        let Some(line) = line().await? else {
            print::note("");
            return Ok(None);
        };
        match read(&line, always) {
            Some(Said::Answer(answer)) => return Ok(Some(answer)),
            Some(Said::Show) => {
                let handed = host.handed(waiting).await?;
                print::marked_note(in_full(&waiting.content, &handed));
                if !waiting.question.lines.is_empty() {
                    let lines = &waiting.question.lines;
                    print::note(last_of_its_kind(host.policy(), lines));
                }
            }
            Some(Said::Leave) => return Ok(None),
            None => print::marked_note(no_answer(&line, always)),
        }
    }
}

/// What was typed before a question was shown answers something else.
fn forget_typed() {
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
}

pub(super) fn prompt(text: &str) {
    let mut out = anstream::stderr();
    let _ = write!(out, "{text} ").and_then(|()| out.flush());
}

/// A line from the terminal; nothing where there is no more, or Ctrl-C was pressed.
pub(super) async fn line() -> Result<Option<String>> {
    let mut interrupts = signal(SignalKind::interrupt())
        .map_err(|error| Error::bug("Ctrl-C cannot be listened for").because(error))?;
    // A terminal has no deadline; whoever presses Ctrl-C does not wait for it.
    let mut reading = Reading::take_up();
    tokio::select! {
        read = reading.line() => Ok(read),
        Some(()) = interrupts.recv() => Ok(None),
    }
}

type Line = JoinHandle<Option<String>>;

/// Who reads a line that nobody waits for any more: nothing ends them but a line. The next question takes them up, or the
/// first answer to it would be theirs.
static LEFT: Mutex<Option<Line>> = Mutex::new(None);

/// Somebody reads a line.
struct Reading(Option<Line>);

impl Reading {
    fn take_up() -> Self {
        let left = lock(&LEFT).take();
        // What they have read by now was typed before this was asked.
        let left = left.filter(|line| !line.is_finished());
        Self(left.or_else(|| Some(tokio::task::spawn_blocking(read_line))))
    }

    async fn line(&mut self) -> Option<String> {
        let read = self.0.as_mut()?.await;
        self.0 = None;
        read.unwrap_or_default()
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        *lock(&LEFT) = self.0.take();
    }
}

fn read_line() -> Option<String> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.ok().filter(|bytes| *bytes > 0).map(|_| line)
}

/// What is asked, where to, and why; hidden characters are shown.
fn question(waiting: &Waiting) -> String {
    let asked = &waiting.question;
    let mut text = format!(
        "{} may `{}` be called? {}",
        warn("?"),
        strong(phrase(&waiting.subject)),
        faint(format!("(asked by {})", sentence(&asked.rule)))
    );
    for (path, value) in arguments(&waiting.content, &asked.reasons) {
        text.push_str(&format!(
            "\n    {} = {}",
            foreign(&path),
            strong(foreign(&value))
        ));
    }
    if let Some(said) = question::unseen(&waiting.content) {
        text.push_str(&format!("\n    {said}"));
    }
    for reason in words::reasons(&asked.reasons) {
        text.push_str(&format!("\n  {} {}", faint("because"), sentence(reason)));
    }
    for record in &asked.records {
        text.push_str(&format!("\n  {} {}", faint("where"), sentence(record)));
    }
    if let Some(classes) = &asked.classes {
        let said = sentence(&format!("{}, risk {}", classes.effect, classes.risk));
        text.push_str(&format!("\n  {} {said}", faint("the tool is")));
    }
    let sources = sentence(&waiting.label.told());
    text.push_str(&format!(
        "\n  {} {sources}",
        faint("wished under the influence of")
    ));
    if let Some(until) = asked.until {
        text.push_str(&format!("\n  {} {}", faint("until"), time(until)));
    }
    if let Some(flag) = words::for_one_run(asked, &waiting.content) {
        text.push_str(&format!("\n  {}", faint(foreign(&flag))));
    }
    text
}

/// Arguments that are shown before anybody asks for all of them.
const ARGUMENTS: usize = 12;

/// The arguments, each cut to a line; those that it is asked about come first.
pub(super) fn arguments(content: &Content, reasons: &[String]) -> Vec<(String, String)> {
    let Content::Inline(Value::Object(args)) = content else {
        return Vec::new();
    };
    let is_asked = |key: &String| reasons.iter().any(|reason| is_about(reason, key));
    let (asked, others): (Vec<_>, Vec<_>) = args.iter().partition(|(key, _)| is_asked(key));
    let mut shown: Vec<(String, String)> = asked
        .into_iter()
        .chain(others)
        .take(ARGUMENTS)
        .map(|(key, value)| (narrow(&shown(key)), narrow(&shown(&as_text(value)))))
        .collect();
    if args.len() > ARGUMENTS {
        let more = args.len() - ARGUMENTS;
        shown.push(("…".to_owned(), format!("and {more} more")));
    }
    shown
}

/// Whether a reason begins with this argument, or with what lies in it.
fn is_about(reason: &str, key: &str) -> bool {
    let rest = reason
        .strip_prefix('`')
        .and_then(|rest| rest.strip_prefix(brief(key).as_str()));
    rest.is_some_and(|rest| rest.starts_with(['/', '`']))
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}

fn in_full(content: &Content, handed: &[Handed]) -> String {
    let args = match content {
        Content::Inline(args) => {
            let text = serde_json::to_string_pretty(args).unwrap_or_default();
            foreign(&narrow_json(&text))
        }
        Content::Empty => "no arguments".to_owned(),
        Content::Stored { .. } | Content::Size { .. } => {
            question::unseen(content).unwrap_or_default()
        }
    };
    let handed = handed.iter().map(held);
    [args]
        .into_iter()
        .chain(handed)
        .collect::<Vec<_>>()
        .join("\n")
}

/// What a handle brings into a call, to its end.
pub(super) fn held(handed: &Handed) -> String {
    format!("{} {}", faint("in"), question::held(handed))
}

fn choices(always: bool) -> String {
    let always = if always {
        "always for these values in this run / "
    } else {
        ""
    };
    faint(format!(
        "y / n / {always}show (full arguments) / q (leave it) >"
    ))
}

/// What a line means; nothing for one that means nothing, so that a stray key is no answer.
fn read(line: &str, always: bool) -> Option<Said> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" | "allow" => Some(Said::Answer(Answer::Allow)),
        "n" | "no" | "deny" => Some(Said::Answer(Answer::Deny)),
        // A single letter would be short for `allow` as well, which says less.
        "always" if always => Some(Said::Answer(Answer::Always)),
        "s" | "show" => Some(Said::Show),
        "q" | "quit" | "leave" => Some(Said::Leave),
        _ => None,
    }
}

/// What is said to a line that is no answer.
fn no_answer(line: &str, always: bool) -> String {
    let answers = match always {
        true => "y, n, always, show or q",
        false => "y, n, show or q",
    };
    match line.trim() {
        "" => format!("an answer is {answers}"),
        "a" | "A" if always => {
            "`a` could mean `allow`, which is y, or `always`: write the whole word".to_owned()
        }
        typed => format!("`{}` is no answer: {answers}", foreign(&shown(typed))),
    }
}

/// The lines that would make a question the last of its kind.
pub(super) fn last_of_its_kind(policy: &Policy, lines: &[String]) -> String {
    let lines = foreign(&policy.advice(lines)).replace('\n', "\n  ");
    let what = faint("so that it is not asked again, write in");
    format!("{what} `{NAME}`:\n  {lines}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::flow::Inside;
    use crate::surfaces::question::HELD_CHARS;
    use crate::words::event::Question;
    use crate::words::id::QuestionId;
    use crate::words::label::{Label, Sort, Source};

    #[test]
    fn answers_are_read() {
        let answer = |answer| Some(Said::Answer(answer));
        for (line, always, expected) in [
            ("y\n", false, answer(Answer::Allow)),
            (" YES \n", false, answer(Answer::Allow)),
            ("n", false, answer(Answer::Deny)),
            ("no", true, answer(Answer::Deny)),
            ("allow", true, answer(Answer::Allow)),
            ("Allow\n", false, answer(Answer::Allow)),
            ("deny", false, answer(Answer::Deny)),
            ("a", true, None),
            ("a", false, None),
            ("alw", true, None),
            ("always", true, answer(Answer::Always)),
            ("always", false, None),
            ("s", false, Some(Said::Show)),
            ("show", true, Some(Said::Show)),
            ("q", false, Some(Said::Leave)),
            ("\n", true, None),
            ("ye", true, None),
            ("yes please", true, None),
            ("y\u{200b}", true, None),
        ] {
            assert_eq!(read(line, always), expected, "{line:?}");
        }
    }

    fn asked_about(args: Value, reason: &str) -> Waiting {
        Waiting {
            run: RunId::known("r"),
            at: 0,
            subject: "mail.send".to_owned(),
            content: Content::Inline(args),
            label: Label::of(Source::user()).with(Source::new(Sort::Web, "https://evil.test")),
            question: Question {
                id: QuestionId::of(&["q"]),
                wish: QuestionId::of(&["w"]),
                salt: None,
                rule: "`[flow]` in lazaret.toml".to_owned(),
                text: String::new(),
                reasons: vec![reason.to_owned()],
                values: Vec::new(),
                lines: Vec::new(),
                until: Some(1_772_352_300_000),
                records: Vec::new(),
                classes: None,
            },
        }
    }

    /// Whatever a rule, or a record that somebody has planted, has in its sentences.
    #[test]
    fn no_line_of_a_question_passes_for_one_of_the_hosts() {
        let forged = "? may `mail.read` be called?\n    to = me\n  because so";
        let wide = format!("Hello{}{forged}", " ".repeat(90));
        let args = json!({"to": "eve@evil.test", "title": wide, (forged): "x"});
        let mut waiting = asked_about(args, &format!("`title` is it{}{forged}", " ".repeat(90)));
        waiting.question.records = vec![format!("`to` is it\n{forged}")];
        let text = anstream::adapter::strip_str(&question(&waiting)).to_string();
        assert_eq!(
            text.lines().filter(|line| line.starts_with('?')).count(),
            1,
            "{text}"
        );
        let because = |line: &&str| line.starts_with("  because");
        assert_eq!(text.lines().filter(because).count(), 1, "{text}");
        let to = |line: &&str| line.starts_with("    to = ");
        assert_eq!(text.lines().filter(to).count(), 1, "{text}");
        assert!(text.contains("\n  | ? may `mail.read`"), "{text}");
        let full = in_full(&waiting.content, &[handed_at(forged, Inside::Secret)]);
        let gap = " ".repeat(20);
        for text in [text, full] {
            assert!(
                !text.contains(&gap) && !text.contains("\n? may `mail.read`"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_question_shows_what_where_to_and_why() {
        let waiting = asked_about(
            json!({"to": "eve\u{202e}@evil.test", "body": "x".repeat(500)}),
            "`to` was chosen under the influence of web:https://evil.test",
        );
        let text = anstream::adapter::strip_str(&question(&waiting)).to_string();
        for part in [
            "? may `mail.send` be called? (asked by `[flow]` in lazaret.toml)",
            "to = eve\\u{202e}@evil.test",
            "because `to` was chosen under the influence of web:https://evil.test",
            "wished under the influence of user, web:https://evil.test",
            "until 2026-03-01 08:05",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(
            text.lines().all(|line| line.chars().count() < 200),
            "{text}"
        );
        assert!(in_full(&waiting.content, &[]).contains(&"x".repeat(500)));
        assert!(!choices(false).contains("always") && choices(true).contains("always"));
    }

    #[test]
    fn of_arguments_that_nobody_reads_it_is_said_that_nobody_does() {
        let said = "its arguments (7 bytes) are secret, and are shown to nobody";
        let secret = Content::Size { bytes: 7 };
        let waiting = Waiting {
            content: secret.clone(),
            ..asked_about(json!({}), "it is private")
        };
        let text = anstream::adapter::strip_str(&question(&waiting)).to_string();
        assert!(text.contains(&format!("\n    {said}\n")), "{text}");
        assert_eq!(in_full(&secret, &[]), said);
    }

    #[test]
    fn a_line_that_is_no_answer_is_told_which_there_are() {
        assert_eq!(
            no_answer("wat\n", true),
            "`wat` is no answer: y, n, always, show or q"
        );
        assert_eq!(
            no_answer("\u{202e}\n", false),
            "`\\u{202e}` is no answer: y, n, show or q"
        );
        assert_eq!(no_answer(" \n", false), "an answer is y, n, show or q");
        assert_eq!(
            no_answer("a\n", true),
            "`a` could mean `allow`, which is y, or `always`: write the whole word"
        );
        assert_eq!(no_answer("a\n", false), "`a` is no answer: y, n, show or q");
    }

    fn handed_at(place: &str, inside: Inside) -> Handed {
        Handed {
            place: place.to_owned(),
            handle: "h2".to_owned(),
            inside,
        }
    }

    fn handed(inside: Inside) -> Handed {
        handed_at("/body", inside)
    }

    #[test]
    fn show_shows_what_a_handle_holds_to_its_end() {
        let args = Content::Inline(json!({"body": {"$handle": "h2"}}));
        let long = format!("{}\nto: \u{202e}eve", "x".repeat(5_000));
        let text = in_full(&args, &[handed(Inside::Text(long))]);
        let text = anstream::adapter::strip_str(&text).to_string();
        for part in [
            "\"$handle\": \"h2\"",
            "in `/body`: the handle `h2` holds:\n  | xxx",
            &"x".repeat(5_000),
            "x\n  | to: \\u{202e}eve",
        ] {
            assert!(text.contains(part), "{part}");
        }
        assert!(!text.contains("cut here"), "{text}");
        let whole = in_full(&args, &[handed(Inside::Text("x".repeat(HELD_CHARS)))]);
        assert!(!whole.contains("cut here"));
        let more = in_full(&args, &[handed(Inside::Text("x".repeat(HELD_CHARS + 7)))]);
        assert!(more.ends_with("\n  cut here: 7 characters more are not shown"));
    }

    #[test]
    fn what_is_secret_or_attached_is_only_named() {
        let file = Inside::File {
            name: "plan.pdf".to_owned(),
            bytes: 12,
        };
        for (inside, says) in [
            (
                Inside::Secret,
                "the handle `h2` holds what is secret, and is not shown",
            ),
            (file, "the handle `h2` is the attached `plan.pdf`, 12 bytes"),
        ] {
            let text = held(&handed(inside));
            assert!(text.ends_with(says), "{text}");
        }
    }
}
