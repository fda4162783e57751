//! Every text of an event that somebody else may have written: what is cleaned before it is kept.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Content, End, Event, Tried, Verdict, Weighed};
use crate::words::message::{Reply, Thought, WishedArgs};

/// What changes a text, and what changes a value.
pub struct Cleaning<'a> {
    /// For a text.
    pub text: &'a dyn Fn(&mut String),
    /// For the strings of a value.
    pub value: &'a dyn Fn(&mut Value),
}

impl Event {
    /// Cleans what guests, models, servers and persons have written into the event.
    pub fn clean(&mut self, with: &Cleaning<'_>) {
        match self {
            Self::Started(started) => {
                // A client may wish for a tool that there is none of, by any name.
                (with.text)(&mut started.subject);
                (with.text)(&mut started.goal);
                // A client writes the schema of its answer itself.
                started.narrowed.answer.iter_mut().for_each(with.value);
                started.narrowed.vouch.iter_mut().for_each(with.text);
                started.narrowed.call.key.iter_mut().for_each(with.text);
                if let Some(session) = &mut started.session {
                    (with.text)(&mut session.name);
                    (with.text)(&mut session.user);
                }
            }
            Self::Brought(brought) => {
                (with.text)(&mut brought.handle);
                clean_content(&mut brought.content, with);
            }
            Self::Attempted(attempted) => match &mut attempted.tried {
                Tried::Failed { message, .. } => (with.text)(message),
                Tried::Skipped { .. } => {}
            },
            Self::Replied { reply, .. } => clean_reply(reply, with),
            Self::Judged(judged) => {
                (with.text)(&mut judged.subject);
                clean_content(&mut judged.content, with);
                clean_weighed(&mut judged.weighed, with);
                clean_given(&mut judged.given, with);
                judged.verdict.clean(with);
            }
            Self::Finished(finished) => {
                clean_end(&mut finished.end, with);
                finished.told.iter_mut().for_each(with.value);
                if let Some(remade) = &mut finished.remade {
                    clean_content(&mut remade.content, with);
                    clean_weighed(&mut remade.weighed, with);
                    remade.verdict.clean(with);
                }
            }
            Self::Compacted(compacted) => {
                (with.text)(&mut compacted.summary);
                (with.text)(&mut compacted.instead);
                for noted in &mut compacted.after {
                    (with.text)(&mut noted.text);
                }
            }
            Self::Stopped(stopped) => clean_end(&mut stopped.end, with),
            Self::Observed {
                call,
                tool,
                observation,
                ..
            } => {
                [call, tool, &mut observation.text]
                    .into_iter()
                    .for_each(with.text);
            }
            Self::Answered { reason, .. } => (with.text)(reason),
            Self::Prompted { .. }
            | Self::Scripted(_)
            | Self::Rested { .. }
            | Self::Paused { .. }
            | Self::Expired { .. }
            | Self::Resumed { .. }
            | Self::Overspent(_) => {}
        }
    }
}

fn clean_reply(reply: &mut Reply, with: &Cleaning<'_>) {
    (with.text)(&mut reply.text);
    // What is signed cannot be cleaned, so it goes as a whole.
    reply.thoughts.retain(|thought| is_clean(thought, with));
    for call in &mut reply.calls {
        (with.text)(&mut call.tool);
        (with.text)(&mut call.id);
        match &mut call.args {
            WishedArgs::Json(args) => (with.value)(args),
            WishedArgs::Broken(text) => (with.text)(text),
        }
    }
}

fn is_clean(thought: &Thought, with: &Cleaning<'_>) -> bool {
    let mut clean = thought.clone();
    (with.text)(&mut clean.text);
    (with.value)(&mut clean.opaque);
    clean.call.iter_mut().for_each(with.text);
    clean == *thought
}

/// Names and texts as one value: a secret may be spread over them.
fn clean_given(given: &mut BTreeMap<String, String>, with: &Cleaning<'_>) {
    let texts = std::mem::take(given).into_iter();
    let mut clean = texts.collect::<Value>();
    (with.value)(&mut clean);
    // Where one is, nothing of them stays.
    *given = serde_json::from_value(clean).unwrap_or_default();
}

fn clean_content(content: &mut Content, with: &Cleaning<'_>) {
    match content {
        Content::Inline(value) => (with.value)(value),
        Content::Empty | Content::Stored { .. } | Content::Size { .. } => {}
    }
}

fn clean_weighed(weighed: &mut [Weighed], with: &Cleaning<'_>) {
    weighed.iter_mut().for_each(|one| one.clean(with));
}

impl Weighed {
    /// Cleans what it says of a value.
    pub fn clean(&mut self, with: &Cleaning<'_>) {
        let texts = [&mut self.argument, &mut self.value, &mut self.witness];
        texts.into_iter().for_each(with.text);
    }
}

impl Verdict {
    /// Cleans what it says of a wish.
    pub fn clean(&mut self, with: &Cleaning<'_>) {
        match self {
            Self::Allow { rule } => (with.text)(rule),
            Self::Deny(denial) => {
                (with.text)(&mut denial.reason);
                denial.allow.iter_mut().for_each(with.text);
            }
            Self::Ask(question) => {
                (with.text)(&mut question.text);
                let more = question.reasons.iter_mut().chain(&mut question.lines);
                more.chain(&mut question.records).for_each(with.text);
            }
        }
    }
}

fn clean_end(end: &mut End, with: &Cleaning<'_>) {
    match end {
        End::Done { content } => clean_content(content, with),
        End::Failed {
            message, issues, ..
        } => {
            (with.text)(message);
            for issue in issues {
                (with.text)(&mut issue.path);
                (with.text)(&mut issue.message);
            }
        }
    }
}
