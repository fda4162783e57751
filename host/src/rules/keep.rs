//! Rule for keeping: may something be read from or put on a shelf that outlives the run?
//!
//! Each plugin has its own shelf; there is no line that opens another's.

use super::caller::{Caller, Origin};
use super::file::check_looking;
use super::grant::Access;
use super::policy::Policy;
use super::{Allowed, Consent, Durability, Effect, deny, deny_unless};
use crate::words::event::{Content, Denial, EffectKind};
use crate::words::id::{Digest, shown};
use crate::words::label::{Label, Sort, Source};
use crate::words::limits::{
    NOTE_BYTES, NOTE_KEY_CHARS, NOTE_SOURCE_BYTES, NOTE_SOURCE_START_BYTES,
};

/// A note is read or written.
#[derive(Clone, Debug)]
pub struct Keep {
    /// The plugin whose shelf it is.
    pub shelf: String,
    /// The note's key, the prefix of keys, or the words to search for.
    pub key: String,
    /// What is to be done.
    pub wish: KeepWish,
}

/// What is to be done with a shelf.
#[derive(Clone, Debug)]
pub enum KeepWish {
    /// Write or replace a note.
    Put {
        /// Its text.
        text: String,
        /// What influenced it, kept beside it.
        label: Label,
    },
    /// Read one note.
    Get,
    /// Notes whose key begins so.
    List {
        /// At most this many.
        limit: usize,
    },
    /// Notes that have all these words.
    Search {
        /// At most this many.
        limit: usize,
    },
    /// Remove one note.
    Delete {
        /// What influenced that, kept in its place.
        label: Label,
    },
}

impl KeepWish {
    fn word(&self) -> &'static str {
        match self {
            Self::Put { .. } => "put",
            Self::Get => "get",
            Self::List { .. } => "list",
            Self::Search { .. } => "search",
            Self::Delete { .. } => "delete",
        }
    }

    fn access(&self) -> Access {
        match self {
            Self::Get | Self::List { .. } | Self::Search { .. } => Access::Read,
            Self::Put { .. } | Self::Delete { .. } => Access::Write,
        }
    }
}

impl Keep {
    /// Neither its key nor its text is longer than may be: asked for before either is looked through.
    ///
    /// # Errors
    /// The denial.
    pub fn check_size(&self) -> Result<(), Denial> {
        if self.key.chars().nth(NOTE_KEY_CHARS).is_some() {
            return Err(no_key());
        }
        if matches!(&self.wish, KeepWish::Put { text, .. } if text.len() > NOTE_BYTES) {
            let what = format!("a note has at most {NOTE_BYTES} bytes");
            return Err(deny("size", what));
        }
        Ok(())
    }

    /// What a note of this shelf brings into a label, beside the label that is stored with it. A long key is named by
    /// its beginning and its digest: no short one is called so.
    #[must_use]
    pub fn source(shelf: &str, key: &str) -> Source {
        if key.len() <= NOTE_SOURCE_BYTES {
            return Source::new(Sort::Note, &format!("{shelf}/{key}"));
        }
        let ends = (0..=NOTE_SOURCE_START_BYTES).rev();
        let start = ends.into_iter().find_map(|end| key.get(..end));
        let digest = Digest::of(key.as_bytes()).to_string();
        let digest = digest.get(..16).unwrap_or(&digest);
        let name = format!("{shelf}/{}…{digest}", start.unwrap_or_default());
        Source::new(Sort::Note, &name)
    }

    /// Where it is looked for, as a source, for whoever finds nothing: the shelf as a note without a key, which none is. What
    /// the key says that was looked for is its guest's, and in no label. Whoever writes looks for nothing.
    #[must_use]
    pub fn sought(&self) -> Option<Source> {
        match self.wish {
            KeepWish::Get | KeepWish::List { .. } | KeepWish::Search { .. } => {
                Some(Self::source(&self.shelf, ""))
            }
            KeepWish::Put { .. } | KeepWish::Delete { .. } => None,
        }
    }

    /// The same of a source as policy writes it, with the whole key.
    #[must_use]
    pub fn source_of(text: &str) -> Option<Source> {
        let (shelf, key) = text.strip_prefix("note:")?.split_once('/')?;
        Some(Self::source(shelf, key))
    }
}

fn no_key() -> Denial {
    let what = format!("a key has at most {NOTE_KEY_CHARS} characters and no control characters");
    deny("key", what)
}

impl Effect for Keep {
    const KIND: EffectKind = EffectKind::Keep;
    type Terms = ();

    fn subject(&self) -> String {
        format!("{} {}/{}", self.wish.word(), self.shelf, shown(&self.key))
    }

    fn content(&self) -> Content {
        match &self.wish {
            KeepWish::Put { text, .. } => Content::Size { bytes: text.len() },
            KeepWish::Get
            | KeepWish::List { .. }
            | KeepWish::Search { .. }
            | KeepWish::Delete { .. } => Content::Empty,
        }
    }

    fn passes_on(&self) -> bool {
        self.wish.access() > Access::Read
    }

    fn awaited(&self, _: &Caller, _: &Policy) -> Label {
        self.sought().map(Label::of).unwrap_or_default()
    }

    fn judge(&self, caller: &Caller, policy: &Policy) -> Result<Allowed<()>, Denial> {
        let owner = matches!(&caller.origin, Origin::Tool(tool) if tool.plugin() == self.shelf);
        if !owner {
            return Err(deny(
                "shelf",
                format!("only tools of `{}` may open its shelf", self.shelf),
            ));
        }
        self.check_size()?;
        if self.key.chars().any(char::is_control) {
            return Err(no_key());
        }
        if caller.grant.notes >= self.wish.access() {
            let notice = match self.wish.access() > Access::Read {
                true => check_looking(caller, policy)?,
                false => String::new(),
            };
            let rule = format!(
                "notes = \"{}\" in {}{notice}",
                caller.grant.notes.word(),
                policy.origin
            );
            return Ok(Allowed {
                rule,
                terms: (),
                consent: Consent::NotNeeded,
                weighed: Vec::new(),
            });
        }
        let needed = self.wish.access().word();
        Err(deny_unless(
            "notes_not_granted",
            format!("`{}` may not {} notes", caller.origin, needed),
            &[
                &format!("[grants.\"{}\"]", caller.origin),
                &format!("notes = \"{needed}\""),
            ],
        ))
    }

    fn durability(&self) -> Durability {
        match self.wish.access() {
            Access::None | Access::Read => Durability::Batched,
            Access::Create | Access::Write => Durability::Committed,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::words::clock::Deadline;
    use crate::words::id::RunId;

    #[test]
    fn only_what_changes_a_shelf_passes_something_on() {
        let put = KeepWish::Put {
            text: "t".to_owned(),
            label: Label::default(),
        };
        let delete = KeepWish::Delete {
            label: Label::default(),
        };
        for (wish, expected) in [
            (put, true),
            (KeepWish::Get, false),
            (KeepWish::List { limit: 1 }, false),
            (KeepWish::Search { limit: 1 }, false),
            (delete, true),
        ] {
            let keep = Keep {
                shelf: "notes".to_owned(),
                key: "plan".to_owned(),
                wish,
            };
            assert_eq!(keep.passes_on(), expected, "{:?}", keep.wish);
        }
    }

    /// Whoever writes looks for nothing, also where that takes long.
    #[test]
    fn whoever_waits_for_a_shelf_has_heard_of_it_where_they_look_for_something() {
        let policy = Policy::nothing("here");
        let run = RunId::known("r");
        let within = (Arc::default(), Deadline::after_ms(9));
        let caller = Caller::apart(run, Origin::Client, within);
        let awaited = |wish| {
            let keep = Keep {
                shelf: "notes".to_owned(),
                key: "plan".to_owned(),
                wish,
            };
            keep.awaited(&caller, &policy)
        };
        let shelf = Label::of(Source::new(Sort::Note, "notes/"));
        assert_eq!(awaited(KeepWish::Get), shelf);
        let label = Label::default();
        assert_eq!(awaited(KeepWish::Delete { label }), Label::default());
    }

    #[test]
    fn a_key_and_a_text_are_as_long_as_they_may_be() {
        let put = |bytes: usize| KeepWish::Put {
            text: "t".repeat(bytes),
            label: Label::default(),
        };
        let size = |key: String, wish: KeepWish| {
            let shelf = "notes".to_owned();
            let denial = Keep { shelf, key, wish }.check_size().err();
            denial.map(|denial| denial.rule).unwrap_or_default()
        };
        let key = |chars: usize| "ä".repeat(chars);
        assert_eq!(size(key(NOTE_KEY_CHARS), put(NOTE_BYTES)), "");
        assert_eq!(size(key(NOTE_KEY_CHARS + 1), KeepWish::Get), "key");
        assert_eq!(size(key(1), put(NOTE_BYTES + 1)), "size");
    }

    #[test]
    fn a_long_key_is_named_by_its_beginning_and_its_digest() {
        assert_eq!(Keep::source("notes", "plan").to_string(), "note:notes/plan");
        let brim = "b".repeat(NOTE_SOURCE_BYTES);
        assert_eq!(Keep::source("notes", &brim).name(), format!("notes/{brim}"));
        let long = "ä".repeat(250);
        let source = Keep::source("notes", &long);
        let start = format!("notes/{}…", "ä".repeat(10));
        assert!(source.name().starts_with(&start), "{source}");
        assert!(source.name().len() <= start.len() + 16, "{source}");
        assert_ne!(source, Keep::source("notes", &format!("{long}x")));
        assert!(source.name().len() > "notes/".len() + NOTE_SOURCE_BYTES);
        // A line of policy about it is about it still.
        let said = Keep::source_of(&format!("note:notes/{long}"));
        assert_eq!(said, Some(source));
        assert_eq!(Keep::source_of("web:https://a.test"), None);
    }
}
