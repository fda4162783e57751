//! Kinds: what a value is, so that a mail address is vouched for by a mail address and by nothing else.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

/// The kind of a value.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A mail address.
    Mail,
    /// A bank account, wallet, or whatever money goes to.
    Account,
    /// A postal or other address.
    Address,
    /// A URL.
    Url,
    /// A path below the mounts.
    File,
    /// Somebody's name at a service.
    User,
    /// A person's or a thing's name.
    Name,
    /// A record's own name at its service.
    Id,
    /// Anything else. No field vouches for it.
    #[default]
    Value,
}

impl Kind {
    /// The kind as it stands in policy.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Account => "account",
            Self::Address => "address",
            Self::Url => "url",
            Self::File => "file",
            Self::User => "user",
            Self::Name => "name",
            Self::Id => "id",
            Self::Value => "value",
        }
    }

    /// The kind of that word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        let all = [
            Self::Mail,
            Self::Account,
            Self::Address,
            Self::Url,
            Self::File,
            Self::User,
            Self::Name,
            Self::Id,
            Self::Value,
        ];
        all.into_iter().find(|kind| kind.word() == word)
    }

    /// Whether anybody can make one up that leads to themselves: such a value does not vouch from a record
    /// that somebody else started.
    #[must_use]
    pub fn is_open(self) -> bool {
        match self {
            Self::Mail | Self::Account | Self::Address | Self::Url | Self::User => true,
            Self::File | Self::Name | Self::Id | Self::Value => false,
        }
    }

    /// Whether such a value means something at its own service alone: at another one, whoever writes or registers there may have
    /// chosen what is called so. An account is one everywhere by its international number.
    #[must_use]
    pub fn is_of_one_service(self, value: &str) -> bool {
        match self {
            Self::Id | Self::User => true,
            Self::Account => !is_iban(value),
            Self::Mail | Self::Address | Self::Url | Self::File | Self::Name | Self::Value => false,
        }
    }

    /// Two values that mean one thing have one normal form; what only looks alike does not.
    #[must_use]
    pub fn normal(self, text: &str) -> String {
        match self {
            Self::Mail => text.to_ascii_lowercase(),
            // The URL standard drops blanks and turns backslashes around; whoever reads the text may not.
            Self::Url
                if text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') =>
            {
                text.to_owned()
            }
            Self::Url => Url::parse(text).map_or_else(|_| text.to_owned(), String::from),
            Self::File => {
                let inner = text.strip_prefix("./").unwrap_or(text);
                let inner = inner.strip_suffix('/').unwrap_or(inner);
                // `./` and `/` are two folders, and neither is the empty path.
                let normal = if inner.is_empty() { text } else { inner };
                normal.to_owned()
            }
            Self::Account | Self::Address | Self::User | Self::Name | Self::Id | Self::Value => {
                text.to_owned()
            }
        }
    }
}

/// Whether this is an international bank account number (ISO 13616): a country's two letters, two check digits, and at most 30
/// more letters and digits, which leave 1 when divided by 97 (ISO 7064). Countries' own lengths are left to banks.
fn is_iban(text: &str) -> bool {
    let of_land = |(at, c): (usize, char)| match at {
        0 | 1 => c.is_ascii_uppercase(),
        2 | 3 => c.is_ascii_digit(),
        _ => c.is_ascii_uppercase() || c.is_ascii_digit(),
    };
    if !(15..=34).contains(&text.len()) || !text.chars().enumerate().all(of_land) {
        return false;
    }
    let (head, rest) = text.split_at(4);
    let digits = rest.chars().chain(head.chars());
    let rest = digits
        .filter_map(|c| c.to_digit(36))
        .fold(0, |rest, digit| {
            let shift = if digit > 9 { 100 } else { 10 };
            (rest * shift + digit) % 97
        });
    rest == 1
}

/// A leaf as the text that a person would have typed; nothing for what says nothing.
#[must_use]
pub fn text_of(leaf: &Value) -> Option<String> {
    match leaf {
        Value::Null | Value::Array(_) | Value::Object(_) => None,
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(leaf.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_that_of_its_kind() {
        for kind in [Kind::Mail, Kind::File, Kind::Name] {
            assert_eq!(Kind::of_word(kind.word()), Some(kind));
        }
        assert_eq!(Kind::of_word("mails"), None);
    }

    #[test]
    fn whatever_leads_to_whoever_made_it_up_is_open() {
        let open = ["mail", "account", "address", "url", "user"];
        for word in [
            "mail", "account", "address", "url", "user", "file", "name", "id", "value",
        ] {
            let kind = Kind::of_word(word).unwrap();
            assert_eq!(kind.is_open(), open.contains(&word), "{word}");
        }
    }

    #[test]
    fn what_a_service_calls_something_means_nothing_at_another() {
        for (kind, value, is_of_one) in [
            (Kind::Id, "7", true),
            (Kind::User, "anna", true),
            (Kind::Mail, "anna@x.com", false),
            (Kind::Name, "Anna", false),
            (Kind::Account, "anna-7", true),
            (Kind::Account, "GB82WEST12345698765432", false),
            (Kind::Account, "NO9386011117947", false),
            (Kind::Account, "MT84MALT011000012345MTLCAST001S", false),
            // Another check digit, lower case, what it is too short for, and what is none.
            (Kind::Account, "GB83WEST12345698765432", true),
            (Kind::Account, "gb82west12345698765432", true),
            (Kind::Account, "GB82WEST1234", true),
            (Kind::Account, "8282WEST12345698765432", true),
            (Kind::Account, "GB82WEST1234569876543ü", true),
        ] {
            assert_eq!(kind.is_of_one_service(value), is_of_one, "{kind:?} {value}");
        }
    }

    #[test]
    fn normal_forms() {
        for (kind, one, other, same) in [
            (Kind::Mail, "Doe@X.com", "doe@x.com", true),
            (Kind::Mail, "doe@x.com", "dое@x.com", false),
            (Kind::Url, "https://A.test", "https://a.test/", true),
            (Kind::Url, "https://a.test/x", "https://a.test/y", false),
            (Kind::Url, "https://a.test/x", "https://a.test/x ", false),
            (Kind::Url, "https://a.test/x", "https://a.test/\nx", false),
            (Kind::Url, "https://a.test/x", "https:\\\\a.test\\x", false),
            (Kind::File, "./docs/a/", "docs/a", true),
            (Kind::File, "docs/A", "docs/a", false),
            (Kind::File, "./", "/", false),
            (Kind::File, "/", "", false),
            (Kind::File, "./", "", false),
            (Kind::Name, "Anna", "anna", false),
        ] {
            assert_eq!(
                kind.normal(one) == kind.normal(other),
                same,
                "{one} {other}"
            );
        }
    }
}
