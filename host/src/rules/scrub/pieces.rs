//! Parts of secrets: a value that was cut in two, or in more.
//!
//! A part counts from [`SCRUB_PART_BYTES`] on, and only where it looks random; and parts count only where they make up the whole
//! value together, beside any that stands there uncut. Then all that they stand in is taken out. Were a part taken out alone, whoever
//! knows the beginning of a value could ask for the next character, and so on to its end, by writing guesses and looking what
//! becomes of them. Every text is looked at in a few places alone: a part of that length holds one of them with enough behind it
//! to be known by.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use zeroize::Zeroizing;

use crate::words::limits::scrubbing::{
    SCRUB_PART_BYTES, SCRUB_PART_CHANGES, SCRUB_PART_DISTINCT, SCRUB_PART_SEEDS, SCRUB_PARTED_BYTES,
};

/// Bytes by which a place in a value is recognised,
const SEED: usize = 8;
/// of which a part holds one at every so many bytes, wherever it begins.
const STEP: usize = SCRUB_PART_BYTES - SEED + 1;
/// Places of one seed: a value may repeat itself.
const SAME: usize = 4;
/// Words of the set that is asked first.
const WORDS: usize = 1 << 10;

/// Bytes of a value that stand in a text.
pub(super) struct Part {
    /// Which value,
    value: usize,
    /// and how long that is.
    length: usize,
    bytes: Range<usize>,
}

/// What stands of values in texts that belong together.
#[derive(Debug, Default)]
pub(super) struct Spread {
    /// Of which value what stands there, in order, none touching another.
    bytes: BTreeMap<usize, Vec<Range<usize>>>,
    is_whole: bool,
}

impl Spread {
    /// One part more.
    pub(super) fn add(&mut self, part: &Part) {
        let bytes = &part.bytes;
        let known = self.bytes.entry(part.value).or_default();
        let from = known.partition_point(|other| other.end < bytes.start);
        let to = known.partition_point(|other| other.start <= bytes.end);
        let touched = known.get(from..to).unwrap_or_default();
        let start = touched
            .first()
            .map_or(bytes.start, |first| first.start.min(bytes.start));
        let end = touched
            .last()
            .map_or(bytes.end, |last| last.end.max(bytes.end));
        self.is_whole |= end - start == part.length;
        known.splice(from..to.max(from), std::iter::once(start..end));
    }

    /// Whether no byte of one of the values is missing.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }
}

/// A value, and the number that it is known by.
pub(super) type Numbered = (usize, Zeroizing<Vec<u8>>);

/// What parts of values are caught with.
#[derive(Default)]
pub(super) struct Pieces {
    values: Vec<Numbered>,
    /// Where in which value a seed stands.
    seeds: HashMap<[u8; SEED], Vec<(usize, usize)>>,
    /// Whether there may be such a seed: nearly every place of a text ends here.
    marks: Vec<u64>,
}

impl Pieces {
    pub(super) fn of(values: impl Iterator<Item = Numbered>) -> Self {
        let mut pieces = Self::default();
        for value in values {
            pieces.add(value);
        }
        pieces
    }

    fn add(&mut self, (number, value): Numbered) {
        if value.len() < SCRUB_PARTED_BYTES {
            return;
        }
        let windows = value.windows(SCRUB_PART_BYTES).enumerate();
        let random = windows.filter(|(_, window)| is_random(window));
        let places: BTreeSet<usize> = random.flat_map(|(at, _)| at..at + STEP).collect();
        if places.is_empty() {
            return;
        }
        let index = self.values.len();
        self.marks.resize(WORDS, 0);
        for place in places {
            if let Some(seed) = seed_at(&value, place)
                && self.seeds.len() < SCRUB_PART_SEEDS
            {
                let (word, bit) = mark(seed);
                if let Some(word) = self.marks.get_mut(word) {
                    *word |= bit;
                }
                let same = self.seeds.entry(seed).or_default();
                if same.len() < SAME {
                    same.push((index, place));
                }
            }
        }
        self.values.push((number, value));
    }

    /// Where parts stand in a text.
    pub(super) fn catch(&self, text: &[u8], found: &mut dyn FnMut(Range<usize>, Part)) {
        if self.seeds.is_empty() {
            return;
        }
        // Up to where each value was looked at: what there is of one says nothing of another.
        let mut until: BTreeMap<usize, usize> = BTreeMap::new();
        let mut at = 0;
        while let Some(seed) = seed_at(text, at) {
            for place in self.places_of(seed) {
                if until.get(&place.0).is_some_and(|until| at < *until) {
                    continue;
                }
                if let Some((span, part)) = self.part_at(text, at, *place) {
                    until.insert(place.0, span.end);
                    found(span, part);
                }
            }
            at += STEP;
        }
    }

    /// Where in which value a seed stands.
    fn places_of(&self, seed: [u8; SEED]) -> &[(usize, usize)] {
        let (word, bit) = mark(seed);
        match self.marks.get(word) {
            Some(word) if word & bit != 0 => self.seeds.get(&seed).map_or(&[], Vec::as_slice),
            Some(_) | None => &[],
        }
    }

    /// The part of a value around a place of a text which is that place of the value.
    fn part_at(
        &self,
        text: &[u8],
        at: usize,
        (index, place): (usize, usize),
    ) -> Option<(Range<usize>, Part)> {
        let (number, value) = self.values.get(index)?;
        let before = same(
            text.get(..at)?.iter().rev(),
            value.get(..place)?.iter().rev(),
        );
        let after = same(text.get(at..)?.iter(), value.get(place..)?.iter());
        let span = whole_characters(text, at - before..at + after);
        let mut windows = text.get(span.clone())?.windows(SCRUB_PART_BYTES);
        let from = (place + span.start).checked_sub(at)?;
        let part = Part {
            value: *number,
            length: value.len(),
            bytes: from..from + span.len(),
        };
        windows.any(is_random).then_some((span, part))
    }
}

fn seed_at(text: &[u8], at: usize) -> Option<[u8; SEED]> {
    text.get(at..at + SEED)?.try_into().ok()
}

/// The word and the bit of a seed in the set that is asked first.
fn mark(seed: [u8; SEED]) -> (usize, u64) {
    // Multiplying mixes upwards.
    let mixed = u64::from_le_bytes(seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48;
    let word = usize::try_from(mixed >> 6).unwrap_or(0);
    (word, 1 << (mixed & 63))
}

/// How far both are the same.
fn same<'a>(text: impl Iterator<Item = &'a u8>, value: impl Iterator<Item = &'a u8>) -> usize {
    text.zip(value)
        .take_while(|(one, other)| one == other)
        .count()
}

/// The part without the rest of a character at either end, which another one may share.
fn whole_characters(text: &[u8], part: Range<usize>) -> Range<usize> {
    let goes_on = |at: &usize| {
        text.get(*at)
            .is_some_and(|byte| (0x80..0xC0).contains(byte))
    };
    let start = part.clone().find(|at| !goes_on(at)).unwrap_or(part.end);
    let end = (start..=part.end).rev().find(|at| !goes_on(at));
    start..end.unwrap_or(start)
}

/// Whether a text looks as if nobody had written it by hand.
fn is_random(window: &[u8]) -> bool {
    let is_new = |(at, byte): &(usize, &u8)| {
        window
            .get(..*at)
            .is_some_and(|before| !before.contains(byte))
    };
    let different = window.iter().enumerate().filter(is_new).count();
    let changes = window.windows(2).filter(|pair| match pair {
        [one, other] => {
            let letters = one.is_ascii_alphabetic() && other.is_ascii_digit();
            let digits = one.is_ascii_digit() && other.is_ascii_alphabetic();
            // The other way round every name begins.
            letters || digits || (one.is_ascii_lowercase() && other.is_ascii_uppercase())
        }
        _ => false,
    });
    different >= SCRUB_PART_DISTINCT && changes.count() >= SCRUB_PART_CHANGES
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::super::{KnownSecrets, REDACTED};
    use super::STEP;

    const VALUE: &str = "ghp_x7Kq29LmTb4ZrW8sVn3cQ5dY";

    fn known(values: &[&str]) -> KnownSecrets {
        let known = KnownSecrets::default();
        values
            .iter()
            .for_each(|value| known.learn(value.as_bytes()));
        known
    }

    #[test]
    fn a_value_is_found_wherever_it_is_cut_and_wherever_its_parts_stand() {
        let known = known(&[VALUE, "ghp_x7Kq29LmTb4Zr-begins-alike-9Qw3Er5T"]);
        for at in 12..=VALUE.len() - 12 {
            for again in [0, 3, 10] {
                let (first, second) = (&VALUE[..at], &VALUE[at.saturating_sub(again)..]);
                for shift in 0..9 {
                    let before = "é".repeat(shift);
                    let text = format!("{before} {second}, and so {first}!");
                    let clean = known.clean(&text).unwrap_or_default();
                    assert_eq!(clean, REDACTED, "{first} {second}");
                }
                let text = json!({"a": first, "b": {second: [first]}}).to_string();
                let clean = known.clean_bytes(text.as_bytes()).unwrap();
                assert_eq!(clean, json!(REDACTED).to_string().as_bytes());
            }
        }
    }

    #[test]
    fn the_parts_may_stand_in_fields_of_a_value() {
        let (first, second) = VALUE.split_at(13);
        let mut value = json!({"a": first, "b": ["x", {second: 1}], "c": VALUE[2..20]});
        known(&[VALUE]).clean_value(&mut value);
        assert_eq!(value, json!(REDACTED));
        // However they are written.
        let mut value = json!([
            first.replace('x', "%78"),
            format!("{}\n", STANDARD.encode(second))
        ]);
        known(&[VALUE]).clean_value(&mut value);
        assert_ne!(value, json!(REDACTED), "of base64 only the whole is found");
        let mut value = json!([first.replace('x', "%78"), second]);
        known(&[VALUE]).clean_value(&mut value);
        assert_eq!(value, json!(REDACTED));
        let mut alone = json!({"a": first, "b": ["x", {VALUE[14..].to_owned(): 1}]});
        let before = alone.clone();
        known(&[VALUE]).clean_value(&mut alone);
        assert_eq!(alone, before);
    }

    /// Whoever has a beginning must not learn how it goes on.
    #[test]
    fn whether_a_guess_is_a_part_is_not_told() {
        let known = known(&[VALUE]);
        let (start, rest) = VALUE.split_at(20);
        for next in rest.chars().take(1).chain("abcXYZ019_".chars()) {
            let guess = format!("{start}{next}");
            assert_eq!(known.clean(&guess), None, "{guess}");
            let windows = guess.as_bytes().windows(12);
            let windows: Vec<_> = windows.map(String::from_utf8_lossy).collect();
            assert_eq!(known.clean(&windows.join(" ")), None, "{guess}");
            assert!(!known.finds_in(guess.as_bytes()));
        }
    }

    /// Nor where a server says the value as well: what was sent to it, or that in two.
    #[test]
    fn whether_a_guess_is_a_part_is_not_told_beside_the_value() {
        let known = known(&[VALUE]);
        let start = &VALUE[..16];
        let escaped = VALUE.replace('x', "\\u0078");
        let (first, second) = VALUE.split_at(14);
        for next in VALUE[16..17].chars().chain("abcXYZ019_".chars()) {
            let guess = format!("{start}{next}");
            for whole in [VALUE, &escaped] {
                let clean = known.clean(&format!("{whole} {guess}"));
                assert_eq!(clean.unwrap(), format!("{REDACTED} {guess}"));
                let mut value = json!({"said": whole, "guess": [guess, {"to": guess}]});
                known.clean_value(&mut value);
                let expected = json!({"said": REDACTED, "guess": [guess, {"to": guess}]});
                assert_eq!(value, expected);
            }
            // Eleven that are right, and the next one.
            let short = &guess[guess.len() - 12..];
            for guess in [&guess, short] {
                let clean = known.clean(&format!("{first} {guess} {second}"));
                assert_eq!(clean.unwrap(), REDACTED);
                let mut value = json!([first, guess, second]);
                known.clean_value(&mut value);
                assert_eq!(value, json!(REDACTED));
            }
        }
    }

    /// What there is of one value says nothing of another.
    #[test]
    fn parts_of_two_values_are_found_side_by_side() {
        let (one, other) = (VALUE, "kq7X29LmTb4ZrW8sVn3cQ5dYp0Rw");
        let known = known(&[one, &format!("{}{}", &one[..14], &other[7..14])]);
        known.learn(other.as_bytes());
        for size in 0..=7 {
            // As far as the second goes on as the first does, it is part of that too.
            let text = format!(
                "{}{} {} {}",
                &one[..14],
                &other[7 - size..19],
                &other[..12],
                &other[12..]
            );
            assert_eq!(known.clean(&text).unwrap(), REDACTED, "{text}");
        }
    }

    #[test]
    fn what_does_not_look_random_is_found_as_a_whole_alone() {
        for (value, at) in [
            (
                "https://user:secret-9Tq2@hooks.example.com/services/incoming",
                31,
            ),
            ("correct horse battery staple", 14),
            ("8412345678901234567890123456", 14),
            ("q7Kx2Lm9Tb4Zr8", 7),
            // Its second half.
            ("q7Kx2Lm9Tb4Zr8Wn-my-company-name", 12),
        ] {
            let (first, second) = value.split_at(at);
            let known = known(&[value]);
            for blanks in 1..=STEP {
                let text = format!("{first}{}{second}", " ".repeat(blanks));
                assert_eq!(known.clean(&text), None, "{value}");
            }
            assert_eq!(known.clean(value).unwrap(), REDACTED);
        }
    }

    #[test]
    fn a_character_at_the_edge_of_a_part_stays_whole() {
        let value = "é7Kq29LmTb4ZrW8sVn3cQ5dYè";
        let known = known(&[value]);
        let (first, second) = value.split_at(13);
        // The second byte of the last character is that of another one, so the value is not whole.
        let other = format!("{first} {}é", second.trim_end_matches('è'));
        assert_eq!(known.clean(&other), None);
        let clean = known.clean(&format!("{first}é {second}")).unwrap();
        assert_eq!(clean, REDACTED);
    }
}
