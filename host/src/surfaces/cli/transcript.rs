//! The transcript: what happens in a run, as a person reads it.

use std::collections::BTreeMap;

use crate::surfaces::paint::{bad, faint, foreign, good, strong, warn};
use crate::words::event::{
    Answer, Brought, Content, EffectKind, End, Event, Glimpse, Judged, Record, Sight, Started,
    Stopped, Verdict,
};
use crate::words::id::Seq;
use crate::words::message::{Reply, WishedArgs};

use super::print;

/// Characters of a value on one line.
const LINE_CHARS: usize = 100;

/// What has been printed so far, as far as later lines refer to it.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    judged: BTreeMap<Seq, Judged>,
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
    pub(super) fn going_on(&self, sight: &Sight) -> Option<String> {
        match sight {
            Sight::Record(record) => match &record.event {
                Event::Prompted {
                    turn,
                    turns_max,
                    model,
                    ..
                } => Some(format!("[{turn}/{turns_max}] asking {model}")),
                Event::Judged(judged) if judged.effect == EffectKind::Call => {
                    Some(format!("running {}", judged.subject))
                }
                Event::Started(_)
                | Event::Brought(_)
                | Event::Replied { .. }
                | Event::Judged(_)
                | Event::Finished(_)
                | Event::Scripted(_)
                | Event::Rested { .. }
                | Event::Paused { .. }
                | Event::Answered { .. }
                | Event::Expired { .. }
                | Event::Resumed
                | Event::Observed { .. }
                | Event::Stopped(_) => None,
            },
            Sight::Glimpse {
                glimpse: Glimpse::Progress { tool, message, .. },
                ..
            } => Some(format!("{tool}: {message}")),
            Sight::Glimpse {
                glimpse: Glimpse::Said { message, .. },
                ..
            } => Some(foreign(message)),
            Sight::Glimpse {
                glimpse: Glimpse::Text { .. } | Glimpse::Thought { .. },
                ..
            } => None,
        }
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
            } => Some(faint(format!("[{turn}/{turns_max}] {}", foreign(model)))),
            Event::Replied { reply, .. } => lines_of_reply(reply),
            Event::Judged(judged) => {
                let line = line_of_judgement(judged);
                if matches!(judged.verdict, Verdict::Allow { .. }) {
                    self.judged.insert(record.seq, judged.clone());
                }
                line
            }
            Event::Finished(finished) => {
                let judged = self.judged.remove(&finished.of)?;
                line_of_end(&judged, &finished.end, finished.spent.us)
            }
            Event::Observed {
                tool, observation, ..
            } => {
                let mark = if observation.ok {
                    good("←")
                } else {
                    bad("←")
                };
                Some(format!(
                    "  {mark} {} {}",
                    foreign(tool),
                    faint(short(&observation.text))
                ))
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
            Event::Answered { question, answer } => {
                let word = match answer {
                    Answer::Allow => good("allowed"),
                    Answer::Always => good("allowed for this run"),
                    Answer::Deny => bad("denied"),
                };
                Some(format!("{word} {}", faint(format!("question {question}"))))
            }
            Event::Expired { question } => Some(format!(
                "{} {}",
                warn("not answered in time"),
                faint(format!("question {question}"))
            )),
            Event::Resumed => Some(strong("goes on")),
            Event::Stopped(stopped) => Some(line_of_stop(stopped)),
        }
    }
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
    format!("{} {}{goal}", strong("run"), foreign(&started.subject))
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
            "    {} {} {}",
            warn("asked"),
            foreign(&question.text),
            faint(format!("({})", question.id))
        )),
        Verdict::Deny(denial) => {
            let rule = faint(format!("({})", foreign(&denial.rule)));
            Some(format!(
                "    {} {} {rule}",
                bad("denied"),
                foreign(&denial.reason)
            ))
        }
    }
}

fn line_of_stop(stopped: &Stopped) -> String {
    let end = match &stopped.end {
        End::Done { .. } => good("done"),
        End::Failed { message, .. } => format!("{}: {}", bad("failed"), foreign(message)),
    };
    let tokens = stopped.usage.input_tokens + stopped.usage.output_tokens;
    let cost = if tokens == 0 {
        String::new()
    } else {
        format!(", {tokens} tokens")
    };
    if stopped.turns == 0 {
        return end;
    }
    format!(
        "{end} {}",
        faint(format!(
            "after {}{cost}",
            print::counted(stopped.turns.try_into().unwrap_or(0), "turn")
        ))
    )
}

/// Effects of a tool stand under it; a model's call is told by what the model observes.
fn line_of_end(judged: &Judged, end: &End, us: u64) -> Option<String> {
    let subject = foreign(&judged.subject);
    let word = match judged.effect {
        EffectKind::Show => return None,
        EffectKind::Call if judged.origin == "model" => return None,
        EffectKind::Call => return Some(line_of_call_end(&subject, end, us)),
        EffectKind::Fetch => "fetch",
        EffectKind::File => "file",
        EffectKind::Keep => "keep",
    };
    let size = match end {
        End::Done {
            content: Content::Size { bytes },
        } => format!("{bytes} B, "),
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

fn line_of_call_end(subject: &str, end: &End, us: u64) -> String {
    let (mark, text) = match end {
        End::Done {
            content: Content::Inline(value),
        } => (good("←"), short(&value.to_string())),
        End::Done {
            content: Content::Empty | Content::Stored { .. } | Content::Size { .. },
        } => (good("←"), String::new()),
        End::Failed { message, .. } => (bad("←"), short(message)),
    };
    format!("  {mark} {subject} {}", faint(format!("{text} ({us} µs)")))
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
