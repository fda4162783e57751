//! What a user's words come with, as formats write it: pictures and documents, in base64.
//!
//! Attached text is told as text, and what was shown before is told as having been; both when the prompt was made.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::words::attachment::Attachment;

/// One that is to be looked at.
pub(super) struct Looked<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its MIME type.
    pub mime: &'static str,
    /// Whether it is a picture, and not a document.
    pub is_picture: bool,
    /// Its bytes, in base64.
    pub base64: String,
}

impl Looked<'_> {
    /// As a URL that holds it.
    pub(super) fn url(&self) -> String {
        format!("data:{};base64,{}", self.mime, self.base64)
    }
}

/// Those that are to be looked at.
pub(super) fn looked_at(attached: &[Attachment]) -> impl Iterator<Item = Looked<'_>> {
    attached.iter().filter_map(|one| {
        if one.text().is_some() {
            return None;
        }
        Some(Looked {
            name: &one.name,
            mime: one.media.mime(),
            is_picture: one.media.is_picture(),
            base64: STANDARD.encode(one.content.bytes()?),
        })
    })
}
