//! Known secrets: exact values, found in every common encoding of a text.
//!
//! A value is looked for as it is and from its end to its beginning, each also in base64 (each alignment, both alphabets)
//! and in hex, as the numbers of its bytes, with two or four bytes a character, in small letters, and as a form writes it, with `+` for a
//! blank; cut in two, or in more ([`super::pieces`]); and in what is packed ([`super::packed`]). All of these again in the text with
//! its escapes read, and without ends of lines ([`super::spelling`]); and in what comes of that once more, since JSON in
//! JSON escapes twice. That takes time linear in the text. What was known once stays known while the process lives: a secret
//! that was taken away is still one. Values of a name that has new ones all the time are known for as long as the next one
//! is new.
//!
//! It does not find a part of a value, nor one that was split into shorter parts, encrypted, encoded twice (base64 of base64) or
//! otherwise computed upon; a guest that never holds a value cannot do that.
//!
//! Whoever sees what becomes of a text that they wrote is told whether it holds a whole value, and no more: nothing here may
//! depend on how much of a value a text has. That is why a value that can be guessed as a whole is no secret.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde::de::IgnoredAny;
use serde_json::Value;
use zeroize::Zeroizing;

use super::packed::Room;
use super::pieces::{Part, Pieces, Spread};
use super::spelling::{Reading, Spelling};
use super::{REDACTED, clean_together, packed};
use crate::words::limits::SCRUB_PIECE_BYTES;
use crate::words::limits::scrubbing::SCRUB_TABLE_BYTES;
use crate::words::lock::lock;

/// Values that must not be seen. Cheap to clone; clones know the same.
#[derive(Clone, Default)]
pub struct KnownSecrets(Arc<Shared>);

#[derive(Default)]
struct Shared {
    net: Mutex<Option<Arc<Net>>>,
    /// Whoever makes a new net, which takes a while, keeps others from making one and from nothing else.
    learning: Mutex<()>,
}

/// A value, and the name that it is the value of, if there may be but one.
#[derive(Clone)]
struct Named {
    /// Of all that this process has known.
    number: usize,
    name: String,
    value: Zeroizing<Vec<u8>>,
}

/// What the values are caught with. Copies of the values live here for as long as the process does:
/// whoever is to recognise them has to know them.
struct Net {
    values: Vec<Named>,
    /// As the value has them, and base64, where case counts.
    find_exact: AhoCorasick,
    /// Hex, where it does not.
    find_folded: AhoCorasick,
    pieces: Pieces,
    longest: usize,
    words: usize,
}

/// What was found in a text: a value, or a part of one.
struct Caught {
    at: Range<usize>,
    part: Option<Part>,
}

/// What comes of that: where values stand, and the parts that stand elsewhere.
type Settled = (Vec<Range<usize>>, Vec<Part>);

/// What texts have in common that are read together: those of one value, or pieces of one text.
#[derive(Debug, Default)]
pub(super) struct Together {
    room: Room,
    /// What stands of values in all of them.
    spread: RefCell<Spread>,
}

impl Together {
    /// One more of them.
    pub(super) fn widen(&self, text: &[u8]) {
        self.room.widen(text);
    }

    /// Whether a value that was cut is whole with all of them: then none of them is to be seen, since whoever wrote one of
    /// them would learn by what is left of it how much of the value it had.
    pub(super) fn holds_a_cut_value(&self) -> bool {
        self.spread.borrow().is_whole()
    }
}

/// How often a text is read: escapes of escapes of escapes.
const LAYERS: usize = 3;
/// How many bytes one byte of a value may take in all these.
const LONGER: usize = 16;

impl KnownSecrets {
    /// Remembers a value. An empty one is none.
    pub fn learn(&self, value: &[u8]) {
        self.learn_of("", value);
    }

    /// Remembers the value that a name has now, and the one that it had before, since that may be on its way; no earlier
    /// one, so that whoever gives new ones does not make this grow. Those of the name `""` are all remembered.
    pub fn learn_of(&self, name: &str, value: &[u8]) {
        self.learn_all([(name, value)]);
    }

    /// The same of many, each with its name, one after the other. The net, which takes a while for each value in it, is made
    /// once, and not at all where nothing is new.
    pub fn learn_all<'a>(&self, named: impl IntoIterator<Item = (&'a str, &'a [u8])>) {
        let _alone = lock(&self.0.learning);
        let net = self.net();
        let known = net.as_ref().map_or(&[][..], |net| &net.values);
        let mut values = Cow::Borrowed(known);
        for (name, value) in named {
            add(&mut values, name, value);
        }
        if let Cow::Owned(values) = values {
            let net = Net::new(values).map(Arc::new);
            *lock(&self.0.net) = net;
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        lock(&self.0.net).is_none()
    }

    fn net(&self) -> Option<Arc<Net>> {
        lock(&self.0.net).clone()
    }

    /// Whether one stands in a text.
    #[must_use]
    pub fn finds_in(&self, text: &[u8]) -> bool {
        !self.spans(text).is_empty()
    }

    /// The text without them; nothing where there is none in it.
    #[must_use]
    pub fn clean(&self, text: &str) -> Option<String> {
        self.clean_within(text, &Together::default())
    }

    /// The same for one text of several.
    pub(super) fn clean_within(&self, text: &str, together: &Together) -> Option<String> {
        together.widen(text.as_bytes());
        let clean = without(
            text.as_bytes(),
            self.spans_within(text.as_bytes(), together),
        )?;
        // What is cut out of a text are whole characters, so this loses nothing.
        Some(String::from_utf8_lossy(&clean).into_owned())
    }

    /// The bytes without them; nothing where there is none in them.
    #[must_use]
    pub fn clean_bytes(&self, text: &[u8]) -> Option<Vec<u8>> {
        let together = Together::default();
        together.widen(text);
        self.clean_bytes_within(text, &together)
    }

    /// The same for one of several, whose room was counted before.
    pub(super) fn clean_bytes_within(&self, text: &[u8], together: &Together) -> Option<Vec<u8>> {
        let clean = without(text, self.spans_within(text, together))?;
        Some(self.clean_json(text, &clean).unwrap_or(clean))
    }

    /// What was JSON stays that, though what is cut out of it was a number, or a list of them: whoever reads it would have
    /// nothing of it otherwise. Nothing where it stays JSON anyway, or was none.
    fn clean_json(&self, text: &[u8], clean: &[u8]) -> Option<Vec<u8>> {
        let is_json = |text: &[u8]| serde_json::from_slice::<IgnoredAny>(text).is_ok();
        if is_json(clean) || !is_json(text) {
            return None;
        }
        let mut value = serde_json::from_slice(text).ok()?;
        self.clean_value(&mut value);
        let json = serde_json::to_vec(&value).ok()?;
        // An end of a line after it may be what ends it for its reader.
        let ends = text.trim_ascii_end().len();
        let starts = text.len() - text.trim_ascii_start().len();
        let (before, after) = (text.get(..starts)?, text.get(ends..)?);
        let clean = [before, &json, after].concat();
        (!self.finds_in(&clean)).then_some(clean)
    }

    /// Cleans every string of a value, keys too.
    pub fn clean_value(&self, value: &mut Value) {
        if !self.is_empty() {
            clean_together(value, &|text, together| self.clean_within(text, together));
        }
    }

    /// Where they stand in a text.
    fn spans(&self, text: &[u8]) -> Vec<Range<usize>> {
        let together = Together::default();
        together.widen(text);
        self.spans_within(text, &together)
    }

    /// The same of one text of several.
    pub(super) fn spans_within(&self, text: &[u8], together: &Together) -> Vec<Range<usize>> {
        let net = self.net();
        net.map_or_else(Vec::new, |net| net.spans(text, together))
    }

    /// Where whole values stand in a text of which more comes.
    pub(super) fn values_within(&self, text: &[u8], together: &Together) -> Vec<Range<usize>> {
        let net = self.net();
        net.map_or_else(Vec::new, |net| net.look(text, &together.room).0)
    }

    /// Bytes of the longest value, as it may be written.
    pub(super) fn longest(&self) -> usize {
        self.net().map_or(0, |net| net.longest)
    }

    /// Words of the value that has the most.
    pub(super) fn words(&self) -> usize {
        self.net().map_or(1, |net| net.words)
    }
}

impl Net {
    fn new(values: Vec<Named>) -> Option<Self> {
        let (mut exact, mut folded) = (Vec::new(), Vec::new());
        for Named { value, .. } in &values {
            exact.push(value.clone());
            exact.extend(in_base64(value));
            folded.extend(in_hex(value));
            exact.extend(in_numbers(value));
            exact.extend(in_form(value));
            exact.extend(in_small(value));
            if let Some(wide) = in_utf16(value, u16::to_le_bytes) {
                exact.extend(in_base64(&wide));
                folded.extend(in_hex(&wide).into_iter().take(1));
                exact.push(wide);
                exact.extend(in_utf16(value, u16::to_be_bytes));
            }
            exact.extend(in_utf32(value, u32::to_le_bytes));
            exact.extend(in_utf32(value, u32::to_be_bytes));
            if let Some(bytes) = of_hex(value) {
                exact.extend(in_base64(&bytes));
                folded.extend(in_hex(&bytes));
                folded.extend(in_groups(&bytes));
            }
            let reversed = reversed(value);
            if reversed != *value {
                exact.extend(in_base64(&reversed));
                folded.extend(in_hex(&reversed).into_iter().take(1));
                exact.push(reversed);
            }
        }
        let numbered = |named: &Named| (named.number, named.value.clone());
        let pieces = Pieces::of(values.iter().map(numbered));
        let is_blank = |byte: &&u8| byte.is_ascii_whitespace();
        let words = values.iter();
        let words = words.map(|named| 1 + named.value.iter().filter(is_blank).count());
        let words = words.max().unwrap_or(1);
        let longest = exact.iter().chain(&folded).map(|one| one.len()).max()?;
        // A search that cannot be made would let everything through; there is no such list of ours, since
        // it is bounded by the number and size of secrets.
        let find_exact = search_for(&exact, false)?;
        let find_folded = search_for(&folded, true)?;
        Some(Self {
            values,
            find_exact,
            find_folded,
            pieces,
            longest,
            words,
        })
    }

    /// What is to be taken out of a text, in order, none lying over another.
    fn spans(&self, text: &[u8], together: &Together) -> Vec<Range<usize>> {
        let (values, parts) = self.look(text, &together.room);
        let mut own = Spread::default();
        let mut spread = together.spread.borrow_mut();
        for part in &parts {
            own.add(part);
            spread.add(part);
        }
        match own.is_whole() {
            true => std::iter::once(0..text.len()).collect(),
            false => values,
        }
    }

    /// Looks for values and for parts, in every spelling.
    fn look(&self, text: &[u8], room: &Room) -> Settled {
        let mut found = Vec::new();
        self.catch(text, room, &mut |caught| found.push(caught));
        for spelling in Spelling::ALL {
            if spelling.is_in(text) {
                self.read(text, (spelling, room), &mut found);
            }
        }
        settled(found)
    }

    fn catch(&self, text: &[u8], room: &Room, found: &mut dyn FnMut(Caught)) {
        self.catch_plain(text, found);
        packed::unpacked(text, room, &mut |run, unpacked| {
            let (mut is_there, mut spread) = (false, Spread::default());
            while !is_there && let Some(window) = unpacked.next(self.longest) {
                // Whatever holds one goes, so that it does not matter which parts stand beside it.
                self.catch_plain(window, &mut |caught| match &caught.part {
                    Some(part) => spread.add(part),
                    None => is_there = true,
                });
                is_there |= spread.is_whole();
            }
            if is_there {
                found(Caught {
                    at: run,
                    part: None,
                });
            }
        });
    }

    fn catch_plain(&self, text: &[u8], found: &mut dyn FnMut(Caught)) {
        let mut part_of = |at, part| {
            let part = Some(part);
            found(Caught { at, part });
        };
        self.pieces.catch(text, &mut part_of);
        for search in [&self.find_exact, &self.find_folded] {
            for caught in search.find_overlapping_iter(text) {
                let at = caught.range();
                found(Caught { at, part: None });
            }
        }
    }

    /// Searches a text with its escapes read, piece by piece: memory is bounded by a piece. Pieces overlap by as much as a
    /// value may be long, if a byte of it takes no more than [`LONGER`].
    fn read(&self, text: &[u8], (spelling, room): (Spelling, &Room), found: &mut Vec<Caught>) {
        let shared = self.longest.saturating_mul(LONGER);
        let size = SCRUB_PIECE_BYTES.max(shared.saturating_mul(2));
        let mut from: usize = 0;
        loop {
            let end = from.saturating_add(size).min(text.len());
            let piece = text.get(from..end).unwrap_or_default();
            self.read_piece(
                piece,
                (spelling, LAYERS),
                room,
                &mut |Caught { at, part }| {
                    let at = from + at.start..from + at.end;
                    found.push(Caught { at, part });
                },
            );
            if end == text.len() {
                return;
            }
            from = end - shared;
        }
    }

    /// Searches what comes of a reading, and of reading that again.
    fn read_piece(
        &self,
        piece: &[u8],
        (spelling, layers): (Spelling, usize),
        room: &Room,
        found: &mut dyn FnMut(Caught),
    ) {
        let reading = Reading::of(piece, spelling);
        if layers == 0 || !reading.has_escapes() {
            return;
        }
        let mut found = |Caught { at, part }| {
            if let Some(at) = reading.source_of(&at) {
                found(Caught { at, part });
            }
        };
        self.catch(&reading.bytes, room, &mut found);
        if Spelling::Deep.is_in(&reading.bytes) {
            let deeper = (Spelling::Deep, layers - 1);
            self.read_piece(&reading.bytes, deeper, room, &mut found);
        }
    }
}

impl std::fmt::Debug for KnownSecrets {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = self.net().map_or(0, |net| net.values.len());
        write!(out, "{count} known secrets")
    }
}

/// Adds a value to those that are known, unless it is one of them.
fn add(values: &mut Cow<'_, [Named]>, name: &str, value: &[u8]) {
    let is_own = |known: &&Named| known.name == name;
    let is_it = |known: &Named| known.name == name && known.value.as_slice() == value;
    let last = values.iter().rfind(is_own);
    let is_known = match name {
        "" => values.iter().any(is_it),
        _ => last.is_some_and(is_it),
    };
    if value.is_empty() || is_known {
        return;
    }
    let last = last.map(|last| last.number);
    let is_last = |known: &Named| last == Some(known.number);
    let stays = |known: &Named| name.is_empty() || known.name != name || is_last(known);
    let numbers = values.iter().map(|known| known.number);
    let number = numbers.max().map_or(0, |number| number + 1);
    let values = values.to_mut();
    values.retain(stays);
    values.push(Named {
        number,
        name: name.to_owned(),
        value: Zeroizing::new(value.to_vec()),
    });
}

/// Parts count that stand beside the values that stand there: each of those has all of them in it.
fn settled(found: Vec<Caught>) -> Settled {
    let (parts, values): (Vec<Caught>, Vec<Caught>) =
        found.into_iter().partition(|caught| caught.part.is_some());
    let values = merged(values.into_iter().map(|caught| caught.at).collect());
    let is_beside = |caught: &Caught| {
        let behind = values.partition_point(|value| value.end < caught.at.end);
        let around = values.get(behind);
        around.is_none_or(|value| caught.at.start < value.start)
    };
    let beside = parts.into_iter().filter(is_beside);
    let beside = beside.filter_map(|caught| caught.part).collect();
    (values, beside)
}

/// A search for any of these. The fastest one has a table that is far larger than they are, and is for few of them.
fn search_for(all: &[Zeroizing<Vec<u8>>], folded: bool) -> Option<AhoCorasick> {
    let bytes: usize = all.iter().map(|one| one.len()).sum();
    let kind = (bytes > SCRUB_TABLE_BYTES).then_some(AhoCorasickKind::ContiguousNFA);
    let mut search = AhoCorasick::builder();
    search.kind(kind).ascii_case_insensitive(folded);
    search.build(all).ok()
}

/// A text without some spans of it, in order; nothing where there are none.
fn without(text: &[u8], spans: Vec<Range<usize>>) -> Option<Vec<u8>> {
    if spans.is_empty() {
        return None;
    }
    let mut clean = Vec::with_capacity(text.len());
    let mut at = 0;
    for span in spans {
        clean.extend_from_slice(text.get(at..span.start).unwrap_or_default());
        clean.extend_from_slice(REDACTED.as_bytes());
        at = span.end;
    }
    clean.extend_from_slice(text.get(at..).unwrap_or_default());
    Some(clean)
}

fn merged(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_by_key(|span| (span.start, span.end));
    let mut all: Vec<Range<usize>> = Vec::new();
    for span in spans {
        match all.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            Some(_) | None => all.push(span),
        }
    }
    all
}

/// The value in base64, wherever in a longer text it begins: of each of the three alignments the
/// characters that the value alone decides, in both alphabets.
fn in_base64(value: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let mut all = Vec::new();
    for before in 0..3_usize {
        let mut padded = Zeroizing::new(vec![0; before]);
        padded.extend_from_slice(value);
        // Six bits a character: those that share bits with what stands before or after are not the value's.
        let (first, last) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
        for alphabet in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let text = Zeroizing::new(alphabet.encode(padded.as_slice()));
            if let Some(own) = text.as_bytes().get(first..last) {
                all.push(Zeroizing::new(own.to_vec()));
            }
        }
    }
    all.dedup();
    all
}

/// The value from its end to its beginning, character by character.
fn reversed(value: &[u8]) -> Zeroizing<Vec<u8>> {
    let Ok(text) = std::str::from_utf8(value) else {
        return Zeroizing::new(value.iter().rev().copied().collect());
    };
    let mut reversed = Zeroizing::new(Vec::with_capacity(value.len()));
    for c in text.chars().rev() {
        let mut utf8 = Zeroizing::new([0_u8; 4]);
        reversed.extend_from_slice(c.encode_utf8(&mut *utf8).as_bytes());
    }
    reversed
}

/// The value in hex, with what usually stands between bytes.
fn in_hex(value: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let between = ["", " ", ":", "-", ", 0x", ",0x", " 0x"];
    let with = between.iter();
    with.map(|between| joined(value, between, |byte| format!("{byte:02x}")))
        .collect()
}

/// The value as a list of its bytes, as programs show what they have no text for.
fn in_numbers(value: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let between = [",", ", "];
    let with = between.iter();
    with.map(|between| joined(value, between, |byte| byte.to_string()))
        .collect()
}

/// The bytes of a value, each as it is said, with something between.
fn joined(value: &[u8], between: &str, say: impl Fn(u8) -> String) -> Zeroizing<Vec<u8>> {
    let mut text = Zeroizing::new(Vec::new());
    for (at, byte) in value.iter().enumerate() {
        if at > 0 {
            text.extend_from_slice(between.as_bytes());
        }
        text.extend_from_slice(say(*byte).as_bytes());
    }
    text
}

/// The value as a form has it, where it has blanks: those are `+` there, whatever else is escaped.
fn in_form(value: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let form = value.iter().map(|byte| match byte {
        b' ' => b'+',
        other => *other,
    });
    value
        .contains(&b' ')
        .then(|| Zeroizing::new(form.collect()))
}

/// The value in small letters, where it has others: names of headers and hosts are told so, whoever wrote them.
fn in_small(value: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let small = Zeroizing::new(value.to_ascii_lowercase());
    (*small != value).then_some(small)
}

/// The value with two bytes for each character, in such an order, as some programs write, and encode what they pack into base64.
fn in_utf16(value: &[u8], bytes: fn(u16) -> [u8; 2]) -> Option<Zeroizing<Vec<u8>>> {
    let text = std::str::from_utf8(value).ok()?;
    let mut wide = Zeroizing::new(Vec::with_capacity(value.len().saturating_mul(2)));
    text.encode_utf16()
        .for_each(|unit| wide.extend_from_slice(&bytes(unit)));
    Some(wide)
}

/// The same with four bytes.
fn in_utf32(value: &[u8], bytes: fn(u32) -> [u8; 4]) -> Option<Zeroizing<Vec<u8>>> {
    let text = std::str::from_utf8(value).ok()?;
    let mut wide = Zeroizing::new(Vec::with_capacity(value.len().saturating_mul(4)));
    text.chars()
        .for_each(|c| wide.extend_from_slice(&bytes(u32::from(c))));
    Some(wide)
}

/// The bytes that a value says which is a key in hex: its service takes it in either case, and whatever stands between.
fn of_hex(value: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let digits = value.iter().filter(|byte| !matches!(byte, b'-' | b':'));
    let digits: Zeroizing<Vec<u8>> = Zeroizing::new(digits.copied().collect());
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let pairs = digits.chunks(2).map(|pair| {
        let text = std::str::from_utf8(pair).ok().filter(|_| pair.len() == 2)?;
        u8::from_str_radix(text, 16).ok()
    });
    let bytes: Option<Vec<u8>> = pairs.collect();
    bytes
        .map(Zeroizing::new)
        .filter(|bytes| bytes.len() >= HEX_BYTES)
}

/// Bytes in hex that make a value one; fewer are a number.
const HEX_BYTES: usize = 8;

/// Sixteen bytes as the groups of a UUID.
fn in_groups(bytes: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut text = Zeroizing::new(Vec::new());
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push(b'-');
        }
        text.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
    (bytes.len() == 16).then_some(text)
}

#[cfg(test)]
mod tests;
