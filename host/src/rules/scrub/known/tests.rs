//! Known secrets in every spelling, in long texts and in pieces.

use std::io::Write;

use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use bytes::Bytes;

use super::super::{ByteTrickle, Scrub, Trickle};
use super::*;
use crate::words::limits::scrubbing::SCRUB_HELD_BYTES;

const VALUE: &str = "ghp_Zq9/+\"K~é4x?w>7";

fn known() -> KnownSecrets {
    let known = KnownSecrets::default();
    known.learn(VALUE.as_bytes());
    known
}

/// Whoever gives new values all the time makes nothing grow, and ends no other name's.
#[test]
fn a_name_has_the_value_of_now_and_the_one_before() {
    let known = known();
    known.learn_of("b", b"other-value-12");
    for round in 0..100 {
        known.learn_of("a", format!("value-of-a-{round:03}").as_bytes());
    }
    let finds = |text: &str| known.finds_in(text.as_bytes());
    assert!(finds(VALUE) && finds("other-value-12"));
    assert!(finds("value-of-a-099") && finds("value-of-a-098"));
    assert!(!finds("value-of-a-097"));
    assert_eq!(format!("{known:?}"), "4 known secrets");
    // Which one is that of now, counts.
    known.learn_of("a", b"value-of-a-098");
    known.learn_of("a", b"value-of-a-098");
    known.learn_of("a", b"value-of-a-100");
    assert!(finds("value-of-a-100") && finds("value-of-a-098"));
    assert!(!finds("value-of-a-099"));
}

/// As one after the other, but that what they are caught with is made when all are there.
#[test]
fn many_are_learned_at_once() {
    let known = KnownSecrets::default();
    let all = [
        ("a", "value-of-a-001"),
        ("b", "other-value-12"),
        ("a", "value-of-a-002"),
        ("", "value-of-none-7"),
        ("a", "value-of-a-003"),
        ("b", "other-value-12"),
        ("", ""),
    ];
    let named = || all.iter().map(|(name, value)| (*name, value.as_bytes()));
    known.learn_all(named().inspect(|_| assert!(known.is_empty())));
    let finds = |text: &str| known.finds_in(text.as_bytes());
    assert!(finds("other-value-12") && finds("value-of-none-7"));
    assert!(finds("value-of-a-003") && finds("value-of-a-002"));
    assert!(!finds("value-of-a-001"));
    assert_eq!(format!("{known:?}"), "4 known secrets");
    // Where nothing is new, nothing is made.
    let net = known.net().unwrap();
    known.learn_all(named().skip(3));
    assert!(Arc::ptr_eq(&net, &known.net().unwrap()));
}

/// Every spelling of a value that somebody might try.
fn spellings(value: &str) -> Vec<String> {
    let bytes = value.as_bytes();
    let each = |one: &dyn Fn(&u8) -> String| bytes.iter().map(one).collect::<String>();
    let chars = |one: &dyn Fn(char) -> String| value.chars().map(one).collect::<String>();
    let mut all = vec![
        value.to_owned(),
        each(&|byte| format!("{byte:02x}")),
        each(&|byte| format!("{byte:02X}")),
        each(&|byte| format!("%{byte:02x}")),
        each(&|byte| format!("%{byte:02X}")),
        each(&|byte| format!("\\x{byte:02x}")),
        chars(&|c| format!("\\u{:04x}", u32::from(c))),
        chars(&|c| format!("\\u{:04X}", u32::from(c))),
        chars(&|c| format!("\\u{{{:x}}}", u32::from(c))),
        chars(&|c| format!("\\U{:08x}", u32::from(c))),
        chars(&|c| format!("&#{};", u32::from(c))),
        chars(&|c| format!("&#x{:X};", u32::from(c))),
        chars(&|c| format!("&#x{:06x};", u32::from(c))),
        url::form_urlencoded::byte_serialize(bytes).collect(),
        serde_json::to_string(value).unwrap(),
        value
            .replace('&', "&amp;")
            .replace('"', "&quot;")
            .replace('>', "&gt;"),
        each(&|byte| format!("\\{byte:03o}")),
        each(&|byte| format!("={byte:02X}")),
        each(&|byte| format!("={byte:02X}=\r\n")),
        each(&|byte| format!("0x{byte:02x} ")),
        each(&|byte| format!("{byte:02x}\n")),
        each(&|byte| format!("%25{byte:02x}")),
        each(&|byte| format!("%2525{byte:02x}")),
        chars(&|c| format!("&#{}", u32::from(c))),
        chars(&|c| format!("&#x{:012x};", u32::from(c))),
        chars(&|c| format!("&amp;#{};", u32::from(c))),
        chars(&|c| format!("\\\\u{:04x}", u32::from(c))),
        chars(&|c| format!("{c}\u{200b}")),
        serde_json::to_string(&serde_json::to_string(value).unwrap()).unwrap(),
        value
            .replace('_', "&lowbar;")
            .replace('/', "&sol;")
            .replace('+', "&plus;"),
        // One character in two of another kind.
        value
            .char_indices()
            .map(|(at, c)| match at % 4 {
                0 => format!("&#{};", u32::from(c)),
                2 => format!("\\u{:04x}", u32::from(c)),
                _ => c.to_string(),
            })
            .collect(),
    ];
    all.extend(as_programs_show(value));
    for before in ["", "a", "ab"] {
        for after in ["", "c", "cd"] {
            let text = format!("{before}{value}{after}");
            all.push(STANDARD.encode(&text));
            all.push(URL_SAFE.encode(&text));
            all.push(URL_SAFE_NO_PAD.encode(&text));
            all.push(in_lines(&STANDARD.encode(&text), "\r\n  "));
            all.push(in_lines(&STANDARD.encode(&text), "\\n"));
            all.push(
                STANDARD
                    .encode(&text)
                    .replace('+', "%2B")
                    .replace('/', "%2f"),
            );
        }
    }
    all
}

/// A form says a blank with a sign that is one of its own elsewhere.
#[test]
fn a_value_with_blanks_is_found_as_a_form_has_it() {
    let known = KnownSecrets::default();
    known.learn(b"correct horse+ battery=staple");
    let form: String =
        url::form_urlencoded::byte_serialize(b"correct horse+ battery=staple").collect();
    assert_eq!(form, "correct+horse%2B+battery%3Dstaple");
    for text in [form, "correct+horse++battery=staple".to_owned()] {
        assert_eq!(known.clean(&text).unwrap(), REDACTED, "{text}");
    }
}

/// Names of headers and hosts have no others.
#[test]
fn a_value_is_found_in_small_letters() {
    let known = known();
    assert_eq!(known.clean(&VALUE.to_ascii_lowercase()).unwrap(), REDACTED);
    assert_eq!(known.clean(&VALUE.to_ascii_uppercase()), None);
    let known = KnownSecrets::default();
    known.learn(b"Canary-7F3a9c.Hosted");
    let url = url::Url::parse("https://Canary-7F3a9c.Hosted.example.com/").unwrap();
    assert!(known.finds_in(url.as_str().as_bytes()));
}

/// With two or four bytes a character, whichever comes first.
#[test]
fn a_value_is_found_in_a_wide_text() {
    for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        let wide: Vec<u8> = VALUE.encode_utf16().flat_map(bytes).collect();
        assert_eq!(known().clean_bytes(&wide).unwrap(), REDACTED.as_bytes());
    }
    for bytes in [u32::to_le_bytes, u32::to_be_bytes] {
        let wide: Vec<u8> = VALUE.chars().map(u32::from).flat_map(bytes).collect();
        assert_eq!(known().clean_bytes(&wide).unwrap(), REDACTED.as_bytes());
    }
}

/// As a list of bytes, with two bytes a character, and with a backslash before each sign.
fn as_programs_show(value: &str) -> [String; 4] {
    let numbers: Vec<String> = value.bytes().map(|byte| byte.to_string()).collect();
    let wide: Vec<u8> = value.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let escaped = value.chars().map(|c| match c.is_ascii_punctuation() {
        true => format!("\\{c}"),
        false => c.to_string(),
    });
    [
        numbers.join(","),
        numbers.join(", "),
        STANDARD.encode(wide),
        escaped.collect(),
    ]
}

/// As mail and `base64` write it.
fn in_lines(text: &str, end: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let lines = chars.chunks(7).map(|line| line.iter().collect::<String>());
    lines.collect::<Vec<_>>().join(end)
}

#[test]
fn every_spelling_is_found_and_nothing_else_is_touched() {
    let known = known();
    for spelling in spellings(VALUE) {
        let text = format!("before [{spelling}] after");
        let clean = known.clean(&text).unwrap_or_default();
        assert!(clean.contains(REDACTED), "{spelling}: {clean}");
        assert!(
            clean.starts_with("before [") && clean.ends_with("] after"),
            "{clean}"
        );
        // What base64 shares with its neighbours may stay: less than a byte on either side.
        assert!(
            clean.len() <= "before [] after".len() + REDACTED.len() + 12,
            "{spelling}: {clean}"
        );
    }
    for other in [
        "",
        "ghp_",
        "ghp_Zq9/+\"K~é4x?w>",
        "%",
        "\\",
        "&#;",
        "\\u{}",
        "%zz",
        "&#xffffffff;",
    ] {
        assert_eq!(known.clean(other), None, "{other}");
    }
    assert_eq!(KnownSecrets::default().clean(VALUE), None);
}

#[test]
fn overlapping_secrets_leave_nothing_between_them() {
    let known = KnownSecrets::default();
    known.learn(b"first-and-second");
    known.learn(b"second-and-third");
    known.learn(b"first-and-second");
    assert_eq!(
        known.clean("first-and-second-and-third!").unwrap(),
        "[REDACTED]!"
    );
    assert_eq!(format!("{known:?}"), "2 known secrets");
}

#[test]
fn a_long_text_is_read_in_pieces_and_none_is_missed() {
    let known = known();
    for shift in 0..40 {
        let filler = "x%20".repeat(SCRUB_PIECE_BYTES / 2 - 12) + &"y".repeat(shift);
        let encoded: String = VALUE.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let clean = known.clean(&format!("{filler}{encoded}{filler}")).unwrap();
        assert_eq!(clean.matches(REDACTED).count(), 1, "{shift}");
        assert_eq!(clean.len(), 2 * filler.len() + REDACTED.len());
    }
}

#[test]
fn bytes_that_are_no_text_are_cleaned_too() {
    let mut bytes = vec![0xff, 0x00];
    bytes.extend_from_slice(VALUE.as_bytes());
    bytes.push(0xfe);
    let clean = known().clean_bytes(&bytes).unwrap();
    assert_eq!(
        clean,
        [&[0xff, 0x00], REDACTED.as_bytes(), &[0xfe]].concat()
    );
}

#[test]
fn a_secret_in_pieces_is_cleaned_before_it_is_shown() {
    let paths = vec![
        ("/srv".to_owned(), "A:".to_owned()),
        ("/srv/docs".to_owned(), "B:".to_owned()),
    ];
    let scrub = Scrub::new(paths, known());
    // One more that begins like the first and goes on.
    scrub.known().learn(format!("{VALUE}-and-more").as_bytes());
    for spelling in spellings(VALUE) {
        let text = format!("/srv/docs {spelling} /srv/d %4 \\u00 and until it ends, plainly.");
        let clean = scrub.clean(&text);
        for size in 1..20 {
            let mut trickle = Trickle::new(&scrub);
            let chars: Vec<char> = text.chars().collect();
            let pieces = chars
                .chunks(size)
                .map(|piece| piece.iter().collect::<String>());
            let shown: String = pieces.map(|piece| trickle.add(&piece)).collect();
            let last = "plainly.".len();
            assert_eq!(shown, clean[..clean.len() - last], "{size}: {spelling}");
        }
    }
}

#[test]
fn a_secret_of_several_words_is_cleaned_before_it_is_shown() {
    let scrub = Scrub::new(Vec::new(), KnownSecrets::default());
    scrub.known().learn(b"correct horse battery 7 staple");
    scrub.known().learn(b"one-word-alone-19");
    let text =
        "say correct horse battery 7 staple and one-word-alone-19 or correct horse no more of it";
    let mut trickle = Trickle::new(&scrub);
    let shown: String = text.chars().map(|c| trickle.add(&c.to_string())).collect();
    assert_eq!(shown, "say [REDACTED] and [REDACTED] or correct ");
}

/// How `text` comes out that comes in pieces of such a size, in pieces; each is followed by a pause, or none is.
fn passed_on(known: &KnownSecrets, text: &[u8], (size, pauses): (usize, bool)) -> Vec<Bytes> {
    let mut trickle = ByteTrickle::new(known);
    let mut shown = Vec::new();
    for piece in text.chunks(size) {
        shown.push(trickle.add(Bytes::copy_from_slice(piece)));
        if pauses {
            shown.push(trickle.pause());
        }
    }
    shown.push(trickle.end());
    shown
}

#[test]
fn bytes_in_pieces_come_as_if_they_were_one_piece() {
    let known = known();
    known.learn(format!("{VALUE}-and-more").as_bytes());
    let held = SCRUB_HELD_BYTES;
    for spelling in spellings(VALUE) {
        // Where the first piece ends, and beyond.
        for before in [0, held - 9, held, 2 * held - 300, 5 * held - 100] {
            let filler = "x".repeat(before);
            let text = format!(
                "{filler}\u{fc}, {spelling}\0 %4 & on until {VALUE} stands {filler} at the end: {VALUE}"
            );
            let clean = known.clean(&text).unwrap();
            for size in [7, 1_000, 40_000] {
                let shown = passed_on(&known, text.as_bytes(), (size, false)).concat();
                assert!(shown == clean.as_bytes(), "{size}, {before}: {spelling}");
            }
        }
    }
}

/// An event is a line, or some.
#[test]
fn whoever_waits_for_lines_has_them_when_no_more_comes() {
    let known = known();
    let text = format!("data: one\n\ndata: {VALUE}\n\ndata: t");
    let mut trickle = ByteTrickle::new(&known);
    assert_eq!(trickle.add(Bytes::from(text)), "");
    assert_eq!(trickle.pause(), "data: one\n\ndata: [REDACTED]\n\n");
    assert_eq!(trickle.pause(), "");
    assert_eq!(trickle.add(Bytes::from("wo\n")), "");
    assert_eq!(trickle.pause(), "data: two\n");
    assert_eq!(trickle.add(Bytes::from("and\nso")), "");
    assert_eq!(trickle.pause(), "and\n");
    assert_eq!(trickle.end(), "so");
}

/// A guest that has a server write its guesses sees where pieces end.
#[test]
fn where_pieces_end_depends_on_no_secret() {
    let value = "ghp_x7Kq29LmTb4ZrW8sVn3cQ5dY";
    let (known, other) = (KnownSecrets::default(), KnownSecrets::default());
    known.learn(value.as_bytes());
    other.learn(b"nothing_that_stands_there_9x");
    let guesses: Vec<&str> = (1..value.len()).map(|end| &value[..end]).collect();
    let lines = guesses.join("\n").repeat(200);
    for text in [guesses.concat().repeat(200), lines] {
        for about in [(1_000, false), (13, true), (40_000, true)] {
            let pieces = passed_on(&known, text.as_bytes(), about);
            assert!(
                pieces == passed_on(&other, text.as_bytes(), about),
                "{about:?}"
            );
        }
    }
    let (known, other) = (Scrub::new(Vec::new(), known), Scrub::new(Vec::new(), other));
    let mut trickles = (Trickle::new(&known), Trickle::new(&other));
    for c in guesses.join(" ").chars().map(|c| c.to_string()) {
        assert_eq!(trickles.0.add(&c), trickles.1.add(&c));
    }
}

/// Bytes that come one by one cost no more than the same at once, up to a factor: with a look at all that is held for each
/// of them this would not end before an hour.
#[test]
fn what_drips_is_looked_at_in_proportion() {
    let text = "a%20b ".repeat(40_000);
    assert_eq!(
        passed_on(&known(), text.as_bytes(), (1, true)).concat(),
        text.as_bytes()
    );
}

/// What was passed on before the other half came is told; that half is not, nor is anything behind it.
#[test]
fn nothing_comes_once_a_value_is_spread_over_what_came() {
    let value = "ghp_x7Kq29LmTb4ZrW8sVn3cQ5dY";
    let known = KnownSecrets::default();
    known.learn(value.as_bytes());
    let (first, second) = value.split_at(14);
    let filler = "and so on, ".repeat(SCRUB_HELD_BYTES / 2);
    let text = format!("{first} {filler} {second} {filler}");
    for about in [(1_000, false), (60_000, true)] {
        let shown = passed_on(&known, text.as_bytes(), about).concat();
        let shown = String::from_utf8(shown).unwrap();
        assert!(shown.starts_with(first) && shown.ends_with(REDACTED));
        assert!(!shown.contains(second));
        assert_eq!(shown.matches(REDACTED).count(), 1);
    }
    let scrub = Scrub::new(Vec::new(), known);
    let mut trickle = Trickle::new(&scrub);
    let words = format!("say {first} and then {second} or no more of it");
    let shown: String = words.chars().map(|c| trickle.add(&c.to_string())).collect();
    assert_eq!(
        shown + &trickle.end(),
        format!("say {first} and then {REDACTED}")
    );
    assert_eq!(
        trickle.add("another text ") + &trickle.end(),
        "another text "
    );
}

/// Nothing known by what it begins with is passed on before its end: it may hold anything.
#[test]
fn what_is_packed_as_a_whole_is_held_until_its_end() {
    for (text, says) in [(VALUE, REDACTED.as_bytes()), ("other", b"".as_slice())] {
        let packed = zstd::encode_all(text.as_bytes(), 3).unwrap();
        let mut trickle = ByteTrickle::new(&known());
        for byte in &packed {
            assert_eq!(trickle.add(Bytes::copy_from_slice(&[*byte])), "");
        }
        let expected = if says.is_empty() { &packed[..] } else { says };
        assert_eq!(trickle.end(), expected);
    }
}

/// Two letters alone make nothing packed.
#[test]
fn a_text_that_begins_like_something_packed_is_passed_on() {
    for begin in ["x^2 + y^2 = r^2", "x^", "x^\n"] {
        let text = format!("{begin}\n{}", "and so on, and on\n".repeat(400));
        for size in [1, 100, 10_000] {
            let shown = passed_on(&known(), text.as_bytes(), (size, true));
            assert_eq!(shown.concat(), text.as_bytes());
            let before = shown.iter().rev().skip(1);
            assert!(before.map(Bytes::len).sum::<usize>() > 0, "{begin}: {size}");
        }
    }
}

/// Whatever it unpacks to in the end.
#[test]
fn what_begins_with_two_letters_and_is_packed_is_held() {
    let level = flate2::Compression::new(2);
    for text in [
        VALUE.to_owned(),
        VALUE.to_owned() + &"1\n2\n3 and so on\n".repeat(9_000),
    ] {
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), level);
        zlib.write_all(text.as_bytes()).unwrap();
        let packed = zlib.finish().unwrap();
        assert!(packed.starts_with(b"x^"));
        let shown = passed_on(&known(), &packed, (7, true)).concat();
        assert_eq!(shown, REDACTED.as_bytes());
    }
    // Of what is longer than anything held back the value may be the end.
    let mut state = 1_u32;
    let noise = (0..60_000).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    let bytes: Vec<u8> = noise.chain(VALUE.bytes()).collect();
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), level);
    zlib.write_all(&bytes).unwrap();
    let packed = zlib.finish().unwrap();
    assert!(packed.starts_with(b"x^") && packed.len() > 3 * SCRUB_HELD_BYTES);
    let shown = passed_on(&known(), &packed, (1_000, false)).concat();
    assert_eq!(shown, REDACTED.as_bytes());
}

/// Also where what it is called has lines, and each of them could be passed on.
#[test]
fn what_is_packed_with_lines_in_its_name_is_held_as_well() {
    let mut gzip = flate2::GzBuilder::new()
        .filename("a\nb\nc\n")
        .write(Vec::new(), flate2::Compression::default());
    gzip.write_all(VALUE.as_bytes()).unwrap();
    let packed = gzip.finish().unwrap();
    let shown = passed_on(&known(), &packed, (1, true)).concat();
    assert_eq!(shown, REDACTED.as_bytes());
}

/// A run that has begun when a piece is passed on is looked at as a whole.
#[test]
fn what_is_packed_across_pieces_is_found() {
    let mut state = 1_u32;
    let noise = (0..15_000).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    let bytes: Vec<u8> = noise.chain(VALUE.bytes()).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&bytes).unwrap();
    let run = STANDARD.encode(gzip.finish().unwrap());
    assert!(run.len() > SCRUB_HELD_BYTES);
    let text = format!(
        "{}{run} and{}",
        "x ".repeat(SCRUB_HELD_BYTES / 2 - 500),
        " y".repeat(40_000)
    );
    let shown = passed_on(&known(), text.as_bytes(), (1_000, false)).concat();
    assert!(shown == known().clean(&text).unwrap().as_bytes());
}

#[test]
fn where_nothing_is_known_pieces_pass_as_they_are() {
    let mut trickle = ByteTrickle::new(&KnownSecrets::default());
    for piece in ["\u{1f}\u{8b}", "c", "%4"] {
        assert_eq!(trickle.add(Bytes::from(piece)), piece);
    }
    assert_eq!(trickle.end(), "");
}

/// A search that is quadratic would not end before some minutes.
#[test]
fn a_large_text_of_escapes_takes_little_time_and_memory() {
    let known = known();
    let text = "a%20b\\u0041&#65;plain text in between, ".repeat(20_000);
    assert_eq!(known.clean(&text), None);
}

/// Its service reads it in either case, with or without what stands between.
#[test]
fn a_key_in_hex_is_found_however_it_is_written() {
    let known = KnownSecrets::default();
    known.learn(b"9f86d081-884c7d65-9a2feaa0c55ad015");
    for text in [
        "9F86D081884C7D659A2FEAA0C55AD015",
        "9f:86:d0:81:88:4c:7d:65:9a:2f:ea:a0:c5:5a:d0:15",
        "9F86D081-884C-7D65-9A2F-EAA0C55AD015",
        "n4bQgYhMfWWaL+qgxVrQFQ==",
    ] {
        let said = known.clean(&format!("the key is {text}, is it"));
        assert!(said.is_some_and(|said| !said.contains(text)), "{text}");
    }
    // A value that is a number in part is none.
    known.learn(b"12345678-words");
    assert_eq!(known.clean("12:34:56:78"), None);
    known.learn(b"+1+2+3+4+5+6+7+8");
    assert_eq!(known.clean("0102030405060708"), None);
}

#[test]
fn a_list_of_its_bytes_is_the_value() {
    let mut value =
        serde_json::json!({"data": VALUE.as_bytes(), "other": [1, 2, 3, 4, 5, 6, 7, 8, 9]});
    let before = value["other"].clone();
    known().clean_value(&mut value);
    assert_eq!(
        value,
        serde_json::json!({"data": REDACTED, "other": before})
    );
}

/// An answer whose list of bytes is a secret is an answer still.
#[test]
fn what_was_json_stays_json() {
    let known = known();
    known.learn(b"8412345678");
    let list: Vec<String> = VALUE.bytes().map(|byte| byte.to_string()).collect();
    let (comma, blank) = (list.join(","), list.join(", "));
    for (text, clean) in [
        (format!("[{comma}]"), "\"[REDACTED]\""),
        (
            format!("{{\"a\":[{blank}], \"b\":1}}"),
            r#"{"a":"[REDACTED]","b":1}"#,
        ),
        (r#"{"a":8412345678}"#.to_owned(), r#"{"a":"[REDACTED]"}"#),
        // Its end of a line is what ends it for whoever reads it.
        (" 8412345678\r\n".to_owned(), " \"[REDACTED]\"\r\n"),
        // As it stands, where that is JSON, or nothing is.
        (
            format!("{{ \"a\": \"[{comma}]\" }}"),
            r#"{ "a": "[[REDACTED]]" }"#,
        ),
        (format!("so: [{comma}]"), "so: [[REDACTED]]"),
    ] {
        let cleaned = known.clean_bytes(text.as_bytes()).expect("it is in there");
        assert_eq!(String::from_utf8_lossy(&cleaned), clean, "{text}");
    }
}
