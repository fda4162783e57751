//! The transcript: what happens in a run, as a person reads it.

mod attempt;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::rules::advice;
use crate::rules::budget::is_overspending;
use crate::rules::flow::handles::handle_in;
use crate::surfaces::config::NAME;
use crate::surfaces::paint::{bad, faint, foreign, good, strong, warn};
use crate::words::error::Code;
use crate::words::event::{
    Answer, Brought, Compacted, Content, Denial, EffectKind, End, Event, Finished, Judged, Record,
    Sight, Started, Stopped, TracedWith, Verdict,
};
use crate::words::id::Seq;
use crate::words::message::{Observation, Reply, WishedArgs};

use super::going::Going;
use super::print;

/// Characters of a value on one line.
const LINE_CHARS: usize = 100;

/// What has been printed so far, as far as later lines refer to it.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    judged: BTreeMap<Seq, Judged>,
    /// What was told of calls in place of what came of them.
    told: BTreeMap<Seq, Value>,
    /// How many wishes were denied.
    denied: usize,
    /// The turn, and the most there may be.
    turns: (u32, u32),
}

impl Transcript {
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
            Sight::Record(record) => self.script_s_call(record).map(Going::from),
            Sight::Glimpse { glimpse, .. } => Going::of(glimpse),
        }
    }

    fn script_s_call(&self, record: &Record) -> Option<String> {
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
                foreign(&judged.subject)
            );
            return Some(format!("  {}", faint(what)));
        }
        let line = line_of_end(&judged, finished);
        if let (None, Some(told)) = (&line, &finished.told) {
            self.told.insert(finished.of, told.clone());
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
                Some(faint(format!("[{turn}/{turns_max}] {}", foreign(model))))
            }
            Event::Attempted(attempted) => Some(attempt::line(attempted)),
            Event::Replied { reply, .. } => lines_of_reply(reply),
            Event::Judged(judged) => {
                let line = line_of_judgement(judged);
                match &judged.verdict {
                    Verdict::Allow { .. } => {
                        self.judged.insert(record.seq, judged.clone());
                    }
                    Verdict::Deny(denial) if is_misfit(denial) => {}
                    Verdict::Deny(_) => self.denied = self.denied.saturating_add(1),
                    Verdict::Ask(_) => {}
                }
                line
            }
            Event::Finished(finished) => self.line_of_finish(finished),
            Event::Observed {
                tool, observation, ..
            } => {
                let told = self.told.remove(&record.parent);
                Some(line_of_observation(tool, observation, told.as_ref()))
            }
            Event::Scripted(scripted) => Some(format!(
                "  {}",
                faint(format!(
                    "script begins in engine {}",
                    scripted.engine.short()
                ))
            )),
            Event::Rested { place } => Some(format!("  {}", faint(format!("rested ({place})")))),
            Event::Paused { questions } => Some(line_of_pause(questions.len())),
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
            Event::Stopped(stopped) => Some(line_of_stop(stopped, self.denied)),
        }
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
        foreign(&compacted.by),
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
    let whence = format!("({handle} of run {}: {label})", brought.from);
    format!(
        "  {} {} {}",
        strong("with"),
        foreign(&brought.name),
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
        let (place, name) = (session.place.saturating_add(1), foreign(&session.name));
        format!(" {}", faint(format!("({place} of session {name})")))
    });
    let session = session.unwrap_or_default();
    let attached = started.attached.iter();
    let attached = attached.map(|one| format!("\n  {}", faint(foreign(&format!("with {one}")))));
    let beside: String = attached.chain([told_of(&started.traced)]).collect();
    format!(
        "{} {}{session}{goal}{beside}",
        strong("run"),
        foreign(&started.subject)
    )
}

/// Who is told of the run, a line for each secret.
fn told_of(traced: &[TracedWith]) -> String {
    let line = |with: &TracedWith| {
        let TracedWith { to, header, secret } = with;
        let told = format!("traced to {to}, with the secret {secret} in header `{header}`");
        format!("\n  {}", faint(foreign(&told)))
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
            strong(foreign(&call.tool)),
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
                strong(foreign(&judged.subject)),
                faint(args)
            ))
        }
        Verdict::Allow { .. } => None,
        Verdict::Ask(question) => Some(format!(
            "    {} about {} {}",
            warn("asked"),
            foreign(&judged.subject),
            faint(format!("({})", question.id))
        )),
        Verdict::Deny(denial) => {
            let rule = faint(format!("({})", foreign(&denial.rule)));
            Some(format!(
                "    {} {} {rule}{}",
                bad(if is_misfit(denial) { "wrong" } else { "denied" }),
                foreign(&denial.reason),
                lines_that_would(advice::offered(denial))
            ))
        }
    }
}

/// Whether nothing was decided: the arguments do not fit the tool.
fn is_misfit(denial: &Denial) -> bool {
    denial.rule == Code::BadArgs.envelope()
}

/// The lines of policy that would have allowed it, if there are any.
fn lines_that_would(allow: &[String]) -> String {
    if allow.is_empty() {
        return String::new();
    }
    let lines = foreign(&advice::merged(allow)).replace('\n', "\n      ");
    faint(format!(
        "\n      to allow it, write in `{NAME}`:\n      {lines}"
    ))
    .to_string()
}

fn line_of_stop(stopped: &Stopped, denied: usize) -> String {
    let end = match &stopped.end {
        End::Done { .. } => good("done"),
        End::Failed { message, .. } => format!("{}: {}", bad("failed"), foreign(message)),
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

/// What a model reads of a call: of what it was given the handle of, no more than that.
fn line_of_observation(tool: &str, observation: &Observation, told: Option<&Value>) -> String {
    let mark = if observation.ok {
        good("←")
    } else {
        bad("←")
    };
    let text = told.and_then(held);
    let text = text.unwrap_or_else(|| short(&observation.text));
    format!("  {mark} {} {}", foreign(tool), faint(text))
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
    let (subject, us) = (foreign(&judged.subject), finished.spent.us);
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
        End::Failed { message, .. } => format!("{}: {}, ", bad("failed"), foreign(message)),
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

/// What was held back, and who is behind it, where this is the card of a handle.
fn held(told: &Value) -> Option<String> {
    let name = handle_in(told)?;
    let sources = told.get("label").and_then(Value::as_array);
    let sources = sources.into_iter().flatten().filter_map(Value::as_str);
    let sources: Vec<&str> = sources.collect();
    Some(short(&format!(
        "held as {name}, under the influence of {}",
        sources.join(", ")
    )))
}

fn line_of_call_end(subject: &str, finished: &Finished) -> String {
    let us = finished.spent.us;
    if let Some(text) = finished.told.as_ref().and_then(held) {
        let text = faint(format!("{text} ({us} µs)"));
        return format!("  {} {subject} {text}", good("←"));
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
    let flat = foreign(text).replace(['\n', '\t'], " ");
    if flat.chars().count() <= LINE_CHARS {
        return flat;
    }
    let cut: String = flat.chars().take(LINE_CHARS).collect();
    format!("{cut}…")
}

/// Why somebody has said no, where they have said why.
pub(super) fn because(reason: &str) -> String {
    match reason {
        "" => String::new(),
        reason => format!(": {}", foreign(reason)),
    }
}
