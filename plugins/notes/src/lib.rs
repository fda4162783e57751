//! Plugin `notes`: short texts that outlive the run.
//!
//! The host keeps the notes and labels them with what influenced them; this plugin only gives the
//! words for it that a model can use, and bounds what comes back.

use lazaret_sdk::notes::Note;
use lazaret_sdk::prelude::*;

const LISTED_MAX: u32 = 200;
const EXCERPT_CHARACTERS_MAX: usize = 1000;

/// A note that was written.
#[value]
pub struct Written {
    /// Its key.
    pub key: String,
    /// How many bytes its text has.
    pub bytes: usize,
}

/// A note that is gone.
#[value]
pub struct Deleted {
    /// Its key.
    pub key: String,
}

/// Notes that were found.
#[value]
pub struct Found {
    /// The notes; a long text is cut and ends in `…`.
    pub notes: Vec<Note>,
    /// Whether there may be more than are listed.
    pub truncated: bool,
}

/// The keys of notes.
#[value]
pub struct Keys {
    /// One for each note, in order of key.
    pub notes: Vec<Key>,
    /// Whether there may be more than are listed.
    pub truncated: bool,
}

/// A note without its text.
#[value]
#[derive(PartialEq, Eq)]
pub struct Key {
    /// The key.
    pub key: String,
    /// When it was written, in milliseconds since 1970.
    pub written_ms: u64,
    /// How many bytes its text has.
    pub bytes: usize,
}

/// Writes a note under a key, in place of what was there.
#[tool(
    effect = "side-effecting",
    risk = "external_write",
    notes = "write",
    idempotent,
    tier = "fast",
    content = ["text"],
    naming = "key",
    example(
        title = "remember a wish",
        args = r#"{"key": "user/language", "text": "prefers Italian"}"#
    )
)]
fn put(
    /// The note's name; use `/` to group notes, such as `project/deadline`.
    key: String,
    /// What to remember.
    text: String,
) -> Result<Written, Failure> {
    notes::put(&key, &text)?;
    Ok(Written {
        key,
        bytes: text.len(),
    })
}

/// Reads the note of a key.
#[tool(
    effect = "read-only",
    risk = "read_only",
    notes = "read",
    tier = "fast",
    example(title = "recall a wish", args = r#"{"key": "user/language"}"#)
)]
fn get(
    /// The note's name.
    key: String,
) -> Result<Note, Failure> {
    Ok(notes::get(&key)?)
}

/// Finds notes that contain every word of a query in key or text, the newest first.
#[tool(
    effect = "read-only",
    risk = "read_only",
    notes = "read",
    tier = "fast",
    example(
        title = "what is known of a deadline",
        args = r#"{"query": "deadline report"}"#
    )
)]
fn search(
    /// The words to look for.
    query: String,
    /// How many notes to return, at most 200.
    #[default(20)]
    limit: u32,
) -> Result<Found, Failure> {
    let limit = limit.clamp(1, LISTED_MAX);
    let found = notes::search(&query, limit)?;
    let truncated = found.len() >= limit as usize;
    Ok(Found {
        notes: found.into_iter().map(excerpt).collect(),
        truncated,
    })
}

/// Lists the keys of the notes, without their texts.
#[tool(
    effect = "read-only",
    risk = "read_only",
    notes = "read",
    tier = "fast",
    example(title = "all notes", args = r#"{}"#),
    example(title = "the notes of a group", args = r#"{"prefix": "project/"}"#)
)]
fn list(
    /// What the keys start with; all notes if left out.
    #[default(String::new())]
    prefix: String,
    /// How many keys to return, at most 200.
    #[default(100)]
    limit: u32,
) -> Result<Keys, Failure> {
    let limit = limit.clamp(1, LISTED_MAX);
    let found = notes::list(&prefix, limit)?;
    let truncated = found.len() >= limit as usize;
    Ok(Keys {
        notes: found.into_iter().map(key_of).collect(),
        truncated,
    })
}

/// Deletes the note of a key for good.
#[tool(
    effect = "destructive",
    risk = "high_risk",
    notes = "write",
    idempotent,
    steers(key = "id"),
    example(title = "forget a wish", args = r#"{"key": "user/language"}"#)
)]
fn delete(
    /// The note's name.
    key: String,
) -> Result<Deleted, Failure> {
    notes::delete(&key)?;
    Ok(Deleted { key })
}

fn excerpt(mut note: Note) -> Note {
    if let Some((end, _)) = note.text.char_indices().nth(EXCERPT_CHARACTERS_MAX) {
        note.text.truncate(end);
        note.text.push('…');
    }
    note
}

fn key_of(note: Note) -> Key {
    Key {
        key: note.key,
        written_ms: note.written_ms,
        bytes: note.text.len(),
    }
}

plugin! {
    name: "notes",
    description: "Keeps short texts beyond the run: write, read, find, list and delete \
        notes by key.",
    tools: [put, get, search, list, delete],
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str) -> Note {
        Note {
            key: "k".to_owned(),
            text: text.to_owned(),
            written_ms: 7,
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(excerpt(note("short")).text, "short");
        let cut = excerpt(note(&"ä".repeat(2000))).text;
        assert_eq!(cut.chars().count(), EXCERPT_CHARACTERS_MAX + 1);
        assert!(cut.ends_with('…'));
    }

    #[test]
    fn a_listed_note_has_no_text() {
        let key = Key {
            key: "k".to_owned(),
            written_ms: 7,
            bytes: 5,
        };
        assert_eq!(key_of(note("short")), key);
    }
}
