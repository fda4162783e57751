//! `handle.find`: the one address, URL or identifier in a text.

use lazaret_sdk::prelude::*;

use crate::part::text;

/// What is looked for.
#[value]
#[derive(Copy, PartialEq, Eq)]
pub enum What {
    /// A mail address.
    Mail,
    /// A URL with `http://` or `https://`.
    Url,
    /// A token of letters and digits, such as an order number, that begins with `start`.
    Id,
}

/// The one mail address, URL or identifier in what is held: exactly one, or it fails. It stays held.
#[tool(
    effect = "pure",
    example(
        title = "the link in a page",
        args = r#"{"value": {"$handle": "h12"}, "what": "url"}"#
    )
)]
pub fn find(
    /// The handle.
    value: Value,
    /// What to look for.
    what: What,
    /// How it begins; needed for an identifier.
    #[default(String::new())]
    start: String,
) -> Result<Value, Failure> {
    if what == What::Id && start.is_empty() {
        return Err(Failure::new("an identifier needs `start`, such as `ORD-`"));
    }
    let text = text(&value);
    let mut found: Vec<&str> = tokens(&text)
        .filter(|token| token.starts_with(&start) && is(token, what))
        .collect();
    found.sort_unstable();
    found.dedup();
    match found.as_slice() {
        [only] => Ok(Value::String((*only).to_owned())),
        [] => Err(Failure::new("there is none")),
        many => Err(Failure::new(format!(
            "there are {}, and not one",
            many.len()
        ))),
    }
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let edge = |c: char| c.is_whitespace() || "\"'`<>()[]{}|\\".contains(c);
    text.split(edge)
        .map(|token| token.trim_end_matches(['.', ',', ';', ':', '!', '?']))
        .filter(|token| !token.is_empty())
}

fn is(token: &str, what: What) -> bool {
    match what {
        What::Url => token.starts_with("http://") || token.starts_with("https://"),
        What::Id => token
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')),
        What::Mail => token.split_once('@').is_some_and(|(local, host)| {
            !local.is_empty() && host.contains('.') && !host.starts_with('.') && !host.contains('@')
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn exactly_one() {
        for (text, what, start, expected) in [
            ("write to a@x.test.", What::Mail, "", Some("a@x.test")),
            ("a@x.test and a@x.test", What::Mail, "", Some("a@x.test")),
            ("a@x.test and b@x.test", What::Mail, "", None),
            (
                "see (https://a.test/x).",
                What::Url,
                "",
                Some("https://a.test/x"),
            ),
            ("order ORD-12, or ABC", What::Id, "ORD-", Some("ORD-12")),
            ("order", What::Id, "", None),
            ("nothing", What::Mail, "", None),
        ] {
            let found = find(json!(text), what, start.to_owned()).ok();
            assert_eq!(found, expected.map(|text| json!(text)), "{text}");
        }
    }
}
