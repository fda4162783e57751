//! Spellings: the ways in which somebody could write a secret so that it is not recognised.

use std::io::Write;

use aho_corasick::AhoCorasick;

/// A text in base64 (three alignments, both alphabets, in lines, with two bytes a character), hex, percent, `\u`, entities,
/// octal and numbers, some of these escaped once more, and as it is; from its end to its beginning; packed; and in two halves beside each other,
/// where each is long enough.
#[must_use]
pub fn spelled(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let each = |one: fn(u8) -> String| bytes.iter().map(|byte| one(*byte)).collect::<String>();
    let chars = |one: fn(u32) -> String| text.chars().map(|c| one(c.into())).collect::<String>();
    let mut all = vec![
        text.to_owned(),
        each(|byte| format!("{byte:02x}")),
        each(|byte| format!("{byte:02X}")),
        each(|byte| format!("%{byte:02x}")),
        each(|byte| format!("%{byte:02X}")),
        chars(|c| format!("\\u{c:04x}")),
        chars(|c| format!("\\u{c:04X}")),
        chars(|c| format!("&#{c};")),
        chars(|c| format!("&#x{c:x};")),
        each(|byte| format!("0x{byte:02x} ")),
        each(|byte| format!("%25{byte:02x}")),
        each(|byte| format!("={byte:02X}")),
        each(|byte| format!("\\{byte:03o}")),
        chars(|c| format!("\\\\u{c:04x}")),
        chars(|c| format!("&amp;#{c};")),
        chars(|c| format!("\\U{c:08x}")),
        numbers(bytes, ","),
        numbers(bytes, ", "),
        base64(&wide(text)),
    ];
    for before in ["", "a", "ab"] {
        let padded = format!("{before}{text}");
        let standard = base64(padded.as_bytes());
        all.push(standard.trim_end_matches('=').to_owned());
        all.push(standard.replace('+', "-").replace('/', "_"));
        all.push(in_lines(&standard, "\n"));
        all.push(in_lines(&standard, "\\n"));
        all.push(standard);
    }
    let reversed: String = text.chars().rev().collect();
    all.push(base64(reversed.as_bytes()));
    all.push(reversed);
    for packed in packed(bytes) {
        all.push(base64(&packed));
        all.push(packed.iter().map(|byte| format!("{byte:02x}")).collect());
    }
    let middle = text.len() / 2;
    if middle >= HALF
        && let Some((first, second)) = text.split_at_checked(middle)
    {
        all.push(format!("{second} and {first}"));
    }
    all
}

/// From so many bytes on a part of a secret is known as one, if it looks random.
const HALF: usize = 12;

/// The bytes as a list.
fn numbers(bytes: &[u8], between: &str) -> String {
    let all: Vec<String> = bytes.iter().map(ToString::to_string).collect();
    all.join(between)
}

/// Two bytes a character.
fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// In gzip, zlib and zstd.
fn packed(bytes: &[u8]) -> [Vec<u8>; 3] {
    let level = flate2::Compression::default();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), level);
    gzip.write_all(bytes).expect("memory takes it");
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), level);
    zlib.write_all(bytes).expect("memory takes it");
    [
        gzip.finish().expect("memory takes it"),
        zlib.finish().expect("memory takes it"),
        zstd::encode_all(bytes, 0).expect("memory takes it"),
    ]
}

/// As mail has base64, in short lines.
fn in_lines(text: &str, end: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let lines = chars.chunks(9).map(|line| line.iter().collect::<String>());
    lines.collect::<Vec<_>>().join(end)
}

/// Base64 with padding, as anybody would write it.
#[must_use]
pub fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group
            .iter()
            .fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for at in 0..4 {
            let letter = ALPHABET[bits >> (18 - 6 * at) & 63];
            text.push(if at > group.len() {
                '='
            } else {
                char::from(letter)
            });
        }
    }
    text
}

/// Where a secret, in any spelling, stands in some bytes; of base64 the part that it alone decides.
#[must_use]
pub fn found(secret: &str, bytes: &[u8]) -> Option<String> {
    let find = |spellings: Vec<String>, any_case: bool| {
        let cores = spellings.iter().map(|spelling| core(spelling));
        let mut search = AhoCorasick::builder();
        let search = search.ascii_case_insensitive(any_case).build(cores);
        let found = search.expect("few spellings").find(bytes)?;
        spellings.get(found.pattern().as_usize()).cloned()
    };
    let mut escaped = spelled(secret);
    escaped.retain(|spelling| core(spelling).contains(['%', '\\', '&']));
    find(spelled(secret), false).or_else(|| find(escaped, true))
}

/// What of a spelling is the secret's own: ends of base64 depend on what stands beside it.
fn core(spelling: &str) -> &str {
    let length = spelling.trim_end_matches('=').len();
    let begin = 4.min(length);
    &spelling[begin..length.saturating_sub(2).max(begin)]
}
