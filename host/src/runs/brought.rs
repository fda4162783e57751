//! Runs that begin with what another run holds: a session that is under nobody's influence goes on with single
//! outcomes of one that is.
//!
//! What is taken over is copied into the new run's own records, with its label: the other run may go.

use serde_json::Value;

use super::adopted;
use super::host::Host;
use super::known;
use crate::gate::journal::Provenance;
use crate::rules::flow::handles::{Handles, Made, card, handle_in, size_of, type_of};
use crate::rules::flow::lines::Flows;
use crate::rules::flow::records::Touched;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Brought, Content, End, Event, Record};
use crate::words::id::{is_name, shown};
use crate::words::label::Label;
use crate::words::limits::BROUGHT;

/// A handle of another run, chosen for a run that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The run's name, its beginning, or `last`.
    pub run: String,
    /// The handle's name there.
    pub handle: String,
    /// Its name in the new run.
    pub name: String,
}

impl Chosen {
    /// Reads `RUN:HANDLE` or `RUN:HANDLE=NAME`.
    ///
    /// # Errors
    /// `BadInput` for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |why: &str| {
            let what = format!("`{}` names no handle of a run: {why}", shown(text));
            Err(Error::bad_input(what)
                .hint("write RUN:HANDLE or RUN:HANDLE=NAME, such as last:h1=letter")
                .hint("`lazaret runs show RUN` lists what a run holds"))
        };
        let Some((run, rest)) = text.split_once(':') else {
            return wrong("there is no `:` in it");
        };
        let (handle, name) = rest.split_once('=').unwrap_or((rest, rest));
        if run.is_empty() {
            return wrong("it names no run");
        }
        if handle.is_empty() {
            return wrong("it names no handle");
        }
        if !is_name(name) {
            return wrong(&format!(
                "`{}` is no name: lower-case letters, digits, `-` and `_`",
                shown(name)
            ));
        }
        Ok(Self {
            run: run.to_owned(),
            handle: handle.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl Host {
    /// Finds what was chosen.
    ///
    /// # Errors
    /// `NotFound` for a run or handle that is not there, or is another host's; `BadInput` for two of one name;
    /// `TooBig` for too many; what reading the journal says.
    pub(super) async fn bring(&self, chosen: &[Chosen]) -> Result<Vec<Brought>> {
        if chosen.len() > BROUGHT {
            let what = "the list of handles to begin with";
            return Err(Error::too_many(what, BROUGHT, chosen.len()));
        }
        let mut brought: Vec<Brought> = Vec::new();
        let mut held = Handles::default();
        for one in chosen {
            if brought.iter().any(|known| known.name == one.name) {
                let what = format!("two handles would be called `{}`", one.name);
                let hint = format!("give one another name: {}:{}=NAME", one.run, one.handle);
                return Err(Error::bad_input(what).hint(hint));
            }
            let found = self.bring_one(one).await?;
            if let Content::Inline(value) = &found.content {
                held.hold_as(&found.name, value, &found.label)?;
            }
            brought.push(found);
        }
        Ok(brought)
    }

    async fn bring_one(&self, chosen: &Chosen) -> Result<Brought> {
        let run = self.journal().find(&chosen.run).await?;
        let (mut records, verified) = self.journal().verified(&run).await?;
        if let Some((seq, why)) = verified.broken {
            let what = format!("run `{run}` is not as it was written: record {seq} {why}");
            return Err(Error::new(Code::Corrupt, what).hint(format!("lazaret runs verify {run}")));
        }
        adopted::afterwards(&mut records);
        let gone = || {
            let handle = shown(&chosen.handle);
            Error::not_found(format!("handle `{handle}` in run `{run}`"))
        };
        // Whoever wrote such a record wrote its label as well.
        if verified.provenance == Provenance::Foreign || verified.unchained > 0 {
            return Err(
                gone().hint("the run was imported from another host, and nothing of it goes on")
            );
        }
        let listed = held_in(&records);
        let tool = listed.iter().find(|held| held.name == chosen.handle);
        let names: Vec<&str> = listed.iter().map(|held| held.name.as_str()).collect();
        let hint = match names.is_empty() {
            true => "that run holds nothing".to_owned(),
            false => format!(
                "it holds {}; `lazaret runs show {run}` says what",
                names.join(", ")
            ),
        };
        let handles = known::handles_in(&self.station.gate.policy().flows, &records);
        let (Some(listed), Ok(held)) = (tool, handles.get(&chosen.handle)) else {
            return Err(gone().hint(hint));
        };
        Ok(Brought {
            name: chosen.name.clone(),
            from: run.clone(),
            handle: chosen.handle.clone(),
            tool: listed.tool.clone().try_into()?,
            content: Content::Inline(Value::clone(&held.value)),
            label: held.label.clone(),
        })
    }
}

/// A handle of a run, for people who choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// The tool whose outcome it is.
    pub tool: String,
    /// What it is: `string`, `object`, …
    pub kind: &'static str,
    /// How large it is at most.
    pub bytes: usize,
    /// What influenced it.
    pub label: Label,
}

/// How many bits left the handles of a run, by what it has on record.
#[must_use]
pub fn bits_gone(flows: &Flows, records: &[Record]) -> u32 {
    known::handles_in(flows, records).bits()
}

/// The handles of a run, in order.
#[must_use]
pub fn held_in(records: &[Record]) -> Vec<Listed> {
    records.iter().filter_map(listed).collect()
}

fn listed(record: &Record) -> Option<Listed> {
    if let Event::Brought(brought) = &record.event {
        let Content::Inline(value) = &brought.content else {
            return None;
        };
        return Some(Listed {
            name: brought.name.clone(),
            tool: brought.tool.to_string(),
            kind: type_of(value),
            bytes: size_of(value),
            label: brought.label.clone(),
        });
    }
    let Event::Finished(finished) = &record.event else {
        return None;
    };
    let told = finished.told.as_ref()?;
    let name = handle_in(told)?.to_owned();
    // The person whose run it is may see what its model may not.
    let value = match &finished.end {
        End::Done {
            content: Content::Inline(value),
        } => value.clone(),
        End::Done { .. } => return None,
        End::Failed { message, .. } => Value::from(message.as_str()),
    };
    let tool = told.get("of").and_then(Value::as_str);
    Some(Listed {
        name,
        tool: tool.unwrap_or_default().to_owned(),
        kind: type_of(&value),
        bytes: size_of(&value),
        label: finished.label.clone(),
    })
}

/// What of these records was brought along.
pub(super) fn brought_in(records: &[Record]) -> Vec<Brought> {
    let brought = records.iter().filter_map(|record| {
        let Event::Brought(brought) = &record.event else {
            return None;
        };
        Some(brought.clone())
    });
    brought.collect()
}

/// A goal with the cards of what the run begins with, as its model reads it. Cards are the host's words and values
/// that nobody untrusted has chosen.
pub(super) fn goal_with(goal: &str, brought: &[Brought], flows: &Flows) -> String {
    if brought.is_empty() {
        return goal.to_owned();
    }
    let mut text = format!("{goal}\n\nHeld for you from an earlier run:");
    for one in brought {
        if let Content::Inline(value) = &one.content {
            // A person has chosen it; what it was made of, and by whom, nobody knows here.
            let what = (value, Made::OfHandles);
            let label = (&one.label, &one.label, &Touched::new());
            let card = card(flows, (&one.tool, &one.name), what, label);
            text.push_str(&format!("\n{card}"));
        }
    }
    text
}

/// The records of it, to be appended.
pub(super) fn events(brought: &[Brought]) -> impl Iterator<Item = Event> {
    brought.iter().cloned().map(Event::Brought)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_of_runs_are_named_in_one_way() {
        for (text, expected) in [
            ("last:h1", Some(("last", "h1", "h1"))),
            ("2026:h1=letter", Some(("2026", "h1", "letter"))),
            ("last:letter=h2", Some(("last", "letter", "h2"))),
            ("last", None),
            ("last:", None),
            (":h1", None),
            ("last:h1=", None),
            ("last:h1=My Letter", None),
            ("last:h1=a=b", None),
            ("last:H1", None),
        ] {
            let found = Chosen::parse(text).ok();
            let expected = expected.map(|(run, handle, name)| Chosen {
                run: run.to_owned(),
                handle: handle.to_owned(),
                name: name.to_owned(),
            });
            assert_eq!(found, expected, "{text}");
        }
        let error = Chosen::parse("last:h1=\u{1b}[2J").unwrap_err();
        assert_eq!(error.code(), Code::BadInput);
        assert!(!error.message().contains('\u{1b}'), "{error}");
    }
}
