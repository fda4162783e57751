//! `files.write`, `files.move` and `files.remove`: what changes the world.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lazaret_sdk::files::Mode;
use lazaret_sdk::prelude::*;

/// What was written.
#[value]
pub struct Written {
    /// The file.
    pub path: String,
    /// How many bytes were written.
    pub bytes: usize,
}

/// What was moved.
#[value]
pub struct Moved {
    /// Where it was.
    pub source: String,
    /// Where it is.
    pub target: String,
}

/// What was removed.
#[value]
pub struct Removed {
    /// Where it was.
    pub path: String,
}

/// Writes a file, and creates the folders above it.
///
/// Without `mode` it only creates: if there is a file of that name, nothing is written.
#[tool(
    effect = "side-effecting",
    risk = "external_write",
    mounts = "write",
    steers(path = "file"),
    content = ["content", "mode", "base64"],
    new(mode = "create"),
    example(
        title = "a new file",
        args = r#"{"path": "notes/today.md", "content": "- tea\n"}"#
    ),
    example(
        title = "add a line",
        args = r#"{"path": "notes/today.md", "content": "- milk\n", "mode": "append"}"#
    )
)]
pub fn write(
    /// The file.
    path: String,
    /// The text to write, or bytes in Base64 if `base64` is set.
    content: String,
    /// What to do if there is a file of that name: fail, replace it, or add to its end.
    #[default(Mode::Create)]
    mode: Mode,
    /// Whether `content` is Base64.
    #[default(false)]
    base64: bool,
) -> Result<Written, Failure> {
    let bytes = decode(content, base64)?;
    files::write(&path, &bytes, mode)?;
    Ok(Written {
        path,
        bytes: bytes.len(),
    })
}

/// Moves or renames a file or folder; fails if there is something of the new name.
#[tool(
    name = "move",
    effect = "side-effecting",
    risk = "external_write",
    mounts = "write",
    steers(source = "file", target = "file"),
    example(
        title = "rename a file",
        args = r#"{"source": "draft.md", "target": "letters/final.md"}"#
    )
)]
pub fn move_to(
    /// Where it is.
    source: String,
    /// Where it shall be, with its new name.
    target: String,
) -> Result<Moved, Failure> {
    files::rename(&source, &target)?;
    Ok(Moved { source, target })
}

/// Removes a file or an empty folder, for good.
#[tool(
    effect = "destructive",
    risk = "high_risk",
    mounts = "write",
    steers(path = "file"),
    example(title = "a file", args = r#"{"path": "notes/today.md"}"#)
)]
pub fn remove(
    /// The file or the empty folder.
    path: String,
) -> Result<Removed, Failure> {
    files::remove(&path)?;
    Ok(Removed { path })
}

fn decode(content: String, base64: bool) -> Result<Vec<u8>, Failure> {
    if base64 {
        STANDARD
            .decode(content)
            .or_bad_input("`content` is no Base64")
    } else {
        Ok(content.into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_text_or_base64() {
        assert_eq!(decode("ä".to_owned(), false).unwrap(), "ä".as_bytes());
        assert_eq!(decode("AAH/".to_owned(), true).unwrap(), [0, 1, 255]);
        assert!(decode("no base64!".to_owned(), true).is_err());
    }
}
