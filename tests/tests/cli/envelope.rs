//! `lazaret call --json`: the envelope, field for field (rows A-23 and A-24).

use serde_json::{Value, json};

use crate::station::Station;

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

/// What differs from call to call: taken out, and looked at.
fn settle(envelope: &mut Value, seq: u64) {
    let meta = envelope["meta"].as_object_mut().unwrap();
    assert_eq!(meta.remove("invocationId").unwrap(), format!("[RUN]:{seq}"));
    assert!(meta.remove("durationMs").unwrap().is_u64());
    assert!(meta.remove("usage").unwrap()["us"].is_u64());
}

#[test]
fn success_is_told_field_for_field() {
    let ended = Station::new().run(&["call", "text.count", r#"{"text":"a b"}"#, "--json"]);
    let mut envelope = ended.json();
    let meta = &envelope["meta"];
    assert_eq!(
        keys(meta),
        [
            "action",
            "durationMs",
            "invocationId",
            "label",
            "surface",
            "usage"
        ]
    );
    assert_eq!(keys(&meta["usage"]), ["fuel", "memory_bytes", "us"]);
    settle(&mut envelope, 1);
    let wanted = json!({
        "ok": true,
        "data": {"bytes": 3, "characters": 3, "lines": 1, "words": 2},
        "artifacts": [],
        "logs": [],
        "meta": {"action": "text.count", "surface": "cli", "label": ["user", "tool:text.count"]},
    });
    assert_eq!(envelope, wanted);
    ended.ends(0).says_only("");
}

#[test]
fn failure_is_told_field_for_field() {
    let ended = Station::new().run(&["call", "text.count", r#"{"text":3,"more":1}"#, "--json"]);
    let mut envelope = ended.json();
    settle(&mut envelope, 0);
    let wanted = json!({
        "ok": false,
        "error": {
            "code": "VALIDATION_ERROR",
            "message": "Invalid action input.",
            "issues": [
                {"path": "/text", "message": "expected a string, and this is a number"},
                {"path": "", "message": "there is no `more` here; there is `text`"},
            ],
            "retryable": false,
            "kind": "bad_args",
            "hints": [],
        },
        "artifacts": [],
        "logs": [],
        "meta": {"action": "text.count", "surface": "cli", "label": ["user"]},
    });
    assert_eq!(envelope, wanted);
    ended.ends(2).says_only("");
}

#[test]
fn codes_of_failures_are_the_catalogues() {
    let station = Station::new();
    for (tool, args, status, code, retryable) in [
        ("text.cuont", "{}", 4, "ACTION_NOT_FOUND", false),
        ("files.read", r#"{"path":"none"}"#, 4, "NOT_FOUND", false),
        (
            "files.read",
            r#"{"path":"../x"}"#,
            3,
            "AUTHORIZATION_ERROR",
            false,
        ),
        (
            "files.remove",
            r#"{"path":"x"}"#,
            3,
            "AUTHORIZATION_ERROR",
            false,
        ),
        (
            "text.search",
            r#"{"text":"a","pattern":"("}"#,
            1,
            "INTERNAL_ERROR",
            false,
        ),
    ] {
        let ended = station.run(&["call", tool, args, "--json", "--confirm"]);
        let envelope = ended.json();
        let error = &envelope["error"];
        assert_eq!(envelope["ok"], false, "{tool}");
        assert_eq!(error["code"], code, "{tool}");
        assert_eq!(error["retryable"], retryable, "{tool}");
        assert_eq!(
            keys(&envelope),
            ["artifacts", "error", "logs", "meta", "ok"],
            "{tool}"
        );
        ended.ends(status);
    }
}
