//! Components that say one thing: for what stands around a call, and for failures in a tool's own words.

use serde_json::{Value, json};

use crate::forge;

/// The manifest of a plugin with the one pure tool `run`, which takes any object; `more` is what else is said of the
/// tool.
#[must_use]
pub fn manifest(plugin: &str, more: &Value) -> Value {
    let mut tool = json!({
        "name": "run", "description": "d", "input": {"type": "object"}, "output": {}, "effect": "pure",
    });
    let fields = more.as_object().into_iter().flatten();
    for (key, value) in fields {
        tool[key] = value.clone();
    }
    json!({"plugin": plugin, "version": "1", "description": "d", "tools": [tool]})
}

/// One whose tool returns this text.
#[must_use]
pub fn component(plugin: &str, more: &Value, says: &str) -> Vec<u8> {
    let body = format!(
        "(i32.store (i32.const 4100) (i32.const 4200)) (i32.store (i32.const 4104) (i32.const {}))",
        says.len()
    );
    made(&manifest(plugin, more), &body, says)
}

/// One whose tool returns its arguments.
#[must_use]
pub fn echo(plugin: &str, more: &Value) -> Vec<u8> {
    let body =
        "(i32.store (i32.const 4100) (local.get 2)) (i32.store (i32.const 4104) (local.get 3))";
    made(&manifest(plugin, more), body, "")
}

/// One that stands for a service that keeps records: each tool returns its arguments, since what a service says is the
/// service's. `add` and `change` write, `find` looks; of `lose` nobody learns what it wrote, and `stall` never ends.
#[must_use]
pub fn desk(plugin: &str) -> Vec<u8> {
    let mut said = manifest(plugin, &json!({}));
    let properties = json!({"id": {}, "title": {}, "mail": {}, "records": {}});
    let tool = |(name, effect, output): (&str, &str, Value)| {
        json!({
            "name": name, "description": "d", "input": {"type": "object", "properties": properties},
            "output": output, "effect": effect, "risk": "external_write",
        })
    };
    let tools = [
        ("add", "side-effecting", json!({})),
        ("change", "side-effecting", json!({})),
        ("find", "read-only", json!({})),
        ("lose", "side-effecting", json!({"type": "string"})),
        ("stall", "side-effecting", json!({})),
    ];
    said["tools"] = tools.into_iter().map(tool).collect();
    let stalls = format!(
        "(if (i32.eq (local.get 1) (i32.const {})) (then (loop (br 0))))",
        "stall".len()
    );
    let returns =
        "(i32.store (i32.const 4100) (local.get 2)) (i32.store (i32.const 4104) (local.get 3))";
    made(&said, &(stalls + returns), "")
}

/// One whose tool never returns.
#[must_use]
pub fn stalling(plugin: &str, more: &Value) -> Vec<u8> {
    made(&manifest(plugin, more), "(loop (br 0))", "")
}

/// One whose tool fails, with these details.
#[must_use]
pub fn failing(plugin: &str, more: &Value, retryable: bool, details: &Value) -> Vec<u8> {
    let (message, details) = ("it did not work", details.to_string());
    let body = format!(
        "(i32.store8 (i32.const 4096) (i32.const 1))
         (i32.store (i32.const 4100) (i32.const 4200)) (i32.store (i32.const 4104) (i32.const {}))
         (i32.store8 (i32.const 4108) (i32.const {}))
         (i32.store (i32.const 4112) (i32.const {})) (i32.store (i32.const 4116) (i32.const {}))",
        message.len(),
        i32::from(retryable),
        4_200 + message.len(),
        details.len()
    );
    made(
        &manifest(plugin, more),
        &body,
        &format!("{message}{details}"),
    )
}

fn made(manifest: &Value, body: &str, text: &str) -> Vec<u8> {
    assert!(text.len() < 3_900, "a text of a test is short");
    let escaped: String = text.bytes().map(|byte| format!("\\{byte:02x}")).collect();
    let fields = format!(
        "(func (export \"run\") (param i32 i32 i32 i32) (result i32) {body} (i32.const 4096))
         (data (i32.const 4200) \"{escaped}\")"
    );
    forge::plugin(&manifest.to_string(), &fields)
}
