//! The rows on guesses (O-39 to O-42a), and what must not be taken for a secret.

use serde_json::json;

use super::*;

const USUAL: Random = Random {
    chars: SCRUB_TOKEN_CHARS,
    chars_max: SCRUB_TOKEN_CHARS_MAX,
    distinct_chars: SCRUB_DISTINCT_CHARS,
    centibits: SCRUB_ENTROPY_CENTIBITS,
};
const BOTH: Guess = Guess {
    keywords: true,
    entropy: true,
    random: USUAL,
};
const WORDS: Guess = Guess {
    keywords: true,
    entropy: false,
    random: USUAL,
};
const RANDOM: Guess = Guess {
    keywords: false,
    entropy: true,
    random: USUAL,
};

fn counts(token: &str) -> Vec<u32> {
    let mut counts = vec![0; 128];
    token
        .bytes()
        .for_each(|byte| counts[usize::from(byte)] += 1);
    counts
}

/// A token with these counts of different characters, the first of which is a digit.
fn token(counts: &[usize]) -> String {
    let letters = "7abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".chars();
    counts
        .iter()
        .zip(letters)
        .map(|(count, c)| c.to_string().repeat(*count))
        .collect()
}

#[test]
fn values_beside_words_disappear_and_their_keys_stay() {
    for (text, clean) in [
        (
            r#"{"api_key": "k-1", "n": 1}"#,
            r#"{"api_key": "[REDACTED]", "n": 1}"#,
        ),
        (
            r#"{"accessToken":"a\"b"}"#,
            r#"{"accessToken":"[REDACTED]"}"#,
        ),
        ("GITHUB_TOKEN=abc123 next", "GITHUB_TOKEN=[REDACTED] next"),
        ("export DB_PASSWORD='a b'", "export DB_PASSWORD=[REDACTED]"),
        ("?api_key=x1&page=2", "?api_key=[REDACTED]&page=2"),
        (
            "Authorization: Bearer abc.def",
            "Authorization: Bearer [REDACTED]",
        ),
        (
            "> x-api-key: 12345\n> accept: */*",
            "> x-api-key: [REDACTED]\n> accept: */*",
        ),
        (
            "password: hunter2\nuser: me",
            "password: [REDACTED]\nuser: me",
        ),
        (
            "curl -H 'bearer eyJhbGciOi.J9'",
            "curl -H 'bearer [REDACTED]'",
        ),
        (
            "refresh_token=1/a-b secret=s",
            "refresh_token=[REDACTED] secret=[REDACTED]",
        ),
    ] {
        assert_eq!(WORDS.clean(text).as_deref(), Some(clean), "{text}");
        // What was cleaned once is not cleaned differently.
        assert_eq!(WORDS.clean(clean), None, "{clean}");
    }
}

#[test]
fn prose_and_ordinary_fields_stay() {
    for text in [
        "The password: it must have eight characters.",
        "A bearer certificate, and the bearer shareholders-agreement.",
        "token count = 5; max_tokens=100; next_page_token is empty",
        "secrets = [{ name = \"github\" }]",
        "there is no secret `github` for this request",
        r#"{"next_page_token": "CAUQAA", "tokens": 12}"#,
        "const token = next();",
    ] {
        assert_eq!(WORDS.clean(text), None, "{text}");
    }
}

#[test]
fn values_are_cleaned_by_their_keys() {
    let mut value = json!({
        "token": "t", "API-Key": "k", "password": "", "secret": {"refresh_token": "r", "page": "2"},
        "next_page_token": "n", "bearer": 7, "list": ["PASSWORD=x", "plain"],
    });
    WORDS.clean_value(&mut value);
    let expected = json!({
        "token": "[REDACTED]", "API-Key": "[REDACTED]", "password": "",
        "secret": {"refresh_token": "[REDACTED]", "page": "2"},
        "next_page_token": "n", "bearer": 7, "list": ["PASSWORD=[REDACTED]", "plain"],
    });
    assert_eq!(value, expected);
}

#[test]
fn keys_are_cleaned_by_their_words_and_none_takes_the_place_of_another() {
    let name = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let mut value = json!({
        "TOKEN=abc": 1, "TOKEN=def": {"?api_key=x1&page=2": "password=y"}, "TOKEN=[REDACTED] 3": 3,
        "TOKEN=ghi": 4, "token": "t", name: "by its looks alone",
    });
    BOTH.clean_value(&mut value);
    let fields = value.as_object().unwrap();
    assert_eq!(fields.len(), 6, "{value}");
    let text = value.to_string();
    for part in ["abc", "def", "ghi", "x1", "=y", "\"t\""] {
        assert!(!text.contains(part), "{part}: {text}");
    }
    assert_eq!(value["TOKEN=[REDACTED]"], 1);
    assert_eq!(
        value["TOKEN=[REDACTED] 2"]["?api_key=[REDACTED]&page=2"],
        "password=[REDACTED]"
    );
    assert_eq!(value["TOKEN=[REDACTED] 3"], 3);
    assert_eq!(value["TOKEN=[REDACTED] 4"], 4);
    assert_eq!(value[name], "by its looks alone");
    // A schema's own names stay, as long as they are.
    let long = "estimated_delivery_window_by_zip_code";
    assert!(RANDOM.clean(long).is_some());
    let mut shape = json!({long: 7, "Authorization": "Basic"});
    let was = shape.clone();
    BOTH.clean_value(&mut shape);
    assert_eq!(shape, was);
    // Without words, no key is cleaned.
    let mut value = json!({"TOKEN=abc": 1});
    RANDOM.clean_value(&mut value);
    assert_eq!(value, json!({"TOKEN=abc": 1}));
}

#[test]
fn many_keys_of_one_name_are_numbered_in_time() {
    let keys = (0..20_000).map(|at| (format!("TOKEN=x{at}"), Value::Null));
    let mut value: Value = keys.collect();
    WORDS.clean_value(&mut value);
    let fields = value.as_object().unwrap();
    assert_eq!(fields.len(), 20_000);
    assert!(fields.contains_key("TOKEN=[REDACTED] 20000"));
}

#[test]
fn length_is_from_24_to_512() {
    let long: String = (0..16)
        .map(|_| "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT+u")
        .collect();
    assert_eq!(long.len(), 512);
    for (length, random) in [(23, false), (24, true), (512, true)] {
        let text = &long[..length];
        assert_eq!(RANDOM.clean(text).is_some(), random, "{length}");
    }
    assert_eq!(RANDOM.clean(&format!("{long}x")), None);
    // With both ends of a text around it.
    let text = format!("a {} b", &long[..24]);
    assert_eq!(RANDOM.clean(&text).unwrap(), "a [REDACTED] b");
}

#[test]
fn entropy_is_from_three_point_eight() {
    // Fourteen characters: 3.8074 bits if evenly spread; less as one of them grows.
    let even = token(&[2; 14]);
    assert!((entropy(&counts(&even)) - 3.807).abs() < 0.001);
    assert!(is_random(&even, USUAL));
    let below = token(&[3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1]);
    let bits = entropy(&counts(&below));
    assert!((3.73..3.8).contains(&bits), "{bits}");
    assert!(!is_random(&below, USUAL));
    // As near to the line as whole counts come.
    let near = token(&[5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3]);
    let bits = entropy(&counts(&near));
    assert!((3.795..3.805).contains(&bits), "{bits}");
    assert_eq!(is_random(&near, USUAL), bits >= 3.8);
    assert!(entropy(&counts(&token(&[4; 8]))) < 3.8);
}

#[test]
fn what_looks_random_and_is_none_stays() {
    for text in [
        // SHA-256, SHA-1, MD5.
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        // One whose characters are spread more evenly.
        "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
        "DA39A3EE5E6B4B0D3255BFEF95601890AFD80709",
        "note-3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "3F2504E0-4F89-11D3-9A0C-0305E82C3301",
        "home/user/projects/lazaret2/host/src/rules.rs",
        "https://example.org/a/b2/c3/d4-and-more?q=1",
        // Letters alone, digits alone.
        "PneumonoultramicroscopicSilicovolcanoconiosis",
        "314159265358979323846264338327950288",
        // Seven different characters.
        "a1b2c3-a1b2c3-a1b2c3-a1b2c3",
        "The quick brown fox jumps over the lazy dog, 1,234,567 times and more.",
    ] {
        assert_eq!(RANDOM.clean(text), None, "{text}");
    }
    for text in [
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "AKIAIOSFODNN7EXAMPLE/wJalrXUtnFEMI+K7MDENG",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N",
    ] {
        assert_eq!(RANDOM.clean(text).as_deref(), Some(REDACTED), "{text}");
    }
}

#[test]
fn both_together_and_neither() {
    let text = "TOKEN=abc ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    assert_eq!(BOTH.clean(text).unwrap(), "TOKEN=[REDACTED] [REDACTED]");
    let none = Guess {
        keywords: false,
        entropy: false,
        random: USUAL,
    };
    assert_eq!(none.clean(text), None);
}

#[test]
fn what_looks_random_is_a_matter_of_policy() {
    let token = "a1b2c3d4e5f6g7h8";
    let text = format!("it is {token}");
    assert_eq!(RANDOM.clean(&text), None);
    let with = |random| Guess { random, ..RANDOM };
    let shorter = Random { chars: 16, ..USUAL };
    assert_eq!(with(shorter).clean(&text).unwrap(), "it is [REDACTED]");
    for random in [
        Random {
            chars_max: 15,
            ..shorter
        },
        Random {
            distinct_chars: 17,
            ..shorter
        },
        Random {
            centibits: 401,
            ..shorter
        },
    ] {
        assert_eq!(with(random).clean(&text), None, "{random:?}");
    }
}
