//! Ends of questions: the line that would make one the last of its kind, and the flag that does so for one run.
//!
//! Nothing is offered for what cannot be undone, which is asked about each time.

use super::Weigher;
use super::kind::Kind;
use super::leaves::{Leaf, leaves, lies_at};
use super::shape::has_place;
use super::suggest::{Guess, place_of};
use crate::rules::call::Call;
use crate::rules::caller::{Caller, Led};
use crate::rules::manifest::EffectClass;
use crate::rules::policy::Policy;
use crate::rules::{advice, file};
use crate::words::id::is_hidden;
use crate::words::inert::narrow;
use crate::words::limits::STEERING_CHARS;

/// What ends questions about text that others read. To release the tool would also let pass whom it is sent to.
pub(super) const STRICT: &str = "# leave out: strict = true";

/// Why nobody is offered to vouch for what somebody may have spelt to deceive.
const HIDDEN: &str =
    "# no line vouches for a value with hidden characters, which is not what it looks like";

/// The same of one that goes on where nobody would look for it: the line itself would.
const WIDE: &str =
    "# no line is offered for a value with a wide gap, which could pass for several lines";

impl Weigher<'_> {
    /// The line that would make a question about a value the last of its kind: what its manifest calls content need
    /// not steer, and nobody vouches for the text of a letter. Where nobody has said what an argument of a server's tool is,
    /// or of one that is called like a text, that is to be said first.
    pub(super) fn ending_line(&self, leaf: &Leaf, kind: Kind) -> String {
        let steers = |place: &String| lies_at(&leaf.path, place);
        let said = self.about.steering.keys().any(steers);
        let open = kind == Kind::Value && !said;
        if self.call.declared.outside && open {
            return self.form();
        }
        let mut content = self.call.declared.flow.content.iter();
        match content.find(|place| steers(place) && !self.call.declared.outside && !said) {
            Some(place) => advice::content(&self.call.tool, place),
            // Its name has it that it is a text, or its value.
            None if open && self.guess(leaf).is_none() => self.form(),
            None => {
                let list = self.lists().filter(|_| kind == Kind::Id);
                let others = list.into_iter().chain(self.trusting(&leaf.path));
                let lines = std::iter::once(self.vouching_line(&leaf.text)).chain(others);
                lines.collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// What an argument is taken for of which nobody has said anything: the kind of a value that steers, or nothing for
    /// content.
    fn guess(&self, leaf: &Leaf) -> Option<Kind> {
        let (place, tainted) = (place_of(&leaf.path), self.is_tainted(&leaf.path));
        let argument = (place.as_str(), leaf.text.as_str());
        Guess::of(argument, &self.call.declared, tainted).kind
    }

    /// What is to be said of all arguments, as their names and values have it: in comments, since a name that sounds like a
    /// text may be that of what is done, which only a person knows.
    fn form(&self) -> String {
        let (mut steering, mut content) = (self.about.steering.clone(), self.about.content.clone());
        let declared = &self.call.declared;
        for leaf in leaves(self.call.args.value(), &declared.input) {
            let place = place_of(&leaf.path);
            let is_open = self.kind_of(&leaf.path) == Some(Kind::Value);
            let said = self
                .about
                .steering
                .keys()
                .any(|known| lies_at(&leaf.path, known));
            // What is in a secret is told by no name either, and a name that nobody has declared is no argument's.
            if !is_open || said || self.veils(&leaf.path) || !has_place(&declared.input, &place) {
                continue;
            }
            match self.guess(&leaf) {
                Some(kind) => {
                    steering.insert(place, kind);
                }
                None if content.contains(&place) => {}
                None => content.push(place),
            }
        }
        advice::form(&self.call.tool, &steering, &content)
    }

    /// Another way out for ids: the list of the same service that may say which of them are meant. In words, since it
    /// speaks of records that anybody has started, too.
    fn lists(&self) -> Option<String> {
        let mut tools = self.policy.flows.tools.iter();
        let (tool, said) = tools.find(|(tool, said)| {
            let records = &said.records;
            let is_list = !records.at.is_empty() && !records.id.is_empty();
            tool.plugin() == self.call.tool.plugin()
                && is_list
                && !records.vouches.contains_key(&records.id)
        })?;
        Some(advice::listing(tool, &said.records.id))
    }

    /// Another way out where nobody but the called plugin's own words are behind it: those that its model was shown. In words,
    /// since it speaks of all that the plugin says.
    fn trusting(&self, path: &str) -> Option<String> {
        let plugin = self.call.tool.plugin();
        let own = format!("tool:{plugin}.*");
        let blamed = self.policy.flows.classes.blamed(&self.behind(path));
        let alone = !self.call.declared.outside && blamed == [own];
        alone.then(|| advice::trusting(plugin))
    }

    /// The line by which the operator vouches for a value in calls of this tool, and the flag that does so for one run of a
    /// model.
    fn vouching_line(&self, value: &str) -> String {
        if value.chars().any(is_hidden) {
            return HIDDEN.to_owned();
        }
        if narrow(value) != value {
            return WIDE.to_owned();
        }
        let led = self.caller.known.how.led == Led::ByModel;
        let flag = led.then(|| shell_word(value));
        advice::vouching(&self.call.tool, value, flag.as_deref())
    }

    /// The same of a name that is the user's own where they, or policy, say so. A long one is a text.
    pub(super) fn naming_line(&self, name: &str) -> String {
        let destructive = self.call.declared.effect == EffectClass::Destructive;
        match destructive || name.chars().count() > STEERING_CHARS {
            true => String::new(),
            false => self.vouching_line(name),
        }
    }
}

/// The line by which a new file needs nobody's word where this one shall be made: it ends more questions than who vouches for
/// one path.
#[must_use]
pub fn new_files_line(call: &Call, caller: &Caller, policy: &Policy) -> Option<String> {
    let ledger = caller.known.ledger();
    let weigher = Weigher::of(call, (caller, policy), &ledger);
    let leaves = leaves(call.args.value(), &call.declared.input);
    let mut files = leaves
        .iter()
        .filter(|leaf| weigher.kind_of(&leaf.path) == Some(Kind::File));
    // A workspace serves calls with one place, and none that somebody vouches for needs it.
    let (Some(leaf), None) = (files.next(), files.next()) else {
        return None;
    };
    let hidden = weigher.veils(&leaf.path) || leaf.text.chars().any(is_hidden);
    if hidden || weigher.witness(leaf, Kind::File).is_some() {
        return None;
    }
    let mount = file::no_workspace_yet(policy, &leaf.text)?;
    weigher
        .may_make(leaf, &mount)
        .then(|| advice::workspace(&mount))
}

/// A text as one word of a shell.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    match !text.starts_with('-') && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
