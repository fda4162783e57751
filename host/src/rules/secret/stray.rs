//! A marker that no line fills: what is said of it, and which line would fill it.

use serde_json::Value;

use super::{
    Placement, SecretGrant, UNDECLARED, UNGRANTED, Wisher, is_secret_name, marked, marker,
    no_such_secret,
};
use crate::rules::advice::quoted;
use crate::rules::fetch::Fetch;
use crate::rules::{deny, deny_unless};
use crate::words::event::Denial;
use crate::words::id::{is_hidden, shown};

/// Characters of the longest text of a request that stands in a denial. What is longer is left out and not cut: half of a
/// secret is recognised by nobody.
const SAID_CHARS: usize = 64;

/// A marker that no line fills.
pub(super) struct Stray {
    /// What stands in it, whether that is a name or not.
    name: String,
    /// Where it stands, in words.
    at: String,
    /// The place that a line would give it; nothing where no line can.
    place: Option<Placement>,
}

impl Stray {
    /// One where no secret can stand.
    pub(super) fn out_of_place(name: &str, at: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            at: at.into(),
            place: None,
        }
    }

    /// One in the value of a header, alone or behind other text.
    pub(super) fn in_header(name: &str, header: &str, value: &str) -> Self {
        if !can_be_said(header) {
            return Self::out_of_place(name, "a header");
        }
        let header = header.to_ascii_lowercase();
        let before = value.strip_suffix(marker(name).as_str());
        let before = before.filter(|before| marked(before).is_none());
        match before.filter(|before| before.is_empty() || can_be_said(before)) {
            Some(before) => Self {
                name: name.to_owned(),
                at: match before {
                    "" => format!("header `{header}`"),
                    before => format!("header `{header}` after `{before}`"),
                },
                place: Some(Placement::Header {
                    name: header,
                    before: before.to_owned(),
                }),
            },
            None => Self::out_of_place(name, format!("header `{header}` with more around it")),
        }
    }

    /// One in the value of a parameter of the query.
    pub(super) fn in_query(name: &str, parameter: &str, value: &str) -> Self {
        if !can_be_said(parameter) {
            return Self::out_of_place(name, "a query parameter");
        }
        let place = Placement::Query(parameter.to_owned());
        if value != marker(name) {
            return Self::out_of_place(name, format!("{place} with more around it"));
        }
        Self {
            name: name.to_owned(),
            at: place.to_string(),
            place: Some(place),
        }
    }

    /// One that is a string, or a key, of a JSON body.
    pub(super) fn in_body(name: &str, body: &Value, text: &str) -> Self {
        let Some(pointer) = pointer_to(body, text) else {
            return Self::out_of_place(name, "a key of a JSON body");
        };
        if !can_be_said(&pointer) {
            return Self::out_of_place(name, "this string of a JSON body");
        }
        let place = Placement::Json(pointer);
        Self {
            name: name.to_owned(),
            at: place.to_string(),
            place: Some(place),
        }
    }

    /// The denial. Nothing that is said here depends on which secrets there are: of one that no line of the tool names for
    /// this destination the same is said as of one that there is not, and where others may stand, those lines say.
    pub(super) fn denial(
        &self,
        fetch: &Fetch,
        lines: &[&SecretGrant],
        (who, declared): Wisher<'_>,
    ) -> Denial {
        let name = &self.name;
        if !is_secret_name(name) {
            return deny(UNGRANTED, no_such_secret(name));
        }
        if declared.is_some_and(|declared| !declared.contains(name)) {
            return deny(UNDECLARED, no_such_secret(name));
        }
        let granted = lines.iter().filter(|line| line.name == *name);
        let granted: Vec<String> = granted.map(|line| line.place.to_string()).collect();
        let reason = match granted.is_empty() {
            true => no_such_secret(name),
            false => format!(
                "the secret `{name}` may not stand in {}, only in {}",
                self.at,
                granted.join(" or ")
            ),
        };
        let place = self.place.as_ref();
        let Some(place) = place.filter(|place| place.check().is_ok()) else {
            return deny(UNGRANTED, reason);
        };
        let to = fetch.url().origin().ascii_serialization();
        let place = written(place);
        let wish = format!("secrets = [{{ name = \"{name}\", to = \"{to}/\", {place} }}]");
        deny_unless(UNGRANTED, reason, &[&format!("[grants.\"{who}\"]"), &wish])
    }
}

/// Whether a text of a request may stand in a denial and in a line that somebody copies: short, and nothing hidden in it.
fn can_be_said(text: &str) -> bool {
    let is_short = text.chars().nth(SAID_CHARS).is_none();
    is_short && !text.is_empty() && !text.chars().any(is_hidden) && shown(text) == text
}

/// A place as a line of policy says it.
fn written(place: &Placement) -> String {
    match place {
        // Whose password it is, no request says.
        Placement::Header { name, before } if name == "authorization" && before == "Basic " => {
            "basic = \"USER\"".to_owned()
        }
        Placement::Header { name, before } if before.is_empty() => {
            format!("header = {}", quoted(name))
        }
        Placement::Header { name, before } => {
            format!("header = {}, before = {}", quoted(name), quoted(before))
        }
        Placement::Query(parameter) => format!("query = {}", quoted(parameter)),
        Placement::Json(pointer) => format!("json = {}", quoted(pointer)),
        Placement::Basic(user) => format!("basic = {}", quoted(user)),
    }
}

/// The pointer to the first string of a value that is this text; nothing where only a key is. It is put together on the way
/// back from there, so that one is made however many there are.
fn pointer_to(value: &Value, text: &str) -> Option<String> {
    match value {
        Value::String(string) => (string == text).then(String::new),
        Value::Array(items) => items.iter().enumerate().find_map(|(at, item)| {
            let rest = pointer_to(item, text)?;
            Some(format!("/{at}{rest}"))
        }),
        Value::Object(map) => map.iter().find_map(|(key, item)| {
            let rest = pointer_to(item, text)?;
            let key = key.replace('~', "~0").replace('/', "~1");
            Some(format!("/{key}{rest}"))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
