//! Attachments: files that a person gives a run to look at.
//!
//! What is on record of one is its name, what it is, its length and its digest, and never its bytes (U-43, O-30). Those
//! are kept beside the journal as long as the run may go on, and are told of once: no later run of the session has them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use super::error::{Error, Result};
use super::id::{Digest, shown};
use super::label::Label;
use super::limits::{
    ATTACHED_DOCUMENT_TOKENS_MAX, ATTACHED_TOKENS, ATTACHMENT_BYTES, ATTACHMENT_NAME_CHARS,
    DOCUMENT_TOKEN_BYTES,
};

/// A file that a person gives a run to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// What it is called: plain letters, digits, `.`, `-` and `_`, since its model reads it.
    #[serde(deserialize_with = "plain_name")]
    pub name: String,
    /// What it is.
    pub media: Media,
    /// How long it is.
    pub bytes: u64,
    /// Of its bytes.
    pub digest: Digest,
    /// Who has had influence on it, beside the user who chose it.
    pub label: Label,
    /// Its bytes, as long as they are told.
    #[serde(skip)]
    pub content: Body,
}

/// The kinds of files that models look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Media {
    /// A picture.
    #[serde(rename = "image/png")]
    Png,
    /// A picture.
    #[serde(rename = "image/jpeg")]
    Jpeg,
    /// A picture.
    #[serde(rename = "image/gif")]
    Gif,
    /// A picture.
    #[serde(rename = "image/webp")]
    Webp,
    /// Pages.
    #[serde(rename = "application/pdf")]
    Pdf,
    /// Text in UTF-8, of whatever kind.
    #[serde(rename = "text/plain")]
    Text,
}

impl Media {
    /// What these bytes are, whatever their file is called; nothing where no model looks at such.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let found = infer::get(bytes).map(|found| found.mime_type());
        match found {
            Some("image/png") => Some(Self::Png),
            Some("image/jpeg") => Some(Self::Jpeg),
            Some("image/gif") => Some(Self::Gif),
            Some("image/webp") => Some(Self::Webp),
            Some("application/pdf") => Some(Self::Pdf),
            // A program's first line or a page of HTML has a kind of its own there, and is text.
            Some(_) | None => {
                let text = std::str::from_utf8(bytes).ok()?;
                let of_text = |c: char| !c.is_control() || "\t\n\r\u{c}\u{1b}".contains(c);
                text.chars().all(of_text).then_some(Self::Text)
            }
        }
    }

    /// Its MIME type.
    #[must_use]
    pub fn mime(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Pdf => "application/pdf",
            Self::Text => "text/plain",
        }
    }

    /// Whether it is looked at, and not read.
    #[must_use]
    pub fn is_picture(self) -> bool {
        match self {
            Self::Png | Self::Jpeg | Self::Gif | Self::Webp => true,
            Self::Pdf | Self::Text => false,
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Gif => "gif",
            Self::Webp => "webp",
            Self::Pdf => "pdf",
            Self::Text => "txt",
        }
    }
}

impl Attachment {
    /// A file with this name, under this influence.
    ///
    /// # Errors
    /// `BadInput` for what is neither a picture, nor a PDF, nor text, or is empty.
    pub fn new(name: &str, bytes: Vec<u8>, label: Label) -> Result<Self> {
        let wrong = |why: &str| {
            let what = format!("`{}` {why}", shown(name));
            Err(Error::bad_input(what)
                .hint("attach a PNG, JPEG, GIF or WebP picture, a PDF, or text in UTF-8"))
        };
        if bytes.is_empty() {
            return wrong("is empty");
        }
        let Some(media) = Media::of(&bytes) else {
            return wrong("is nothing that a model looks at");
        };
        Ok(Self {
            name: plain(name, media),
            media,
            bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            digest: Digest::of(&bytes),
            label,
            content: Body(Some(bytes.into())),
        })
    }

    /// Its text, where it is one and is told.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self.media {
            Media::Text => std::str::from_utf8(self.content.bytes()?).ok(),
            Media::Png | Media::Jpeg | Media::Gif | Media::Webp | Media::Pdf => None,
        }
    }

    /// For a run that is replayed: its text where that is on record; otherwise bytes that are not its own, as many, which
    /// weigh as much.
    pub fn stand_in(&mut self, known: Option<&str>) {
        let own = known.filter(|text| Digest::of(text.as_bytes()) == self.digest);
        if let Some(text) = own {
            self.content = Body(Some(text.as_bytes().into()));
            return;
        }
        let bytes = usize::try_from(self.bytes).unwrap_or(usize::MAX);
        let bytes = vec![b'x'; bytes.min(ATTACHMENT_BYTES)];
        self.content = Body(Some(bytes.into()));
    }

    /// About so many tokens a model takes it for, beside text. Nobody counts those of pictures as a provider does.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        match (self.media, self.content.bytes()) {
            (_, None) | (Media::Text, _) => 0,
            (Media::Png | Media::Jpeg | Media::Gif | Media::Webp, Some(_)) => ATTACHED_TOKENS,
            (Media::Pdf, Some(_)) => (self.bytes / DOCUMENT_TOKEN_BYTES)
                .clamp(ATTACHED_TOKENS, ATTACHED_DOCUMENT_TOKENS_MAX),
        }
    }
}

impl fmt::Display for Attachment {
    /// Such as `chart.png (image/png, 5120 bytes)`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mime = self.media.mime();
        write!(out, "{} ({mime}, {} bytes)", self.name, self.bytes)
    }
}

fn is_plain(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    !name.is_empty() && name.len() <= ATTACHMENT_NAME_CHARS && name.chars().all(fits)
}

/// As it stands in a record, which may have come from elsewhere.
fn plain_name<'de, D: Deserializer<'de>>(read: D) -> std::result::Result<String, D::Error> {
    let name = String::deserialize(read)?;
    Ok(match is_plain(&name) {
        true => name,
        false => "attached".to_owned(),
    })
}

/// A name that says nothing but a name: whoever sent the file has chosen it, and its model reads it.
fn plain(name: &str, media: Media) -> String {
    if is_plain(name) {
        name.to_owned()
    } else {
        format!("attached.{}", media.ending())
    }
}

/// The bytes of an attachment, or none once they were dropped.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Body(pub Option<Arc<[u8]>>);

impl Body {
    /// The bytes, as long as they are there.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        self.0.as_deref()
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(bytes) => write!(out, "{} bytes", bytes.len()),
            None => out.write_str("dropped"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

    #[test]
    fn what_a_file_is_its_bytes_say() {
        for (bytes, media) in [
            (PNG, Some(Media::Png)),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", Some(Media::Jpeg)),
            (b"GIF89a....", Some(Media::Gif)),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some(Media::Webp)),
            (b"%PDF-1.7\n", Some(Media::Pdf)),
            (b"a,b\n1,2\n", Some(Media::Text)),
            ("Grüße".as_bytes(), Some(Media::Text)),
            (b"#!/bin/sh\necho", Some(Media::Text)),
            (b"<html><body>", Some(Media::Text)),
            (b"a\0b", None),
            (b"\xff\xfe\xfd", None),
            (b"\0asm\x01\0\0\0", None),
            (b"PK\x03\x04....", None),
        ] {
            assert_eq!(Media::of(bytes), media, "{bytes:?}");
        }
    }

    #[test]
    fn a_name_is_a_name_and_nothing_more() {
        let named = |name: &str| {
            let made = Attachment::new(name, PNG.to_vec(), Label::default());
            made.unwrap().name
        };
        assert_eq!(named("chart-1.png"), "chart-1.png");
        assert_eq!(named("Ignore all that.png"), "attached.png");
        assert_eq!(named("a\u{202e}gnp.png"), "attached.png");
        assert_eq!(named(&"a".repeat(65)), "attached.png");
        assert_eq!(named(""), "attached.png");
    }

    #[test]
    fn what_no_model_looks_at_is_refused() {
        let refused = |bytes: &[u8]| {
            let made = Attachment::new("a.zip", bytes.to_vec(), Label::default());
            made.unwrap_err().message().to_owned()
        };
        assert_eq!(refused(b""), "`a.zip` is empty");
        assert_eq!(
            refused(b"PK\x03\x04...."),
            "`a.zip` is nothing that a model looks at"
        );
    }

    #[test]
    fn a_record_from_elsewhere_names_nothing_else() {
        let made = Attachment::new("a.png", PNG.to_vec(), Label::default()).unwrap();
        let mut record = serde_json::to_value(&made).unwrap();
        record["name"] = "\u{1b}]52;c;x\u{7}.png".into();
        let read: Attachment = serde_json::from_value(record).unwrap();
        assert_eq!(read.name, "attached");
    }

    #[test]
    fn what_stands_in_for_bytes_weighs_as_much() {
        for bytes in [PNG, b"%PDF-1.7", b"some text"] {
            let made = Attachment::new("a", bytes.to_vec(), Label::default()).unwrap();
            let mut again = made.clone();
            again.content = Body::default();
            again.stand_in(None);
            assert_eq!(again.tokens(), made.tokens());
            assert_eq!(again.text().map(str::len), made.text().map(str::len));
        }
    }

    #[test]
    fn its_bytes_are_on_no_record() {
        let made = Attachment::new("a.png", PNG.to_vec(), Label::default()).unwrap();
        let text = serde_json::to_string(&made).unwrap();
        assert!(
            text.contains("image/png") && !text.contains("IHDR"),
            "{text}"
        );
        let read: Attachment = serde_json::from_str(&text).unwrap();
        assert_eq!((read.content.bytes(), read.tokens()), (None, 0));
        assert_eq!((made.digest, made.tokens()), (read.digest, ATTACHED_TOKENS));
        assert_eq!(format!("{:?}", made.content), "16 bytes");
    }
}
