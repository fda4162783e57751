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
    let mut usage = meta["usage"].clone();
    // Whether a tick falls into so short a call is the machine's to say.
    usage.as_object_mut().unwrap().remove("cpu_ms");
    assert_eq!(keys(&usage), ["fuel", "memory_bytes", "us"]);
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

/// A command that failed before anything was called has the same fields as a call that failed.
#[test]
fn whatever_fails_has_the_same_fields() {
    let station = Station::new();
    for command in [
        &["call", "text.count", "@nope"][..],
        &["call", "text.count", "--timeout-ms", "0"],
        &["script", "nofile"],
        &["ask", "show", "abcdef"],
        &["runs", "show", "nope"],
        &["secret", "remove", "nope"],
        &["policy", "explain", "nope.x"],
    ] {
        let failed = station.run(&[command, &["--json"]].concat()).json();
        assert_eq!(keys(&failed), ["artifacts", "error", "logs", "meta", "ok"]);
        assert_eq!(failed["meta"]["surface"], "cli", "{failed}");
    }
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
            "source": "client",
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
            2,
            "VALIDATION_ERROR",
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

/// Rows A-20 to A-24: what a tool says beside its outcome, also of one that fails at the end.
#[test]
fn what_a_tool_says_on_its_way_is_told_also_of_one_that_fails() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let suite = root.unwrap().join("target/guests/conformance.wasm");
    let station = Station::with(&format!("[plugins]\nconformance = {suite:?}\n"));
    for (fails, status) in [(false, 0), (true, 1)] {
        let args = json!({ "fails": fails }).to_string();
        let call = ["call", "conformance.everything", &args, "--json"];
        let envelope = station.run(&call).ends(status).json();
        assert_eq!(envelope["ok"], !fails);
        let logs = envelope["logs"].as_array().unwrap();
        let rows = json!({"rows": 3});
        for (line, level) in logs.iter().zip(["debug", "info", "warn", "error"]) {
            assert_eq!(
                (&line["level"], &line["message"], &line["fields"]),
                (&json!(level), &json!("a line"), &rows)
            );
            assert!(line["time"].is_u64(), "{line}");
        }
        let far = logs.iter().skip(4);
        let far: Vec<_> = far.map(|line| (&line["level"], &line["fields"])).collect();
        let expected = [
            ("info", json!({"type": "progress", "percent": 50.0})),
            ("info", json!({"type": "progress"})),
            (
                "info",
                json!({"type": "progress", "percent": 75.0, "step": 3}),
            ),
            (
                "warn",
                json!({"type": "progress", "percent": 100.0, "of": "it"}),
            ),
        ];
        let expected = expected.map(|(level, fields)| (json!(level), fields));
        assert!(
            far.into_iter()
                .eq(expected.iter().map(|(level, fields)| (level, fields))),
            "{logs:?}"
        );
        let artifacts = envelope["artifacts"].as_array().unwrap();
        for (number, artifact) in artifacts.iter().enumerate() {
            let (kind, metadata) = match number {
                2 => ("chart", json!({"type": "chart", "rows": 3})),
                _ => ("file", json!({})),
            };
            let expected = json!({
                "id": format!("artifact-{}", number + 1), "type": kind, "name": "rows.bin",
                "mediaType": "application/x-rows", "metadata": metadata, "bytes": 2, "base64": "/wA=",
            });
            assert_eq!(*artifact, expected);
        }
        assert_eq!(artifacts.len(), 3);
    }
}

#[test]
fn with_a_profile_a_failure_has_that_systems_word_beside_ours() {
    for (profile, word) in [
        ("relavium", "validation"),
        ("graphorin", "invalid_input"),
        ("sage", "validation"),
        ("oxydra", "ToolExecutionFailed"),
    ] {
        let station = Station::with(&format!("profile = {profile:?}\n"));
        let ended = station.run(&["call", "text.count", "{}", "--json"]).ends(2);
        let envelope = ended.json();
        assert_eq!(envelope["error"]["alias"], word, "{profile}");
        assert_eq!(envelope["error"]["kind"], "bad_args", "{profile}");
    }
    let ended = Station::new().run(&["call", "text.count", "{}", "--json"]);
    assert!(!keys(&ended.json()["error"]).contains(&"alias"));
}
