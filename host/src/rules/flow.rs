//! Flow: may what is behind a wish steer, fill or set off this sink? (design §5)
//!
//! Judged as if the model always obeys the attacker and the attacker has read these rules. No text is looked
//! at for its meaning: a value that steers needs a *witness*, and what a wish is under the influence of stands
//! in its label.

pub mod class;
pub mod handles;
pub mod kind;
mod leaves;
pub mod ledger;
pub mod lines;
pub mod typed;

use serde_json::Value;

use self::kind::Kind;
use self::leaves::{Leaf, leaves, lies_at, texts_at};
use self::ledger::Ledger;
use self::lines::{Browse, Flows, ToolFlow};
use super::call::Call;
use super::caller::{Caller, Judging, Origin};
use super::fetch::Fetch;
use super::grant::Access;
use super::manifest::EffectClass;
use super::policy::Policy;
use super::sanitise::visible;
use super::{deny, file};
use crate::words::event::{Denial, Weighed};
use crate::words::id::{QuestionId, shown};
use crate::words::label::Label;
use crate::words::limits::ADOPTED_CHARS;

/// Why a value may steer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Witness {
    /// The user or the operator typed it.
    Typed,
    /// Policy names it.
    Policy,
    /// A field of the user's own records holds it.
    Vouched(String),
    /// It is an address of a record whose title the user typed.
    Titled(String),
    /// It is an address of the very record that is answered.
    Replied,
    /// A person has answered for it.
    Answered,
    /// A new file in a workspace takes nothing away.
    Workspace,
}

impl Witness {
    /// Whether it is enough for what cannot be undone. An id from a list is not; and who wrote the title of a
    /// letter to have it answered has not said that it may go.
    fn is_strong(&self, kind: Kind) -> bool {
        match self {
            Self::Titled(_) => kind != Kind::Id,
            Self::Typed | Self::Policy | Self::Answered => true,
            Self::Vouched(_) | Self::Replied | Self::Workspace => false,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Typed => "typed by the user or the operator".to_owned(),
            Self::Policy => "named by policy".to_owned(),
            Self::Vouched(tool) => format!("vouched for by `{tool}`"),
            Self::Titled(title) => {
                format!("kept in the record “{}”, which was typed", shown(title))
            }
            Self::Replied => "kept in the record that is answered".to_owned(),
            Self::Answered => "answered for by a person".to_owned(),
            Self::Workspace => "a new file in a workspace".to_owned(),
        }
    }
}

/// What a person has to answer for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// One sentence: the argument, its sources, the rule.
    pub reason: String,
    /// The value as it is bound, for an answer that holds for the rest of the run; nothing where only this one
    /// call can be answered for.
    pub value: Option<QuestionId>,
    /// The line, or the flag, that would make the question the last of its kind; empty where none is offered.
    pub line: String,
}

/// What came of weighing a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weighing {
    /// Each value that steers, and its witness.
    pub weighed: Vec<Weighed>,
    /// What no witness was found for.
    pub open: Vec<Point>,
    /// Whether it may only make new files.
    pub create_only: bool,
}

/// Whether a call of this class is a sink: it does more than look.
#[must_use]
pub fn is_sink(effect: EffectClass) -> bool {
    !effect.leaves_no_trace()
}

/// What a person reads who is to make a text their own words.
///
/// # Errors
/// The denial, for a text that is too long to be read in a question.
pub fn adopting(call: &Call) -> Result<Point, Denial> {
    let text = call.args.value().get("value").and_then(Value::as_str);
    let text = text.unwrap_or_default();
    if text.chars().count() > ADOPTED_CHARS {
        let reason = format!(
            "nobody reads more than {ADOPTED_CHARS} characters in a question: take the part that matters with \
             `handle.slice`"
        );
        return Err(deny("flow_adopt", reason));
    }
    Ok(Point {
        reason: format!(
            "this text comes from {}, and would count as your own words in this run: “{}”",
            call.held,
            visible(text)
        ),
        value: None,
        line: String::new(),
    })
}

/// Weighs a call that is a sink.
///
/// # Errors
/// The denial, where something secret would leave: nobody is asked about that.
pub fn weigh(call: &Call, caller: &Caller, policy: &Policy) -> Result<Weighing, Denial> {
    let flows = &policy.flows;
    let label = caller.label.join(&call.held);
    let leaves_host = reaches_out(call);
    if leaves_host && flows.classes.is_secret(&label) {
        return Err(deny(
            "flow_secret",
            format!(
                "`{}` would send what comes from {}, and nothing secret leaves, ever",
                call.tool,
                flows.classes.suspects(&label).join(", ")
            ),
        ));
    }
    let ledger = caller.known.ledger();
    let weigher = Weigher {
        call,
        caller,
        policy,
        about: about(call, flows),
        ledger: &ledger,
        tainted: flows.classes.is_tainted(&caller.label),
    };
    Ok(weigher.weigh(&label, leaves_host))
}

/// Whether what it is given may leave the host.
fn reaches_out(call: &Call) -> bool {
    let outside = call.declared.effect == EffectClass::ExternalStateful;
    outside || !call.grant.fetch.is_empty() || !call.grant.calls.is_empty()
}

/// What is said of a tool: by policy, or by the manifest of a plugin that policy trusts.
fn about(call: &Call, flows: &Flows) -> ToolFlow {
    if let Some(said) = flows.about(&call.tool) {
        let mut said = said.clone();
        if said.steering.is_empty() && said.content.is_empty() && trusts(flows, call) {
            said.steering.clone_from(&call.declared.flow.steering);
            said.content.clone_from(&call.declared.flow.content);
            said.naming.clone_from(&call.declared.flow.naming);
        }
        return said;
    }
    if trusts(flows, call) {
        return ToolFlow {
            steering: call.declared.flow.steering.clone(),
            content: call.declared.flow.content.clone(),
            naming: call.declared.flow.naming.clone(),
            ..ToolFlow::default()
        };
    }
    ToolFlow::default()
}

fn trusts(flows: &Flows, call: &Call) -> bool {
    flows.classes.trusted_plugins.contains(call.tool.plugin())
}

/// One call, and all that it is weighed against.
struct Weigher<'a> {
    call: &'a Call,
    caller: &'a Caller,
    policy: &'a Policy,
    about: ToolFlow,
    ledger: &'a Ledger,
    tainted: bool,
}

impl Weigher<'_> {
    fn weigh(&self, label: &Label, leaves_host: bool) -> Weighing {
        let mut weighing = Weighing::default();
        let args = self.call.args.value();
        let mut steers = false;
        let leaves = leaves(args, &self.call.declared.input);
        let file = |leaf: &&Leaf| self.kind_of(&leaf.path) == Some(Kind::File);
        let alone = leaves.iter().filter(file).count() == 1;
        for leaf in leaves {
            match self.kind_of(&leaf.path) {
                Some(kind) => {
                    steers = true;
                    self.weigh_value((&leaf, alone), kind, &mut weighing);
                }
                None => self.weigh_content(&leaf, &mut weighing),
            }
        }
        if !steers && self.tainted {
            self.weigh_naming(&mut weighing);
        }
        let private = self.policy.flows.classes.is_private(label);
        if leaves_host && private && !steers && self.about.accepts == class::Secrecy::Public {
            weighing.open.push(self.private(label));
        }
        weighing
    }

    /// The kind of a value that steers; nothing for content. What nobody has named steers.
    fn kind_of(&self, path: &str) -> Option<Kind> {
        let mut steering = self.about.steering.iter();
        if let Some((_, kind)) = steering.find(|(place, _)| lies_at(path, place)) {
            return Some(*kind);
        }
        let content = self.about.content.iter().chain([&self.about.naming]);
        let mut content = content.filter(|place| !place.is_empty());
        if content.any(|place| lies_at(path, place)) {
            return None;
        }
        if self.about.reply.is_empty() || !lies_at(path, &self.about.reply) {
            return Some(Kind::Value);
        }
        Some(Kind::Id)
    }

    fn weigh_value(&self, (leaf, alone): (&Leaf, bool), kind: Kind, weighing: &mut Weighing) {
        let destructive = self.call.declared.effect == EffectClass::Destructive;
        let strong = destructive && self.tainted;
        let found = self
            .witness(leaf, kind)
            .or_else(|| (alone && self.is_new_file(leaf, kind)).then_some(Witness::Workspace))
            .filter(|witness| !strong || witness.is_strong(kind));
        weighing.create_only |= found == Some(Witness::Workspace);
        weighing.weighed.push(Weighed {
            argument: leaf.path.clone(),
            value: shown(&leaf.text),
            kind: kind.word().to_owned(),
            witness: found.as_ref().map(Witness::words).unwrap_or_default(),
        });
        if found.is_none() {
            weighing.open.push(self.open_value(leaf, kind, strong));
        }
    }

    fn open_value(&self, leaf: &Leaf, kind: Kind, strong: bool) -> Point {
        let sources = self.policy.flows.classes.suspects(&self.caller.label);
        let rule = if strong {
            "what cannot be undone needs the user's own words, and an id from a list is none"
        } else {
            "a value that steers needs the user's own words, or somebody who vouches for it"
        };
        let value = shown(&leaf.text);
        // What cannot be undone is answered for once, and each time.
        let (id, line) = match self.call.declared.effect {
            EffectClass::Destructive => (None, String::new()),
            EffectClass::Pure
            | EffectClass::ReadOnly
            | EffectClass::SideEffecting
            | EffectClass::ExternalStateful => (
                Some(self.value_id(kind, &leaf.text)),
                format!("[flow]\nvouch = [{}]", toml_text(&leaf.text)),
            ),
        };
        Point {
            reason: format!(
                "`{}` of `{}` is the {} `{value}`, chosen under the influence of {}: {rule}",
                leaf.path,
                self.call.tool,
                kind.word(),
                sources.join(", "),
            ),
            value: id,
            line,
        }
    }

    /// The first witness of a value, the strongest first.
    fn witness(&self, leaf: &Leaf, kind: Kind) -> Option<Witness> {
        let flows = &self.policy.flows;
        let value = leaf.text.as_str();
        if flows.names(kind, value) {
            return Some(Witness::Policy);
        }
        let listed = self.ledger.vouching(kind, value);
        let common = flows.common.contains(&kind);
        if self.ledger.words().has(kind, value) && (!common || listed.is_some()) {
            return Some(Witness::Typed);
        }
        if let Some(title) = self.ledger.titled(kind, value) {
            return Some(Witness::Titled(title.to_owned()));
        }
        if self.ledger.is_answered(&self.value_id(kind, value)) {
            return Some(Witness::Answered);
        }
        if let Some(tool) = listed {
            return Some(Witness::Vouched(tool.to_string()));
        }
        self.is_in_reply(kind, value).then_some(Witness::Replied)
    }

    fn is_in_reply(&self, kind: Kind, value: &str) -> bool {
        if self.about.reply.is_empty() {
            return false;
        }
        let records = texts_at(self.call.args.value(), &self.about.reply);
        let plugin = self.call.tool.plugin();
        let is_in = |record: &String| self.ledger.is_in_record((plugin, record), kind, value);
        records.iter().any(is_in)
    }

    /// Whether the path lies in a mount where making a new file takes nothing away.
    fn is_new_file(&self, leaf: &Leaf, kind: Kind) -> bool {
        let mount = file::mount_of(self.policy, &leaf.text).filter(|_| kind == Kind::File);
        let Some(mount) = mount else {
            return false;
        };
        let mut mounts = self.call.grant.mounts.iter();
        let granted = mounts.any(|grant| *grant.mount == *mount && grant.access >= Access::Create);
        let marked = self.policy.mounts.get(&mount);
        granted && marked.is_some_and(|mount| mount.workspace)
    }

    /// Where `strict` is set, text that others read is composed like a name.
    fn weigh_content(&self, leaf: &Leaf, weighing: &mut Weighing) {
        let others = self.call.declared.effect == EffectClass::ExternalStateful;
        if !self.policy.flows.strict || !self.tainted || !others || self.composes(&leaf.text) {
            return;
        }
        weighing.open.push(Point {
            reason: format!(
                "`{}` of `{}` is a text that others read, written under the influence of {}: it has \
                 words that the user did not write (`strict = true`)",
                leaf.path,
                self.call.tool,
                self.suspects(),
            ),
            value: None,
            line: String::new(),
        });
    }

    /// Nothing steers, so it is the name that says what happens.
    fn weigh_naming(&self, weighing: &mut Weighing) {
        let names = match self.about.naming.as_str() {
            "" => Vec::new(),
            naming => texts_at(self.call.args.value(), naming),
        };
        let own = |name: &String| self.composes(name) || self.ledger.words().has(Kind::Value, name);
        if !names.is_empty() && names.iter().all(own) {
            return;
        }
        let what = match names.first() {
            Some(name) => format!(
                "`{}` of `{}` is `{}`, which has words that are not the user's",
                self.about.naming,
                self.call.tool,
                shown(name)
            ),
            None => format!(
                "nothing in a call of `{}` says what the user wants",
                self.call.tool
            ),
        };
        weighing.open.push(Point {
            reason: format!(
                "{what}, and it was wished under the influence of {}",
                self.suspects()
            ),
            value: None,
            line: String::new(),
        });
    }

    fn composes(&self, text: &str) -> bool {
        let names = |name: &str| self.ledger.is_name(name);
        self.ledger.words().composes(text, names)
    }

    fn private(&self, label: &Label) -> Point {
        let sources = label.sources().map(ToString::to_string);
        Point {
            reason: format!(
                "`{}` would send what comes from {} to where nobody has named: private content goes to \
                 destinations that the user named",
                self.call.tool,
                sources.collect::<Vec<_>>().join(", ")
            ),
            value: None,
            line: format!("[flow.tools.\"{}\"]\naccepts = \"private\"", self.call.tool),
        }
    }

    /// What an answer about a value is bound to: its kind, itself, who untrusted had influence on it, and the
    /// run. Sources that are trusted come with every call, and would have the same asked again and again.
    fn value_id(&self, kind: Kind, value: &str) -> QuestionId {
        let run = self.caller.run.as_str();
        let sources = self.policy.flows.classes.untrusted(&self.caller.label);
        let value = kind.normal(value);
        QuestionId::of(&[run, "value", kind.word(), &value, &sources.join(" ")])
    }

    fn suspects(&self) -> String {
        let classes = &self.policy.flows.classes;
        classes.suspects(&self.caller.label).join(", ")
    }
}

fn toml_text(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Whether a request that a line grants may leave.
///
/// # Errors
/// The denial: nobody can be asked in the middle of a tool's call.
pub fn weigh_fetch(fetch: &Fetch, caller: &Caller, policy: &Policy) -> Result<(), Denial> {
    let flows = &policy.flows;
    if caller.origin == Origin::Host || caller.judging(flows) != Judging::Enforce {
        return Ok(());
    }
    let classes = &flows.classes;
    let label = &caller.label;
    let what = fetch.origin();
    if classes.is_secret(label) {
        let from = classes.suspects(label).join(", ");
        let reason = format!(
            "what comes from {from} would leave to {what}, and nothing secret leaves, ever"
        );
        return Err(deny("flow_secret", reason));
    }
    if !classes.is_tainted(label) || is_witnessed_url(fetch.url().as_str(), caller, flows) {
        return Ok(());
    }
    let from = classes.suspects(label).join(", ");
    if fetch.is_plain() && flows.browse == Browse::Witness {
        let reason = format!(
            "the URL at {what} was chosen under the influence of {from}, and `browse = \"witness\"` wants the \
             user's own words for it"
        );
        return Err(deny("flow_browse", reason));
    }
    if !fetch.is_plain() && !caller.known.weighed {
        let reason = format!(
            "`{}` says of itself that it only looks, and would send something to {what} under the influence \
             of {from}",
            caller.origin
        );
        return Err(deny("flow_only_looks", reason));
    }
    Ok(())
}

/// Whether a plain request to a public address may leave though no line grants it.
#[must_use]
pub fn may_browse(fetch: &Fetch, caller: &Caller, policy: &Policy) -> bool {
    let flows = &policy.flows;
    let private = flows.classes.is_private(&caller.label);
    flows.browse == Browse::Free
        && fetch.is_plain()
        && !flows.classes.is_secret(&caller.label)
        && matches!(caller.origin, Origin::Tool(_))
        && (!private || is_witnessed_url(fetch.url().as_str(), caller, flows))
}

/// Whether the user named this very URL, or one of their own records did.
#[must_use]
pub fn is_witnessed_url(url: &str, caller: &Caller, flows: &Flows) -> bool {
    let ledger = caller.known.ledger();
    flows.names(Kind::Url, url)
        || ledger.words().has(Kind::Url, url)
        || ledger.vouching(Kind::Url, url).is_some()
        || ledger.titled(Kind::Url, url).is_some()
}

#[cfg(test)]
mod tests;
