//! Lines for the person who watches, and progress.
//!
//! A line is dropped when there are too many: nothing that matters belongs here alone.

use serde_json::Value;

use crate::bindings::lazaret::plugin::log as raw;

/// What only somebody who looks for a fault wants to read.
pub fn debug(message: impl AsRef<str>) {
    raw::write(raw::Level::Debug, message.as_ref(), "");
}

/// What happens.
pub fn info(message: impl AsRef<str>) {
    raw::write(raw::Level::Info, message.as_ref(), "");
}

/// What is odd, but no reason to stop.
pub fn warn(message: impl AsRef<str>) {
    raw::write(raw::Level::Warn, message.as_ref(), "");
}

/// What went wrong.
pub fn error(message: impl AsRef<str>) {
    raw::write(raw::Level::Error, message.as_ref(), "");
}

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// See [`debug`].
    Debug,
    /// See [`info`].
    Info,
    /// See [`warn`].
    Warn,
    /// See [`error`].
    Error,
}

/// A line with fields, a JSON object: `log::write(log::Level::Info, "read", &json!({"rows": 3}))`.
pub fn write(level: Level, message: impl AsRef<str>, fields: &Value) {
    let level = match level {
        Level::Debug => raw::Level::Debug,
        Level::Info => raw::Level::Info,
        Level::Warn => raw::Level::Warn,
        Level::Error => raw::Level::Error,
    };
    raw::write(level, message.as_ref(), &fields.to_string());
}

/// Says how far the call has come; `percent` is 0 to 100, if it is known.
pub fn progress(message: impl AsRef<str>, percent: impl Into<Option<f32>>) {
    raw::progress(message.as_ref(), percent.into());
}

/// The same with fields, a JSON object: `log::progress_with("rows", 75.0, &json!({"step": 3}))`.
pub fn progress_with(message: impl AsRef<str>, percent: impl Into<Option<f32>>, fields: &Value) {
    let mut fields = fields.as_object().cloned().unwrap_or_default();
    fields.insert("type".to_owned(), "progress".into());
    if let Some(percent) = percent.into() {
        fields.insert("percent".to_owned(), percent.into());
    }
    write(Level::Info, message, &Value::Object(fields));
}
