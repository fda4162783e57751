//! Pins: what a person has read of a server, and said yes to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Terms;
use super::definition::{Definition, Listed};
use crate::words::error::{Code, Error, Result};
use crate::words::id::Digest;

/// The tools of a server as a person has read them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// The server's name, for people.
    pub server: String,
    /// Who it is.
    pub identity: Digest,
    /// Its tools.
    pub tools: Vec<Definition>,
}

/// How what a server says now differs from what was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Tools, by their names there, that were not there.
    pub new: Vec<String>,
    /// Those that say something else.
    pub changed: Vec<String>,
    /// Those that are no longer there.
    pub gone: Vec<String>,
}

impl Difference {
    /// Whether there is none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Pin {
    /// What a person has just read.
    #[must_use]
    pub fn of(terms: &Terms, listed: &Listed) -> Self {
        Self {
            server: terms.name.clone(),
            identity: terms.identity(),
            tools: listed.tools.clone(),
        }
    }

    /// Reads a pin as it was kept.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn read(text: &[u8]) -> Result<Self> {
        serde_json::from_slice(text).map_err(|error| {
            Error::new(Code::Corrupt, "what was trusted of a server cannot be read").because(error)
        })
    }

    /// The pin as it is kept.
    ///
    /// # Errors
    /// `Bug`.
    pub fn text(&self) -> Result<String> {
        serde_json::to_string_pretty(self)
            .map_err(|error| Error::bug("a pin is no JSON").because(error))
    }

    /// All that was read, as one name.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let all: String = self
            .tools
            .iter()
            .map(|tool| tool.digest().to_string())
            .collect();
        Digest::of(all.as_bytes())
    }

    /// How what it says now differs.
    #[must_use]
    pub fn difference(&self, now: &BTreeMap<String, Digest>) -> Difference {
        let mut difference = Difference::default();
        for tool in &self.tools {
            match now.get(&tool.remote) {
                Some(digest) if *digest == tool.digest() => {}
                Some(_) => difference.changed.push(tool.remote.clone()),
                None => difference.gone.push(tool.remote.clone()),
            }
        }
        let known = |name: &&String| self.tools.iter().any(|tool| tool.remote == **name);
        difference.new = now.keys().filter(|name| !known(name)).cloned().collect();
        difference
    }
}

/// What each tool says now, by its name there.
#[must_use]
pub fn digests(listed: &Listed) -> BTreeMap<String, Digest> {
    let tools = listed.tools.iter();
    tools
        .map(|tool| (tool.remote.clone(), tool.digest()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::definition;
    use super::*;

    fn listed(tools: &[(&str, &str)]) -> Listed {
        let entry = |(name, says): &(&str, &str)| -> Value {
            json!({"name": name, "description": says, "inputSchema": {"type": "object"}})
        };
        definition::read(&tools.iter().map(entry).collect::<Vec<_>>())
    }

    #[test]
    fn what_changed_is_told_from_what_is_new_and_what_is_gone() {
        let pin = Pin {
            server: "s".to_owned(),
            identity: Digest::of(b""),
            tools: listed(&[("a", "1"), ("b", "1"), ("c", "1")]).tools,
        };
        assert!(
            pin.difference(&digests(&listed(&[("c", "1"), ("b", "1"), ("a", "1")])))
                .is_none()
        );
        let now = digests(&listed(&[("a", "1"), ("b", "2"), ("d", "1")]));
        let difference = pin.difference(&now);
        assert_eq!(difference.changed, ["b"]);
        assert_eq!(difference.gone, ["c"]);
        assert_eq!(difference.new, ["d"]);
        let kept = Pin::read(pin.text().unwrap().as_bytes()).unwrap();
        assert_eq!((kept.digest(), kept), (pin.digest(), pin));
    }
}
