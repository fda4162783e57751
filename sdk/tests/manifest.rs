//! What the macros declare, as the host reads it.

use lazaret_sdk::prelude::*;

/// How to sort.
#[value]
#[derive(Default)]
enum Order {
    #[default]
    ByName,
    BySize,
}

/// A thing found.
#[value]
struct Thing {
    /// Its name.
    name: String,
    size: u64,
    parts: Vec<Thing>,
}

/// Finds things.
///
/// In all the usual places.
#[tool(
    effect = "read-only",
    risk = "network_read",
    hosts = ["GET https://api.example.com/v1"],
    mounts = "read",
    notes = "write",
    calls = ["text.count", "files.*"],
    secrets = ["token"],
    sensitivity = "secret",
    surfaces = ["cli", "ai-sdk"],
    visibility = "local",
    timeout_ms = 1000,
    retry(retries = 2, delay_ms = 50, backoff = "exponential"),
    idempotent,
    sequential,
    needs_approval,
    deferred = false,
    truncation = "tail",
    tier = "smart",
    steers(query = "name"),
    content = ["limit", "near"],
    new(order = "by_name"),
    example(title = "some", args = r#"{"query": "a"}"#),
    example(title = "all", args = r#"{"query": "", "limit": 3, "order": "by_size", "near": null}"#)
)]
fn find(
    /// What to look for.
    query: String,
    #[default(7)]
    #[schemars(range(max = 10))]
    mut limit: usize,
    #[default(Order::ByName)] order: Order,
    near: Option<f64>,
) -> Result<Vec<Thing>, Failure> {
    limit = limit.min(10);
    if query.is_empty() {
        fail!("there is nothing to look for");
    }
    log_nothing(order, near);
    let thing = Thing {
        name: query,
        size: limit as u64,
        parts: Vec::new(),
    };
    Ok(vec![thing])
}

fn log_nothing(_order: Order, _near: Option<f64>) {}

/// Does nothing.
#[tool(name = "rest")]
fn take_a_rest() -> Result<(), std::num::ParseIntError> {
    "7".parse::<u8>().map(|_| ())
}

plugin! { name: "sample", description: "A sample.", tools: [find, take_a_rest] }

#[test]
fn every_setting_reaches_the_manifest() {
    let manifest = Plugin::manifest();
    assert_eq!(manifest["plugin"], "sample");
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(manifest["description"], "A sample.");
    let mut find = manifest["tools"][0].clone();
    let tool = find.as_object_mut().unwrap();
    tool.remove("input").unwrap();
    tool.remove("output").unwrap();
    let expected = json!({
        "name": "find",
        "description": "Finds things.\n\nIn all the usual places.",
        "effect": "read-only",
        "risk": "network_read",
        "hosts": ["GET https://api.example.com/v1"],
        "mounts": "read",
        "notes": "write",
        "calls": ["text.count", "files.*"],
        "secrets": ["token"],
        "sensitivity": "secret",
        "surfaces": ["cli", "ai-sdk"],
        "visibility": "local",
        "timeout_ms": 1000,
        "retry": { "retries": 2, "delay_ms": 50, "backoff": "exponential" },
        "idempotent": true,
        "sequential": true,
        "needs_approval": true,
        "deferred": false,
        "truncation": "tail",
        "tier": "smart",
        "flow": {
            "steering": { "query": "name" },
            "content": ["limit", "near"],
            "new": { "order": "by_name" },
        },
        "examples": [
            { "title": "some", "args": { "query": "a" } },
            {
                "title": "all",
                "args": { "query": "", "limit": 3, "order": "by_size", "near": null },
            },
        ],
    });
    assert_eq!(find, expected);
}

#[test]
fn parameters_become_a_closed_object() {
    let manifest = Plugin::manifest();
    let expected = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "description": "What to look for." },
            "limit": { "type": "integer", "minimum": 0, "maximum": 10, "default": 7 },
            "order": {
                "description": "How to sort.",
                "type": "string",
                "enum": ["by_name", "by_size"],
                "default": "by_name",
            },
            "near": { "type": ["number", "null"] },
        },
        "required": ["query"],
        "additionalProperties": false,
    });
    assert_eq!(manifest["tools"][0]["input"], expected);
    let nothing = &manifest["tools"][1]["input"];
    assert_eq!(
        *nothing,
        json!({ "type": "object", "additionalProperties": false })
    );
}

#[test]
fn the_output_has_no_foreign_references() {
    let manifest = Plugin::manifest();
    let output = &manifest["tools"][0]["output"];
    assert_eq!(output["type"], "array");
    let text = output.to_string();
    assert!(text.contains("Its name."), "{text}");
    for place in text.match_indices("\"$ref\":").map(|(at, _)| &text[at..]) {
        assert!(place.starts_with("\"$ref\":\"#"), "{place}");
    }
    assert!(!text.contains("uint64"), "{text}");
    assert_eq!(manifest["tools"][1]["output"], json!({ "type": "null" }));
}

#[test]
fn tools_are_called_by_name() {
    let found = Plugin::call("find", json!({ "query": "x" })).unwrap();
    assert_eq!(found, json!([{ "name": "x", "size": 7, "parts": [] }]));
    assert_eq!(Plugin::call("rest", json!({})).unwrap(), Value::Null);
    let message = |tool, args| Plugin::call(tool, args).unwrap_err().message().to_owned();
    assert_eq!(
        message("find", json!({ "query": "" })),
        "there is nothing to look for"
    );
    assert_eq!(
        message("nap", json!({})),
        "there is no tool `nap` in `sample`"
    );
    assert!(message("find", json!({ "query": "x", "y": 1 })).contains("unknown field `y`"));
    assert!(message("find", json!({})).contains("missing field `query`"));
}
