//! What the configuration says of secrets: `[vault]`, `[scrub]`, and the `secrets` of a grant. Never a
//! value.

use serde::Deserialize;

use crate::edges::vault::{Backend, check_name};
use crate::rules::grant::{Destination, METHODS};
use crate::rules::scrub::guess::Guess;
use crate::rules::secret::{Placement, SecretGrant};
use crate::words::error::{Error, Result};

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
    Ok(SecretGrant {
        name: table.name.clone(),
        // Which methods and addresses are allowed is said by `fetch`.
        to: Destination::parse(&table.to, &METHODS, true)?,
        place,
    })
}

/// What is guessed: what any file asks for is, and nothing else that some file turns off.
pub(super) fn guess(tables: impl Iterator<Item = ScrubTable> + Clone) -> Guess {
    let usual = Guess::default();
    let of = |said: fn(ScrubTable) -> Option<bool>, usual: bool| {
        tables.clone().filter_map(said).max().unwrap_or(usual)
    };
    Guess {
        keywords: of(|table| table.keywords, usual.keywords),
        entropy: of(|table| table.entropy, usual.entropy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                "no destination",
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
        let table = |keywords, entropy| ScrubTable { keywords, entropy };
        let check = |tables: &[ScrubTable], keywords, entropy| {
            let expected = Guess { keywords, entropy };
            assert_eq!(guess(tables.iter().copied()), expected, "{tables:?}");
        };
        check(&[], true, false);
        check(&[table(Some(false), None)], false, false);
        check(
            &[table(Some(false), None), table(Some(true), Some(true))],
            true,
            true,
        );
    }
}
