//! A call of a tool whose service keeps records: what it writes there is kept with its label, by id, and what it shows is
//! under the label of whoever wrote that.
//!
//! What a call names is labelled before it is made, so that a crash in between leaves too much and never too little. The id
//! of what is new is known when it is there; until then, and where it stays unknown, whatever the service shows may be it.

use std::collections::BTreeSet;

use super::super::apart::Done;
use super::super::guest::Trail;
use super::super::station::Station;
use super::Permitted;
use crate::edges::records::Write;
use crate::rules::call::{Call, Within};
use crate::rules::flow::records::{self, EACH, Hands, Ids, Seen, Touched};
use crate::words::error::{Code, Error, Result};
use crate::words::id::Digest;
use crate::words::label::Label;

/// Runs a tool, with what is known of records of its service around it. In a replay that is on record.
pub(super) async fn visit(
    permitted: Permitted<'_>,
    (call, within): (&Call, Within),
) -> Result<Done> {
    let Permitted {
        station,
        caller,
        seq,
        ..
    } = permitted;
    let policy = station.gate.policy();
    let are_known = records::are_known(&policy.flows, &call.tool);
    if station.recorded.is_some() || !are_known {
        return super::visit(permitted, (call, within)).await;
    }
    let desk = Desk {
        station,
        call,
        place: format!("{} {seq}", caller.run),
        named: records::named(call, caller, policy),
        wished: caller.label.join(&call.held),
    };
    desk.begin().await?;
    match super::visit(permitted, (call, within)).await {
        Ok(done) => desk.end(done).await,
        Err(error) => Err(desk.give_up(error).await),
    }
}

/// One call at a service that keeps records.
struct Desk<'a> {
    station: &'a Station,
    call: &'a Call,
    /// Its run, and its place there.
    place: String,
    /// The records that it names.
    named: Ids,
    /// Whoever wished for it.
    wished: Label,
}

impl Desk<'_> {
    fn service(&self) -> &str {
        self.call.tool.plugin()
    }

    fn writes(&self) -> bool {
        !self.call.declared.effect.leaves_no_trace()
    }

    /// Labels what it names, if it writes; and all else, until it is known what is new.
    async fn begin(&self) -> Result<()> {
        if !self.writes() {
            return Ok(());
        }
        let hands = self.hands(Label::default());
        let write = self.step(Write::Begins);
        self.touch((write, self.named.all.clone()), hands).await
    }

    /// What is new is of interest where a stranger may have had a hand in it.
    fn step(&self, step: impl FnOnce(Digest) -> Write) -> Write {
        match self.tainted().is_empty() {
            true => Write::Named,
            false => step(Digest::of(self.place.as_bytes())),
        }
    }

    /// Whoever nobody trusts, among those who wished for it.
    fn tainted(&self) -> Vec<String> {
        let classes = &self.station.gate.policy().flows.classes;
        classes.blamed(&self.wished)
    }

    /// Labels what it has written, and says what is known of all that it has shown.
    async fn end(&self, mut done: Done) -> Result<Done> {
        let flows = &self.station.gate.policy().flows;
        let said = match &done.result {
            Ok(outcome) => records::returned(flows, &self.call.tool, outcome),
            Err(_) => Ids::default(),
        };
        let failed = done.result.as_ref().err().map(Error::code);
        let kept = match self.writes() {
            true => self.wrote((failed, &done.trail.read.label), &said).await,
            false => Ok(()),
        };
        let mut shown = said.all;
        shown.extend(self.named.all.iter().cloned());
        let labels = &self.station.past.records;
        let found = match kept {
            Ok(()) => labels.of(self.service(), shown).await,
            Err(error) => Err(error),
        };
        match found {
            Ok(found) => {
                let mut seen = Seen::of(&found, &done.trail.read.label);
                seen.handled(&flows.classes, &done.trail.read);
                done.trail.records = self.cleaned(seen);
            }
            Err(error) => done.result = Err(self.unlabelled(error)),
        }
        Ok(done)
    }

    /// The same of one that came to no end of its own. Where even that cannot be kept, it stays as under way.
    async fn give_up(&self, error: Error) -> Error {
        if self.writes() {
            let failed = (Some(error.code()), &Label::default());
            let _ = self.wrote(failed, &Ids::default()).await;
        }
        error
    }

    /// Labels what was written: what the call named, what it was told that it is called, and where nobody knows which
    /// record that is, each.
    async fn wrote(&self, (failed, read): (Option<Code>, &Label), said: &Ids) -> Result<()> {
        let hands = self.hands(read.clone());
        let mut ids: BTreeSet<String> = self.named.all.union(&said.all).cloned().collect();
        let tainted = self.tainted();
        if !tainted.is_empty()
            && let Some(why) = self.is_open((failed, read), said)
        {
            tracing::warn!(
                target: "lazaret::records",
                tool = self.call.tool.as_str(),
                "nobody knows which record it has written ({why}): each of its service counts as written under the influence of {}, until you have looked through them and run `lazaret labels clear --service {}`",
                tainted.join(", "),
                self.call.tool.plugin()
            );
            ids.insert(EACH.to_owned());
        }
        self.touch((self.step(Write::Ends), ids), hands).await
    }

    /// Why it may have written a record of whose id nobody was told; nothing where it has not.
    fn is_open(&self, (failed, read): (Option<Code>, &Label), said: &Ids) -> Option<String> {
        match failed {
            None if said.sure || self.named.sure => None,
            None => Some(
                "its outcome says no id where `records.id` of it says, and `records.changes` names no argument"
                    .to_owned(),
            ),
            Some(code) => self
                .may_have_written(code, read)
                .then(|| format!("it ended with {}", code.word())),
        }
    }

    /// Whether a call that failed so may have written something of which nobody was told: it was cut off, or had been in
    /// touch with whatever it has read. A server has not even been asked where the host itself said no.
    fn may_have_written(&self, code: Code, read: &Label) -> bool {
        let cut_off = matches!(
            code,
            Code::TooSlow
                | Code::Cancelled
                | Code::InDoubt
                | Code::OutOfFuel
                | Code::OutOfMemory
                | Code::Trapped
                | Code::NotJson
                | Code::BadOutcome
                | Code::TooBig
                | Code::FetchFailed
                | Code::ProviderFailed
        );
        let unasked = matches!(code, Code::Denied | Code::Asked | Code::BadArgs);
        let unasked = unasked && self.call.declared.outside;
        cut_off || (*read != Label::default() && !unasked)
    }

    fn hands(&self, read: Label) -> Hands {
        Hands {
            wished: self.wished.clone(),
            read,
        }
    }

    async fn touch(&self, what: (Write, BTreeSet<String>), hands: Hands) -> Result<()> {
        let labels = &self.station.past.records;
        labels.touch(self.service(), what, hands).await
    }

    /// With ids as they stand in the outcome that others see.
    fn cleaned(&self, seen: Seen) -> Seen {
        let mut touched = Touched::new();
        for (id, label) in seen.touched {
            let id = self.station.scrub.clean(&id);
            let known = touched.entry(id).or_default();
            *known = known.join(&label);
        }
        Seen { touched, ..seen }
    }

    /// No label, no record. What was written stays written.
    fn unlabelled(&self, error: Error) -> Error {
        match self.writes() {
            false => error,
            true => {
                let what = format!(
                    "`{}` was performed, and the label of what it wrote could not be kept: {}",
                    self.call.tool,
                    error.message()
                );
                Error::new(error.code(), what).retry(false)
            }
        }
    }
}

/// What stands on record of records that somebody had a hand in: nothing of an outcome that is secret.
pub(super) fn kept(station: &Station, trail: &Trail, label: &Label) -> Touched {
    match station.gate.policy().flows.classes.is_secret(label) {
        true => Touched::new(),
        false => trail.records.touched.clone(),
    }
}
