//! Unseen: what a script makes once it knows something of a secret. How much that is, and how it is called, is the script's
//! choice, and would spell what it knows to whoever counts it: so its model has none of these handles, and what is called after
//! them is called so however many there were.

use serde_json::Value;

use super::{Handles, handle_in};
use crate::words::error::{Error, Result};
use crate::words::id::shown;
use crate::words::label::Label;
use crate::words::limits::HANDLES_NAMED;

/// What a script leaves is called by a multiple of this. It is more than a run holds.
const BLOCK: u64 = 10_000;

impl Handles {
    /// Keeps a handle from the model of its run, which was not told of it.
    pub fn hide(&mut self, name: &str) {
        self.unseen.insert(name.to_owned());
    }

    /// Whether no handle stands in these arguments that their model was not told of.
    ///
    /// # Errors
    /// `NotFound`, in the same words as for one that is not there.
    pub fn check_told(&self, args: &Value) -> Result<()> {
        match args {
            _ if let Some(name) = handle_in(args) => match self.unseen.contains(name) {
                true => Err(self.no_such(name)),
                false => Ok(()),
            },
            Value::Array(items) => items.iter().try_for_each(|item| self.check_told(item)),
            Value::Object(map) => map.values().try_for_each(|item| self.check_told(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    /// Calls whatever comes next by a number that says nothing of how many there were before.
    pub fn skip(&mut self) {
        let blocks = self.last.checked_div(BLOCK).unwrap_or_default();
        self.last = blocks.saturating_add(1).saturating_mul(BLOCK);
        self.given = self.last;
    }

    /// Holds what a script leaves, under a name that says nothing of how many handles it has made.
    ///
    /// # Errors
    /// As [`Handles::hold`].
    pub fn hold_beyond(&mut self, value: &Value, label: &Label) -> Result<String> {
        self.skip();
        let name = format!("h{}", self.last);
        if self.held.len() >= self.most {
            return Err(super::over(self.most));
        }
        self.hold_as(&name, value, label)?;
        Ok(name)
    }

    /// That there is no such handle.
    pub(super) fn no_such(&self, name: &str) -> Error {
        let what = format!(
            "handle `{}` in this run, which holds {}",
            shown(name),
            self.names()
        );
        Error::not_found(what)
    }

    /// The names of what is held, for whoever has mistaken one.
    fn names(&self) -> String {
        let told: Vec<&String> = self
            .held
            .keys()
            .filter(|name| !self.unseen.contains(*name))
            .collect();
        let some: Vec<&str> = told
            .iter()
            .take(HANDLES_NAMED)
            .map(|name| name.as_str())
            .collect();
        match (some.is_empty(), told.len().saturating_sub(HANDLES_NAMED)) {
            (true, _) => "nothing".to_owned(),
            (false, 0) => some.join(", "),
            (false, more) => format!("{} and {more} more", some.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Naming;
    use super::*;

    /// With a handle that its model knows, and so many that it does not.
    fn after(unseen: usize) -> Handles {
        let mut handles = Handles::default();
        for number in 0..=unseen {
            let name = handles.hold(Naming::Next, &json!("x"), &Label::default());
            if number > 0 {
                handles.hide(&name.unwrap());
            }
        }
        handles
    }

    #[test]
    fn what_a_model_was_not_told_of_is_not_there_for_it_however_much_there_is() {
        for unseen in [0, 1, 20] {
            let handles = after(unseen);
            let told = handles.check_told(&json!({"of": [{"$handle": "h1"}, {"text": "h2"}]}));
            assert!(told.is_ok(), "{told:?}");
            for args in [json!({"a": {"$handle": "h2"}}), json!([{"$handle": "h2"}])] {
                let found = handles.check_told(&args).err();
                assert_eq!(found.is_some(), unseen > 0, "{args}");
            }
            let says = handles.get("zz").unwrap_err();
            assert!(says.message().ends_with("which holds h1"), "{says}");
            if unseen > 0 {
                let hidden = handles.check_told(&json!({"$handle": "h2"})).unwrap_err();
                let missing = after(0).get("h2").unwrap_err();
                assert_eq!(hidden.message(), missing.message());
                // Whoever made it has it.
                assert!(handles.get("h2").is_ok());
            }
        }
    }

    #[test]
    fn what_comes_after_a_script_is_called_so_however_much_it_has_made() {
        for unseen in [0, 1, 20] {
            let mut handles = after(unseen);
            let left = handles.hold_beyond(&json!("x"), &Label::default());
            assert_eq!(left.unwrap(), "h10000");
            handles.let_go();
            let next = handles.hold(Naming::Next, &json!("x"), &Label::default());
            assert_eq!(next.unwrap(), "h10001");
            handles.skip();
            let next = handles.hold(Naming::Next, &json!("x"), &Label::default());
            assert_eq!(next.unwrap(), "h20001");
        }
        let mut full = after(1).at_most(2);
        assert!(full.hold_beyond(&json!("x"), &Label::default()).is_err());
    }

    #[test]
    fn a_block_is_more_than_a_run_holds() {
        let most = u64::try_from(crate::words::limits::HANDLES).unwrap();
        assert!(BLOCK > most);
    }
}
