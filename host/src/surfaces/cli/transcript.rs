//! The transcript: what happens in a run, as a person reads it.

mod attempt;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::rules::budget::is_overspending;
use crate::rules::fetch::reason::Reason;
use crate::rules::flow::handles::handle_in;
use crate::rules::policy::Policy;
use crate::surfaces::paint::{bad, faint, foreign, good, marked, phrase, strong, warn};
use crate::words::error::{Code, IN_DOUBT};
use crate::words::event::{
    Answer, Brought, Compacted, Content, Denial, EffectKind, End, Event, Finished, Judged, Record,
    Sight, Started, Stopped, TracedWith, Verdict,
};
use crate::words::id::Seq;
use crate::words::length::cut;
use crate::words::message::{Observation, Reply, WishedArgs};

use super::going::Going;
use super::print;

/// Characters of a value on one line.
const LINE_CHARS: usize = 100;

/// What has been printed so far, as far as later lines refer to it.
#[derive(Debug)]
pub(super) struct Transcript<'a> {
    /// What the lines that would allow something are added to.
    policy: &'a Policy,
    judged: BTreeMap<Seq, Judged>,
    /// What was held back of calls, as a person reads it.
    held: BTreeMap<Seq, String>,
    /// How many wishes were denied.
    denied: usize,
    /// What was, until it is told what would have allowed it: that is told together, since a file has each table once.
    refused: Vec<Verdict>,
    /// The turn, and the most there may be.
    turns: (u32, u32),
    /// Whether somebody else says why the run has failed.
    is_live: bool,
}

impl<'a> Transcript<'a> {
    /// Of a run, for whoever may write this policy.
    pub(super) fn of(policy: &'a Policy) -> Self {
        Self {
            policy,
            judged: BTreeMap::new(),
            held: BTreeMap::new(),
            denied: 0,
            refused: Vec::new(),
            turns: (0, 0),
            is_live: false,
        }
    }

    /// The same of a run that goes on after these records; why it fails is said by whoever ends it, and no second time.
    pub(super) fn live(policy: &'a Policy, earlier: &[Record]) -> Self {
        let mut transcript = Self::of(policy);
        for record in earlier {
            let _said_before = transcript.line(record);
        }
        transcript.refused.clear();
        transcript.is_live = true;
        transcript
    }

    /// Prints what was seen, if it is worth a line.
    pub(super) fn print(&mut self, sight: &Sight) {
        match sight {
            Sight::Record(record) => {
                if let Some(line) = self.line(record) {
                    print::note(line);
                }
            }
            // The whole text is printed when it is there.
            Sight::Glimpse { .. } => {}
        }
    }

    /// What is going on now, for the spinner (O-47).
    pub(super) fn going_on(&self, sight: &Sight) -> Option<Going> {
        match sight {
            // A call by a script; those of a model are a step.
            Sight::Record(record) => self.call_by_script(record).map(Going::from),
            Sight::Glimpse { glimpse, .. } => Going::of(glimpse),
        }
    }

    fn call_by_script(&self, record: &Record) -> Option<String> {
        let judged = match self.judged.get(&record.seq) {
            Some(judged) if judged.effect == EffectKind::Call && judged.origin != "model" => judged,
            Some(_) | None => return None,
        };
        let (turn, most) = self.turns;
        let turns = if turn == 0 {
            String::new()
        } else {
            format!("[{turn}/{most}] ")
        };
        Some(format!("{turns}running {}", judged.subject))
    }

    /// The line of an end; of a model's call there is none before the model has observed it.
    fn line_of_finish(&mut self, finished: &Finished) -> Option<String> {
        let judged = self.judged.remove(&finished.of)?;
        if is_overspending(&judged) {
            let what = format!(
                "beyond {}, as a person has allowed",
                phrase(&judged.subject)
            );
            return Some(format!("  {}", faint(what)));
        }
        let line = line_of_end(&judged, finished);
        if let (None, Some(held)) = (&line, held(finished)) {
            self.held.insert(finished.of, held);
        }
        line
    }

    /// The line of a record, or lines.
    pub(super) fn line(&mut self, record: &Record) -> Option<String> {
        match &record.event {
            Event::Started(started) => Some(line_of_start(started)),
            Event::Brought(brought) => Some(line_of_brought(brought)),
            Event::Prompted {
                turn,
                turns_max,
                model,
                ..
            } => {
                self.turns = (*turn, *turns_max);
                Some(faint(format!("[{turn}/{turns_max}] {}", phrase(model))))
            }
            Event::Attempted(attempted) => Some(attempt::line(attempted)),
            Event::Replied { reply, .. } => lines_of_reply(reply),
            Event::Judged(judged) => self.line_of_judged(record.seq, judged),
            Event::Finished(finished) => self.line_of_finish(finished),
            Event::Observed {
                tool, observation, ..
            } => {
                let held = self.held.remove(&record.parent);
                Some(line_of_observation(tool, observation, held))
            }
            Event::Scripted(scripted) => Some(format!(
                "  {}",
                faint(format!(
                    "script begins in engine {}",
                    scripted.engine.short()
                ))
            )),
            Event::Rested { place } => Some(format!("  {}", faint(format!("rested ({place})")))),
            Event::Paused { questions } => Some(self.at_its_end(line_of_pause(questions.len()))),
            Event::Answered {
                question,
                answer,
                reason,
            } => {
                let word = match answer {
                    Answer::Allow => good("allowed"),
                    Answer::Always => good("allowed for this run"),
                    Answer::Deny => bad("denied"),
                };
                let said = because(reason);
                Some(format!(
                    "{word}{said} {}",
                    faint(format!("question {question}"))
                ))
            }
            Event::Expired { question } => Some(format!(
                "{} {}",
                warn("not answered in time"),
                faint(format!("question {question}"))
            )),
            Event::Resumed { traced } => Some(format!("{}{}", strong("goes on"), told_of(traced))),
            Event::Overspent(over) => Some(format!("{} {over}", warn("over budget:"))),
            Event::Compacted(compacted) => Some(line_of_compaction(compacted)),
            Event::Stopped(stopped) => {
                let line = line_of_stop(stopped, self.denied, self.is_live);
                Some(self.at_its_end(line))
            }
        }
    }

    /// A decision, which later lines speak of.
    fn line_of_judged(&mut self, seq: Seq, judged: &Judged) -> Option<String> {
        match &judged.verdict {
            Verdict::Allow { .. } => {
                self.judged.insert(seq, judged.clone());
            }
            Verdict::Deny(denial) if is_mistake(denial) => {}
            Verdict::Deny(_) => {
                self.denied = self.denied.saturating_add(1);
                self.refused.push(judged.verdict.clone());
            }
            Verdict::Ask(_) => {}
        }
        line_of_judgement(judged)
    }

    /// The last line of what a run has done here, and what would have allowed what was denied.
    fn at_its_end(&mut self, line: String) -> String {
        match self.rest() {
            Some(advice) => format!("{line}\n{advice}"),
            None => line,
        }
    }

    /// What would have allowed all that was denied, where it is not told yet.
    pub(super) fn rest(&mut self) -> Option<String> {
        let refused = std::mem::take(&mut self.refused);
        let hints = self.policy.hints(&refused);
        let said = hints.iter().map(|hint| {
            let hint = foreign(hint).replace('\n', "\n    ");
            faint(format!("  {hint}"))
        });
        let said: Vec<String> = said.collect();
        (!said.is_empty()).then(|| said.join("\n"))
    }
}

fn line_of_compaction(compacted: &Compacted) -> String {
    let about = if compacted.estimated { "about " } else { "" };
    let (before, after) = (compacted.before_tokens, compacted.after_tokens);
    let turns = usize::try_from(compacted.turns).unwrap_or(usize::MAX);
    let noted = match (compacted.noted(), compacted.after.len()) {
        (_, 0) => String::new(),
        (said, all) => format!(
            "; {said} of {} had something to say",
            print::counted(all, "tool")
        ),
    };
    let what = format!(
        "{} folded into a summary by {}: {about}{before} tokens before, {after} now{noted}",
        print::counted(turns, "turn"),
        phrase(&compacted.by),
    );
    faint(what)
}

fn line_of_pause(questions: usize) -> String {
    let why = match questions {
        0 => "ready to go on".to_owned(),
        many => format!("waits for {}", print::counted(many, "answer")),
    };
    format!("{} {}", warn("left"), faint(why))
}

fn line_of_brought(brought: &Brought) -> String {
    let (handle, label) = (short(&brought.handle), short(&brought.label.to_string()));
    let from = phrase(brought.from.as_str());
    let whence = format!("({handle} of run {from}: {label})");
    format!(
        "  {} {} {}",
        strong("with"),
        phrase(&brought.name),
        faint(whence)
    )
}

fn line_of_start(started: &Started) -> String {
    let goal = if started.goal.is_empty() {
        String::new()
    } else {
        format!(": {}", short(&started.goal))
    };
    let session = started.session.as_ref().map(|session| {
        let (place, name) = (session.place.saturating_add(1), phrase(&session.name));
        format!(" {}", faint(format!("({place} of session {name})")))
    });
    let session = session.unwrap_or_default();
    let attached = started.attached.iter();
    let attached = attached.map(|one| format!("\n  {}", faint(phrase(&format!("with {one}")))));
    let beside: String = attached.chain([told_of(&started.traced)]).collect();
    format!(
        "{} {}{session}{goal}{beside}",
        strong("run"),
        phrase(&started.subject)
    )
}

/// Who is told of the run, a line for each secret.
fn told_of(traced: &[TracedWith]) -> String {
    let line = |with: &TracedWith| {
        let TracedWith { to, header, secret } = with;
        let told = format!("traced to {to}, with the secret {secret} in header `{header}`");
        format!("\n  {}", faint(phrase(&told)))
    };
    traced.iter().map(line).collect()
}

fn lines_of_reply(reply: &Reply) -> Option<String> {
    let calls = reply.calls.iter().map(|call| {
        let args = match &call.args {
            WishedArgs::Json(args) => short(&args.to_string()),
            WishedArgs::Broken(text) => short(text),
        };
        format!(
            "  {} {} {}",
            strong("→"),
            strong(phrase(&call.tool)),
            faint(args)
        )
    });
    let aside = !reply.text.is_empty() && !reply.calls.is_empty();
    let said = aside.then(|| format!("  {}", short(&reply.text)));
    let lines: Vec<String> = said.into_iter().chain(calls).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// A denial; and a call that no model wished, which no reply has shown yet.
fn line_of_judgement(judged: &Judged) -> Option<String> {
    match &judged.verdict {
        Verdict::Allow { .. } if judged.effect == EffectKind::Call && judged.origin != "model" => {
            let args = match &judged.content {
                Content::Inline(args) => short(&args.to_string()),
                Content::Empty | Content::Stored { .. } | Content::Size { .. } => String::new(),
            };
            Some(format!(
                "  {} {} {}",
                strong("→"),
                strong(phrase(&judged.subject)),
                faint(args)
            ))
        }
        Verdict::Allow { .. } => None,
        Verdict::Ask(question) => Some(format!(
            "    {} about {} {}",
            warn("asked"),
            phrase(&judged.subject),
            faint(format!("({})", question.id))
        )),
        Verdict::Deny(denial) => {
            let rule = faint(format!("({})", phrase(&denial.rule)));
            Some(format!(
                "    {} {} {rule}",
                bad(if is_mistake(denial) {
                    "wrong"
                } else {
                    "denied"
                }),
                marked(&denial.reason),
            ))
        }
    }
}

/// Whether nothing was decided: the arguments do not fit the tool, or there is no such tool, no such handle, or it is no
/// request. A rule of policy has a name of its own.
pub(super) fn is_mistake(denial: &Denial) -> bool {
    let mistakes = [Code::BadArgs, Code::UnknownTool, Code::NotFound].map(Code::envelope);
    let rule = denial.rule.as_str();
    mistakes.contains(&rule) || rule == Reason::Malformed.word()
}

fn line_of_stop(stopped: &Stopped, denied: usize, is_live: bool) -> String {
    let end = match &stopped.end {
        End::Done { .. } => good("done"),
        End::Failed { .. } if is_live => bad("failed"),
        End::Failed { message, .. } => format!("{}: {}", bad("failed"), marked(message)),
    };
    let usage = &stopped.usage;
    let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
    let cost = match (tokens, stopped.usage.cost) {
        (0, _) => String::new(),
        (_, cost) if cost.micros == 0 => format!(", {tokens} tokens"),
        (_, cost) => format!(", {tokens} tokens, cost {cost}"),
    };
    let denied = match denied {
        0 => String::new(),
        _ => format!(", {denied} denied"),
    };
    if stopped.turns == 0 {
        return format!("{end}{}", faint(denied));
    }
    format!(
        "{end} {}",
        faint(format!(
            "after {}{cost}{denied}",
            print::counted(stopped.turns.try_into().unwrap_or(0), "turn")
        ))
    )
}

/// What a model reads of a call; in place of what it was given the handle of, what a person reads of that.
fn line_of_observation(tool: &str, observation: &Observation, held: Option<String>) -> String {
    let mark = if observation.ok {
        good("←")
    } else {
        bad("←")
    };
    let text = held.unwrap_or_else(|| short(&observation.text));
    format!("  {mark} {} {}", phrase(tool), faint(text))
}

/// What a list has, as its size says.
fn entries(count: usize) -> String {
    match count {
        1 => "1 entry".to_owned(),
        _ => format!("{count} entries"),
    }
}

/// Effects of a tool stand under it; a model's call is told by what the model observes.
fn line_of_end(judged: &Judged, finished: &Finished) -> Option<String> {
    let (subject, us) = (phrase(&judged.subject), finished.spent.us);
    let word = match judged.effect {
        EffectKind::Show => return None,
        EffectKind::Call if judged.origin == "model" => return None,
        EffectKind::Call => return Some(line_of_call_end(&subject, finished)),
        EffectKind::Fetch => "fetch",
        EffectKind::File => "file",
        EffectKind::Keep => "keep",
    };
    let size = match &finished.end {
        End::Done {
            content: Content::Size { bytes },
        } if judged.effect == EffectKind::File && subject.starts_with("list ") => {
            format!("{}, ", entries(*bytes))
        }
        End::Done {
            content: Content::Size { bytes },
        } => format!("{} B, ", (*bytes).max(written(judged))),
        End::Done {
            content: Content::Empty | Content::Inline(_) | Content::Stored { .. },
        } => String::new(),
        End::Failed { message, .. } => {
            let word = match message.contains(IN_DOUBT) {
                true => warn("in doubt"),
                false => bad("failed"),
            };
            format!("{word}: {}, ", marked(message))
        }
    };
    Some(format!(
        "    {} {subject} {}",
        faint(word),
        faint(format!("({size}{us} µs)"))
    ))
}

/// How much a file was given: what comes back of that is nothing.
fn written(judged: &Judged) -> usize {
    match (judged.effect, &judged.content) {
        (EffectKind::File, Content::Size { bytes }) => *bytes,
        (
            EffectKind::Call
            | EffectKind::Fetch
            | EffectKind::File
            | EffectKind::Keep
            | EffectKind::Show,
            Content::Empty | Content::Inline(_) | Content::Stored { .. } | Content::Size { .. },
        ) => 0,
    }
}

/// What was held back, and who is behind it, where whoever wished was told the card of a handle. Of a failure its words as
/// well: the person whose run it is may read what its model may not.
fn held(finished: &Finished) -> Option<String> {
    let told = finished.told.as_ref()?;
    let name = handle_in(told)?;
    let sources = told.get("label").and_then(Value::as_array);
    let sources = sources.into_iter().flatten().filter_map(Value::as_str);
    let sources: Vec<&str> = sources.collect();
    let held = format!(
        "held as {name}, under the influence of {}",
        sources.join(", ")
    );
    Some(match &finished.end {
        End::Done { .. } => short(&held),
        End::Failed { code, message, .. } => {
            let failed = short(&format!("failed ({}), {held}", code.word()));
            format!("{failed}\n      {}", short(message))
        }
    })
}

fn line_of_call_end(subject: &str, finished: &Finished) -> String {
    let us = finished.spent.us;
    if let Some(text) = held(finished) {
        let mark = match &finished.end {
            End::Done { .. } => good("←"),
            End::Failed { .. } => bad("←"),
        };
        let text = faint(format!("{text} ({us} µs)"));
        return format!("  {mark} {subject} {text}");
    }
    let (mark, text) = match &finished.end {
        End::Done {
            content: Content::Inline(value),
        } => (good("←"), short(&value.to_string())),
        End::Done {
            content: Content::Empty | Content::Stored { .. } | Content::Size { .. },
        } => (good("←"), String::new()),
        End::Failed { message, .. } => (bad("←"), short(message)),
    };
    let steps = match finished.remade {
        Some(_) => ", changed by steps",
        None => "",
    };
    let text = faint(format!("{text} ({us} µs{steps})"));
    format!("  {mark} {subject} {text}")
}

/// A text on one line, inert and cut.
pub(super) fn short(text: &str) -> String {
    cut(foreign(text).replace(['\n', '\t'], " "), LINE_CHARS)
}

/// Why somebody has said no, where they have said why.
pub(super) fn because(reason: &str) -> String {
    match reason {
        "" => String::new(),
        reason => format!(": {}", marked(reason)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::gate::unfit;
    use crate::words::error::Error;
    use crate::words::event::Spent;
    use crate::words::id::{Place, RunId, ToolName};
    use crate::words::label::Label;
    use crate::words::message::{ToolCall, Usage};

    fn record(seq: Seq, event: Event) -> Record {
        Record {
            run: RunId::known("r"),
            seq,
            at: 0,
            parent: 1,
            event,
        }
    }

    /// A call, and what the gate said.
    fn judged(origin: &str, verdict: Verdict) -> Record {
        let judged = Judged {
            effect: EffectKind::Call,
            subject: "mail.read".to_owned(),
            component: None,
            origin: origin.to_owned(),
            place: Place::default(),
            content: Content::Empty,
            label: Label::default(),
            weighed: Vec::new(),
            given: BTreeMap::new(),
            verdict,
        };
        record(1, Event::Judged(judged))
    }

    /// The end of that call, which has failed, and whose words are held.
    fn failed() -> Record {
        let label = ["user", "web:https://evil.test"];
        let finished = Finished {
            of: 1,
            end: End::Failed {
                code: Code::GuestFailed,
                message: "there is no letter\n`m9`\u{202e}".to_owned(),
                issues: Vec::new(),
                retryable: false,
            },
            label: Label::default(),
            told: Some(json!({"$handle": "h1", "label": label, "failed": "it failed"})),
            remade: None,
            touched: BTreeMap::new(),
            read: None,
            wrote: None,
            spent: Spent::default(),
        };
        record(2, Event::Finished(finished))
    }

    #[test]
    fn a_failure_whose_words_are_held_is_told_as_one() {
        let policy = Policy::nothing("lazaret.toml");
        let observed = Event::Observed {
            call: "1".to_owned(),
            tool: "mail.read".to_owned(),
            observation: Observation {
                text: "it failed; what it said is held".to_owned(),
                ok: false,
                label: Label::default(),
                flags: Vec::new(),
            },
            failed: Some(Code::GuestFailed),
            kept: None,
        };
        for origin in ["model", "script"] {
            let mut transcript = Transcript::of(&policy);
            let rule = "a line".to_owned();
            transcript.line(&judged(origin, Verdict::Allow { rule }));
            let ended = transcript.line(&failed());
            assert_eq!(ended.is_none(), origin == "model");
            let line = match ended {
                Some(line) => line,
                None => transcript.line(&record(3, observed.clone())).unwrap(),
            };
            let mark = bad("←");
            for part in [
                mark.as_str(),
                "failed (guest_failed), held as h1, under the influence of user, web:https://evil.test",
                "\n      there is no letter `m9`\\u{202e}",
            ] {
                assert!(line.contains(part), "{origin}: {part}: {line}");
            }
        }
    }

    /// Of an imported run somebody else has written all, and of any other a model or tool much.
    #[test]
    fn what_others_have_written_stays_on_its_line() {
        let hostile = "x\u{1b}]0;\u{202e}\nhint: y";
        let policy = Policy::nothing("lazaret.toml");
        let brought = Brought {
            name: hostile.to_owned(),
            from: RunId::from(hostile.to_owned()),
            handle: hostile.to_owned(),
            tool: ToolName::parse("mail.read").unwrap(),
            content: Content::Empty,
            label: Label::default(),
        };
        let wished = Reply {
            calls: vec![ToolCall {
                id: "1".to_owned(),
                tool: hostile.to_owned(),
                args: WishedArgs::Json(json!({})),
            }],
            ..Reply::default()
        };
        let observed = Event::Observed {
            call: "1".to_owned(),
            tool: hostile.to_owned(),
            observation: Observation {
                text: "a".to_owned(),
                ok: false,
                label: Label::default(),
                flags: Vec::new(),
            },
            failed: None,
            kept: None,
        };
        let mut transcript = Transcript::of(&policy);
        let lines = [
            line_of_brought(&brought),
            lines_of_reply(&wished).unwrap(),
            transcript.line(&record(3, observed)).unwrap(),
        ];
        for line in lines {
            assert!(line.contains("\\u{202e}"), "{line}");
            assert!(!line.contains(['\n', '\u{202e}']), "{line}");
            assert!(!line.contains("\u{1b}]"), "{line}");
        }
    }

    #[test]
    fn a_mistake_is_no_denial_and_a_denial_is_no_mistake() {
        let policy = Policy::nothing("lazaret.toml");
        let of = |code: Code| unfit(&Error::new(code, "so it is"));
        let by = |rule: &str| Denial {
            rule: rule.to_owned(),
            reason: "so it is".to_owned(),
            allow: Vec::new(),
        };
        for (denial, word) in [
            (of(Code::BadArgs), "wrong"),
            (of(Code::UnknownTool), "wrong"),
            (of(Code::NotFound), "wrong"),
            (by("malformed"), "wrong"),
            (of(Code::BadSurface), "denied"),
            (of(Code::Unconfirmed), "denied"),
            (by("blocked_tool"), "denied"),
            (by("flow_secret"), "denied"),
        ] {
            let mut transcript = Transcript::of(&policy);
            let rule = denial.rule.clone();
            let line = transcript.line(&judged("model", Verdict::Deny(denial)));
            assert!(line.unwrap().contains(word), "{rule}");
            let end = End::Done {
                content: Content::Empty,
            };
            let stopped = Stopped {
                end,
                turns: 1,
                usage: Usage::default(),
                limit: None,
            };
            let line = transcript.line(&record(2, Event::Stopped(stopped)));
            let counts = line.unwrap().contains(", 1 denied");
            assert_eq!(counts, word == "denied", "{rule}");
        }
    }

    /// A run that goes on counts on, and says why it has failed where nobody else does.
    #[test]
    fn what_was_denied_before_is_counted_and_why_a_live_run_failed_is_said_once() {
        let policy = Policy::nothing("lazaret.toml");
        let denied = judged("model", Verdict::Deny(crate::rules::deny("flow", "no")));
        let end = End::Failed {
            code: Code::FetchFailed,
            message: "it broke".to_owned(),
            issues: Vec::new(),
            retryable: false,
        };
        let stopped = Stopped {
            end,
            turns: 3,
            usage: Usage::default(),
            limit: None,
        };
        let stopped = record(2, Event::Stopped(stopped));
        let mut live = Transcript::live(&policy, &[denied.clone(), denied.clone()]);
        live.line(&denied);
        let line = live.line(&stopped).unwrap();
        assert!(line.contains(", 3 denied"), "{line}");
        assert!(
            line.contains("failed") && !line.contains("it broke"),
            "{line}"
        );
        let line = Transcript::of(&policy).line(&stopped).unwrap();
        assert!(line.contains("it broke"), "{line}");
    }

    /// Pasted below what is there, a table that is there already would be a key twice.
    #[test]
    fn lines_that_would_allow_it_are_added_to_the_tables_that_are_there() {
        let mut policy = Policy::nothing("lazaret.toml");
        let denial = Denial {
            rule: "flow_witness".to_owned(),
            reason: "nobody has named it".to_owned(),
            allow: vec!["[flow.tools.\"a.b\"]\nvouch = [\"m1\"]".to_owned()],
        };
        let other = Denial {
            allow: vec!["[flow.tools.\"a.b\"]\nvouch = [\"m2\"]".to_owned()],
            ..denial.clone()
        };
        // Whoever is refused the same four times is told once, and two values stand in one table.
        let line = |policy: &Policy| {
            let mut transcript = Transcript::of(policy);
            for denial in [&denial, &denial, &other, &denial] {
                let denied = judged("model", Verdict::Deny(denial.clone()));
                assert!(!transcript.line(&denied).unwrap().contains("to allow it"));
            }
            let told = transcript.rest().unwrap();
            assert_eq!(told.matches("to allow it").count(), 1, "{told}");
            assert_eq!(transcript.rest(), None);
            told
        };
        let head = "  to allow it, write in `lazaret.toml`:\n    ";
        let new = line(&policy);
        let lines = format!("{head}[flow.tools.\"a.b\"]\n    vouch = [\"m1\", \"m2\"]");
        assert!(new.contains(&lines), "{new}");
        let tool = ToolName::parse("a.b").unwrap();
        policy.flows.tools.entry(tool).or_default();
        let beside = line(&policy);
        let lines = format!(
            "{head}in [flow.tools.\"a.b\"], which is there already, add or change:\n    vouch = [\"m1\", \"m2\"]"
        );
        assert!(beside.contains(&lines), "{beside}");
    }
}
