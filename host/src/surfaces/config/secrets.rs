//! What the configuration says of secrets: `[vault]`, `[scrub]`, and the `secrets` of a grant. Never a
//! value.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::edges::vault::{Backend, check_name};
use crate::rules::grant::{Destination, METHODS};
use crate::rules::scrub::guess::{Guess, Random};
use crate::rules::secret::{Placement, SecretGrant};
use crate::words::error::{Error, Result};
use crate::words::limits::tuned::VARIABLE_CHARS;
use crate::words::limits::{SCRUB_ENTROPY_CENTIBITS_MAX, SCRUB_TOKEN_CHARS_LIMIT};

/// `[vault]`.
#[derive(Clone, Copy, Debug, Default, Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VaultTable {
    /// Who keeps secrets; absent: an encrypted file.
    pub backend: Option<Backend>,
}

/// `[scrub]`.
#[derive(Clone, Copy, Debug, Default, Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ScrubTable {
    /// Whether a value beside a word such as `password` is redacted in what a model or client reads.
    pub keywords: Option<bool>,
    /// Whether a token that looks random is.
    pub entropy: Option<bool>,
    /// So many characters such a token has at least.
    pub token_chars: Option<usize>,
    /// So many at most.
    pub token_chars_max: Option<usize>,
    /// So many different ones.
    pub distinct_chars: Option<usize>,
    /// So many hundredths of a bit for each: 380 are 3.8 bits.
    pub entropy_centibits: Option<u32>,
}

/// `{ name = …, to = …, header = … }`: one secret, one destination, one place.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SecretTable {
    /// The secret's name.
    pub name: String,
    /// Scheme, host, port and the beginning of the path.
    pub to: String,
    /// It stands in this header,
    pub header: Option<String>,
    /// after this text;
    pub before: Option<String>,
    /// or in this parameter of the query,
    pub query: Option<String>,
    /// or in this field of a JSON body,
    pub json: Option<String>,
    /// or as this user's password.
    pub basic: Option<String>,
}

/// Whether an environment can have a variable of this name.
pub(super) fn is_variable(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.len() <= VARIABLE_CHARS
        && name.chars().all(plain)
        && name.starts_with(|first: char| !first.is_ascii_digit())
}

/// The variable that holds a model's key; empty where none does. Whoever writes the key itself there is told so before
/// anything shows it: the line is no more repeated than trusted.
///
/// # Errors
/// What is no name of a variable.
pub(super) fn key_env<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<String, D::Error> {
    let name = String::deserialize(from)?;
    match name.is_empty() || is_variable(&name) {
        true => Ok(name),
        false => Err(D::Error::custom(format!("`key_env` {NO_KEY}"))),
    }
}

/// The variable that holds a secret, likewise.
///
/// # Errors
/// What is no name of a variable.
pub(super) fn env<'de, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<Option<String>, D::Error> {
    match Option::<String>::deserialize(from)? {
        Some(name) if !is_variable(&name) => Err(D::Error::custom(format!("`env` {NO_KEY}"))),
        name => Ok(name),
    }
}

/// What is said of a key that stands where the name of its variable belongs.
pub(super) const NO_KEY: &str = "is the name of a variable, not the key";

const SHAPE: &str = r#"write it as `{ name = "github", to = "https://api.github.com/", header = "authorization", before = "Bearer " }`"#;

/// A line of policy.
///
/// # Errors
/// `BadInput` for a name, destination or place that is none, and for none or several places.
pub(super) fn secret(table: &SecretTable) -> Result<SecretGrant> {
    check_name(&table.name)?;
    let wrong =
        |why: &str| Err(Error::bad_input(format!("the secret `{}` {why}", table.name)).hint(SHAPE));
    let before = table.before.clone().unwrap_or_default();
    let places = [
        table.header.as_ref().map(|name| Placement::Header {
            name: name.to_ascii_lowercase(),
            before,
        }),
        table.query.clone().map(Placement::Query),
        table.json.clone().map(Placement::Json),
        table.basic.clone().map(Placement::Basic),
    ];
    let mut places = places.into_iter().flatten();
    let (Some(place), None) = (places.next(), places.next()) else {
        return wrong("needs one place: `header`, `query`, `json` or `basic`");
    };
    if table.before.is_some() && table.header.is_none() {
        return wrong("has `before`, which belongs to `header`");
    }
    place.check()?;
    if table.to.is_empty() {
        return wrong("does not say where it goes: `to` is missing");
    }
    Ok(SecretGrant {
        name: table.name.clone(),
        // Which methods and addresses are allowed is said by `fetch`.
        to: Destination::parse(&table.to, &METHODS, true)?,
        place,
    })
}

/// What is guessed: what any file asks for is, and nothing else that some file turns off. Of the numbers those hold by
/// which more is guessed.
///
/// # Errors
/// `BadInput` for a number out of its range.
pub(super) fn guess(tables: impl Iterator<Item = ScrubTable> + Clone) -> Result<Guess> {
    let usual = Guess::default();
    let of = |said: fn(ScrubTable) -> Option<bool>, usual: bool| {
        tables.clone().filter_map(said).max().unwrap_or(usual)
    };
    let said = |of: fn(ScrubTable) -> Option<usize>| tables.clone().filter_map(of);
    let bits = tables.clone().filter_map(|table| table.entropy_centibits);
    let random = Random {
        chars: said(|table| table.token_chars)
            .min()
            .unwrap_or(usual.random.chars),
        chars_max: said(|table| table.token_chars_max)
            .max()
            .unwrap_or(usual.random.chars_max),
        distinct_chars: said(|table| table.distinct_chars)
            .min()
            .unwrap_or(usual.random.distinct_chars),
        centibits: bits.min().unwrap_or(usual.random.centibits),
    };
    check(random)?;
    Ok(Guess {
        keywords: of(|table| table.keywords, usual.keywords),
        entropy: of(|table| table.entropy, usual.entropy),
        random,
    })
}

fn check(random: Random) -> Result<()> {
    let most = SCRUB_TOKEN_CHARS_LIMIT;
    for (key, value) in [
        ("token_chars", random.chars),
        ("token_chars_max", random.chars_max),
        ("distinct_chars", random.distinct_chars),
    ] {
        if !(1..=most).contains(&value) {
            return Err(Error::bad_input(format!(
                "[scrub] {key} is from 1 to {most}"
            )));
        }
    }
    if random.chars > random.chars_max {
        let what = "[scrub] token_chars is more than token_chars_max, so no token could be meant";
        return Err(Error::bad_input(what));
    }
    // A character of the hundred and twenty-eight that count has seven bits at most.
    if random.centibits > SCRUB_ENTROPY_CENTIBITS_MAX {
        let what = format!("[scrub] entropy_centibits is from 0 to {SCRUB_ENTROPY_CENTIBITS_MAX}");
        return Err(Error::bad_input(what));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_told_from_a_key() {
        for name in ["OPENAI_API_KEY", "_x1", "k", &"K".repeat(128)] {
            assert!(is_variable(name), "{name}");
        }
        for other in [
            "",
            "sk-abc",
            "1K",
            "A B",
            "A=B",
            "K\u{e9}",
            &"K".repeat(129),
        ] {
            assert!(!is_variable(other), "{other}");
        }
    }

    fn read(text: &str) -> Result<SecretGrant> {
        let table = toml::from_str(text).map_err(|error| Error::bad_input(error.to_string()))?;
        secret(&table)
    }

    #[test]
    fn a_line_has_one_name_one_destination_and_one_place() {
        let whole = "name = \"github\"\nto = \"https://api.github.com/\"\n";
        for place in [
            "header = \"Authorization\"\nbefore = \"Bearer \"",
            "query = \"key\"",
            "json = \"/a/0\"",
            "basic = \"me\"",
        ] {
            assert!(read(&format!("{whole}{place}")).is_ok(), "{place}");
        }
        for (text, says) in [
            (whole.to_owned(), "needs one place"),
            (
                format!("{whole}query = \"a\"\nbasic = \"b\""),
                "needs one place",
            ),
            (
                format!("{whole}query = \"a\"\nbefore = \"b\""),
                "belongs to `header`",
            ),
            (format!("{whole}json = \"a\""), "no JSON pointer"),
            (format!("{whole}basic = \"a:b\""), "no user"),
            (format!("{whole}header = \"host\""), "set by the host alone"),
            (format!("{whole}header = \"x y\""), "no header's name"),
            (
                format!("{whole}header = \"x\"\nbefore = \"a\\r\\nb: \""),
                "control characters",
            ),
            (format!("{whole}headers = \"x\""), "unknown field"),
            (
                "name = \"models.x\"\nto = \"https://a.test/\"\nquery = \"k\"".to_owned(),
                "no name of a secret",
            ),
            (
                "name = \"github\"\nto = \"https://*/\"\nquery = \"k\"".to_owned(),
                "no destination",
            ),
            (
                "name = \"github\"\nquery = \"k\"".to_owned(),
                "`to` is missing",
            ),
        ] {
            let error = read(&text).unwrap_err();
            assert!(
                error.message().contains(says),
                "{says}: {}",
                error.message()
            );
        }
    }

    #[test]
    fn what_any_file_guesses_is_guessed() {
        let table = |keywords, entropy| ScrubTable {
            keywords,
            entropy,
            ..ScrubTable::default()
        };
        let check = |tables: &[ScrubTable], keywords, entropy| {
            let expected = Guess {
                keywords,
                entropy,
                random: Random::default(),
            };
            assert_eq!(
                guess(tables.iter().copied()).unwrap(),
                expected,
                "{tables:?}"
            );
        };
        check(&[], true, false);
        check(&[table(Some(false), None)], false, false);
        check(
            &[table(Some(false), None), table(Some(true), Some(true))],
            true,
            true,
        );
    }

    #[test]
    fn the_numbers_by_which_more_is_guessed_hold() {
        let check = |texts: &[&str]| {
            let tables = texts.iter().map(|text| toml::from_str(text).unwrap());
            guess(tables.collect::<Vec<ScrubTable>>().into_iter())
        };
        let own =
            "token_chars = 30\ntoken_chars_max = 100\ndistinct_chars = 9\nentropy_centibits = 400";
        let theirs =
            "token_chars = 20\ntoken_chars_max = 90\ndistinct_chars = 10\nentropy_centibits = 390";
        let expected = Random {
            chars: 20,
            chars_max: 100,
            distinct_chars: 9,
            centibits: 390,
        };
        assert_eq!(check(&[own, theirs]).unwrap().random, expected);
        assert_eq!(check(&[theirs, own]).unwrap().random, expected);
        for (text, says) in [
            ("token_chars = 0", "[scrub] token_chars is from 1 to"),
            (
                "token_chars = 600",
                "token_chars is more than token_chars_max",
            ),
            (
                "entropy_centibits = 701",
                "[scrub] entropy_centibits is from 0 to 700",
            ),
        ] {
            let error = check(&[text]).unwrap_err();
            assert!(error.message().contains(says), "{error}");
        }
    }
}
