//! Names: from what a server calls its tools to what they are called here.
//!
//! A name that fits is taken as it is. Another one is written with the letters that names have here, and where that
//! says less than the name did, an end that follows from the name is added, so that no two become one. Whatever was called
//! by a name keeps it: policy's lines about that name mean what they meant, whatever else its server lists by then.

use std::collections::BTreeMap;

use crate::words::id::Digest;
use crate::words::limits::SERVER_TOOL_NAME_CHARS;

/// Digits of the end that tells one name from another.
const END_DIGITS: usize = 8;

/// What a tool of this name is called here, after its server's name.
#[must_use]
pub fn short(remote: &str) -> String {
    if fits(remote) {
        return remote.to_owned();
    }
    let (plain, is_whole) = plain(remote);
    if is_whole && fits(&plain) {
        return plain;
    }
    let digest = Digest::of(remote.as_bytes()).to_string();
    let end: String = digest.chars().take(END_DIGITS).collect();
    let room = SERVER_TOOL_NAME_CHARS - END_DIGITS - 1;
    let begin: String = plain.chars().take(room).collect();
    let begin = begin.trim_matches('_');
    if begin.starts_with(|first: char| first.is_ascii_lowercase()) {
        format!("{begin}_{end}")
    } else {
        format!("tool_{begin}_{end}").replace("__", "_")
    }
}

/// What all of these are called. Those that are `called` something keep that; where two others would be called the same, the
/// second has an end.
#[must_use]
pub fn shorts<'a>(
    called: &BTreeMap<String, String>,
    remotes: impl IntoIterator<Item = &'a str>,
) -> BTreeMap<String, String> {
    let (kept, new): (Vec<&str>, Vec<&str>) = remotes
        .into_iter()
        .partition(|name| called.contains_key(*name));
    let kept = kept
        .into_iter()
        .filter_map(|remote| Some((remote.to_owned(), called.get(remote)?.clone())));
    let mut known: BTreeMap<String, String> = kept.collect();
    let mut taken: Vec<String> = known.values().cloned().collect();
    // Of the others what fits as it is comes first: it keeps its name, unless that is another's already.
    let (plain, other): (Vec<&str>, Vec<&str>) = new.into_iter().partition(|name| fits(name));
    for remote in plain.into_iter().chain(other) {
        let mut name = short(remote);
        if taken.contains(&name) {
            let digest = Digest::of(remote.as_bytes()).to_string();
            let end: String = digest.chars().take(END_DIGITS).collect();
            let room = SERVER_TOOL_NAME_CHARS - END_DIGITS - 1;
            let begin: String = name.chars().take(room).collect();
            name = format!("{begin}_{end}");
        }
        if !taken.contains(&name) {
            taken.push(name.clone());
            known.insert(remote.to_owned(), name);
        }
    }
    known
}

/// Whether two names are easily taken for one another: `mai1` and `mail`, `rn` and `m`.
#[must_use]
pub fn looks_like(one: &str, other: &str) -> bool {
    one != other && outline(one) == outline(other)
}

fn outline(name: &str) -> String {
    let plain = name.replace("rn", "m").replace("vv", "w");
    let same = plain.chars().filter_map(|c| match c {
        '-' | '_' => None,
        '1' | 'i' | 'l' => Some('l'),
        '0' | 'o' => Some('o'),
        '5' | 's' => Some('s'),
        c => Some(c),
    });
    same.collect()
}

fn fits(name: &str) -> bool {
    name.len() <= SERVER_TOOL_NAME_CHARS
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// The name in letters, digits and `_`, and whether all that it said is still there: `getWeather` is `get_weather`.
fn plain(remote: &str) -> (String, bool) {
    let (mut plain, mut is_whole) = (String::new(), true);
    let mut before = ' ';
    for c in remote.chars().take(SERVER_TOOL_NAME_CHARS + 1) {
        match c {
            'A'..='Z' => {
                if before.is_ascii_lowercase() || before.is_ascii_digit() {
                    plain.push('_');
                }
                plain.push(c.to_ascii_lowercase());
            }
            'a'..='z' | '0'..='9' | '_' => plain.push(c),
            '-' | '.' | '/' => plain.push('_'),
            _ => {
                plain.push('_');
                is_whole = false;
            }
        }
        before = c;
    }
    (plain, is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_and_differ() {
        for (remote, expected) in [
            ("get_weather", "get_weather"),
            ("getWeather", "get_weather"),
            ("get-weather", "get_weather"),
            ("mail/send.now", "mail_send_now"),
            ("HTTPGet2x", "httpget2x"),
        ] {
            assert_eq!(short(remote), expected);
        }
        let long = "a".repeat(200);
        for strange in [
            "",
            "get weather",
            "ѕend",
            "9lives",
            "_x",
            "a\u{202e}b",
            &long,
        ] {
            let name = short(strange);
            assert!(fits(&name), "{strange}: {name}");
            assert_ne!(name, strange);
        }
        assert_ne!(short("ѕend"), short("send"));
        assert_ne!(short("a b"), short("a\u{200b}b"));
    }

    #[test]
    fn no_two_names_become_one_whoever_comes_first() {
        let given = ["getWeather", "get_weather", "get-weather", "get.weather"];
        let named = shorts(&BTreeMap::new(), given);
        assert_eq!(named["get_weather"], "get_weather");
        let all: std::collections::BTreeSet<_> = named.values().collect();
        assert_eq!(all.len(), given.len(), "{named:?}");
        assert!(named.values().all(|name| fits(name)));
    }

    #[test]
    fn whatever_was_called_by_a_name_keeps_it() {
        let was = shorts(&BTreeMap::new(), ["sendMail"]);
        assert_eq!(was["sendMail"], "send_mail");
        let now = shorts(&was, ["send_mail", "sendMail", "send-mail"]);
        assert_eq!(now["sendMail"], "send_mail");
        for newcomer in ["send_mail", "send-mail"] {
            let name = &now[newcomer];
            assert!(name.starts_with("send_mail_") && fits(name), "{name}");
        }
        assert_ne!(now["send_mail"], now["send-mail"]);
        // Whoever came second then does not move up when nobody is before it.
        assert_eq!(shorts(&now, ["send_mail"])["send_mail"], now["send_mail"]);
        // A name that nobody is called by any more is anybody's.
        assert_eq!(shorts(&was, ["send_mail"])["send_mail"], "send_mail");
    }

    #[test]
    fn names_that_look_alike() {
        for (one, other) in [
            ("mail", "mai1"),
            ("web", "vveb"),
            ("files", "fi1es"),
            ("notes", "n0te5"),
            ("a-b", "a_b"),
        ] {
            assert!(looks_like(one, other), "{one} {other}");
        }
        assert!(
            !looks_like("mail", "mail")
                && !looks_like("mail", "mall2")
                && !looks_like("web", "wet")
        );
    }
}
