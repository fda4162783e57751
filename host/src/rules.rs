//! Rules: everything that decides, as functions of values.
//!
//! No input, no output, no `async`: each rule can be tested by a table, and a verdict can be
//! explained without performing anything. [`Effect`] is the seam to the gate: what may happen
//! (`effect`), who wishes it ([`caller::Caller`]), what the operator allows ([`policy::Policy`]).

pub mod advice;
pub mod agent;
pub mod answer;
pub mod bounds;
pub mod budget;
pub mod call;
pub mod caller;
pub mod candidate;
pub mod chain;
pub mod changes;
pub mod clear;
pub mod code_mode;
pub mod codec;
pub mod consult;
pub mod context;
pub mod exported;
pub mod fetch;
pub mod file;
pub mod flow;
pub mod grant;
pub mod health;
pub mod inbound;
pub mod json;
pub mod keep;
pub mod manifest;
pub mod pace;
pub mod plan;
pub mod policy;
pub mod price;
pub mod progress;
pub mod prompted;
pub mod questions;
pub mod ranges;
pub mod rate;
pub mod rendered;
pub mod repair;
pub mod retry;
pub mod running;
pub mod sanitise;
pub mod schema;
pub mod script;
pub mod scrub;
pub mod search;
pub mod secret;
pub mod server;
pub mod show;
pub mod signature;
pub mod signed;
pub mod spans;
pub mod tier;
pub mod tooling;
pub mod wards;

use self::flow::Point;
use crate::words::event::{Classes, Content, Denial, EffectKind, Weighed};
use crate::words::id::Digest;
use crate::words::label::Label;
use std::collections::BTreeMap;

/// Something that crosses the boundary of the host. There are five of them (invariant 2).
pub trait Effect: sealed::Sealed + Send + Sync {
    /// Which of the five.
    const KIND: EffectKind;
    /// What an allowance entails, such as the mount a path belongs to: the performer needs it, and
    /// only a judgement yields it.
    type Terms: Send + Sync;

    /// What it is about, for the journal and for people.
    fn subject(&self) -> String;
    /// What the journal keeps of it.
    fn content(&self) -> Content;
    /// The component that performs it, where it is a guest's.
    fn component(&self) -> Option<Digest> {
        None
    }
    /// What stands on record of files that its user has attached: the texts that steer it, by the names of the files.
    fn given(&self, _: &caller::Caller, _: &policy::Policy) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
    /// Whether whoever wishes it passes something on that stays, or that somebody else works with, beside asking: a
    /// file that is written, a note that is kept, another tool that is called. A request asks, whatever it says.
    fn passes_on(&self) -> bool {
        false
    }
    /// Who has a hand in how long it takes, once it is allowed: whoever waits for it, and in vain, has heard that much of them.
    fn awaited(&self, _: &caller::Caller, _: &policy::Policy) -> Label {
        Label::default()
    }
    /// Decides. Pure, and total: what no rule allows is denied.
    ///
    /// # Errors
    /// The denial.
    fn judge(
        &self,
        caller: &caller::Caller,
        policy: &policy::Policy,
    ) -> Result<Allowed<Self::Terms>, Denial>;
    /// What is wished, in words: `call mail.send with {"to": …}`.
    fn wish(&self) -> String {
        format!("call `{}` with {}", self.subject(), self.content().shown())
    }
    /// Whether whoever wishes waits for a person's answer where it is: a tool in the middle of its call cannot be left and
    /// taken up again.
    fn waits(&self) -> bool {
        false
    }
    /// What whoever performs it says that it does, for a person who is asked about it.
    fn classes(&self) -> Option<Classes> {
        None
    }
    /// What is known of the records whose ids it is about, for a person who is asked.
    fn records(&self, _: &caller::Caller, _: &policy::Policy) -> Vec<String> {
        Vec::new()
    }
    /// How safe the judgement must be before the effect may happen (invariant 4).
    fn durability(&self) -> Durability;
}

/// An allowance: the rule that made it, and what it entails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed<T> {
    /// The rule in words, with the policy line if one made it.
    pub rule: String,
    /// What the performer needs.
    pub terms: T,
    /// Whether a person has to say so as well.
    pub consent: Consent,
    /// Each value that steers, and why it may.
    pub weighed: Vec<Weighed>,
}

/// Whether an allowance holds by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consent {
    /// It does.
    NotNeeded,
    /// A person is asked first, by this policy line.
    Needed {
        /// The line in words.
        rule: String,
        /// All that the answer is bound to, beside the run and the place in it.
        bound_to: Vec<String>,
        /// What exactly is asked, a sentence for each; empty where the call itself is.
        open: Vec<Point>,
        /// Lines that would make the question the last of its kind.
        lines: Vec<String>,
    },
}

/// How safe a record must be before anything follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// In the open batch: enough for what can be done again.
    Batched,
    /// Committed: survives the death of the process.
    Committed,
    /// Committed and synced: survives the death of the machine. For what must not happen twice.
    Synced,
}

/// A denial by a rule, without advice.
#[must_use]
pub fn deny(rule: &str, reason: impl Into<String>) -> Denial {
    Denial {
        rule: rule.to_owned(),
        reason: reason.into(),
        allow: Vec::new(),
    }
}

/// A denial with the policy lines that would lift it.
#[must_use]
pub fn deny_unless(rule: &str, reason: impl Into<String>, allow: &[&str]) -> Denial {
    let allow = allow.iter().map(|line| (*line).to_owned()).collect();
    Denial {
        rule: rule.to_owned(),
        reason: reason.into(),
        allow,
    }
}

mod sealed {
    /// Effects are closed: nothing outside this crate adds another.
    pub trait Sealed {}
    impl Sealed for super::budget::Overspend {}
    impl Sealed for super::call::Call {}
    impl Sealed for super::clear::Clear {}
    impl Sealed for super::fetch::Fetch {}
    impl Sealed for super::file::File {}
    impl Sealed for super::keep::Keep {}
    impl Sealed for super::server::asked::Put {}
    impl Sealed for super::server::asked::Told {}
    impl Sealed for super::server::lent::Lent {}
    impl Sealed for super::show::Show {}
}
