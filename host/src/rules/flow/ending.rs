//! Ends of questions: the line that would make one the last of its kind, and the flag that does so for one run.
//!
//! Nothing is offered for what cannot be undone, which is asked about each time.

use super::leaves::{Leaf, lies_at};
use super::Weigher;
use crate::rules::advice;
use crate::rules::caller::Origin;
use crate::rules::manifest::EffectClass;
use crate::words::id::is_hidden;
use crate::words::limits::STEERING_CHARS;

/// What ends questions about text that others read. To release the tool would also let pass whom it is sent to.
pub(super) const STRICT: &str = "# leave out: strict = true";

/// Why nobody is offered to vouch for what somebody may have spelt to deceive.
const HIDDEN: &str =
    "# no line vouches for a value with hidden characters, which is not what it looks like";

impl Weigher<'_> {
    /// The line that would make a question about a value the last of its kind: what its manifest calls content need
    /// not steer, and nobody vouches for the text of a letter.
    pub(super) fn ending_line(&self, leaf: &Leaf) -> String {
        let steers = |place: &String| lies_at(&leaf.path, place);
        let said = self.about.steering.keys().any(steers);
        let mut content = self.call.declared.flow.content.iter();
        match content.find(|place| steers(place) && !self.call.declared.outside && !said) {
            Some(place) => advice::content(&self.call.tool, place),
            None => self.vouching_line(&leaf.text),
        }
    }

    /// The line by which the operator vouches for a value, and the flag that does so for one run of a model.
    fn vouching_line(&self, value: &str) -> String {
        if value.chars().any(is_hidden) {
            return HIDDEN.to_owned();
        }
        let told = self.caller.origin == Origin::Model;
        let flag = told.then(|| shell_word(value));
        advice::vouching(value, flag.as_deref())
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

/// A text as one word of a shell.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    match !text.starts_with('-') && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
