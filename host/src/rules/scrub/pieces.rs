//! Parts of secrets: what is left of a value that was cut in two, or of which only a part is told.
//!
//! A part counts from [`SCRUB_PART_BYTES`] on, and only where it looks random: a secret that begins like an address, or
//! holds a name, must not blank ordinary text. So parts of pass phrases and of numbers stay. Every text is looked at in a
//! few places alone: a part of that length holds one of them with enough behind it to be known by.

use std::collections::{BTreeSet, HashMap};
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

/// What parts of values are caught with.
#[derive(Default)]
pub(super) struct Pieces {
    values: Vec<Zeroizing<Vec<u8>>>,
    /// Where in which value a seed stands.
    seeds: HashMap<[u8; SEED], Vec<(usize, usize)>>,
    /// Whether there may be such a seed: nearly every place of a text ends here.
    marks: Vec<u64>,
}

impl Pieces {
    pub(super) fn of<'a>(values: impl Iterator<Item = &'a Zeroizing<Vec<u8>>>) -> Self {
        let mut pieces = Self::default();
        for value in values {
            pieces.add(value);
        }
        pieces
    }

    fn add(&mut self, value: &Zeroizing<Vec<u8>>) {
        if value.len() < SCRUB_PARTED_BYTES {
            return;
        }
        let windows = value.windows(SCRUB_PART_BYTES).enumerate();
        let random = windows.filter(|(_, window)| is_random(window));
        let places: BTreeSet<usize> = random.flat_map(|(at, _)| at..at + STEP).collect();
        if places.is_empty() {
            return;
        }
        let number = self.values.len();
        self.values.push(value.clone());
        self.marks.resize(WORDS, 0);
        for place in places {
            if let Some(seed) = seed_at(value, place)
                && self.seeds.len() < SCRUB_PART_SEEDS
            {
                let (word, bit) = mark(seed);
                if let Some(word) = self.marks.get_mut(word) {
                    *word |= bit;
                }
                let same = self.seeds.entry(seed).or_default();
                if same.len() < SAME {
                    same.push((number, place));
                }
            }
        }
    }

    /// Where parts stand in a text.
    pub(super) fn catch(&self, text: &[u8], found: &mut dyn FnMut(Range<usize>)) {
        if self.seeds.is_empty() {
            return;
        }
        let mut at = 0;
        while let Some(seed) = seed_at(text, at) {
            match self.part_at(text, (at, seed)) {
                Some(part) => {
                    at = part.end.max(at + 1);
                    found(part);
                }
                None => at += STEP,
            }
        }
    }

    /// The longest part of a value around a place of a text.
    fn part_at(&self, text: &[u8], (at, seed): (usize, [u8; SEED])) -> Option<Range<usize>> {
        let (word, bit) = mark(seed);
        if self.marks.get(word)? & bit == 0 {
            return None;
        }
        let places = self.seeds.get(&seed)?.iter();
        let parts = places.filter_map(|(number, place)| {
            let value = self.values.get(*number)?;
            let before = same(
                text.get(..at)?.iter().rev(),
                value.get(..*place)?.iter().rev(),
            );
            let after = same(text.get(at..)?.iter(), value.get(*place..)?.iter());
            Some(at - before..at + after)
        });
        let part = whole_characters(text, parts.max_by_key(ExactSizeIterator::len)?);
        let mut windows = text.get(part.clone())?.windows(SCRUB_PART_BYTES);
        windows.any(is_random).then_some(part)
    }

    /// Where the end of a text begins that could become a part.
    pub(super) fn open_end(&self, text: &[u8]) -> usize {
        let is_part = |length: usize| {
            let end = text.get(text.len() - length..).unwrap_or_default();
            let stands = |value: &Zeroizing<Vec<u8>>| {
                let mut windows = value.windows(end.len());
                windows.any(|window| window == end)
            };
            self.values.iter().any(stands)
        };
        let longest = self.values.iter().map(|value| value.len()).max();
        // Whatever is no part is none with more before it, so the longest is found by halving.
        let (mut open, mut most) = (0, text.len().min(longest.unwrap_or(0)));
        while open < most {
            let middle = open + (most - open).div_ceil(2);
            if is_part(middle) {
                open = middle;
            } else {
                most = middle - 1;
            }
        }
        text.len() - open
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
    let different: BTreeSet<&u8> = window.iter().collect();
    let changes = window.windows(2).filter(|pair| match pair {
        [one, other] => {
            let letters = one.is_ascii_alphabetic() && other.is_ascii_digit();
            let digits = one.is_ascii_digit() && other.is_ascii_alphabetic();
            // The other way round every name begins.
            letters || digits || (one.is_ascii_lowercase() && other.is_ascii_uppercase())
        }
        _ => false,
    });
    different.len() >= SCRUB_PART_DISTINCT && changes.count() >= SCRUB_PART_CHANGES
}

#[cfg(test)]
mod tests {
    use super::super::{Known, REDACTED, Scrub, Trickle};

    const VALUE: &str = "ghp_x7Kq29LmTb4ZrW8sVn3cQ5dY";

    fn known(values: &[&str]) -> Known {
        let known = Known::default();
        values
            .iter()
            .for_each(|value| known.learn(value.as_bytes()));
        known
    }

    #[test]
    fn a_part_is_found_wherever_it_is_cut_and_wherever_it_stands() {
        let known = known(&[VALUE]);
        for length in 12..=VALUE.len() {
            for from in 0..=VALUE.len() - length {
                let part = &VALUE[from..from + length];
                for shift in 0..9 {
                    let text = format!("{} {part}, and so on", "é".repeat(shift));
                    let clean = known.clean(&text).unwrap_or_default();
                    let expected = text.replace(part, REDACTED);
                    assert_eq!(clean, expected, "{part}");
                }
            }
        }
        let (first, second) = VALUE.split_at(14);
        let both = known.clean(&format!("{{\"a\":\"{first}\",\"b\":\"{second}\"}}"));
        assert_eq!(
            both.unwrap(),
            format!("{{\"a\":\"{REDACTED}\",\"b\":\"{REDACTED}\"}}")
        );
    }

    #[test]
    fn what_is_no_part_or_does_not_look_random_stays() {
        let known = known(&[
            VALUE,
            "https://user:secret-9Tq2@hooks.example.com/services/incoming",
            "correct horse battery staple",
            "8412345678901234",
            "MyCompanyPassword-of-the-year",
            "q7Kx2Lm9Tb4Zr8",
            "my-company-name-x7Kq29LmTb4",
        ]);
        for text in [
            &VALUE[..11],
            &VALUE[9..20],
            "https://hooks.example.com/services/incoming",
            "@hooks.example.com/services/other",
            "the correct horse battery",
            "841234567890",
            "MyCompanyPassword is no good name",
            "q7Kx2Lm9Tb4Z",
            "company-name-x",
            "",
        ] {
            assert_eq!(known.clean(text), None, "{text}");
        }
    }

    #[test]
    fn a_character_at_the_edge_of_a_part_stays_whole() {
        let known = known(&["é7Kq29LmTb4ZrW8sVnè"]);
        // The second byte of the last character is that of another one.
        let clean = known.clean("x 7Kq29LmTb4ZrW8sVné y").unwrap();
        assert_eq!(clean, format!("x {REDACTED}é y"));
    }

    #[test]
    fn parts_that_come_piece_by_piece_are_held_back() {
        let scrub = Scrub::new(Vec::new(), known(&[VALUE]));
        for (from, to) in [(0, 14), (14, VALUE.len()), (6, 20)] {
            let text = format!("so {} and that is all of it", &VALUE[from..to]);
            let mut trickle = Trickle::new(&scrub);
            let shown: String = text.chars().map(|c| trickle.add(&c.to_string())).collect();
            let clean = format!("so {REDACTED} and that is all of it");
            assert!(clean.starts_with(&shown), "{shown}");
            assert!(shown.contains("that is"), "{shown}");
        }
    }
}
