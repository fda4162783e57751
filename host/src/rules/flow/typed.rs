//! Typed words: what the user and the operator wrote with their own hands, and what of it is a value.
//!
//! Pasted, piped and attached text never comes here (design §5, witness 1).

use std::collections::{BTreeMap, BTreeSet};

use super::kind::Kind;

/// Texts that were typed, and values that their author vouches for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    texts: Vec<String>,
    /// The same in lower case, for kinds that do not mind.
    lower: Vec<String>,
    /// The words of each text, in order, for what is composed of them.
    words: Vec<Vec<String>>,
    /// The words of whatever stands in quotes, for titles.
    quoted: BTreeSet<Vec<String>>,
    /// Values that count whole, each with its words.
    whole: BTreeMap<String, Vec<String>>,
}

const QUOTES: &str = "\"'`“”‘’„‚«»‹›";
const OPENING: &str = "([{<";
const CLOSING: &str = ")]}>";
const MARKS: &str = ".,;:!?…";
/// What a quotation may follow at once, as in `key="10"`.
const INTRODUCING: &str = ",:=";
/// Quotes that begin and end alike.
const STRAIGHT: &str = "\"'`";

impl Typed {
    /// Adds a text.
    pub fn add(&mut self, text: &str) {
        self.lower.push(text.to_ascii_lowercase());
        self.words.push(words(text));
        self.quoted.extend(quoted(text));
        self.texts.push(text.to_owned());
    }

    /// Adds a value that somebody vouches for. It counts as it stands: who says so of a file called “notes for
    /// eve@x.com” has said nothing of eve@x.com.
    pub fn vouch(&mut self, value: &str) {
        self.whole.insert(value.to_owned(), words(value));
    }

    /// Whether somebody vouches for this very value.
    #[must_use]
    pub fn vouches(&self, kind: Kind, value: &str) -> bool {
        let normal = kind.normal(value);
        let mut known = self.whole.keys();
        !value.is_empty() && known.any(|known| kind.normal(known) == normal)
    }

    /// Whether a value is vouched for, or stands in a text as a whole token: between blanks, quotes, brackets or closing marks.
    /// One with blanks in it, and one of digits alone, stands in quotes.
    #[must_use]
    pub fn has(&self, kind: Kind, value: &str) -> bool {
        if self.vouches(kind, value) {
            return true;
        }
        // A quote belongs to no value: it is what stands around one.
        if value.is_empty() || value.starts_with(is_quote) || value.ends_with(is_quote) {
            return false;
        }
        let bare = value.trim_matches(|c| is_edge(c) || MARKS.contains(c));
        let quoted = is_digits(bare) || value.contains(char::is_whitespace);
        let among = |texts: &[String], value: &str| {
            let found = |text: &String| {
                occurrences(text, value).any(|around| around.is_token(value, quoted))
            };
            texts.iter().any(found)
        };
        match kind {
            Kind::Mail => among(&self.lower, &value.to_ascii_lowercase()),
            Kind::Url | Kind::File => {
                let normal = kind.normal(value);
                let bare = quoted || is_digits(&normal);
                among(&self.texts, value) || !bare && self.has_form(kind, &normal)
            }
            Kind::Account | Kind::Address | Kind::User | Kind::Name | Kind::Id | Kind::Value => {
                among(&self.texts, value)
            }
        }
    }

    /// Whether a value was typed that has to stand in quotes, and stands in none.
    #[must_use]
    pub fn lacks_quotes(&self, value: &str) -> bool {
        let found =
            |text: &String| occurrences(text, value).any(|around| around.is_token(value, false));
        !value.is_empty() && !self.has(Kind::Value, value) && self.texts.iter().any(found)
    }

    /// Whether something was called that, by a value that is vouched for, in quotes, or by one token that is no mere word: whoever writes “go on” calls
    /// nothing “go”.
    #[must_use]
    pub fn calls(&self, name: &str) -> bool {
        let in_quotes = |text: &String| occurrences(text, name).any(|around| around.quotes(name));
        let is_word = name.chars().all(char::is_alphabetic);
        let is_vouched = self.vouches(Kind::Name, name);
        !name.is_empty()
            && (is_vouched
                || self.texts.iter().any(in_quotes)
                || (!is_word && self.has(Kind::Value, name)))
    }

    /// A value that was typed in another form than the one that is used.
    fn has_form(&self, kind: Kind, normal: &str) -> bool {
        let is_meant = |text: &String, token: &str| {
            !token.is_empty()
                && kind.normal(token) == normal
                && occurrences(text, token).any(|around| around.is_token(token, false))
        };
        self.texts.iter().any(|text| {
            let tokens = text.split(is_edge);
            tokens
                .map(|token| token.trim_end_matches(|c| MARKS.contains(c)))
                .any(|token| is_meant(text, token))
        })
    }

    /// Whether a title of two words or more is vouched for, or stands in a text, whole and in quotes. Without these a stranger
    /// who calls a letter “my mail” would be meant by whoever asks for a summary of “my mail”.
    #[must_use]
    pub fn has_title(&self, title: &str) -> bool {
        let title = words(title);
        self.is_vouched(&title) || title.len() >= 2 && self.quoted.contains(&title)
    }

    /// Whether these are all the words of a value that is vouched for, and two at least.
    fn is_vouched(&self, text: &[String]) -> bool {
        text.len() >= 2 && self.whole.values().any(|words| words == text)
    }

    /// Whether a text is one that is vouched for, or made of nothing but runs of two or more of the typed words, and
    /// `names`, which are asked for with one blank between their words.
    #[must_use]
    pub fn composes(&self, text: &str, names: impl Fn(&str) -> bool) -> bool {
        let text = words(text);
        if text.is_empty() || text.len() > COMPOSED_WORDS {
            return false;
        }
        if self.is_vouched(&text) {
            return true;
        }
        let mut rest = text.as_slice();
        while let Some((first, after)) = rest.split_first() {
            let run = self.longest_run(rest);
            if run >= 2 {
                rest = rest.get(run..).unwrap_or_default();
            } else if names(first) {
                rest = after;
            } else if let Some(name) = longest_name(rest, &names) {
                rest = rest.get(name..).unwrap_or_default();
            } else {
                return false;
            }
        }
        true
    }

    /// How many words at the beginning of `rest` stand in one text, one after the other.
    fn longest_run(&self, rest: &[String]) -> usize {
        let mut longest = 0;
        for typed in &self.words {
            for from in 0..typed.len() {
                let here = typed.get(from..).unwrap_or_default();
                let same = here
                    .iter()
                    .zip(rest)
                    .take_while(|(one, other)| one == other);
                longest = longest.max(same.count());
            }
        }
        longest
    }
}

/// Words of a text that may be composed; a longer one is no name.
const COMPOSED_WORDS: usize = 64;

/// Words of a name.
const NAME_WORDS: usize = 8;

/// How many words at the beginning of `rest` are one name.
fn longest_name(rest: &[String], names: &impl Fn(&str) -> bool) -> Option<usize> {
    (2..=rest.len().min(NAME_WORDS)).rev().find(|count| {
        rest.get(..*count)
            .is_some_and(|name| names(&name.join(" ")))
    })
}

/// Bytes of a title between quotes, and how many quotes after its first one may be its last.
const TITLE_BYTES: usize = 512;
const TITLE_QUOTES: usize = 8;

/// How many quotes may stand around one another.
const QUOTES_IN_A_ROW: usize = 4;

/// The words of whatever stands in quotes. Apostrophes open and close nothing.
fn quoted(text: &str) -> Vec<Vec<String>> {
    let marks = text.char_indices().filter(|(_, c)| is_quote(*c));
    let marks: Vec<(usize, usize)> = marks.map(|(at, c)| (at, at + c.len_utf8())).collect();
    let mut found = Vec::new();
    for (place, (_, from)) in marks.iter().enumerate() {
        let ends = marks.iter().skip(place + 1).take(TITLE_QUOTES);
        let ends = ends.take_while(|(to, _)| to - from <= TITLE_BYTES);
        for (to, _) in ends {
            let around = Around {
                before: text.get(..*from).unwrap_or_default(),
                after: text.get(*to..).unwrap_or_default(),
            };
            let inside = text.get(*from..*to).unwrap_or_default();
            if around.quotes(inside) {
                found.push(words(inside));
            }
        }
    }
    found
}

/// What stands before and after a value.
struct Around<'a> {
    before: &'a str,
    after: &'a str,
}

impl Around<'_> {
    /// Whether quotes stand around the value, which begin and end there. An apostrophe stands in a word and does neither,
    /// and what lies between the end of one quotation and the beginning of the next stands in none.
    fn quotes(&self, value: &str) -> bool {
        let (mut before, mut after) = (self.before.chars(), self.after.chars());
        let (Some(open), Some(close)) = (before.next_back(), after.next()) else {
            return false;
        };
        let (before, after) = (before.as_str(), after.as_str());
        let alike = open == close || !STRAIGHT.contains(open) && !STRAIGHT.contains(close);
        // A quote between blanks may be either. What is all that was written is in quotes whatever it begins or ends with.
        let at_begin = before.is_empty() || !value.starts_with(char::is_whitespace);
        let at_end = after.is_empty() || !value.ends_with(char::is_whitespace);
        let opens = beyond_quotes(before.chars().rev())
            .is_none_or(|c| c.is_whitespace() || OPENING.contains(c) || INTRODUCING.contains(c));
        let closes = beyond_quotes(after.chars())
            .is_none_or(|c| c.is_whitespace() || CLOSING.contains(c) || MARKS.contains(c));
        is_quote(open) && is_quote(close) && alike && at_begin && at_end && opens && closes
    }

    /// Whether it is whole, and where that is asked for all that stands in quotes.
    fn is_token(&self, value: &str, quoted: bool) -> bool {
        if quoted {
            return self.quotes(value);
        }
        let before = self.before.chars().next_back();
        let before = before.is_none_or(|c| {
            c.is_whitespace() || OPENING.contains(c) || is_quote(c) && !self.is_within_word()
        });
        let mut after = self.after.chars();
        // A mark closes only where something else closes after it: `x.com` is not in `x.com.evil`.
        let closing = after.find(|c| !MARKS.contains(*c));
        let closed =
            closing.is_none_or(|c| c.is_whitespace() || QUOTES.contains(c) || CLOSING.contains(c));
        before && closed
    }

    /// Whether what stands before it is an apostrophe: `brien@x.com` is not in `o'brien@x.com`.
    fn is_within_word(&self) -> bool {
        beyond_quotes(self.before.chars().rev()).is_some_and(char::is_alphanumeric)
    }
}

fn occurrences<'a>(text: &'a str, value: &'a str) -> impl Iterator<Item = Around<'a>> {
    text.match_indices(value).map(|(at, found)| Around {
        before: text.get(..at).unwrap_or_default(),
        after: text.get(at + found.len()..).unwrap_or_default(),
    })
}

fn is_digits(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit())
}

fn is_quote(c: char) -> bool {
    QUOTES.contains(c)
}

/// The first that is no quote; the quote itself where too many stand in a row.
fn beyond_quotes(chars: impl Iterator<Item = char>) -> Option<char> {
    let mut chars = chars.enumerate();
    let first = chars.find(|(place, c)| *place >= QUOTES_IN_A_ROW || !is_quote(*c));
    first.map(|(_, c)| c)
}

fn is_edge(c: char) -> bool {
    c.is_whitespace() || QUOTES.contains(c) || OPENING.contains(c) || CLOSING.contains(c)
}

/// The words of a text: without what stands around them, and without regard to case.
pub(super) fn words(text: &str) -> Vec<String> {
    let trimmed = text
        .split(is_edge)
        .map(|word| word.trim_matches(|c| MARKS.contains(c)));
    trimmed
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Typed {
        let mut typed = Typed::default();
        typed.add(text);
        typed
    }

    #[test]
    fn a_value_is_a_whole_token() {
        for (text, kind, value, expected) in [
            ("write to doe@x.com", Kind::Mail, "doe@x.com", true),
            ("write to Doe@X.com.", Kind::Mail, "doe@x.com", true),
            ("write to john.doe@x.com", Kind::Mail, "doe@x.com", false),
            ("write to doe@x.com.evil", Kind::Mail, "doe@x.com", false),
            ("write to doe@x.com-", Kind::Mail, "doe@x.com", false),
            ("write to xdoe@x.com", Kind::Mail, "doe@x.com", false),
            ("(doe@x.com), now", Kind::Mail, "doe@x.com", true),
            ("write to o'brien@x.com", Kind::Mail, "brien@x.com", false),
            ("write to 'brien@x.com'", Kind::Mail, "brien@x.com", true),
            ("<doe@x.com>", Kind::Mail, "doe@x.com", true),
            ("doe@x.com", Kind::Mail, "dое@x.com", false),
            ("pay 12 to 'B-12'", Kind::Value, "12", false),
            ("pay \"12\" now", Kind::Value, "12", true),
            ("pay “12” now", Kind::Value, "12", true),
            ("the team offsite plan", Kind::Name, "team offsite", false),
            ("the 'team offsite' plan", Kind::Name, "team offsite", true),
            ("read https://a.test", Kind::Url, "https://a.test/", true),
            (
                "read https://a.test/x.",
                Kind::Url,
                "https://a.test/x",
                true,
            ),
            ("read https://a.test/x", Kind::Url, "https://a.test/", false),
            (
                "read https://a.test/x",
                Kind::Url,
                "https://a.test/x?q=1",
                false,
            ),
            ("into ./out/a.md", Kind::File, "out/a.md", true),
            ("into out/a.md", Kind::File, "./out/a.md", true),
            ("into out/a.md", Kind::File, "a.md", false),
            ("into ‘out/a.md’", Kind::File, "./out/a.md", true),
            ("into o'brien.txt", Kind::File, "o'brien.txt", true),
            ("into o'brien.txt", Kind::File, "brien.txt", false),
            ("into o'brien.txt", Kind::File, "./brien.txt", false),
            ("read o'http://a.test/", Kind::Url, "http://a.test", false),
            ("write 12 letters", Kind::File, "12", false),
            ("write 12 letters", Kind::File, "./12", false),
            ("write \"12\"", Kind::File, "12", true),
            ("write ./12", Kind::File, "./12", true),
            ("order 4711, please", Kind::Id, "4711", false),
            ("order 4711, please", Kind::Id, "4711,", false),
            ("order (4711) please", Kind::Id, "(4711)", false),
            ("order \"4711,\"", Kind::Id, "4711,", true),
            ("", Kind::Value, "", false),
        ] {
            assert_eq!(typed(text).has(kind, value), expected, "{value} in {text}");
        }
    }

    /// What was typed with apostrophes in it has no quotes for that, and has none between two quotations.
    #[test]
    fn only_a_quotation_is_in_quotes() {
        for (text, value, expected) in [
            ("He is 5'10' tall", "10", false),
            (
                "Don't delete the notes of Bob's team",
                "t delete the notes of Bob",
                false,
            ),
            (
                "Don’t delete the notes of Bob’s team",
                "t delete the notes of Bob",
                false,
            ),
            ("move \"a\" to \"b\"", " to ", false),
            ("move \"a \" to \" b\"", " to ", false),
            ("move '\"a\"' to '\"b\"'", " to ", false),
            ("say \"yes,\" he said, \"or no\"", " he said, ", false),
            ("move \"\" to \"\"", " to ", false),
            ("say \"a \" to\" it", " to", false),
            ("say \"to \" a\" it", "to ", false),
            ("a '90s set of 10\" size", "90s set of 10", false),
            ("keep 'Bob's plan'", "Bob's plan", true),
            ("keep '10'.", "10", true),
            ("keep (\"10\")", "10", true),
            ("keep \"10\", \"12\"", "12", true),
            ("{\"key\":\"10\",\"of\":[\"11\",\"12\"]}", "10", true),
            ("{\"key\":\"10\",\"of\":[\"11\",\"12\"]}", "12", true),
            ("key='10'", "10", true),
            ("„10“ and “12” and «14»", "10", true),
            ("„10“ and “12” and «14»", "12", true),
            ("„10“ and “12” and «14»", "14", true),
            ("\" 10 \"", " 10 ", true),
            ("x'10'", "10", false),
            ("'10'x", "10", false),
        ] {
            assert_eq!(
                typed(text).has(Kind::Value, value),
                expected,
                "{value} in {text}"
            );
        }
    }

    #[test]
    fn a_name_is_called_so_in_quotes_or_is_no_mere_word() {
        for (text, name, expected) in [
            ("go on", "go", false),
            ("call it \"go\"", "go", true),
            ("call it “go”.", "go", true),
            ("call it \"go on\"", "go", false),
            ("keep it as shopping-list", "shopping-list", true),
            ("keep it as shopping-list", "list", false),
            ("keep it as week23", "week23", true),
            ("keep 23 of them", "23", false),
            ("keep it as \"my list\"", "my list", true),
            ("keep it as my list", "my list", false),
            ("\"\"", "", false),
        ] {
            assert_eq!(typed(text).calls(name), expected, "{name} in {text}");
        }
    }

    #[test]
    fn a_title_has_two_words_and_is_whole() {
        let typed = typed("Answer the letter “Team offsite, June” and Budget");
        assert!(typed.has_title("team offsite June"));
        assert!(typed.has_title("Team offsite, June"));
        assert!(!typed.has_title("Team offsite"));
        assert!(!typed.has_title("the letter"));
        assert!(!typed.has_title("and Budget"));
        assert!(!typed.has_title("Team offsites, June"));
        assert!(!typed.has_title("June offsite Team"));
    }

    #[test]
    fn a_title_may_have_quotes_in_it_and_text_may_have_apostrophes() {
        let typed = typed("Don't answer 'Bob's party' but \"Anna 'the Ace' Ode\" and 'Budget'");
        for (title, expected) in [
            ("Bob's party", true),
            ("Anna 'the Ace' Ode", true),
            ("the Ace", true),
            ("Don't answer", false),
            ("and Budget", false),
            ("Budget", false),
            ("", false),
        ] {
            assert_eq!(typed.has_title(title), expected, "{title}");
        }
    }

    #[test]
    fn what_is_vouched_for_counts_whole_and_no_word_in_it_does() {
        let value = "out/Notes for \"Team offsite\" and eve@x.com, \"12\", at https://a.test/x";
        let mut typed = typed("Write it.");
        typed.vouch(value);
        typed.vouch("'a'");
        for kind in [Kind::File, Kind::Name, Kind::Value] {
            assert!(typed.has(kind, value) && typed.vouches(kind, value));
        }
        assert!(typed.has(Kind::File, &format!("./{value}")));
        // A quote that is typed belongs to no value; here nobody has to tell them apart.
        assert!(typed.has(Kind::Value, "'a'") && !typed.has(Kind::Value, "a"));
        for (kind, word) in [
            (Kind::Mail, "eve@x.com"),
            (Kind::Url, "https://a.test/x"),
            (Kind::Url, "https://a.test/x/"),
            (Kind::File, "out/Notes"),
            (Kind::Value, "12"),
            (Kind::Name, "Team offsite"),
            (Kind::Name, ""),
        ] {
            assert!(!typed.has(kind, word) && !typed.vouches(kind, word));
            assert!(!typed.calls(word) && !typed.lacks_quotes(word), "{word}");
        }
        let none = |_: &str| false;
        assert!(typed.calls(value) && typed.has_title(value) && typed.composes(value, none));
        for part in ["Team offsite", "Notes for", "and eve@x.com"] {
            assert!(
                !typed.has_title(part) && !typed.composes(part, none),
                "{part}"
            );
        }
    }

    #[test]
    fn what_is_vouched_for_counts_in_all_the_forms_of_its_kind() {
        let mut typed = typed("");
        for value in ["Doe@X.com", "https://a.test", "my mail", "go"] {
            typed.vouch(value);
        }
        assert!(typed.has(Kind::Mail, "doe@x.com") && !typed.has(Kind::Name, "doe@x.com"));
        assert!(
            typed.has(Kind::Url, "https://a.test/") && !typed.has(Kind::Url, "https://a.test/x")
        );
        assert!(typed.has_title("My mail") && typed.calls("my mail") && typed.calls("go"));
        assert!(!typed.calls("Go") && !typed.composes("go", |_| false));
        typed.vouch("./");
        typed.vouch("");
        assert!(typed.has(Kind::File, "./") && !typed.has(Kind::File, "/"));
        assert!(!typed.composes("my mail, go", |_| false));
    }

    #[test]
    fn names_are_composed_of_runs() {
        let typed = typed("Make a file about the summer party of Anna");
        let names = |name: &str| matches!(name, "anna" | "ada b lovelace");
        for (text, expected) in [
            ("summer party", true),
            ("Summer party, Anna", true),
            ("the summer party of Anna", true),
            ("party", false),
            ("party summer", false),
            ("summer party evil", false),
            ("Anna", true),
            ("summer party, Ada B. Lovelace and Anna", false),
            ("summer party, Ada B. Lovelace, Anna", true),
            ("Ada B", false),
            ("", false),
        ] {
            assert_eq!(typed.composes(text, names), expected, "{text}");
        }
    }
}
