//! Files that a call hands to whoever called it.

use serde_json::Value;

use crate::Refusal;
use crate::bindings::lazaret::plugin::artifacts as raw;

/// Adds a file to the outcome of this call and returns its id; `media_type` is such as `text/csv`.
pub fn add(name: &str, media_type: &str, bytes: impl Into<Vec<u8>>) -> Result<String, Refusal> {
    send(name, media_type, String::new(), bytes.into())
}

/// Like [`add`], with a JSON object that describes the file.
pub fn add_with(
    name: &str,
    media_type: &str,
    metadata: &Value,
    bytes: impl Into<Vec<u8>>,
) -> Result<String, Refusal> {
    send(name, media_type, metadata.to_string(), bytes.into())
}

fn send(name: &str, media_type: &str, metadata: String, bytes: Vec<u8>) -> Result<String, Refusal> {
    let artifact = raw::Artifact {
        name: name.to_owned(),
        media_type: media_type.to_owned(),
        metadata,
        bytes,
    };
    raw::add(&artifact).map_err(Refusal::from)
}
