//! What the stranger has on its shelf: resources, some of which are not what they should be.

use serde_json::{Value, json};

/// What a search answers with: a link, and a text beside it.
pub fn found() -> Value {
    json!({"content": [
        {"type": "resource_link", "uri": "shelf:/letter", "name": "letter"},
        {"type": "resource", "resource": {"uri": "shelf:/note", "mimeType": "text/plain", "text": "dear reader"}},
    ]})
}

/// A page of the list.
pub fn page(params: &Value) -> Value {
    match params["cursor"].as_str() {
        None => {
            json!({"resources": [{"uri": "shelf:/letter", "name": "letter"}], "nextCursor": "2"})
        }
        Some(_) => json!({"resources": [{"uri": "shelf:/picture", "name": "picture"}]}),
    }
}

/// A resource, if there is one at this address.
pub fn read(params: &Value) -> Option<Value> {
    let uri = params["uri"].as_str().unwrap_or_default();
    let content = match uri {
        "shelf:/letter" => json!({"uri": uri, "mimeType": "text/plain", "text": "a long\nletter"}),
        "shelf:/book" => {
            let lines: Vec<String> = (1..=20_000).map(|line| format!("line {line}")).collect();
            json!({"uri": uri, "mimeType": "text/plain", "text": lines.join("\n")})
        }
        "shelf:/picture" => json!({"uri": uri, "mimeType": "image/png", "blob": "iVBORw0KGgo="}),
        "shelf:/big" => json!({"uri": uri, "text": "x".repeat(3 << 20)}),
        "shelf:/lie" => return Some(json!({"tools": []})),
        _ => return None,
    };
    Some(json!({"contents": [content]}))
}
