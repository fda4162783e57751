//! Packed texts: runs of base64 or hex that hold gzip, zlib or zstd, which somebody could have packed a secret into.
//!
//! Each is unpacked once, as far as there is [`Room`]; what is broken off counts as far as it goes. Runs are found without
//! looking at every byte: one that is long enough holds one of the places that are looked at. What is packed without a
//! beginning to know it by (brotli, bare deflate), or twice, is not found.

use std::cell::Cell;
use std::io::{ErrorKind, Read, copy, sink};
use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::words::limits::scrubbing::{
    SCRUB_HELD_BYTES, SCRUB_PACKED_CHARS, SCRUB_PACKED_CHARS_MAX, SCRUB_PACKED_TRIES,
    SCRUB_PROVED_BYTES, SCRUB_UNPACK_COST, SCRUB_UNPACKED_LEAST, SCRUB_UNPACKED_TIMES,
    SCRUB_WINDOW_BYTES,
};

/// Base64 that was cut anywhere.
const FORGIVING: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
/// Hex of what something packed begins with.
const HEX: [&[u8]; 6] = [b"1f8b08", b"28b52ffd", b"7801", b"785e", b"789c", b"78da"];
/// Base64 of what something packed begins with, as far as that is the same for all.
const BASE64: [&[u8]; 7] = [b"H4sI", b"KLUv/", b"KLUv_", b"eA", b"eF", b"eJ", b"eN"];
/// What zstd may keep to look back at, as a power of two.
const ZSTD_WINDOW: u32 = 23;

/// How much may still be unpacked. However often a text is read, and however much is packed into it, that takes time linear
/// in its length.
#[derive(Debug)]
pub(super) struct Room(Cell<usize>);

impl Default for Room {
    /// None that a text has brought yet.
    fn default() -> Self {
        Self(Cell::new(SCRUB_UNPACKED_LEAST))
    }
}

impl Room {
    /// Room for a text, beside what others left.
    pub(super) fn widen(&self, text: &[u8]) {
        let more = text.len().saturating_mul(SCRUB_UNPACKED_TIMES);
        self.0.set(self.0.get().saturating_add(more));
    }

    /// Shows what comes of so many bytes, read from `begin`: half of what is left at most, so that nothing uses up what
    /// others behind it need. Nothing where there is no room.
    fn with<'a>(
        &self,
        bytes: usize,
        begin: impl FnOnce() -> Option<Box<dyn Read + 'a>>,
        look: impl FnOnce(&mut Unpacked<'a>),
    ) {
        let Some(left) = self.0.get().checked_sub(SCRUB_UNPACK_COST + bytes) else {
            return;
        };
        self.0.set(left);
        let Some(packed) = begin() else { return };
        let mut unpacked = Unpacked {
            packed,
            window: Vec::new(),
            left: left / 2,
        };
        look(&mut unpacked);
        let read = (left / 2).saturating_sub(unpacked.left);
        self.0.set(left.saturating_sub(read));
    }
}

/// What is unpacked, window by window: all of it may be many times the text.
pub(super) struct Unpacked<'a> {
    packed: Box<dyn Read + 'a>,
    window: Vec<u8>,
    /// How much more of it may be read.
    left: usize,
}

impl Unpacked<'_> {
    /// The next of it, with so many bytes of what came before.
    pub(super) fn next(&mut self, overlap: usize) -> Option<&[u8]> {
        let old = self.window.len().saturating_sub(overlap);
        self.window.drain(..old);
        let (before, most) = (self.window.len(), self.left.min(SCRUB_WINDOW_BYTES));
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        // What came before an error is there all the same.
        let _ = (&mut self.packed).take(most).read_to_end(&mut self.window);
        let came = self.window.len().saturating_sub(before);
        self.left = self.left.saturating_sub(came);
        (came > 0).then_some(self.window.as_slice())
    }
}

/// Shows what is packed in a text, and where that stands.
pub(super) fn unpacked(
    text: &[u8],
    room: &Room,
    look: &mut dyn FnMut(Range<usize>, &mut Unpacked<'_>),
) {
    if is_packed(text) {
        let begin = || unpack(text);
        room.with(text.len(), begin, |unpacked| look(0..text.len(), unpacked));
    }
    each_run(text, &mut |run| {
        let runs = text.get(run.clone()).unwrap_or_default();
        for at in beginnings(runs).take(SCRUB_PACKED_TRIES) {
            let rest = runs.get(at..).unwrap_or_default();
            let rest = rest.get(..SCRUB_PACKED_CHARS_MAX).unwrap_or(rest);
            let bytes = bytes_of(rest);
            let found = run.start + at..run.end;
            room.with(
                rest.len(),
                || unpack(&bytes),
                |unpacked| look(found, unpacked),
            );
        }
    });
}

/// Where the end of a text begins that may be something packed of which more comes.
pub(super) fn open_end(text: &[u8]) -> usize {
    let run = text.iter().rev().take_while(|byte| is_part(byte)).count();
    // A longer one is shown in parts, each of which is read as far as it goes.
    if run > SCRUB_HELD_BYTES {
        return text.len();
    }
    let from = text.len() - run;
    let run = text.get(from..).unwrap_or_default();
    let open = beginnings(run).next();
    let open = open.or_else(|| (0..run.len()).find(|at| may_begin(run, *at)));
    open.map_or(text.len(), |at| from + at)
}

/// Whether something packed may begin there with what is there so far.
fn may_begin(run: &[u8], at: usize) -> bool {
    let rest = run.get(at..).unwrap_or_default();
    let hex = |begin: &&[u8]| {
        begin
            .get(..rest.len())
            .is_some_and(|own| own.eq_ignore_ascii_case(rest))
    };
    BASE64.iter().any(|begin| begin.starts_with(rest)) || (is_edge(run, at) && HEX.iter().any(hex))
}

/// Whether no digit of hex stands before a place of a run.
fn is_edge(run: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| run.get(at));
    before.is_none_or(|byte| !byte.is_ascii_hexdigit())
}

fn is_part(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// Runs of characters of base64, which those of hex are as well.
fn each_run(text: &[u8], found: &mut dyn FnMut(Range<usize>)) {
    // Nothing before belongs to a run that was not looked at.
    let (mut from, mut at) = (0, SCRUB_PACKED_CHARS - 1);
    while let Some(byte) = text.get(at) {
        if !is_part(byte) {
            from = at + 1;
            at += SCRUB_PACKED_CHARS;
            continue;
        }
        let before = text.get(from..at).unwrap_or_default().iter().rev();
        let after = text.get(at..).unwrap_or_default().iter();
        let start = at - before.take_while(|byte| is_part(byte)).count();
        let end = at + after.take_while(|byte| is_part(byte)).count();
        if end - start >= SCRUB_PACKED_CHARS {
            found(start..end);
        }
        from = end;
        at = end + SCRUB_PACKED_CHARS;
    }
}

/// Places of a run where something packed may begin.
fn beginnings(run: &[u8]) -> impl Iterator<Item = usize> {
    (0..run.len()).filter(|at| {
        let rest = run.get(*at..).unwrap_or_default();
        is_base64(rest) || (is_edge(run, *at) && is_hex(rest))
    })
}

/// What begins like gzip, zstd, or zlib with one of its four levels.
fn is_base64(rest: &[u8]) -> bool {
    match rest {
        [b'H', b'4', b's', b'I', ..] | [b'K', b'L', b'U', b'v', b'/' | b'_', ..] => true,
        [b'e', level, more, ..] => match level {
            b'A' => (b'E'..=b'H').contains(more),
            b'F' => (b'4'..=b'7').contains(more),
            b'J' => (b'w'..=b'z').contains(more),
            b'N' => (b'o'..=b'r').contains(more),
            _ => false,
        },
        _ => false,
    }
}

fn is_hex(rest: &[u8]) -> bool {
    HEX.iter().any(|begin| {
        rest.get(..begin.len())
            .is_some_and(|own| own.eq_ignore_ascii_case(begin))
    })
}

/// The bytes that a run stands for.
fn bytes_of(run: &[u8]) -> Vec<u8> {
    if is_hex(run) {
        let digit = |byte: &u8| u8::try_from(char::from(*byte).to_digit(16)?).ok();
        let pairs = run.chunks_exact(2).map_while(|pair| match pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        });
        return pairs.collect();
    }
    let mut text: Vec<u8> = run.iter().map(|byte| standard(*byte)).collect();
    // One character alone is no byte.
    if text.len() % 4 == 1 {
        text.pop();
    }
    FORGIVING.decode(text).unwrap_or_default()
}

/// A character of either alphabet in that of the standard.
fn standard(byte: u8) -> u8 {
    match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => other,
    }
}

/// Whether bytes begin like something packed.
pub(super) fn is_packed(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [0x1f, 0x8b, 8, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..]
    )
}

/// Whether bytes begin like something packed and are not: a text may begin with `x^`.
pub(super) fn only_looks_packed(bytes: &[u8]) -> bool {
    let begin = bytes.get(..SCRUB_PROVED_BYTES).unwrap_or(bytes);
    let most = u64::try_from(SCRUB_WINDOW_BYTES).unwrap_or(u64::MAX);
    // That the rest is not there yet is none of its faults.
    let fails = |packed: Box<dyn Read + '_>| {
        let read = copy(&mut packed.take(most), &mut sink());
        read.is_err_and(|error| error.kind() != ErrorKind::UnexpectedEof)
    };
    matches!(bytes, [0x78, 0x5e, ..]) && unpack(begin).is_some_and(fails)
}

/// What reads what comes of it; nothing for what is not packed.
fn unpack(bytes: &[u8]) -> Option<Box<dyn Read + '_>> {
    match bytes {
        [0x1f, 0x8b, 8, ..] => Some(Box::new(flate2::bufread::MultiGzDecoder::new(bytes))),
        [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => {
            Some(Box::new(flate2::bufread::ZlibDecoder::new(bytes)))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes).ok()?;
            decoder.window_log_max(ZSTD_WINDOW).ok()?;
            Some(Box::new(decoder))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    use super::super::{KnownSecrets, REDACTED, Scrub, Trickle};
    use super::*;

    const VALUE: &str = "canary-7f3a9c-packed";

    fn known() -> KnownSecrets {
        let known = KnownSecrets::default();
        known.learn(VALUE.as_bytes());
        known
    }

    /// A text in every way to pack it.
    fn packed(text: &str) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        for level in [0, 1, 6, 9] {
            let level = flate2::Compression::new(level);
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), level);
            gzip.write_all(text.as_bytes()).unwrap();
            let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), level);
            zlib.write_all(text.as_bytes()).unwrap();
            all.extend([gzip.finish().unwrap(), zlib.finish().unwrap()]);
        }
        all.push(zstd::encode_all(text.as_bytes(), 3).unwrap());
        all
    }

    fn written(bytes: &[u8]) -> Vec<String> {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let lines = STANDARD.encode(bytes);
        let lines: Vec<&[u8]> = lines.as_bytes().chunks(19).collect();
        vec![
            STANDARD.encode(bytes),
            URL_SAFE_NO_PAD.encode(bytes),
            hex.to_uppercase(),
            hex,
            String::from_utf8(lines.join(&b"\n"[..])).unwrap(),
        ]
    }

    #[test]
    fn what_is_packed_is_found_however_it_is_written() {
        for text in [VALUE.to_owned(), format!("{{\"a\": \"and {VALUE}\"}}")] {
            for bytes in packed(&text) {
                for run in written(&bytes) {
                    for before in [
                        "",
                        "data:application/gzip;base64,",
                        "see /",
                        &"word ".repeat(30),
                    ] {
                        let clean = known().clean(&format!("{before}{run} and more"));
                        let clean = clean.unwrap_or_default();
                        assert!(clean.contains(REDACTED), "{before}{run}: {clean}");
                        assert!(clean.ends_with(" and more"), "{clean}");
                        assert!(clean.len() < before.len() + 30, "{run}: {clean}");
                    }
                }
                let clean = known().clean_bytes(&bytes).unwrap();
                assert_eq!(clean, REDACTED.as_bytes(), "as it is");
            }
        }
    }

    #[test]
    fn what_holds_none_or_is_broken_stays() {
        for bytes in packed("nothing of that kind stands here") {
            for run in written(&bytes) {
                assert_eq!(known().clean(&run), None);
                assert_eq!(known().clean(&run[..run.len() / 2]), None);
            }
        }
        for text in [
            "H4sI",
            "H4sIAAAAAAAAA-no-more-than-that",
            "eJwwwwwwwwwwwwwwwwwwwwwwwww",
            "789c789c789c789c789c789c789c",
        ] {
            assert_eq!(known().clean(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_cut_off_or_grows_is_read_as_far_as_it_goes() {
        let grows = format!("{VALUE}{}", "\0".repeat(64 << 20));
        for bytes in packed(&grows).iter().skip(4) {
            let text = STANDARD.encode(bytes);
            let cut = &text[..text.len() - 5];
            assert!(known().finds_in(cut.as_bytes()));
        }
    }

    /// However much is unpacked, no more than a window of it is there at once.
    #[test]
    fn what_lies_across_two_windows_is_found() {
        let mut state = 7_u32;
        // What hardly packs makes room for the rest.
        let noise = (0..100 << 10).map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            char::from(b'!' + u8::try_from(state % 89).unwrap())
        });
        let noise: String = noise.collect();
        for at in [0, 1, 10, VALUE.len() - 1, VALUE.len()] {
            let before = "\0".repeat(SCRUB_WINDOW_BYTES - at);
            let text = format!("{before}{VALUE}{noise}");
            for bytes in packed(&text).iter().skip(4) {
                assert_eq!(known().clean_bytes(bytes).unwrap(), REDACTED.as_bytes());
            }
        }
    }

    #[test]
    fn what_is_unpacked_is_bounded_by_the_length_of_the_text() {
        let bombs = packed(&"\0".repeat(1 << 20));
        let bombs: Vec<String> = bombs.iter().skip(4).map(|b| STANDARD.encode(b)).collect();
        let text = bombs.join(" ").repeat(20);
        let (room, mut looked) = (Room::default(), 0);
        room.widen(text.as_bytes());
        // As often as there are ways to read it, and more.
        for _ in 0..40 {
            unpacked(text.as_bytes(), &room, &mut |_, unpacked| {
                while let Some(window) = unpacked.next(0) {
                    looked += window.len();
                    assert!(window.len() <= SCRUB_WINDOW_BYTES);
                }
            });
        }
        let most = text.len() * SCRUB_UNPACKED_TIMES + SCRUB_UNPACKED_LEAST;
        assert!((most / 2..=most).contains(&looked), "{looked} of {most}");
    }

    #[test]
    fn nothing_uses_up_what_others_need() {
        let secrets = packed(VALUE);
        let bombs = packed(&"\0".repeat(1 << 20));
        let bombs: Vec<String> = bombs.iter().skip(4).map(|b| STANDARD.encode(b)).collect();
        for secret in &secrets {
            let secret = STANDARD.encode(secret);
            let text = format!("{} {secret}", bombs.join(" "));
            let clean = known().clean(&text).unwrap_or_default();
            let expected = format!("{} {REDACTED}", bombs.join(" "));
            assert_eq!(clean.trim_end_matches('='), expected);
            let mut many = vec![serde_json::json!(&bombs[0]); 100];
            many.push(serde_json::json!(secret));
            let mut value = serde_json::Value::Array(many);
            known().clean_value(&mut value);
            let last = value[100].as_str().unwrap();
            assert_eq!(last.trim_end_matches('='), REDACTED);
        }
    }

    /// Runs that look packed and are not, or hold nothing, before one that does.
    #[test]
    fn decoys_use_up_nothing() {
        let secret = STANDARD.encode(&packed(VALUE)[3]);
        for decoy in ["eAEA".repeat(6), format!("eJx{}", "a".repeat(21))] {
            for count in [3, 30, 300] {
                let decoys = vec![decoy.as_str(); count].join(" ");
                let clean = known().clean(&format!("{decoys} {secret}")).unwrap();
                assert_eq!(clean.trim_end_matches('='), format!("{decoys} {REDACTED}"));
            }
        }
    }

    #[test]
    fn what_is_packed_is_held_back_until_it_is_whole() {
        let scrub = Scrub::new(Vec::new(), known());
        for bytes in packed(VALUE) {
            let text = format!("so {} it is, ", STANDARD.encode(bytes));
            let mut trickle = Trickle::new(&scrub);
            let shown: String = text.chars().map(|c| trickle.add(&c.to_string())).collect();
            assert!(shown.starts_with(&format!("so {REDACTED}")), "{shown}");
        }
    }
}
