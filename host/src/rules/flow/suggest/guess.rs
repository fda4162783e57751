//! Guesses: what an argument is of which nobody has said anything, as its name and its value have it. Questions and what is
//! proposed guess by the same rule.
//!
//! A guess counts for nothing until a person has made it a line of theirs. Whoever had influence on a wish has chosen its
//! values, so nothing is guessed by one of them; and whoever wrote a tool has chosen the names of its arguments.

use crate::rules::flow::kind::Kind;
use crate::rules::grant::Access;
use crate::rules::manifest::Declared;

/// What an argument is taken for.
pub(in super::super) struct Guess {
    /// The kind of a value that steers; nothing for content.
    pub(in super::super) kind: Option<Kind>,
    /// What that was guessed by.
    pub(in super::super) by: &'static str,
}

impl Guess {
    /// Of the argument at a place, with this value in it, which somebody untrusted has chosen or not.
    pub(in super::super) fn of(
        (place, text): (&str, &str),
        declared: &Declared,
        tainted: bool,
    ) -> Self {
        let text = Some(text).filter(|_| !tainted);
        if is_called_content(place) {
            return Self {
                kind: None,
                by: "by its name",
            };
        }
        // A long text with lines names nothing; a long one without may be a URL.
        if text.is_some_and(|text| text.contains('\n') && text.contains(' ')) {
            return Self {
                kind: None,
                by: "by its value",
            };
        }
        let by = match text {
            Some(_) => "by its name and value",
            None => "by its name",
        };
        Self {
            kind: Some(looks_like(place, text, declared)),
            by,
        }
    }
}

/// Names of arguments that hold text and not a destination.
const CONTENT_NAMES: [&str; 8] = [
    "content",
    "body",
    "text",
    "message",
    "description",
    "html",
    "markdown",
    "summary",
];

fn is_called_content(place: &str) -> bool {
    let name = name_of(place);
    CONTENT_NAMES
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// What an argument is called, and not the list that it may be.
fn name_of(place: &str) -> &str {
    let mut names = place.rsplit('/');
    names.find(|name| *name != "*").unwrap_or_default()
}

/// The kind of an argument that steers, as its name has it, and its value where that counts.
fn looks_like(place: &str, text: Option<&str>, declared: &Declared) -> Kind {
    let name = name_of(place).to_ascii_lowercase();
    let is_mail = |text: &str| {
        let parts = text.split_once('@');
        !text.contains(char::is_whitespace)
            && parts.is_some_and(|(who, host)| !who.is_empty() && host.contains('.'))
    };
    let is_url = |text: &str| text.starts_with("https://") || text.starts_with("http://");
    if text.is_some_and(is_mail) {
        Kind::Mail
    } else if text.is_some_and(is_url) {
        Kind::Url
    } else if ["iban", "account", "wallet"]
        .iter()
        .any(|part| name.contains(part))
    {
        Kind::Account
    } else if declared.wants.mounts != Access::None
        && ["path", "file", "folder", "source", "target"]
            .iter()
            .any(|part| name.contains(part))
    {
        Kind::File
    } else if name == "id" || name.ends_with("_id") {
        Kind::Id
    } else if name == "user" || name == "assignee" || name == "channel" {
        Kind::User
    } else {
        Kind::Value
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_guessed_by_a_value_that_a_stranger_has_chosen() {
        let declared = json!({
            "name": "act", "description": "", "output": {}, "effect": "external-stateful",
            "risk": "external_write", "input": {}, "flow": {},
        });
        let declared: Declared = serde_json::from_value(declared).unwrap();
        for (place, text, clean, tainted) in [
            ("to/*", "a@x.test", "mail", "value"),
            ("link", "https://a.test/", "url", "value"),
            ("tag", "some\nlines of it", "content", "value"),
            ("iban", "DE99 1234", "account", "account"),
            ("record_id", "a@x.test", "mail", "id"),
            ("letter/Body", "x", "content", "content"),
        ] {
            let guess = |tainted| {
                let guess = Guess::of((place, text), &declared, tainted);
                guess.kind.map_or("content", Kind::word)
            };
            assert_eq!((guess(false), guess(true)), (clean, tainted), "{place}");
        }
    }
}
