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

/// Counts what one server sends, over all its streams.
pub(super) struct Pace {
    most: u32,
    /// The second that is counted, and the messages in it.
    second: (Instant, u32),
}

impl Pace {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            most: bounds.messages_per_s,
            second: (Clock::instant(), 0),
        }
    }

    /// Counts so many messages.
    ///
    /// # Errors
    /// That there are too many of them.
    pub(super) fn count(&mut self, messages: u32) -> Result<(), String> {
        let now = Clock::instant();
        if now.duration_since(self.second.0) >= Duration::from_secs(1) {
            self.second = (now, 0);
        }
        self.second.1 = self.second.1.saturating_add(messages);
        let most = self.most;
        if self.second.1 > most {
            return Err(format!(
                "it sent more than {most} messages in a second (`messages_per_s`)"
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
            let counted: Result<(), String> = pieces.iter().try_for_each(|more| pace.count(*more));
            assert!(counted.unwrap_err().contains("messages_per_s"));
        }
        assert_eq!(Pace::new(Bounds::default()).count(most), Ok(()));
    }
}
