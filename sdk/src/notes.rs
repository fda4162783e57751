//! Short texts that outlive the run, on a shelf that this plugin has for itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::bindings::lazaret::plugin::notes as raw;

/// A note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// Its name on the shelf.
    pub key: String,
    /// What it says.
    pub text: String,
    /// When it was written, in milliseconds since 1970.
    pub written_ms: u64,
}

impl From<raw::Note> for Note {
    fn from(note: raw::Note) -> Self {
        Self {
            key: note.key,
            text: note.text,
            written_ms: note.written_ms,
        }
    }
}

/// Writes or replaces a note.
pub fn put(key: &str, text: &str) -> Result<(), Refusal> {
    raw::put(key, text).map_err(Refusal::from)
}

/// The note of that key.
pub fn get(key: &str) -> Result<Note, Refusal> {
    raw::get(key).map(Note::from).map_err(Refusal::from)
}

/// Notes whose key starts with `prefix`, in order of key.
pub fn list(prefix: &str, limit: u32) -> Result<Vec<Note>, Refusal> {
    raw::list(prefix, limit).map(read).map_err(Refusal::from)
}

/// Notes that contain every word of `query` in key or text, newest first.
pub fn search(query: &str, limit: u32) -> Result<Vec<Note>, Refusal> {
    raw::search(query, limit).map(read).map_err(Refusal::from)
}

/// Removes a note.
pub fn delete(key: &str) -> Result<(), Refusal> {
    raw::delete(key).map_err(Refusal::from)
}

fn read(notes: Vec<raw::Note>) -> Vec<Note> {
    notes.into_iter().map(Note::from).collect()
}
