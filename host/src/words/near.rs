//! What a word was meant to be that nobody knows: the nearest of those that are known.
//!
//! Strangers write both the one and the others, and to compare two takes as many steps as the letters of one times those of
//! the other: what is long is near nothing, and of many that are known some are looked at.

/// How alike two words have to be, from 0 to 1.
const NEAR: f64 = 0.7;
/// Characters of a word that may be near another one: nobody slips in a longer one and sees it from a hint.
const WORD_CHARS: usize = 64;
/// Known words that one is compared with.
const KNOWN: usize = 512;

/// How alike two words are, from 0 to 1; 0 where one of them is long.
#[must_use]
pub fn likeness(word: &str, known: &str) -> f64 {
    if is_long(word) || is_long(known) {
        return 0.0;
    }
    strsim::jaro_winkler(word, known)
}

fn is_long(word: &str) -> bool {
    // A character has at most four bytes: a text of megabytes is not walked through.
    word.len() > WORD_CHARS * 4 || word.chars().count() > WORD_CHARS
}

/// Those of the known words with which this one is compared.
fn compared<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> impl Iterator<Item = &'a str> {
    let most = if is_long(word) { 0 } else { KNOWN };
    let known = known.into_iter().take(most);
    known.filter(|known| !is_long(known))
}

/// The nearest to `word` of those that are known, if any is near.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = compared(word, known).map(|known| (likeness(word, known), known));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(score, _)| *score > NEAR)
        .map(|(_, known)| known)
}

/// The nearest, where most of it is the same, or one begins with the other: for whoever is told what there is anyway.
#[must_use]
pub fn alike<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest(word, known).filter(|near| {
        let letters = word.chars().count().max(near.chars().count());
        let begins = near.starts_with(word) || word.starts_with(near);
        begins || strsim::osa_distance(word, near).saturating_mul(2) < letters
    })
}

/// The one of those that are known that `word` is but for a slip or two of the hand: for names of which many are alike.
#[must_use]
pub fn misspelt<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = compared(word, known).map(|known| (strsim::osa_distance(word, known), known));
    let best = scored.min_by_key(|(slips, _)| *slips);
    best.filter(|(slips, _)| *slips <= 2)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_hand_is_no_other_word() {
        let known = ["fery-token", "mail-token"];
        assert_eq!(misspelt("ferry-token", known), Some("fery-token"));
        assert_eq!(misspelt("ferry_tokne", known), None);
        assert_eq!(misspelt("wiki-token", known), None);
        assert_eq!(misspelt("mial-token", known), Some("mail-token"));
    }

    #[test]
    fn what_is_alike_is_mostly_the_same() {
        assert_eq!(nearest("path", ["health"]), Some("health"));
        for (word, known, alike_to) in [
            ("path", "health", None),
            ("mount", "mounts", Some("mounts")),
            ("key", "key_env", Some("key_env")),
            ("acess", "access", Some("access")),
        ] {
            assert_eq!(alike(word, [known]), alike_to, "{word}");
        }
    }

    #[test]
    fn what_is_long_is_near_nothing() {
        for letter in ["x", "é", "\u{1f98a}"] {
            let (word, long) = (letter.repeat(WORD_CHARS), letter.repeat(WORD_CHARS + 1));
            let short = letter.repeat(WORD_CHARS - 1);
            assert_eq!(nearest(&word, [&*short]), Some(&*short), "{letter}");
            assert_eq!(misspelt(&word, [&*short]), Some(&*short), "{letter}");
            assert_eq!(alike(&word, [&*short]), Some(&*short), "{letter}");
            for (word, known) in [(&word, &long), (&long, &word), (&long, &long)] {
                assert!(likeness(word, known) < NEAR, "{letter}");
                assert_eq!(nearest(word, [known.as_str()]), None, "{letter}");
                assert_eq!(misspelt(word, [known.as_str()]), None, "{letter}");
                assert_eq!(alike(word, [known.as_str()]), None, "{letter}");
            }
        }
    }

    #[test]
    fn of_many_some_are_looked_at() {
        let after = |others: usize| std::iter::repeat_n("colour", others).chain(["text"]);
        for (others, found) in [(KNOWN - 1, Some("text")), (KNOWN, None)] {
            assert_eq!(nearest("txt", after(others)), found);
            assert_eq!(misspelt("txt", after(others)), found);
        }
    }

    #[test]
    fn only_what_is_near_is_meant() {
        let known = ["path", "pattern", "text"];
        assert_eq!(nearest("txt", known), Some("text"));
        assert_eq!(nearest("pth", known), Some("path"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("path", []), None);
    }
}
