//! What a word was meant to be that nobody knows: the nearest of those that are known.

/// How alike two words have to be, from 0 to 1.
const NEAR: f64 = 0.7;

/// The nearest to `word` of those that are known, if any is near.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known = known.into_iter();
    let scored = known.map(|known| (strsim::jaro_winkler(word, known), known));
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
    let known = known.into_iter();
    let scored = known.map(|known| (strsim::osa_distance(word, known), known));
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
    fn only_what_is_near_is_meant() {
        let known = ["path", "pattern", "text"];
        assert_eq!(nearest("txt", known), Some("text"));
        assert_eq!(nearest("pth", known), Some("path"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("path", []), None);
    }
}
