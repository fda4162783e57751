//! Verbatim: the older guards, by the names under which they are known (G-82…G-90).
//!
//! `untrusted-to-sink` stops a sink whose arguments hold a span of untrusted content, letter by letter;
//! `lethal-trifecta` stops every sink once untrusted and secret content have both entered the run. They stand
//! beside labels and are weaker: a paraphrase, base64 or a translation is not found. What is compared is folded:
//! NFKC, lower case, letters and digits alone. Nothing that they say holds a character of content.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

use foldhash::fast::RandomState;
use icu_normalizer::ComposingNormalizerBorrowed;
use serde_json::Value;

use super::guarding::Guarding;
use super::kind::text_of;
use super::lines::{Flows, Guard, SHADOWED};
use crate::rules::call::Call;
use crate::rules::caller::{Caller, Judging};
use crate::rules::deny_unless;
use crate::rules::manifest::EffectClass;
use crate::rules::policy::Policy;
use crate::words::event::Denial;
use crate::words::id::is_hidden;
use crate::words::label::Label;
use crate::words::limits::tuned::VERBATIM_SPAN_CHARS_MIN;
use crate::words::limits::{
    VERBATIM_PIECE_CHARS, VERBATIM_SHORT, VERBATIM_SPAN_CHARS, VERBATIM_STEPS,
};

/// The rule's name in a denial (G-86).
pub const BLOCKED: &str = "dataflow_policy_blocked";

/// Bytes of a tile.
const TILE: usize = 8;
/// Bytes from one tile of untrusted content to the next: a span of eleven bytes has a whole one in it.
const STRIDE: usize = 4;
/// So many bytes in a row hold a whole tile, wherever they begin.
const SURE: usize = TILE + STRIDE - 1;
const _: () = assert!(SURE <= VERBATIM_SPAN_CHARS_MIN && SURE <= VERBATIM_SPAN_CHARS);
/// Folded characters that two neighbouring pieces share, so that no span is cut in two.
const SHARED_CHARS: usize = 64;

/// The bytes of a tile, as one number: that is quicker to look up.
type Tile = u64;

/// Where a tile of untrusted content is, in order of pieces.
#[derive(Clone, Debug, Default)]
struct Spots {
    /// What stands before it in each. Kept here as well, and by itself: most spots are looked at for this alone, and
    /// their pieces are far away in memory.
    before: Vec<Before>,
    places: Vec<Place>,
}

/// The bytes between a tile and the one before it, as one number; nothing at the beginning of a text.
type Before = u32;
/// No letter or digit has these bytes.
const NOTHING: Before = 0;

/// A piece, and where in it.
#[derive(Clone, Copy, Debug)]
struct Place {
    piece: usize,
    at: usize,
}

impl Spots {
    fn push(&mut self, before: Before, place: Place) {
        self.before.push(before);
        self.places.push(place);
    }

    fn forget(&mut self, piece: usize) {
        let gone = self.places.partition_point(|place| place.piece <= piece);
        self.before.drain(..gone);
        self.places.drain(..gone);
    }

    /// Those before which something else stands than this; all where nothing does.
    fn unlike(&self, known: Before) -> impl Iterator<Item = Place> {
        let all = self.before.iter().zip(&self.places);
        let unlike = all.filter(move |(before, _)| known == NOTHING || **before != known);
        unlike.map(|(_, place)| *place)
    }
}

/// What a run has read of untrusted and of secret content: a fold of its outcomes.
#[derive(Clone, Debug, Default)]
pub struct Verbatim {
    pieces: VecDeque<String>,
    /// The number of the oldest piece that is left.
    first: usize,
    chars: usize,
    tiles: HashMap<Tile, Spots, RandomState>,
    untrusted: bool,
    secret: bool,
}

impl Verbatim {
    /// An outcome, or the words of a failure, has entered the run.
    pub fn heard(&mut self, flows: &Flows, label: &Label, said: &Value) {
        if flows.guards.on.is_empty() {
            return;
        }
        self.secret |= flows.classes.is_secret(label);
        if !flows.classes.is_tainted(label) {
            return;
        }
        self.untrusted = true;
        if flows.guards.on.contains(&Guard::UntrustedToSink) {
            let mut text = String::new();
            fold_values(said, &mut text);
            fold_keys(said, &mut text);
            self.remember(&text, &flows.guards);
        }
    }

    fn remember(&mut self, folded: &str, guards: &Guarding) {
        let chars: Vec<char> = folded.chars().collect();
        let step = VERBATIM_PIECE_CHARS - SHARED_CHARS;
        for from in (0..chars.len()).step_by(step) {
            let rest = chars.get(from..).unwrap_or_default();
            if from > 0 && rest.len() <= SHARED_CHARS {
                break;
            }
            let piece = rest.iter().take(VERBATIM_PIECE_CHARS).collect();
            self.add(piece, guards);
        }
    }

    fn add(&mut self, piece: String, guards: &Guarding) {
        // One without a tile is looked through for what is short.
        if piece.len() < TILE.min(guards.floor_chars) {
            return;
        }
        let number = self.first + self.pieces.len();
        for (at, tile) in tiles(&piece) {
            let spots = self.tiles.entry(tile).or_default();
            let place = Place { piece: number, at };
            spots.push(before(piece.as_bytes(), at), place);
        }
        self.chars += piece.chars().count();
        self.pieces.push_back(piece);
        while self.chars > guards.tracked_chars {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some(oldest) = self.pieces.pop_front() else {
            return;
        };
        self.chars = self.chars.saturating_sub(oldest.chars().count());
        for (_, tile) in tiles(&oldest) {
            if let Some(spots) = self.tiles.get_mut(&tile) {
                spots.forget(self.first);
                if spots.places.is_empty() {
                    self.tiles.remove(&tile);
                }
            }
        }
        self.first += 1;
    }

    /// The first argument that holds a span; several together where only they do.
    fn found_in<'a>(&self, args: &'a [Argument], guards: &Guarding) -> Option<Cow<'a, str>> {
        let mut short = HashSet::new();
        let mut joined = Folded::default();
        for argument in args {
            let plain = Folded::of(&argument.text);
            let read_once = unescaped(&argument.text).map(|text| Folded::of(&text));
            for folded in [Some(&plain), read_once.as_ref()].into_iter().flatten() {
                let all = 0..folded.text.len();
                let found = self.has_span(folded, (all, true), guards)
                    || self.has_short(folded, &mut short, guards);
                if found {
                    return Some(Cow::Borrowed(&argument.place));
                }
            }
            joined.append(&plain);
        }
        // Each was looked at by itself, so what is left goes across a seam.
        let mut seen = 0;
        let found = joined.seams.iter().any(|seam| {
            let part = joined.around(*seam);
            // Short arguments have seams close together.
            let rest = part.start.max(seen)..part.end;
            seen = part.end;
            self.has_span(&joined, (rest, false), guards)
        });
        found.then(|| "several arguments".into())
    }

    /// Whether a span of untrusted content stands in this part of a text, or is the whole of it.
    fn has_span(
        &self,
        text: &Folded,
        (part, alone): (Range<usize>, bool),
        guards: &Guarding,
    ) -> bool {
        let bytes = text.text.as_bytes();
        let mut steps = 0;
        let windows = bytes.windows(TILE).enumerate();
        for (at, window) in windows.take(part.end).skip(part.start) {
            let Some(spots) = tile(window).and_then(|tile| self.tiles.get(&tile)) else {
                continue;
            };
            // Where the tile before this one was the same as well, it is known how far that goes.
            let known = match at >= part.start + STRIDE {
                true => before(bytes, at),
                false => NOTHING,
            };
            for spot in spots.unlike(known) {
                let Some(piece) = self.piece(spot.piece) else {
                    continue;
                };
                let (from, to) = widest((bytes, at), (piece.as_bytes(), spot.at));
                let whole = alone && from == 0 && to == bytes.len();
                let chars = text.chars_between(from, to);
                if chars >= guards.span_chars || whole && chars >= guards.floor_chars {
                    return true;
                }
                steps += to - from;
                if steps > VERBATIM_STEPS {
                    return true;
                }
            }
        }
        false
    }

    /// Whether the whole of a text that is too short for a tile to be sure stands in untrusted content.
    fn has_short(&self, text: &Folded, seen: &mut HashSet<String>, guards: &Guarding) -> bool {
        let floor = guards.floor_chars;
        let short = (TILE.min(floor)..SURE).contains(&text.text.len());
        if !short || text.chars < floor || !seen.insert(text.text.clone()) {
            return false;
        }
        seen.len() > VERBATIM_SHORT || self.pieces.iter().any(|piece| piece.contains(&text.text))
    }

    fn piece(&self, number: usize) -> Option<&String> {
        self.pieces.get(number.checked_sub(self.first)?)
    }
}

/// The tiles of a piece, and where they are.
fn tiles(piece: &str) -> impl Iterator<Item = (usize, Tile)> {
    let windows = piece.as_bytes().windows(TILE).enumerate().step_by(STRIDE);
    windows.filter_map(|(at, window)| Some((at, tile(window)?)))
}

fn tile(window: &[u8]) -> Option<Tile> {
    window.try_into().ok().map(Tile::from_ne_bytes)
}

fn before(text: &[u8], at: usize) -> Before {
    let from = at.checked_sub(STRIDE);
    let bytes = from.and_then(|from| text.get(from..at)?.try_into().ok());
    bytes.map_or(NOTHING, Before::from_ne_bytes)
}

/// How far two texts are the same around a tile, as a range of the first.
fn widest((one, at): (&[u8], usize), (other, spot): (&[u8], usize)) -> (usize, usize) {
    let left = one.get(..at).unwrap_or_default().iter().rev();
    let left = left
        .zip(other.get(..spot).unwrap_or_default().iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let right = one.get(at..).unwrap_or_default().iter();
    let right = right
        .zip(other.get(spot..).unwrap_or_default())
        .take_while(|(a, b)| a == b)
        .count();
    (at - left, at + right)
}

/// A text, folded, and how many characters it had up to each byte: what was left out is part of a span.
#[derive(Default)]
struct Folded {
    text: String,
    /// For each byte the number of the character that it comes from.
    from: Vec<usize>,
    /// Where one text ends and the next begins.
    seams: Vec<usize>,
    chars: usize,
}

impl Folded {
    fn of(text: &str) -> Self {
        let mut folded = Self::default();
        let Self {
            text: kept, from, ..
        } = &mut folded;
        let chars = fold(text, |c, number| {
            kept.push(c);
            from.resize(kept.len(), number);
        });
        folded.chars = chars;
        folded
    }

    /// The same with another text behind it.
    fn append(&mut self, next: &Self) {
        if !self.text.is_empty() {
            self.seams.push(self.text.len());
        }
        self.text.push_str(&next.text);
        let before = self.chars;
        let from = next.from.iter().map(|number| before + number);
        self.from.extend(from);
        self.chars += next.chars;
    }

    /// Where a tile of every span lies that is no longer than it must be, and goes across this seam.
    fn around(&self, seam: usize) -> Range<usize> {
        // No span has to be longer, and no character has more bytes.
        const REACH: usize = VERBATIM_SPAN_CHARS * 4;
        seam.saturating_sub(REACH)..seam.saturating_add(REACH)
    }

    /// Characters of the text between two bytes of what is left of it.
    fn chars_between(&self, from: usize, to: usize) -> usize {
        let first = self.from.get(from).copied().unwrap_or_default();
        let last = to.checked_sub(1).and_then(|last| self.from.get(last));
        let last = last.copied().unwrap_or_default();
        (last + 1).saturating_sub(first)
    }
}

/// Folds a text: calls `keep` for each letter and digit, with the number of the character that it comes from.
/// Hidden characters are none, and blanks in a row are one.
fn fold(text: &str, mut keep: impl FnMut(char, usize)) -> usize {
    const NFKC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfkc();
    let text = if text.is_ascii() {
        Cow::Borrowed(text)
    } else {
        NFKC.normalize(text)
    };
    let (mut number, mut blank) = (0, false);
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            number += 1;
            blank = false;
            keep(c.to_ascii_lowercase(), number);
        } else if c.is_whitespace() {
            number += usize::from(!blank);
            blank = true;
        } else if !is_hidden(c) {
            number += 1;
            blank = false;
            if c.is_alphanumeric() {
                let lower = c.to_lowercase().filter(|c| c.is_alphanumeric());
                lower.for_each(|c| keep(c, number));
            }
        }
    }
    number
}

/// All values of an outcome, one after the other.
fn fold_values(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| fold_values(item, text)),
        Value::Object(map) => map.values().for_each(|item| fold_values(item, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            if let Some(leaf) = text_of(value) {
                fold(&leaf, |c, _| text.push(c));
            }
        }
    }
}

/// And all names in it, which may be anybody's as well.
fn fold_keys(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| fold_keys(item, text)),
        Value::Object(map) => {
            for (key, item) in map {
                fold(key, |c, _| text.push(c));
                fold_keys(item, text);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A text that is written as in JSON, read once; nothing where it has no escapes.
fn unescaped(text: &str) -> Option<String> {
    let mut rest = text.split('\\');
    let mut plain = rest.next()?.to_owned();
    let mut any = false;
    let mut literal = false;
    for part in rest {
        any = true;
        let mut chars = part.chars();
        match (literal, chars.next()) {
            (true, _) => plain.push_str(part),
            // Two in a row: what comes after the second is no escape.
            (false, None) => plain.push('\\'),
            (false, Some('u')) => plain.push_str(&coded(chars.as_str())),
            (false, Some('n' | 't' | 'r' | 'b' | 'f')) => {
                plain.push(' ');
                plain.push_str(chars.as_str());
            }
            (false, Some(_)) => plain.push_str(part),
        }
        literal = !literal && part.is_empty();
    }
    any.then_some(plain)
}

/// The character behind `\u`, and what follows it. One half of a pair alone is no character.
fn coded(after: &str) -> String {
    // A number may have a sign, and a code may not.
    let code = after
        .get(..4)
        .filter(|code| code.bytes().all(|digit| digit.is_ascii_hexdigit()))
        .and_then(|code| u32::from_str_radix(code, 16).ok());
    match code.and_then(char::from_u32) {
        Some(c) => format!("{c}{}", after.get(4..).unwrap_or_default()),
        None => format!("u{after}"),
    }
}

/// One argument: where it stands, in the tool's own words, and its text.
struct Argument {
    place: String,
    text: String,
}

/// The single values of arguments, and the keys that are free to choose. A place is named as far as the tool
/// itself names it: a key that is free may be content.
fn arguments(value: &Value, schema: Option<&Value>, place: &str, found: &mut Vec<Argument>) {
    match value {
        Value::Array(items) => {
            let below = schema.and_then(|schema| schema.get("items"));
            items
                .iter()
                .for_each(|item| arguments(item, below, place, found));
        }
        Value::Object(map) => {
            let known = schema.and_then(|schema| schema.get("properties"));
            for (key, item) in map {
                let below = known.and_then(|known| known.get(key));
                if below.is_none() {
                    found.push(Argument {
                        place: place.to_owned(),
                        text: key.clone(),
                    });
                }
                let inside = match below {
                    Some(_) if place.is_empty() => key.clone(),
                    Some(_) => format!("{place}/{key}"),
                    None => place.to_owned(),
                };
                arguments(item, below, &inside, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let place = place.to_owned();
            found.extend(text_of(value).map(|text| Argument { place, text }));
        }
    }
}

/// What the guards say of a call: nothing where it is no sink or they find nothing; where they only watch, or
/// the sink is declassified, what stands in the record beside the rule (G-85, G-87).
///
/// # Errors
/// The denial (G-86).
pub fn guard(call: &Call, caller: &Caller, policy: &Policy) -> Result<String, Denial> {
    let flows = &policy.flows;
    let mode = caller.judging_over(flows, &call.held);
    if flows.guards.on.is_empty() || mode == Judging::Off || !call.declared.is_sink() {
        return Ok(String::new());
    }
    let Some(finding) = finding(call, caller, flows) else {
        return Ok(String::new());
    };
    let released = flows.release.iter().find(|line| line.matches(&call.tool));
    match (mode, released) {
        (Judging::Shadow | Judging::Off, _) => Ok(format!("; flagged, and {SHADOWED}: {finding}")),
        (Judging::Enforce | Judging::Tainted, Some(line)) => Ok(format!(
            "; declassified by `release = [\"{line}\"]`: {finding}"
        )),
        (Judging::Enforce | Judging::Tainted, None) => {
            let line = format!("[flow]\nrelease = [\"{}\"]", call.tool);
            let lines: &[&str] = match call.declared.effect {
                EffectClass::Destructive => &[],
                EffectClass::Pure
                | EffectClass::ReadOnly
                | EffectClass::SideEffecting
                | EffectClass::ExternalStateful => &[&line],
            };
            Err(deny_unless(BLOCKED, finding, lines))
        }
    }
}

/// The sentence of the first guard that finds something.
fn finding(call: &Call, caller: &Caller, flows: &Flows) -> Option<String> {
    let ledger = caller.known.ledger();
    let read = ledger.verbatim();
    if flows.guards.on.contains(&Guard::UntrustedToSink) {
        let mut args = Vec::new();
        arguments(call.args.value(), Some(&call.declared.input), "", &mut args);
        if let Some(place) = read.found_in(&args, &flows.guards) {
            let place = match &*place {
                "" => "an argument".to_owned(),
                place if place.contains(' ') => place.to_owned(),
                place => format!("`{place}`"),
            };
            return Some(format!(
                "{place} of `{}` would carry untrusted content of this run word for word \
                 (`guards = [\"untrusted-to-sink\"]`)",
                call.tool
            ));
        }
    }
    let label = caller.label.join(&call.held);
    let untrusted = read.untrusted || flows.classes.is_tainted(&label);
    let secret = read.secret || flows.classes.is_secret(&label);
    let all = untrusted && secret && flows.guards.on.contains(&Guard::LethalTrifecta);
    all.then(|| {
        format!(
            "`{}` does more than look, and both untrusted and secret content have entered this run \
             (`guards = [\"lethal-trifecta\"]`)",
            call.tool
        )
    })
}

#[cfg(test)]
mod tests;
