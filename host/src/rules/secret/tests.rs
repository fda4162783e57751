//! Places of secrets: what is filled, what is denied in the same words, and what helps.

use proptest::prelude::*;

use super::*;
use crate::rules::grant::METHODS;

fn line(name: &str, to: &str, place: Placement) -> SecretGrant {
    SecretGrant {
        name: name.to_owned(),
        to: Destination::parse(to, &METHODS, true).unwrap(),
        place,
    }
}

fn lines() -> Vec<SecretGrant> {
    let header = |name: &str, before: &str| Placement::Header {
        name: name.to_owned(),
        before: before.to_owned(),
    };
    vec![
        line(
            "github",
            "https://a.test/api",
            header("authorization", "Bearer "),
        ),
        line("key", "https://a.test/", Placement::Query("key".to_owned())),
        line(
            "field",
            "https://a.test/",
            Placement::Json("/auth/0/token".to_owned()),
        ),
        line("pass", "https://b.test/", Placement::Basic("me".to_owned())),
    ]
}

/// What is filled, in words; or the denial's reason.
fn judged(url: &str, headers: &[(&str, &str)], body: &str) -> Result<Vec<String>, String> {
    let headers = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let fetch = Fetch::new("POST", url, headers.collect(), body.as_bytes().to_vec()).unwrap();
    let filled = fills(&fetch, &lines(), ("web.post", None)).map_err(|denial| denial.reason)?;
    let said = filled.fills.iter().map(|fill| match &fill.spot {
        Spot::Header { at, before } => format!("{} in header {at} after `{before}`", fill.secret),
        Spot::Basic { at, user } => format!("{} in header {at} of `{user}`", fill.secret),
        Spot::Query(place) => {
            let query = fetch.url().query().unwrap();
            format!("{} for `{}`", fill.secret, &query[place.clone()])
        }
        Spot::Json(place) => format!("{} for {}", fill.secret, &body[place.clone()]),
    });
    Ok(said.collect())
}

#[test]
fn what_is_declared_is_filled() {
    let check = |url: &str, headers: &[(&str, &str)], body: &str, expected: &[&str]| {
        assert_eq!(
            judged(url, headers, body).unwrap(),
            expected,
            "{url} {headers:?} {body}"
        );
    };
    let api = "https://a.test/api/x";
    check(
        api,
        &[("x", "y"), ("Authorization", "{{secret:github}}")],
        "",
        &["github in header 1 after `Bearer `"],
    );
    check(
        api,
        &[("authorization", "Bearer {{secret:github}}")],
        "",
        &["github in header 0 after `Bearer `"],
    );
    check(
        "https://b.test/",
        &[("authorization", "{{secret:pass}}")],
        "",
        &["pass in header 0 of `me`"],
    );
    check(
        "https://a.test/?a=1&key={{secret:key}}&b=2",
        &[],
        "",
        &["key for `{{secret:key}}`"],
    );
    check(
        "https://a.test/?key=%7B%7Bsecret%3Akey%7D%7D",
        &[],
        "",
        &["key for `%7B%7Bsecret%3Akey%7D%7D`"],
    );
    let body = r#"{"a": 1.50, "auth": [{"token": "{{secret:field}}"}]}"#;
    check(
        "https://a.test/",
        &[],
        body,
        &[r#"field for "{{secret:field}}""#],
    );
    check(
        api,
        &[("authorization", "{{secret:github}}")],
        body,
        &[
            "github in header 0 after `Bearer `",
            r#"field for "{{secret:field}}""#,
        ],
    );
}

fn denied(url: &str, headers: &[(&str, &str)], name: &str) {
    let reason = judged(url, headers, "").unwrap_err();
    let expected = format!("there is no secret `{name}` for this request");
    assert_eq!(reason, expected, "{url} {headers:?}");
}

#[test]
fn a_marker_for_another_destination_or_of_another_name_is_denied_in_the_same_words() {
    let api = "https://a.test/api/x";
    let github = "{{secret:github}}";
    // Another destination, path; no such secret; another's.
    denied(
        "https://a.test/other",
        &[("authorization", github)],
        "github",
    );
    denied(
        "https://a.test/apix",
        &[("authorization", github)],
        "github",
    );
    denied(
        "https://a.test:8443/api/x",
        &[("authorization", github)],
        "github",
    );
    denied(
        "http://a.test/api/x",
        &[("authorization", github)],
        "github",
    );
    denied(
        "https://b.test/api/x",
        &[("authorization", github)],
        "github",
    );
    denied(api, &[("authorization", "{{secret:gitlab}}")], "gitlab");
    denied(api, &[("authorization", "{{secret:pass}}")], "pass");
    // Look-alikes, prefixes, blanks.
    for name in [
        "GITHUB",
        "gіthub",
        "git",
        "github ",
        " github",
        "github\u{200b}",
        "github/..",
        "",
        "*",
    ] {
        let value = format!("{{{{secret:{name}}}}}");
        denied(api, &[("authorization", &value)], &shown(name));
    }
}

/// No name that can be none stands in a line of policy that somebody may copy.
#[test]
fn only_what_can_be_a_name_is_proposed_for_policy() {
    for (name, proposed) in [("gitlab", true), ("x\\\"}] # ", false), ("", false)] {
        let value = format!("{{{{secret:{name}}}}}");
        let headers = vec![("authorization".to_owned(), value)];
        let fetch = Fetch::new("POST", "https://a.test/api/x", headers, Vec::new()).unwrap();
        let denial = fills(&fetch, &lines(), ("web.post", None)).err().unwrap();
        assert_eq!(
            !denial.allow.is_empty(),
            proposed,
            "{name}: {:?}",
            denial.allow
        );
    }
}

/// Who has a line for a secret and a destination learns which place is meant.
fn misplaced(url: &str, headers: &[(&str, &str)], says: &str) {
    let reason = judged(url, headers, "").unwrap_err();
    assert_eq!(reason, format!("the secret {says}"), "{url} {headers:?}");
}

#[test]
fn a_marker_in_another_place_than_the_lines_is_denied_by_both_places() {
    let api = "https://a.test/api/x";
    let github = "{{secret:github}}";
    let only = |at: &str| format!("`github` may not stand in {at}, only in header `authorization`");
    misplaced(api, &[("X-Api-Key", github)], &only("header `x-api-key`"));
    // More around it than the line says.
    let basic = [("authorization", "Basic {{secret:github}}")];
    misplaced(api, &basic, &only("header `authorization` after `Basic `"));
    for value in [
        "Bearer {{secret:github}}x",
        "{{secret:github}}{{secret:github}}",
        "a {{secret:github}} b",
    ] {
        let at = only("header `authorization` with more around it");
        misplaced(api, &[("authorization", value)], &at);
    }
    // In the URL.
    for (url, at) in [
        ("https://a.test/api/{{secret:github}}", "the path"),
        ("https://a.test/api/%7b%7bsecret:github%7d%7d", "the path"),
        ("https://a.test/api#{{secret:github}}", "the fragment"),
        (
            "https://a.test/api?{{secret:github}}=1",
            "the name of a query parameter",
        ),
        (
            "https://a.test/api?key={{secret:github}}",
            "query parameter `key`",
        ),
        (
            "https://a.test/api?key=x{{secret:github}}",
            "query parameter `key` with more around it",
        ),
    ] {
        misplaced(url, &[], &only(at));
    }
    for (url, at) in [
        (
            "https://a.test/?keys={{secret:key}}",
            "query parameter `keys`",
        ),
        (
            "https://a.test/?a=1;key={{secret:key}}",
            "query parameter `a` with more around it",
        ),
        ("https://a.test/#{{secret:key}}", "the fragment"),
    ] {
        let says = format!("`key` may not stand in {at}, only in query parameter `key`");
        misplaced(url, &[], &says);
    }
    // One that is filled does not excuse another.
    let both = [("authorization", github), ("x", github)];
    misplaced(api, &both, &only("header `x`"));
    // What is long or hidden is not said, and not cut: half a secret would be recognised by nobody.
    let long = format!("{} {github}", "x".repeat(100));
    misplaced(
        api,
        &[("x", long.as_str())],
        &only("header `x` with more around it"),
    );
    let hidden = format!("https://a.test/api?a%E2%80%8Bb={github}");
    misplaced(&hidden, &[], &only("a query parameter"));
}

/// What a request of `web.post` is denied by.
fn denial(url: &str, headers: &[(&str, &str)], body: &str) -> Denial {
    let headers = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let fetch = Fetch::new("POST", url, headers.collect(), body.as_bytes().to_vec()).unwrap();
    let filled = fills(&fetch, &lines(), ("web.post", None));
    filled.err().unwrap()
}

#[test]
fn the_line_that_is_proposed_is_for_the_place_where_the_marker_stands() {
    let here = "https://a.test/";
    let header = |name, value| vec![(name, value)];
    let marker = "{{secret:gitlab}}";
    let token = "Token {{secret:gitlab}}";
    let basic = "Basic {{secret:gitlab}}";
    let body = r#"[{"a/b": {"c~d": "{{secret:gitlab}}"}}]"#;
    let (key, odd) = (
        format!("{here}?api_key={marker}"),
        format!("{here}?a%22b={marker}"),
    );
    let odd_key = format!("query = {}", crate::rules::advice::quoted("a\"b"));
    for (url, headers, body, place) in [
        (here, header("X-Key", marker), "", r#"header = "x-key""#),
        (
            here,
            header("x-key", token),
            "",
            r#"header = "x-key", before = "Token ""#,
        ),
        (
            here,
            header("Authorization", basic),
            "",
            r#"basic = "USER""#,
        ),
        (key.as_str(), Vec::new(), "", r#"query = "api_key""#),
        (odd.as_str(), Vec::new(), "", odd_key.as_str()),
        (here, Vec::new(), body, r#"json = "/0/a~1b/c~0d""#),
    ] {
        let denial = denial(url, &headers, body);
        assert_eq!(
            denial.reason,
            "there is no secret `gitlab` for this request"
        );
        let line = format!("secrets = [{{ name = \"gitlab\", to = \"{here}\", {place} }}]");
        assert_eq!(
            denial.allow,
            ["[grants.\"web.post\"]", line.as_str()],
            "{url} {headers:?}"
        );
        assert!(toml::from_str::<toml::Table>(&line).is_ok(), "{line}");
    }
    // Where no line gives a place, none is proposed.
    for (url, headers, body) in [
        ("https://a.test/{{secret:gitlab}}", Vec::new(), ""),
        ("https://a.test/?{{secret:gitlab}}", Vec::new(), ""),
        ("https://a.test/?k=a{{secret:gitlab}}", Vec::new(), ""),
        (here, header("x", "{{secret:gitlab}} a"), ""),
        (here, Vec::new(), r#"{"{{secret:gitlab}}": 1}"#),
        (here, Vec::new(), r#""{{secret:gitlab}}""#),
    ] {
        let denial = denial(url, &headers, body);
        assert_eq!(denial.allow, [""; 0], "{url} {headers:?} {body}");
    }
}

/// Row 57: of a secret that no line of the tool names for this destination the same is said as of none at all, wherever its
/// marker stands.
#[test]
fn a_secret_without_a_line_is_said_to_be_none_in_every_place() {
    let places = |name: &str| {
        let marker = format!("{{{{secret:{name}}}}}");
        let url = format!("https://a.test/?q={marker}");
        let body = format!("{{\"a\": \"{marker}\"}}");
        [
            denial("https://a.test/", &[("x", marker.as_str())], ""),
            denial(&url, &[], ""),
            denial(&url.replace("?q=", ""), &[], ""),
            denial("https://a.test/", &[], &body),
        ]
    };
    // `pass` is for another destination; nobody knows the other one.
    let said = |name: &str| format!("{:?}", places(name)).replace(name, "NAME");
    assert_eq!(said("pass"), said("gone"));
}

#[test]
fn json_bodies_are_filled_where_no_two_readers_disagree() {
    let at = "https://a.test/";
    let denied = |body: &str| judged(at, &[], body).is_err();
    let plain = r#"{"auth": [{"token": "{{secret:field}}"}], "note": "say {{secret:field}}"}"#;
    assert_eq!(judged(at, &[], plain).unwrap().len(), 1);
    // At another place, twice, as a key, escaped, or hidden in another string.
    assert!(denied(r#"{"auth": "{{secret:field}}"}"#));
    assert!(denied(r#"["{{secret:github}}"]"#));
    assert!(denied(
        r#"{"auth": [{"token": "{{secret:field}}"}], "b": "{{secret:field}}"}"#
    ));
    assert!(denied(
        r#"{"auth": [{"token": "{{secret:field}}"}], "{{secret:field}}": 1}"#
    ));
    let escaped = r#"{"auth": [{"token": "\u007b{secret:field}}"}], "b": "a\"{{secret:field}}"}"#;
    assert!(denied(escaped));
    // Text that is not JSON, or elsewhere, is text.
    for body in [
        "{{secret:field}}",
        r#"{"auth": [{"token": "{{secret:field}}"}], "auth": 1}"#,
    ] {
        assert_eq!(judged(at, &[], body).unwrap(), [""; 0], "{body}");
    }
    assert_eq!(
        judged("https://b.test/", &[], r#"["{{secret:field}}"]"#).unwrap(),
        [""; 0]
    );
}

#[test]
fn a_body_of_beginnings_is_read_in_time() {
    let body = format!("[\"{}\"]", OPEN.repeat(100_000));
    assert_eq!(judged("https://a.test/", &[], &body).unwrap(), [""; 0]);
}

#[test]
fn a_query_is_filled_and_nothing_else_changes() {
    let url = Url::parse("https://a.test/p?a=%20+b&key={{secret:key}}&c=d#f").unwrap();
    let at = url.query().unwrap().find("{{").unwrap();
    let filled = with_query(&url, &(at..at + marker("key").len()), "v&=%/ é").unwrap();
    assert_eq!(
        filled.as_str(),
        "https://a.test/p?a=%20+b&key=v%26%3D%25%2F+%C3%A9&c=d#f"
    );
}

#[test]
fn a_tool_gets_what_it_declares_and_no_more() {
    let wanted = ["key".to_owned(), "other".to_owned()];
    let names: Vec<String> = narrowed(&lines(), &wanted)
        .into_iter()
        .map(|line| line.name)
        .collect();
    assert_eq!(names, ["key"]);
    assert_eq!(narrowed(&lines(), &[]), []);
}

#[test]
fn short_and_common_values_are_refused() {
    for (value, says) in [
        ("admin", "5 characters"),
        ("", "0 characters"),
        ("1234567", "7 characters"),
        ("changeme", "it is a common word"),
        ("12345678", "it is a common number"),
        ("PasswordPassword", "it is a common word, repeated"),
        ("123456789123456789", "it is a common number, repeated"),
        (
            "canary7canary7canary7",
            "at least 10 such characters; what is repeated counts once",
        ),
        (
            "2026-2026-2026-2026-2026-",
            "at least 16 such characters; what is repeated counts once",
        ),
        ("aaaaaaaaaaaa", "different characters"),
        ("abcabcabcabc", "different characters"),
        ("internationals", "one word"),
        ("ghp_a1b2c3\r\nx: y", "control characters"),
        (" ghp_a1b2c3", "it begins or ends with a blank"),
        ("password ", "it begins or ends with a blank"),
        ("application/json", "a MIME type; redacting it"),
        ("Text/Event-Stream", "a MIME type"),
        ("Content-Type", "the name of a header"),
        ("x-api-key", "the name of a header"),
        ("lazaret.toml", "the name of a file"),
        ("docker-compose.yaml", "the name of a file"),
        ("2026-11-23", "a date"),
        ("2026-11-23T10:11:12.5Z", "a date"),
        ("http://example.com", "the address of a site"),
        ("https://api.example.com:8443/", "random"),
        ("20261123", "at least 16 such characters"),
        ("202611231011125", "at least 16 such characters"),
        ("+49 (30) 901820-1234", "at least 16 such"),
        ("030-9018.2012:34", "at least 16 such characters"),
        ("deadbeef-cafe", "at least 13 such characters"),
        ("canary7x9", "at least 10 such characters"),
        ("Canary7xY", "at least 10 such characters"),
        ("C@nary7x", "at least 9 such characters"),
    ] {
        refused(check_known(value), value, says);
        assert!(check_value(value).is_err(), "{value}");
    }
}

#[test]
fn what_is_made_of_a_common_word_and_what_stands_in_ordinary_text_is_refused() {
    for (value, says) in [
        (
            "Password1",
            "it is made of common words, rows of a keyboard",
        ),
        (
            "letmein123",
            "it is made of common words, rows of a keyboard",
        ),
        ("qwerty1234", "it is made of common words"),
        ("iloveyou12", "it is made of common words"),
        ("Summer2024!", "it is made of common words"),
        ("P@$$w0rd", "it is made of common words"),
        ("admin@localhost", "it is made of common words"),
        (
            "1234567890123456",
            "repetitions, which whoever guesses tries first",
        ),
        ("hunter20241", "it is made of common words"),
        ("C@nary7xY", "it is made of common words"),
        ("files.read", "made of words; redacting it"),
        ("lazaret/inbox", "made of words"),
        ("Hello, world!", "made of words"),
        ("Nov 26 2026", "a date"),
        ("26. November 2026", "a date"),
        ("Mozilla/5.0", "the name of a program with its version"),
        ("[REDACTED]", "what stands in place of a secret"),
        ("localhost:8080", "the address of this machine"),
        (
            "127.0.0.1:8080",
            "the address of this machine; redacting it",
        ),
        ("[::1]:8080", "the address of this machine"),
        ("/usr/bin/env", "a path of the system"),
        ("/home/me/.config", "a path of the system"),
        ("Content-Type: text/plain", "a header"),
        ("Host: example.com", "a header"),
        ("text/html; charset=utf-8", "a MIME type"),
        ("text/html, application/json;q=0.5", "a MIME type"),
        ("GET / HTTP/1.1", "the first line of a request"),
        (
            "POST /docs/index.html HTTP/1.1",
            "the first line of a request",
        ),
        (
            "HTTP/1.1 200 OK",
            "the first line of a request or an answer",
        ),
    ] {
        refused(check_value(value), value, says);
    }
}

/// For this reason, and without a word of the value.
fn refused(checked: Result<()>, value: &str, says: &str) {
    let error = checked.unwrap_err();
    let message = error.message();
    assert!(message.contains(says), "{value}: {message}");
    assert!(value.is_empty() || !message.contains(value), "{value}");
}

#[test]
fn what_looks_like_nothing_else_and_is_long_enough_is_kept() {
    for value in [
        "ghp_x7m2q9",
        "ghp_x7m2q9ghp_x7m2q9",
        "canary-7f3a9c",
        "correct horse battery staple",
        "correct-horse-battery-staple",
        "application/8f3a9c",
        "https://hooks.example.com/services/TOKEN",
        "https://me:pass@example.com",
        "https://example.com/?key=a",
        "postgres://me:pass@db/",
        "2026-11-23-canary",
        "2026112310111253",
        "deadbeef-cafe1",
        "canary7x9y",
        "Canary7xYz",
        "C@nary7xYq",
        "canary7.json",
        "päßwört-9",
        "Summer2024!-Xq7",
        "localhost-8f3a9c",
        "localhost:8080/hooks/TOKEN",
        "Authorization: Bearer 8f3a9c2e",
        "X-Api-Key: 8f3a9c2e",
        "GET /services/T01/8f3a9c HTTP/1.1",
        "text/plain; boundary=8f3a9c",
        "/services/8f3a9c",
        "sk-proj-7Qm2Lx9Tb4Wd",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-2048-7Qm2Lx9Tb4Wd",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "summer monday monkey dragon",
        "summer-monday-monkey-dragon",
    ] {
        assert!(check_value(value).is_ok(), "{value}");
    }
}

#[test]
fn a_line_fills_its_own_place_in_a_body_and_no_other() {
    let url = "https://a.test/x";
    let mut lines = lines();
    let other = Placement::Json("/other".to_owned());
    lines.push(line("other", "https://a.test/", other));
    let filled = |body: &str| {
        let fetch = Fetch::new("POST", url, Vec::new(), body.as_bytes().to_vec()).unwrap();
        fills(&fetch, &lines, ("web.post", None)).map(|filled| filled.fills.len())
    };
    assert_eq!(filled(r#"{"other": "{{secret:other}}"}"#), Ok(1));
    // A key is no place, and what stands plainly elsewhere is not what the pointer leads to.
    assert!(filled(r#"{"{{secret:other}}": 1}"#).is_err());
    assert!(filled(r#"{"other": "\u007b{secret:other}}", "x": "{{secret:other}}"}"#).is_err());
}

#[test]
fn a_long_value_is_refused() {
    let numbers = || (1_u64..).map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let value =
        |bytes: usize| -> String { numbers().take(bytes).collect::<String>()[..bytes].into() };
    assert!(check_value(&value(SECRET_BYTES)).is_ok());
    assert!(check_value(&value(SECRET_BYTES + 1)).is_err());
}

#[test]
fn a_value_is_the_piece_that_it_repeats() {
    for (value, expected) in [
        ("abab", "ab"),
        ("aaaa", "a"),
        ("aba", "aba"),
        ("ababa", "ababa"),
        ("éxéxéx", "éx"),
        ("ab", "ab"),
        ("", ""),
    ] {
        assert_eq!(piece(value), expected);
    }
}

#[test]
fn a_place_that_can_be_none_is_refused() {
    let query = |name: &str| Placement::Query(name.to_owned()).check();
    assert!(query("key").is_ok());
    for name in ["", "a\nb"] {
        assert!(query(name).is_err(), "{name:?}");
    }
}

#[test]
fn a_part_of_a_url_is_read_as_a_server_reads_it() {
    for (part, read) in [
        ("a+b%20c", "a b c"),
        ("%7B%7bsecret:key%7D%7d", "{{secret:key}}"),
        ("%257B", "%7B"),
        ("100%", "100%"),
        ("%zz%2", "%zz%2"),
        ("%%41", "%A"),
        // A sign is no digit.
        ("%+4%-4", "% 4%-4"),
        ("caf%C3%A9 %ff", "café \u{fffd}"),
    ] {
        assert_eq!(unescaped(part), read, "{part}");
    }
}

proptest! {
    /// What is random is kept, however it is written.
    #[test]
    fn random_characters_are_kept(
        mixed in "[A-Za-z][A-Za-z0-9]{10,40}[0-9]",
        packed in "[A-Za-z][A-Za-z0-9+/]{10,40}[0-9]={0,2}",
        hex in "[0-9a-f]{16,64}",
    ) {
        for value in [mixed, packed, hex] {
            prop_assert!(check_value(&value).is_ok(), "{value}");
        }
    }
}
