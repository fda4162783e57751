//! What the parser says of a configuration, in the words of whoever writes one: which key, what is expected there, what
//! was found, and what may be there.

use toml::de::{DeTable, DeValue};

use super::secrets::NO_KEY;

/// Names that one sentence lists.
const LISTED: usize = 12;

/// The parser's sentence in other words; one that has no such form stays as it is.
pub(super) fn said(message: &str) -> String {
    let told = unknown(message)
        .or_else(|| mistyped(message))
        .or_else(|| missing(message));
    told.unwrap_or_else(|| message.to_owned())
}

/// What a person can do beyond that.
pub(super) fn advice(message: &str) -> Option<&'static str> {
    if message.ends_with(NO_KEY) {
        return Some(
            "write a name such as `OPENAI_API_KEY`, which has letters, digits and `_`, and keep the key in the variable of that \
             name",
        );
    }
    let twice = message.starts_with("duplicate key");
    twice.then_some(
        "a file has each table and each key once: write what is new into the one that is there",
    )
}

/// How a model gets its key, where a key stands in the file or seems to: what it is is never repeated.
const MODEL_KEY: &str = "a key is never in this file: write `key_env = \"OPENAI_API_KEY\"`, the name of the variable that holds it; \
     `lazaret secret set NAME` keeps what tools and servers use";

/// What a line was meant to be, where its form is what is wrong: a tool's name without quotes, one value where a list is
/// expected, a list where a table is; and a table of secrets, which have none. `key` is the one that the fault is in.
pub(super) fn form(line: &str, (key, message): (&str, &str)) -> Option<String> {
    if message.starts_with("unknown field `secrets`") {
        return Some("secrets are never in this file: `lazaret secret set NAME` keeps one, and `lazaret secret --help` \
                     shows the line that lets a tool use it".to_owned());
    }
    if let Some(name) = unknown_name(message).filter(|_| message.contains("`key_env`"))
        && ["key", "token", "secret", "auth"]
            .iter()
            .any(|word| name.contains(word))
    {
        return Some(MODEL_KEY.to_owned());
    }
    let line = line.trim();
    for table in ["grants", "flow.tools"] {
        let name = line
            .strip_prefix(&format!("[{table}."))
            .and_then(|rest| rest.strip_suffix(']'));
        if let Some(name) = name.filter(|name| !name.contains('"') && name.contains('.'))
            && message.starts_with("unknown field ")
        {
            return Some(format!("quote the tools: `[{table}.\"{name}\"]`"));
        }
    }
    let key = key.rsplit('.').next().unwrap_or_default();
    let expected = message.rsplit_once(", expected ")?.1;
    let is_text = message.starts_with("invalid type: string ");
    let example = match (key, expected) {
        ("mounts", "a map") => "{ docs = \"read\" }",
        ("secrets", _) => {
            "[{ name = \"github\", to = \"https://api.github.com/\", header = \"authorization\", before = \"Bearer \" }]"
        }
        (_, "a sequence") if is_text => {
            let value = line.split_once('=').map_or("", |(_, value)| value.trim());
            let words = match key {
                // A command line is its words: nothing splits it later.
                "command" => value.trim_matches('"').split_whitespace().collect(),
                _ => Vec::new(),
            };
            if words.len() > 1 {
                return Some(format!(
                    "write it as `command = [\"{}\"]`",
                    words.join("\", \"")
                ));
            }
            return (value.len() > 1 && value.ends_with('"'))
                .then(|| format!("write it as `{key} = [{value}]`"));
        }
        _ => return None,
    };
    message
        .starts_with("invalid type: ")
        .then(|| format!("write it as `{key} = {example}`"))
}

/// The key that nobody knows.
fn unknown_name(message: &str) -> Option<&str> {
    let (name, _) = message.strip_prefix("unknown field `")?.split_once('`')?;
    Some(name)
}

/// ``unknown field `a`, expected one of `b`, `c` ``, and the same of a variant.
fn unknown(message: &str) -> Option<String> {
    let (sort, rest) = message.strip_prefix("unknown ")?.split_once(" `")?;
    let (name, rest) = rest.split_once('`')?;
    let what = match sort {
        "field" => format!("there is no key `{name}` here"),
        "variant" => format!("`{name}` is not one of those that may stand here"),
        _ => return None,
    };
    let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    if known.is_empty() {
        return Some(format!("{what}: it takes none"));
    }
    let listed: Vec<String> = known
        .iter()
        .take(LISTED)
        .map(|known| format!("`{known}`"))
        .collect();
    let more = if known.len() > LISTED { ", …" } else { "" };
    Some(format!("{what}: it may be {}{more}", listed.join(", ")))
}

/// ``invalid type: string "x", expected u64``.
fn mistyped(message: &str) -> Option<String> {
    let rest = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    Some(format!(
        "{} is expected here, and this is {}",
        wanted(expected),
        given(found)
    ))
}

fn missing(message: &str) -> Option<String> {
    let name = message.strip_prefix("missing field ")?;
    Some(format!("the key {name} is missing here"))
}

fn wanted(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more,",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a sequence" => "a list",
        "a map" => "a table",
        "a boolean" => "`true` or `false`",
        "a string" | "path string" | "a character" => "a text in quotes",
        other if other.starts_with("struct ") || other.starts_with("internally tagged ") => {
            "a table"
        }
        other => other,
    }
}

fn given(found: &str) -> String {
    for (sort, words) in [
        ("string ", "the text "),
        ("integer ", "the number "),
        ("floating point ", "the number "),
        ("boolean ", ""),
    ] {
        if let Some(value) = found.strip_prefix(sort) {
            return format!("{words}{value}");
        }
    }
    match found {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        other => other.to_owned(),
    }
}

/// The key whose value stands at this place of a text, with its tables. What is missing has no place, so the parser
/// says that of its table.
pub(super) fn key_at(text: &str, at: usize, message: &str) -> Option<String> {
    let table = DeTable::parse(text).ok()?;
    let is_missing = message.starts_with("missing field ");
    find(table.get_ref(), (at, is_missing)).map(|keys| keys.join("."))
}

fn find(table: &DeTable<'_>, (at, is_table): (usize, bool)) -> Option<Vec<String>> {
    table.iter().find_map(|(key, value)| {
        let here = || value.span().contains(&at).then(Vec::new);
        let below = match value.get_ref() {
            DeValue::Table(table) if is_table => find(table, (at, is_table)).or_else(here),
            DeValue::Table(table) => find(table, (at, is_table)),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_) => here(),
        };
        let mut keys = below?;
        keys.insert(0, written(key.get_ref()));
        Some(keys)
    })
}

/// A key as a file writes it.
fn written(key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match !key.is_empty() && key.chars().all(plain) {
        true => key.to_owned(),
        false => format!("{key:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_parser_says_is_said_in_words() {
        for (message, words) in [
            (
                "unknown field `a`, expected one of `b`, `c`",
                "there is no key `a` here: it may be `b`, `c`",
            ),
            (
                "unknown field `a`, expected `b`",
                "there is no key `a` here: it may be `b`",
            ),
            (
                "unknown field `a`, there are no fields",
                "there is no key `a` here: it takes none",
            ),
            (
                "unknown variant `x`, expected `pause` or `deny`",
                "`x` is not one of those that may stand here: it may be `pause`, `deny`",
            ),
            (
                "invalid type: string \"long\", expected u64",
                "a whole number, 0 or more, is expected here, and this is the text \"long\"",
            ),
            (
                "invalid value: integer `-1`, expected u32",
                "a whole number, 0 or more, is expected here, and this is the number `-1`",
            ),
            (
                "invalid type: map, expected a sequence",
                "a list is expected here, and this is a table",
            ),
            ("missing field `path`", "the key `path` is missing here"),
            ("something else", "something else"),
        ] {
            assert_eq!(said(message), words);
        }
    }

    #[test]
    fn a_long_list_of_what_may_be_there_is_cut() {
        let known: Vec<String> = (0..40).map(|number| format!("`k{number}`")).collect();
        let told = said(&format!(
            "unknown field `a`, expected one of {}",
            known.join(", ")
        ));
        assert!(told.ends_with("`k11`, …"), "{told}");
    }

    #[test]
    fn a_place_in_a_text_has_a_key() {
        let text = "ask = [\"a b\"]\n[limits]\nfuel = \"much\"\n[grants.\"files.*\"]\nmounts = { docs = 3 }\n";
        for (part, key) in [
            ("a b", "ask"),
            ("much", "limits.fuel"),
            ("3 }", "grants.\"files.*\".mounts.docs"),
        ] {
            let at = text.find(part).unwrap();
            assert_eq!(key_at(text, at, "").as_deref(), Some(key), "{part}");
        }
        assert_eq!(key_at("a = ", 2, ""), None);
        let missing = key_at(text, text.find("[limits]").unwrap(), "missing field `a`");
        assert_eq!(missing.as_deref(), Some("limits"));
    }
}
