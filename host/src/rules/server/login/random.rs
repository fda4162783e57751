//! What an issuer gives. Only what looks random is kept out of everything that leaves: an issuer that could give any text
//! could choose what this host no longer says, such as the name of somebody else's server.

use crate::rules::scrub::guess::{Random, looks_random};
use crate::words::limits::servers::{LOGIN_BYTES, LOGIN_SECRET_CHARS};

/// Characters of a part from which on it is as hard to guess as any text that is taken for a secret.
const LONG: usize = 20;
/// Digits of a number that is no ordinary text.
const HEX_DIGITS: usize = 32;

/// Whether a token can stand in a header as it is (`b64token` of RFC 6750).
pub(super) fn is_token(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~+/".contains(c);
    let begins = text.trim_end_matches('=');
    !begins.is_empty() && begins.chars().all(plain)
}

/// Whether it is a long number, or has a part that is random: names, addresses and paths consist of parts that are not.
#[must_use]
pub fn is_random(secret: &str) -> bool {
    let is_graphic = secret.bytes().all(|byte| byte.is_ascii_graphic());
    let long_enough = (LOGIN_SECRET_CHARS..=LOGIN_BYTES).contains(&secret.len());
    let mut parts = secret.split(['.', '/', '~', ':', '@', '?', '&', '=']);
    is_graphic && long_enough && (is_number(secret) || parts.any(is_random_part))
}

fn is_random_part(part: &str) -> bool {
    let usual = Random::default();
    let random = Random {
        chars: LOGIN_SECRET_CHARS,
        chars_max: LOGIN_BYTES,
        // Few characters cannot say as much each.
        centibits: match part.len() < LONG {
            true => 350,
            false => usual.centibits,
        },
        ..usual
    };
    looks_random(part, random) || is_number(part)
}

/// Hexadecimal, with or without the dashes of an id.
fn is_number(text: &str) -> bool {
    let mut seen = [false; 128];
    let (mut digits, mut distinct) = (0_usize, 0_usize);
    for byte in text.bytes().filter(|byte| *byte != b'-') {
        if !byte.is_ascii_hexdigit() {
            return false;
        }
        digits = digits.saturating_add(1);
        if let Some(seen) = seen.get_mut(usize::from(byte)) {
            distinct = distinct.saturating_add(usize::from(!*seen));
            *seen = true;
        }
    }
    digits >= HEX_DIGITS && distinct >= Random::default().distinct_chars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_issuers_are_random_and_words_are_not() {
        for token in [
            "ya29.a0AfB_byC7xQk3mZ1tRw9",
            "1//0gH2kLmN8pQrStUvWxYz-L9IrAbCdEfGhIj",
            "gho_16C7e42F292c6912E7710c838347Ae178B4a",
            "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlLW9mLWl0",
            "d2f1c9a07b5e4386a1f0e9d8c7b6a594",
            "2f1c9a07-b5e4-4386-a1f0-e9d8c7b6a594",
            "0123456789abcdef0123456789abcdef01234567",
            "mF_9.B5f-4.1JqM8xQzLk7Rt2Vw",
            "7Fjfp0ZBr1KtDRbnfVdmIw",
            // Few characters, of which some stand twice.
            "k7Qm3xZtk7Qm1wRp",
        ] {
            assert!(is_random(token), "{token}");
        }
        for word in [
            "api.anthropic.com",
            "api.anthropic.com/v1/messages",
            "generativelanguage.googleapis.com",
            "wiki.corp.example/pages/tides/2026/november",
            "https://wiki.corp.example/mcp",
            "application/json",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "00000000000000000000000000000000",
            "content-type",
            "authorization",
            "x7Kq",
            "",
            "7Fjfp0ZBr1KtDRbn fVdmIw",
            // So many could say more.
            "k7Qm3xZtk7Qm3xZt1wRp",
        ] {
            assert!(!is_random(word), "{word}");
        }
    }

    #[test]
    fn a_token_stands_in_a_header() {
        for (text, is_good) in [
            ("mF_9.B5f-4.1JqM~+/", true),
            ("abc==", true),
            ("", false),
            ("==", false),
            ("a=b", false),
            ("a b", false),
            ("a\r\nb", false),
            ("tökén", false),
        ] {
            assert_eq!(is_token(text), is_good, "{text}");
        }
    }
}
