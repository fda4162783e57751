//! Flow: may what is behind a wish steer, fill or set off this sink? (design §5)
//!
//! Judged as if the model always obeys the attacker and the attacker has read these rules. No text is looked
//! at for its meaning: a value that steers needs a *witness*, and what a wish is under the influence of stands
//! in its label.

pub mod apart;
pub mod attached;
pub mod class;
mod ending;
pub mod given;
pub mod guarding;
mod handed;
pub mod handles;
mod headings;
pub mod home;
pub mod kind;
mod leaves;
pub mod ledger;
pub mod lines;
mod outward;
pub mod part;
pub mod pick;
mod plain;
pub mod records;
pub mod shape;
mod spelt;
pub mod suggest;
pub mod trace;
pub mod typed;
pub mod verbatim;

use std::sync::Arc;

use self::apart::Apart;
pub use self::ending::{new_files_line, shell_word};
use self::handed::named;
pub use self::handed::{Handed, Inside, adopting, check_handed, handed, handed_in};
pub use self::headings::headings;
use self::kind::Kind;
use self::leaves::{Leaf, empties, leaves, lies_at, texts_at};
use self::ledger::Ledger;
use self::lines::{Flows, ToolFlow};
pub use self::outward::{is_witnessed_url, may_browse, weigh_fetch};
pub use self::spelt::brief;
use self::spelt::{alike, whole};
use super::call::Call;
use super::caller::Caller;
use super::grant::{Access, Destination, Grant, MountGrant};
use super::manifest::{Declared, EffectClass};
use super::policy::Policy;
use super::{advice, deny, file, server};
use crate::words::event::{Denial, Weighed};
use crate::words::id::{QuestionId, ToolName, shown};
use crate::words::label::{Label, Source};
use crate::words::limits::{POINTS, STEERING_CHARS, STEERING_VALUES};

/// The rule about values that steer.
pub const NEEDS_SOMEBODY: &str =
    "a value that steers needs the user's own words, or somebody who vouches for it";

/// The same, of a call that cannot be undone.
pub const NEEDS_OWN_WORDS: &str =
    "what cannot be undone needs the user's own words, and an id from a list is none";

/// Why a value may steer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Witness {
    /// The user or the operator typed it.
    Typed,
    /// Policy names it.
    Policy,
    /// Policy names it for calls of this tool.
    ForTool,
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
    /// letter to have it answered has not said that it may go. A person who has answered for a value for good was asked
    /// about another call, which could be undone: about each that cannot be, they are asked anew. So is whoever has written
    /// the line that such a question offers.
    fn is_strong(&self, kind: Kind) -> bool {
        match self {
            Self::Titled(_) => kind != Kind::Id,
            Self::Typed | Self::Policy => true,
            Self::ForTool | Self::Answered | Self::Vouched(_) | Self::Replied | Self::Workspace => {
                false
            }
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Typed => "typed by the user or the operator".to_owned(),
            Self::Policy => "named by policy".to_owned(),
            Self::ForTool => "named by policy for this tool".to_owned(),
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
    /// How many of them have a witness that is not enough for what cannot be undone.
    pub weak: usize,
    /// What no witness was found for.
    pub open: Vec<Point>,
    /// Where private content goes, once what is open is answered with yes.
    pub leads: Leads,
    /// The mount in which it may only make new files.
    pub create_in: Option<Arc<str>>,
}

/// Whether a call of this class is a sink: it does more than look.
#[must_use]
pub fn is_sink(effect: EffectClass) -> bool {
    !effect.leaves_no_trace()
}

/// Whether a tool of this class can do harm with its grant. What one of ours says it changes, it cannot change
/// without a grant.
#[must_use]
pub fn can_change(effect: EffectClass, grant: &Grant, trusted: bool) -> bool {
    let writes = |mount: &MountGrant| mount.access > Access::Read;
    let open = grant.mounts.iter().any(writes)
        || grant.notes > Access::Read
        || grant.fetch.iter().any(Destination::sends);
    let able = !grant.fetch.is_empty() || !grant.calls.is_empty() || !trusted;
    open || (is_sink(effect) && able)
}

/// Nothing secret leaves, ever: not in shadow, not where flows are not judged, and nobody is asked.
///
/// # Errors
/// The denial.
pub fn check_secret(call: &Call, caller: &Caller, policy: &Policy) -> Result<(), Denial> {
    let classes = &policy.flows.classes;
    let label = caller.label.join(&call.held);
    // What a model is asked goes to whoever runs it.
    let sends = (call.declared.is_sink() && reaches_out(call))
        || Apart::of(&call.tool) == Some(Apart::Consult);
    if !sends || !classes.is_secret(&label) {
        return Ok(());
    }
    Err(deny(
        "flow_secret",
        format!(
            "`{}` would send what comes from {}, and nothing secret leaves, ever",
            call.tool,
            classes.suspects(&label).join(", ")
        ),
    ))
}

/// Weighs a call that is a sink.
///
/// # Errors
/// The denial, of what nobody can be asked about.
pub fn weigh(call: &Call, caller: &Caller, policy: &Policy) -> Result<Weighing, Denial> {
    let label = caller.label.join(&call.held);
    let leaves_host = reaches_out(call);
    let ledger = caller.known.ledger();
    let weigher = Weigher::of(call, (caller, policy), &ledger);
    weigher.weigh(&label, leaves_host)
}

/// The label of what is judged with a call: what it began with, and the files that it names.
#[must_use]
pub fn judged_with(call: &Call, caller: &Caller, policy: &Policy) -> Label {
    let ledger = caller.known.ledger();
    let named = Weigher::of(call, (caller, policy), &ledger).files_to_send();
    caller.label.join(&call.held).join(&named)
}

/// The values of a call that say where, whom or what to act on, by their paths.
#[must_use]
pub fn steering(call: &Call, caller: &Caller, policy: &Policy) -> Vec<(String, String)> {
    let ledger = caller.known.ledger();
    let weigher = Weigher::of(call, (caller, policy), &ledger);
    let mut leaves = leaves(call.args.value(), &call.declared.input);
    leaves.extend(empties(call.args.value()));
    let naming = |leaf: &Leaf| lies_at(&leaf.path, &weigher.about.naming);
    leaves.retain(|leaf| weigher.kind_of(&leaf.path).is_some() || naming(leaf));
    leaves
        .into_iter()
        .map(|leaf| (leaf.path, leaf.text))
        .collect()
}

/// The values of a call that are files of its mounts, and can be nothing else: its tool reaches nothing beyond them.
#[must_use]
pub fn files(call: &Call, caller: &Caller, policy: &Policy) -> Vec<String> {
    if reaches_out(call) {
        return Vec::new();
    }
    let ledger = caller.known.ledger();
    let weigher = Weigher::of(call, (caller, policy), &ledger);
    let mut leaves = leaves(call.args.value(), &call.declared.input);
    // What is said of a path that is refused names it, and of what is secret nobody learns it so.
    leaves.retain(|leaf| {
        weigher.kind_of(&leaf.path) == Some(Kind::File) && !weigher.veils(&leaf.path)
    });
    leaves.into_iter().map(|leaf| leaf.text).collect()
}

/// Whether what it is given may leave the host.
fn reaches_out(call: &Call) -> bool {
    let outside = call.declared.outside || call.declared.effect == EffectClass::ExternalStateful;
    outside || !call.grant.fetch.is_empty() || !call.grant.calls.is_empty()
}

/// What is said of the tool of a call.
fn about(call: &Call, flows: &Flows) -> ToolFlow {
    holds(flows, &call.tool, &call.declared)
}

/// What is said of a tool: by policy, or by the manifest of a plugin that policy trusts.
fn holds(flows: &Flows, tool: &ToolName, declared: &Declared) -> ToolFlow {
    let proposed = &declared.flow;
    let mut said = flows.about(tool).cloned().unwrap_or_default();
    if !is_trusted(flows, tool, declared) {
        return said;
    }
    if said.steering.is_empty() && said.content.is_empty() {
        said.steering.clone_from(&proposed.steering);
        said.content.clone_from(&proposed.content);
        said.naming.clone_from(&proposed.naming);
    }
    if said.new.is_empty() {
        said.new.clone_from(&proposed.new);
    }
    said
}

/// Whether a call of what policy trusts can change nothing, since it is granted nothing.
#[must_use]
pub fn is_idle(call: &Call, flows: &Flows) -> bool {
    let can = can_change(call.declared.effect, &call.grant, trusts(flows, call));
    !can && !call.declared.outside
}

fn trusts(flows: &Flows, call: &Call) -> bool {
    is_trusted(flows, &call.tool, &call.declared)
}

fn is_trusted(flows: &Flows, tool: &ToolName, declared: &Declared) -> bool {
    !declared.outside && flows.classes.trusted_plugins.contains(tool.plugin())
}

/// Where private content goes by the values of a call: a record that nobody has named counts for all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leads {
    /// No value says where.
    #[default]
    Nowhere,
    /// To whom the user named, somebody vouches for, or a person is asked about.
    Named,
    /// To whom the letter comes from that is answered: what comes from there may go back, and nothing else.
    Back,
    /// To a record that nobody but a list has named: anybody may have started it.
    Listed,
}

/// Whether a value of this kind says to whom or whither; of a file it says what.
fn is_whither(kind: Kind) -> bool {
    !matches!(kind, Kind::Value | Kind::File)
}

/// One call, and all that it is weighed against.
struct Weigher<'a> {
    call: &'a Call,
    caller: &'a Caller,
    policy: &'a Policy,
    about: ToolFlow,
    ledger: &'a Ledger,
}

impl<'a> Weigher<'a> {
    fn of(call: &'a Call, (caller, policy): (&'a Caller, &'a Policy), ledger: &'a Ledger) -> Self {
        Self {
            call,
            caller,
            policy,
            about: about(call, &policy.flows),
            ledger,
        }
    }
}

impl Weigher<'_> {
    fn weigh(&self, label: &Label, leaves_host: bool) -> Result<Weighing, Denial> {
        let mut weighing = Weighing::default();
        let args = self.call.args.value();
        let mut steers = false;
        let mut leaves = leaves(args, &self.call.declared.input);
        if self.call.declared.effect == EffectClass::Destructive {
            leaves.extend(empties(args));
        }
        self.check_size(&leaves)?;
        let file = |leaf: &&Leaf| self.kind_of(&leaf.path) == Some(Kind::File);
        let alone = leaves.iter().filter(file).count() == 1;
        for leaf in leaves {
            match self.kind_of(&leaf.path) {
                Some(kind) => {
                    steers = true;
                    let leads = self.weigh_value((&leaf, alone), kind, (label, &mut weighing));
                    weighing.leads = weighing.leads.max(leads);
                }
                None => self.weigh_content(&leaf, &mut weighing),
            }
        }
        // What only looks makes nothing that would need a name: what matters of it is who is told.
        let makes = !self.call.declared.effect.leaves_no_trace();
        if !steers && makes && self.is_tainted(&self.about.naming) {
            self.weigh_naming(&mut weighing);
        }
        let own = self.own_of_server(makes && weighing.leads == Leads::Listed);
        let classes = &self.policy.flows.classes;
        let files = self.files_to_send();
        let label = &label.join(&files);
        let private = classes.is_private_beside(label, &own);
        let public = self.about.accepts == class::Secrecy::Public;
        let named = matches!(weighing.leads, Leads::Named | Leads::Back);
        // A file brings its whole mount along, and nothing binds a stranger's code to whom its call names.
        let bound = trusts(&self.policy.flows, self.call) || !classes.is_private(&files);
        if leaves_host && private && !(named && bound) && public {
            weighing.open.push(self.private(label, named));
        }
        if weighing.open.len() > POINTS {
            let reason = format!(
                "a call of `{}` would ask about more than {POINTS} values",
                self.call.tool
            );
            return Err(deny("flow_size", reason));
        }
        Ok(weighing)
    }

    /// What a server is told that came from itself, it knows. Where it passes on what it is told, to whoever a record belongs
    /// to that nobody has named, they do not: they are told what was written for somebody else there.
    fn own_of_server(&self, passes_on: bool) -> Vec<Source> {
        let server = self.call.tool.plugin();
        match (self.call.declared.outside, passes_on) {
            (true, false) => vec![server::source(server), server::words(server)],
            (true, true) => vec![server::words(server)],
            (false, _) => Vec::new(),
        }
    }

    /// The label of the files that the call names, where its guest may send what stands in them: nobody can be asked once
    /// it does. A text that stands for a file by its look alone says which mount it means.
    fn files_to_send(&self) -> Label {
        let grant = &self.call.grant;
        if grant.mounts.is_empty() || !grant.fetch.iter().any(Destination::is_sent_to) {
            return Label::default();
        }
        let leaves = leaves(self.call.args.value(), &self.call.declared.input);
        let mounts = leaves.iter().filter_map(|leaf| {
            let mount = file::granted_mount_of(grant, self.policy, &leaf.text)?;
            let kind = self.kind_of(&leaf.path)?;
            let named = kind == Kind::File || kind == Kind::Value && &*mount != ".";
            named.then_some(mount)
        });
        mounts.fold(Label::default(), |label, mount| {
            label.with(Policy::mount_source(&mount))
        })
    }

    /// What nobody would read in a question is not asked about.
    fn check_size(&self, leaves: &[Leaf]) -> Result<(), Denial> {
        let steering = leaves
            .iter()
            .filter(|leaf| self.kind_of(&leaf.path).is_some());
        let many = steering.clone().count() > STEERING_VALUES;
        let mut long = steering.filter(|leaf| leaf.text.chars().count() > STEERING_CHARS);
        if let Some(leaf) = long.next() {
            let reason = format!(
                "`{}` of `{}` steers, and is longer than {STEERING_CHARS} characters",
                brief(&self.path(leaf)),
                self.call.tool
            );
            return Err(deny("flow_size", reason));
        }
        if many {
            let reason = format!(
                "more than {STEERING_VALUES} values of a call of `{}` steer",
                self.call.tool
            );
            return Err(deny("flow_size", reason));
        }
        Ok(())
    }

    /// Where the handle stood that a value comes from, if it comes from one: one may stand for all arguments.
    fn handle_at(&self, path: &str) -> Option<&str> {
        let places = self.call.places.iter();
        let mut places = places.map(|place| place.trim_start_matches('/'));
        places.find(|place| {
            let rest = path.strip_prefix(place);
            place.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// What is behind a value: what its caller has read, and where a handle stood, what that holds.
    fn behind(&self, path: &str) -> Label {
        match self.handle_at(path) {
            Some(_) => self.caller.label.join(&self.call.held),
            None => self.caller.label.clone(),
        }
    }

    /// Whether a value stands in no question and no record, since a handle that holds a secret brought it. Which of
    /// several handles that is, their label does not say.
    fn veils(&self, path: &str) -> bool {
        let secret = self.policy.flows.classes.is_secret(&self.call.held);
        secret && self.handle_at(path).is_some()
    }

    /// The path of a value, for people: in what is secret, keys are as secret as values.
    fn path(&self, leaf: &Leaf) -> String {
        match self.handle_at(&leaf.path) {
            Some(place) if self.veils(&leaf.path) => named(place),
            Some(_) | None => leaf.path.clone(),
        }
    }

    fn is_tainted(&self, path: &str) -> bool {
        self.policy.flows.classes.is_tainted(&self.behind(path))
    }

    /// The kind of a value that steers; nothing for content. What nobody has named steers.
    fn kind_of(&self, path: &str) -> Option<Kind> {
        let mut steering = self.about.steering.iter();
        if let Some((_, kind)) = steering.find(|(place, _)| lies_at(path, place)) {
            return Some(*kind);
        }
        // Whatever else it is, it says which letter is answered, and so who may be told.
        if self.is_reply(path) {
            return Some(Kind::Id);
        }
        let content = self.about.content.iter().chain([&self.about.naming]);
        let mut content = content.filter(|place| !place.is_empty());
        let is_content = content.any(|place| lies_at(path, place));
        (!is_content).then_some(Kind::Value)
    }

    /// Weighs one value, and says where private content would go by it.
    fn weigh_value(
        &self,
        (leaf, alone): (&Leaf, bool),
        kind: Kind,
        (label, weighing): (&Label, &mut Weighing),
    ) -> Leads {
        let destructive = self.call.declared.effect == EffectClass::Destructive;
        let strong = destructive && self.is_tainted(&leaf.path);
        let workspace = self.new_file_in(leaf, kind).filter(|_| alone);
        let found = self
            .witness(leaf, kind)
            .or_else(|| workspace.as_ref().map(|_| Witness::Workspace))
            .filter(|witness| !strong || witness.is_strong(kind));
        if found == Some(Witness::Workspace) {
            weighing.create_in = workspace;
        }
        weighing.weighed.push(Weighed {
            argument: self.path(leaf),
            value: match self.veils(&leaf.path) {
                true => String::new(),
                false => shown(&leaf.text),
            },
            kind: kind.word().to_owned(),
            witness: found.as_ref().map(Witness::words).unwrap_or_default(),
        });
        let Some(witness) = found else {
            weighing.open.push(self.open_value(leaf, kind, strong));
            // The answer names the destination. What else is open names none.
            return if is_whither(kind) {
                Leads::Named
            } else {
                Leads::Nowhere
            };
        };
        if !witness.is_strong(kind) {
            weighing.weak = weighing.weak.saturating_add(1);
        }
        match witness {
            // Who is on a letter that is answered may be told it, also where another one is named beside them.
            Witness::Vouched(_)
                if self.is_reply(&leaf.path) && self.may_all_on_it_be_told(leaf, label) =>
            {
                Leads::Nowhere
            }
            // An id leads to whoever its record belongs to: who that is, nobody has said. So may a value of no kind from a list,
            // and whatever a record has that anybody may have started.
            Witness::Vouched(_) if self.is_of_anybody(leaf, kind) => Leads::Listed,
            _ if !is_whither(kind) => Leads::Nowhere,
            Witness::Typed
            | Witness::Policy
            | Witness::ForTool
            | Witness::Titled(_)
            | Witness::Answered
            | Witness::Vouched(_) => Leads::Named,
            // Whether they may be told, the letter says that is answered, which is weighed as well.
            Witness::Replied => Leads::Back,
            Witness::Workspace => Leads::Nowhere,
        }
    }

    /// Whether what vouches for a value says nothing of whose it is.
    fn is_of_anybody(&self, leaf: &Leaf, kind: Kind) -> bool {
        let service = self.call.tool.plugin();
        let voucher = self.ledger.vouching((kind, &leaf.text), service);
        matches!(kind, Kind::Id | Kind::Value) || !voucher.is_some_and(|voucher| voucher.own)
    }

    fn is_reply(&self, path: &str) -> bool {
        !self.about.reply.is_empty() && lies_at(path, &self.about.reply)
    }

    /// Whether everybody who is known to be on the record that is answered may be told what is behind the wish: what is
    /// private comes from there, or each of them has been named.
    fn may_all_on_it_be_told(&self, leaf: &Leaf, label: &Label) -> bool {
        let flows = &self.policy.flows;
        let Some((people, read)) = self.ledger.met(self.call.tool.plugin(), &leaf.text) else {
            return false;
        };
        let comes_from_it = !flows.classes.is_private(&label.without(read));
        let is_named = |(kind, value): &(Kind, String)| {
            let named = flows.names_for(&self.call.tool, *kind, value);
            named || self.ledger.words().has(*kind, value)
        };
        // Who has written to others is on their own letter, and so they are where nobody has said to whom it went.
        let is_me = |(kind, value): &(Kind, String)| flows.is_me(*kind, value);
        let all_named = people.iter().all(is_named) && !people.iter().all(is_me);
        !self.is_tainted(&leaf.path) && comes_from_it || all_named
    }

    fn open_value(&self, leaf: &Leaf, kind: Kind, strong: bool) -> Point {
        let classes = &self.policy.flows.classes;
        let veiled = self.veils(&leaf.path);
        // Whoever is trusted is no reason to ask: it is that nobody vouches for the value.
        let why = match classes.blamed(&self.behind(&leaf.path)).join(", ") {
            none if none.is_empty() => "and nobody has named it".to_owned(),
            sources => format!("chosen under the influence of {sources}"),
        };
        let unquoted = match !veiled && self.ledger.words().lacks_quotes(&leaf.text) {
            true => " (you typed it without quotes, and only in quotes it is a name)",
            false => "",
        };
        let rule = if strong {
            NEEDS_OWN_WORDS
        } else {
            NEEDS_SOMEBODY
        };
        let value = match veiled {
            true => "that a handle holds and that is secret".to_owned(),
            // In full: the end of a value says as much as its beginning.
            false => format!("`{}`{}", whole(&leaf.text), alike(&leaf.text)),
        };
        // What cannot be undone is answered for once, and each time; so is what nobody has seen.
        let (id, line) = match self.call.declared.effect {
            _ if veiled => (None, String::new()),
            EffectClass::Destructive => (None, String::new()),
            EffectClass::Pure
            | EffectClass::ReadOnly
            | EffectClass::SideEffecting
            | EffectClass::ExternalStateful => {
                let line = self.ending_line(leaf, kind);
                (Some(self.value_id(kind, leaf)), line)
            }
        };
        Point {
            reason: format!(
                "`{}` of `{}` is the {} {value}, {why}{unquoted}: {rule}",
                brief(&self.path(leaf)),
                self.call.tool,
                kind.word(),
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
        let service = self.call.tool.plugin();
        let listed = self.ledger.vouching((kind, value), service);
        let words = self.ledger.words();
        // Whoever vouches for a name means that very one, be it common or not.
        let counts = !flows.common.contains(&kind) || listed.is_some();
        if words.vouches(kind, value) || words.has(kind, value) && counts {
            return Some(Witness::Typed);
        }
        if let Some(title) = self.ledger.titled((kind, value), service) {
            return Some(Witness::Titled(title.to_owned()));
        }
        if flows.names_for(&self.call.tool, kind, value) {
            return Some(Witness::ForTool);
        }
        if self.ledger.is_answered(&self.value_id(kind, leaf)) {
            return Some(Witness::Answered);
        }
        if let Some(voucher) = listed {
            return Some(Witness::Vouched(voucher.tool.to_string()));
        }
        self.is_replied(kind, value).then_some(Witness::Replied)
    }

    /// Whether one of the records that are answered has this address.
    fn is_replied(&self, kind: Kind, value: &str) -> bool {
        let records = match self.about.reply.as_str() {
            "" => Vec::new(),
            reply => texts_at(self.call.args.value(), reply),
        };
        let plugin = self.call.tool.plugin();
        let mut met = records
            .iter()
            .filter_map(|record| self.ledger.met(plugin, record));
        met.any(|(people, _)| people.contains(&(kind, kind.normal(value))))
    }

    /// The mount where making a new file of that path takes nothing away. A name that begins with a dot may mean
    /// something to other programs.
    fn new_file_in(&self, leaf: &Leaf, kind: Kind) -> Option<Arc<str>> {
        let mount = file::workspace_of(self.policy, &leaf.text)?;
        (kind == Kind::File && self.may_make(leaf, &mount)).then_some(mount)
    }

    fn may_make(&self, leaf: &Leaf, mount: &Arc<str>) -> bool {
        let hidden = leaf.text.split('/').any(|name| name.starts_with('.'));
        let mut mounts = self.call.grant.mounts.iter();
        let granted = mounts.any(|grant| grant.mount == *mount && grant.access >= Access::Create);
        !hidden && granted && self.makes_new()
    }

    /// Whether the call says of itself that it changes nothing that is there. Where its tool has no words for that
    /// it may be so, and its guest can do no other: whoever says otherwise is asked about before, and not refused
    /// in the middle.
    fn makes_new(&self) -> bool {
        shape::says_new(self.call.args.value(), &self.about.new)
    }

    /// Where `strict` is set, text that others read is composed like a name.
    fn weigh_content(&self, leaf: &Leaf, weighing: &mut Weighing) {
        let others = self.call.declared.outside
            || self.call.declared.effect == EffectClass::ExternalStateful;
        let tainted = self.is_tainted(&leaf.path);
        if !self.policy.flows.strict || !tainted || !others || self.composes(&leaf.text) {
            return;
        }
        weighing.open.push(Point {
            reason: format!(
                "`{}` of `{}` is a text that others read, written under the influence of {}: it has \
                 words that the user did not write (`strict = true`)",
                brief(&self.path(leaf)),
                self.call.tool,
                self.suspects(),
            ),
            value: None,
            line: ending::STRICT.to_owned(),
        });
    }

    /// Nothing steers, so it is the name that says what happens.
    fn weigh_naming(&self, weighing: &mut Weighing) {
        let names = match self.about.naming.as_str() {
            "" => Vec::new(),
            naming => texts_at(self.call.args.value(), naming),
        };
        let (flows, tool) = (&self.policy.flows, &self.call.tool);
        let said = |name: &str| match self.call.declared.effect == EffectClass::Destructive {
            true => flows.names(Kind::Name, name),
            false => flows.names_for(tool, Kind::Name, name),
        };
        let own =
            |name: &String| self.ledger.words().calls(name) || said(name) || self.composes(name);
        if !names.is_empty() && names.iter().all(own) {
            return;
        }
        let mut open = names.iter().filter(|name| !own(name));
        let (first, more) = (open.next(), open.next());
        let veiled = self.policy.flows.classes.is_secret(&self.call.held);
        let what = match first {
            Some(_) if veiled => format!(
                "`{}` of `{}` is not the user's, and is not shown, since the call holds a secret",
                self.about.naming, self.call.tool
            ),
            Some(name) => format!(
                "`{}` of `{}` is `{}`{}, which has words that are not the user's",
                self.about.naming,
                self.call.tool,
                brief(name),
                alike(name)
            ),
            None => format!(
                "nothing in a call of `{}` says what the user wants",
                self.call.tool
            ),
        };
        let reason = match self.suspects() {
            none if none.is_empty() => what,
            sources => format!("{what}, and it was wished under the influence of {sources}"),
        };
        let named = first.filter(|_| more.is_none() && !veiled);
        weighing.open.push(Point {
            reason,
            value: None,
            line: named.map_or_else(String::new, |name| self.naming_line(name)),
        });
    }

    fn composes(&self, text: &str) -> bool {
        // That a name is trusted says nothing of whether what bears it may go.
        let destructive = self.call.declared.effect == EffectClass::Destructive;
        let names = |name: &str| !destructive && self.ledger.is_name(name);
        self.ledger.words().composes(text, names)
    }

    fn private(&self, label: &Label, named: bool) -> Point {
        let sources = label.sources().map(ToString::to_string);
        let whither = match named {
            true => "wherever its grant leads, since nobody trusts its code",
            false => "to where nobody has named",
        };
        Point {
            reason: format!(
                "`{}` would send what comes from {} {whither}: private content goes to \
                 destinations that the user named",
                self.call.tool,
                sources.collect::<Vec<_>>().join(", ")
            ),
            value: None,
            line: advice::accepting(&self.call.tool),
        }
    }

    /// What an answer about a value is bound to: what it covers, its kind, itself, who untrusted had influence on it, and
    /// the run. Sources that are trusted come with every call, and would have the same asked again and again.
    fn value_id(&self, kind: Kind, leaf: &Leaf) -> QuestionId {
        let run = self.caller.run.as_str();
        let behind = self.behind(&leaf.path);
        let sources = self.policy.flows.classes.untrusted(&behind);
        let value = kind.normal(&leaf.text);
        let covers = leaf.answered_for(kind, &self.call.tool);
        QuestionId::of(&[run, &covers, kind.word(), &value, &sources.join(" ")])
    }

    /// Who is not trusted of all that the wish was made under; empty where everybody is.
    fn suspects(&self) -> String {
        let classes = &self.policy.flows.classes;
        let label = self.caller.label.join(&self.call.held);
        classes.blamed(&label).join(", ")
    }
}

#[cfg(test)]
mod tests;
