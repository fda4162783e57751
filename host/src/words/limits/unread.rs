//! Bounds of texts that are refused by their length, before anything reads, cleans or compares them: that takes many times
//! their size, and time that no meter counts.

use super::TOOL_NAME_CHARS;

/// A text that was meant as a tool's name, right or wrong. Of a longer one its length is told.
pub const TOOL_NAME_BYTES: usize = TOOL_NAME_CHARS * 4;
/// A text of arguments may be so many times as long as they may be once they are read: blanks and escapes count for less then.
pub const ARGS_WRITTEN_TIMES: usize = 4;
/// What a server says that is no file may be so many times as long as an outcome may be: many say it in a form and in words.
pub const ANSWER_WRITTEN_TIMES: usize = 4;
/// The name of an artifact, or its media type.
pub const ARTIFACT_NAME_BYTES: usize = 4 << 10;
/// What is said of an artifact, as JSON text.
pub const ARTIFACT_METADATA_BYTES: usize = 16 << 10;
