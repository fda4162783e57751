//! Pins: what a person has read of a server, and said yes to.

use std::collections::{BTreeMap, BTreeSet};

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
    /// The files that its command names, as they were.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: Parts,
}

/// Files that the command of a server names, by that name, each as what it holds.
pub type Parts = BTreeMap<String, Digest>;

/// How what a server says now differs from what was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Tools, by their names there, that were not there.
    pub new: Vec<String>,
    /// Those that say something else.
    pub changed: Vec<String>,
    /// Those that are no longer there.
    pub gone: Vec<String>,
    /// Files that its command names, and that are not what they were.
    pub parts: Vec<String>,
    /// Names here that are another tool's by now.
    pub taken: Vec<Taken>,
}

/// A name here, after the server's, under which another tool stands than did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Taken {
    /// The name.
    pub name: String,
    /// Whose it was, by its name there.
    pub was: String,
    /// Whose it is.
    pub now: String,
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
    pub fn of(terms: &Terms, listed: &Listed, parts: Parts) -> Self {
        Self {
            server: terms.name.clone(),
            identity: terms.identity(),
            tools: listed.tools.clone(),
            parts,
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

    /// How what it says now differs, and the files that its command names.
    #[must_use]
    pub fn difference(&self, listed: &Listed, parts: &Parts) -> Difference {
        let now = digests(listed);
        let mut difference = Difference {
            parts: changed(&self.parts, parts),
            taken: self.taken(listed),
            ..Difference::default()
        };
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

    /// Policy's lines about a name here would be about another tool.
    fn taken(&self, listed: &Listed) -> Vec<Taken> {
        let other = |was: &Definition| {
            let mut now = listed.tools.iter();
            let now = now.find(|now| now.short == was.short && now.remote != was.remote)?;
            Some(Taken {
                name: was.short.clone(),
                was: was.remote.clone(),
                now: now.remote.clone(),
            })
        };
        self.tools.iter().filter_map(other).collect()
    }
}

/// Files that are not what they were, that have come, or that have gone.
#[must_use]
pub fn changed(was: &Parts, is: &Parts) -> Vec<String> {
    let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let other = |name: &&String| was.get(*name) != is.get(*name);
    names.into_iter().filter(other).cloned().collect()
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
            parts: Parts::default(),
        };
        let same = listed(&[("c", "1"), ("b", "1"), ("a", "1")]);
        assert!(pin.difference(&same, &Parts::default()).is_none());
        let now = listed(&[("a", "1"), ("b", "2"), ("d", "1")]);
        let difference = pin.difference(&now, &Parts::default());
        assert_eq!(difference.changed, ["b"]);
        assert_eq!(difference.gone, ["c"]);
        assert_eq!(difference.new, ["d"]);
        assert!(difference.taken.is_empty());
        // What was kept before there were files in it is read, and says that there were none.
        let parts = [("s.js".to_owned(), Digest::of(b"1"))]
            .into_iter()
            .collect();
        assert_eq!(pin.difference(&same, &parts).parts, ["s.js"]);
        let kept = Pin::read(pin.text().unwrap().as_bytes()).unwrap();
        assert_eq!((kept.digest(), kept), (pin.digest(), pin));
    }

    #[test]
    fn a_name_that_is_another_tools_by_now_is_told() {
        let pin = Pin {
            server: "s".to_owned(),
            identity: Digest::of(b""),
            tools: listed(&[("sendMail", "1")]).tools,
            parts: Parts::default(),
        };
        let taken = |now: &[(&str, &str)]| {
            let now = listed(now).keeping(&pin.tools);
            pin.difference(&now, &Parts::default()).taken
        };
        assert!(taken(&[("sendMail", "1"), ("send_mail", "1")]).is_empty());
        let other = Taken {
            name: "send_mail".to_owned(),
            was: "sendMail".to_owned(),
            now: "send_mail".to_owned(),
        };
        assert_eq!(taken(&[("send_mail", "1")]), [other]);
    }
}
