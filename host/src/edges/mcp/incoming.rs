//! What comes in from a server, whichever way it comes: strict JSON, and no more of it in a second than may be.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::rules::json;
use crate::rules::server::Bounds;
use crate::words::clock::Clock;
use crate::words::limits::servers::SERVER_JSON_DEPTH;

/// The JSON of a message. The library would take the last of a key that comes twice, and whoever looks at what was sent
/// may see the first.
///
/// # Errors
/// What is wrong with it, without its values.
pub(super) fn strict(sent: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(sent).map_err(|_| "it is no UTF-8 text".to_owned())?;
    json::parse_within(text, SERVER_JSON_DEPTH)
}

/// Counts what one server sends, whichever way it comes.
pub(super) struct Pace {
    most: (u32, usize),
    /// The second that is counted.
    second: Instant,
    /// The messages in it.
    messages: u32,
    /// And their bytes, all of which are read, whatever they say.
    bytes: usize,
}

impl Pace {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            most: (bounds.messages_per_s, bounds.bytes_per_s),
            second: Clock::instant(),
            messages: 0,
            bytes: 0,
        }
    }

    /// Counts so many messages, and so many bytes.
    ///
    /// # Errors
    /// That there are too many of them.
    pub(super) fn count(&mut self, messages: u32, bytes: usize) -> Result<(), String> {
        let now = Clock::instant();
        if now.duration_since(self.second) >= Duration::from_secs(1) {
            (self.second, self.messages, self.bytes) = (now, 0, 0);
        }
        self.messages = self.messages.saturating_add(messages);
        self.bytes = self.bytes.saturating_add(bytes);
        let (most_messages, most_bytes) = self.most;
        if self.messages > most_messages {
            return Err(format!(
                "it sent more than {most_messages} messages in a second (`messages_per_s`)"
            ));
        }
        if self.bytes > most_bytes {
            return Err(format!(
                "it sent more than {most_bytes} bytes in a second (`bytes_per_s`)"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_each_key_once() {
        assert!(strict(br#"{"tools":[{"name":"t"}]}"#).is_ok());
        let twice = strict(br#"{"tools":[{"name":"t","name":"u"}]}"#);
        assert!(twice.unwrap_err().contains("a key comes twice"));
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(strict(deep(100).as_bytes()).is_ok());
        assert!(strict(deep(SERVER_JSON_DEPTH + 2).as_bytes()).is_err());
        assert!(strict(b"\xff").is_err());
    }

    #[test]
    fn messages_are_counted_however_many_come_at_once() {
        let most = Bounds::default().messages_per_s;
        for pieces in [vec![most + 1], vec![most, 1], vec![u32::MAX, 1]] {
            let mut pace = Pace::new(Bounds::default());
            let counted: Result<(), String> =
                pieces.iter().try_for_each(|more| pace.count(*more, 0));
            assert!(counted.unwrap_err().contains("messages_per_s"));
        }
        assert_eq!(Pace::new(Bounds::default()).count(most, 0), Ok(()));
    }

    /// A few messages are much to read where they are long.
    #[test]
    fn bytes_are_counted_however_few_messages_they_are() {
        let most = Bounds::default().bytes_per_s;
        for pieces in [vec![most + 1], vec![most, 1], vec![usize::MAX, 1]] {
            let mut pace = Pace::new(Bounds::default());
            let counted: Result<(), String> =
                pieces.iter().try_for_each(|more| pace.count(0, *more));
            assert!(counted.unwrap_err().contains("bytes_per_s"));
        }
        assert_eq!(Pace::new(Bounds::default()).count(1, most), Ok(()));
    }
}
