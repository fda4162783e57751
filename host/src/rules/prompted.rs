//! Prompted: what a prompt is known by on record, so that a replay finds that it would be told another way.
//!
//! The digest is of the bytes that a server gets, whatever they are made of: instructions, cards, the context, and the
//! codec. A word of each run's own stands in its marks; it is left out, so that a copy of a run has the digests of the
//! run. What is attached is nowhere on record but by its digest, and that is what stands for it here.

use std::borrow::Cow;

use super::inbound::nonces;
use crate::words::id::{Digest, Digesting};
use crate::words::message::{Message, Prompt};

/// The prompt as it can be made again from records: words that came with attached bytes stand for themselves in the
/// record of the run's beginning, and here by the digest of each file.
#[must_use]
pub fn on_record(prompt: &Prompt) -> Cow<'_, Prompt> {
    if !prompt.messages.iter().any(shows) {
        return Cow::Borrowed(prompt);
    }
    let mut prompt = prompt.clone();
    for message in prompt.messages.iter_mut().filter(|message| shows(message)) {
        if let Message::User { text, attached } = message {
            let files = attached.drain(..);
            *text = files.map(|one| format!("{one} {}\n", one.digest)).collect();
        }
    }
    Cow::Owned(prompt)
}

fn shows(message: &Message) -> bool {
    match message {
        Message::User { attached, .. } => attached.iter().any(|one| one.content.bytes().is_some()),
        Message::Assistant(_) | Message::Tool { .. } => false,
    }
}

/// Of what is sent, without the words that are a run's own.
#[must_use]
pub fn digest(sent: &[u8]) -> Digest {
    let mut digesting = Digesting::default();
    let Ok(text) = std::str::from_utf8(sent) else {
        return Digest::of(sent);
    };
    let mut from = 0;
    for nonce in nonces(text) {
        digesting.add(text.get(from..nonce.start).unwrap_or_default().as_bytes());
        from = nonce.end;
    }
    digesting.add(text.get(from..).unwrap_or_default().as_bytes());
    digesting.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::flow::class::Classes;
    use crate::rules::inbound::{Inbound, Marks};
    use crate::words::attachment::Attachment;
    use crate::words::label::Label;

    fn marked(nonce: &str, said: &str) -> Digest {
        let classes = Classes::default();
        let marks = Marks::new((Inbound::default(), &classes), nonce.to_owned());
        let block = marks.block(said, &Label::default());
        digest(format!("{block}\n{}", marks.preamble()).as_bytes())
    }

    #[test]
    fn only_the_word_of_a_runs_marks_is_left_out() {
        let one = marked("0123456789abcdef", "a page");
        assert_eq!(one, marked("fedcba9876543210", "a page"));
        assert_ne!(one, marked("0123456789abcdef", "another page"));
        assert_ne!(digest(b"untrusted text of mine"), digest(b"untrusted text"));
        assert_ne!(
            digest(b"[untrusted text 0123"),
            digest(b"[untrusted text 0124")
        );
        assert_eq!(digest(b"plain"), Digest::of(b"plain"));
        assert_eq!(digest(b"\xff\xfe"), Digest::of(b"\xff\xfe"));
    }

    #[test]
    fn an_attached_file_is_known_by_its_digest() {
        let prompt = |bytes: &[u8]| {
            let one = Attachment::new("a.txt", bytes.to_vec(), Label::default()).unwrap();
            let message = Message::User {
                text: format!("look: {}", String::from_utf8_lossy(bytes)),
                attached: vec![one],
            };
            Prompt {
                messages: vec![message, Message::user("more")],
                ..Prompt::default()
            }
        };
        let (whole, mut stands_in) = (prompt(b"one"), prompt(b"one"));
        if let Message::User { text, attached } = &mut stands_in.messages[0] {
            *text = "look: xxx".to_owned();
            attached[0].stand_in(None);
        }
        assert_eq!(on_record(&whole), on_record(&stands_in));
        assert_ne!(on_record(&whole), on_record(&prompt(b"two")));
        let mut without = whole.clone();
        without.messages.remove(0);
        assert_eq!(on_record(&without), Cow::Borrowed(&without));
    }
}
