//! What a guest has heard so far: everything that influences what it wishes next, how often it has asked, and how its
//! last request ended. That something which is under way has not ended yet is heard as well.
//!
//! Shared, since answers of `wasi:http` arrive while the guest runs, apart from its store.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::words::error::{Code, Error};
use crate::words::event::Read;
use crate::words::label::{Label, Source};
use crate::words::lock::lock;

/// What a guest has heard so far. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    read: Read,
    /// What it makes of all it knows, where its tool says that this is secret.
    secret: Option<Source>,
    has_read: bool,
    /// Who has a hand in how long each effect takes that has not ended, in the order in which they were begun.
    under_way: BTreeMap<u64, Label>,
    begun: u64,
    refused: Option<Refused>,
    effects: u32,
}

impl Inner {
    fn learn(&mut self, read: &Read) {
        self.read = self.read.join(read);
        self.has_read = true;
    }

    /// All that it has read, and may see not to have ended.
    fn all(&self) -> Label {
        let under_way = self.under_way.values();
        under_way.fold(self.read.label.clone(), |all, one| all.join(one))
    }
}

/// An effect that a guest waits for. Once nobody does any more before it has ended, its guest has heard that: it was cut off,
/// or has given up.
#[derive(Debug)]
#[must_use = "what is dropped at once was waited for in vain"]
pub(super) struct UnderWay {
    heard: Heard,
    number: u64,
}

impl UnderWay {
    /// It has ended, and this is what its guest is about to read.
    pub(super) fn ended(self, read: &Read) {
        let mut heard = lock(&self.heard.0);
        heard.under_way.remove(&self.number);
        heard.learn(read);
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut heard = lock(&self.heard.0);
        if let Some(awaited) = heard.under_way.remove(&self.number) {
            heard.learn(&waited_for(awaited));
        }
    }
}

/// What nobody has read is at no place.
fn waited_for(label: Label) -> Read {
    Read {
        label,
        ..Read::default()
    }
}

/// A request that was refused.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    pub(super) code: Code,
    /// Advice for whoever may act on it.
    pub(super) hints: Vec<String>,
    /// Whether nobody knows if it has happened, though it must not happen twice.
    pub(super) in_doubt: bool,
}

impl Heard {
    /// Of a guest whose tool says that what it returns is secret, with that source, or says no such thing.
    pub(super) fn of(secret: Option<Source>) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            secret,
            ..Inner::default()
        })))
    }

    /// Everything that it has read, and may have seen not to have ended.
    pub(super) fn read(&self) -> Read {
        let heard = lock(&self.0);
        Read {
            label: heard.all(),
            at: heard.read.at.clone(),
        }
    }

    /// What it brings into its next wish beside its caller. Where its tool says that what it returns is secret, so is
    /// what it knows: nobody sees which part of it the guest wishes with. Before it has read anything it knows what its
    /// caller knows, so where it fetches that from is none; but what it passes on it may have made up itself, as a
    /// password is.
    pub(super) fn brings(&self, passes_on: bool) -> Label {
        let heard = lock(&self.0);
        match &heard.secret {
            Some(secret) if passes_on || heard.has_read => heard.all().with(secret.clone()),
            Some(_) | None => heard.all(),
        }
    }

    /// It begins to wait for something, and whoever is named here has a hand in how long that takes. Nobody is where it is
    /// refused: then it is not even heard that it has not ended.
    pub(super) fn under_way(&self, awaited: Option<Label>) -> UnderWay {
        let mut heard = lock(&self.0);
        let number = heard.begun;
        heard.begun = number.saturating_add(1);
        if let Some(awaited) = awaited {
            heard.under_way.insert(number, awaited);
        }
        UnderWay {
            heard: self.clone(),
            number,
        }
    }

    /// It asks for one more effect; how many it has asked for with this one.
    pub(super) fn count_effect(&self) -> u32 {
        let mut heard = lock(&self.0);
        heard.effects = heard.effects.saturating_add(1);
        heard.effects
    }

    /// Its last request was granted.
    pub(super) fn granted(&self) {
        lock(&self.0).refused = None;
    }

    /// Its last request was refused: a guest that then gives up failed for that reason.
    pub(super) fn refused(&self, error: &Error) {
        lock(&self.0).refused = Some(Refused {
            code: error.code(),
            hints: error.hints().to_vec(),
            in_doubt: error.is_in_doubt(),
        });
    }

    /// Why its last request was refused, if it was.
    pub(super) fn last_refusal(&self) -> Option<Refused> {
        lock(&self.0).refused.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::label::Sort;

    fn web(name: &str) -> Label {
        Label::of(Source::new(Sort::Web, name))
    }

    #[test]
    fn what_has_not_ended_is_heard_as_long_as_it_has_not_and_where_nobody_waits_any_more() {
        let heard = Heard::of(None);
        let under_way = |name| heard.under_way(Some(web(name)));
        let (slow, gone) = (under_way("slow"), under_way("gone"));
        for source in ["slow", "gone"] {
            let (label, brings) = (heard.read().label, heard.brings(false));
            assert!(label.covers(&web(source)) && brings.covers(&web(source)));
        }
        // What is read of it by its end counts, and no longer what could have been.
        slow.ended(&Read::at(web("read")));
        drop(gone);
        let read = heard.read();
        assert_eq!(read.label, web("read").join(&web("gone")));
        assert_eq!(read.at, web("read"));
        assert_eq!(heard.brings(false), read.label);
    }

    #[test]
    fn what_a_secret_tool_passes_on_is_secret_and_so_is_all_after_it_has_read() {
        let secret = Source::new(Sort::Secret, "safe.run");
        let is_secret = |heard: &Heard, passes_on| {
            let label = heard.brings(passes_on);
            label.covers(&Label::default().with(secret.clone()))
        };
        let heard = Heard::of(Some(secret.clone()));
        assert!(!is_secret(&heard, false) && is_secret(&heard, true));
        // That it was refused something is none of what it reads, also where it does not wait for that.
        drop(heard.under_way(None));
        assert!(!is_secret(&heard, false));
        heard.under_way(None).ended(&Read::default());
        assert!(is_secret(&heard, false) && is_secret(&heard, true));
        let plain = Heard::of(None);
        plain.under_way(None).ended(&Read::default());
        assert!(!is_secret(&plain, false) && !is_secret(&plain, true));
    }
}
