//! Length: how much something takes, and a text of which no more is left than it may take.

use std::io::{self, Write};

use serde::Serialize;

use super::limits::failures::FAILURE_BYTES;

/// Bytes of it as compact JSON text, which is not written down for that.
#[must_use]
pub fn json_bytes<T: Serialize>(what: &T) -> usize {
    let mut counted = Counted(0);
    // Counting cannot fail, and what cannot be written down is refused by whoever writes it.
    let _ = serde_json::to_writer(&mut counted, what);
    counted.0
}

struct Counted(usize);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// At most so many characters of a text, and `…` where there was more.
#[must_use]
pub fn cut(mut text: String, chars: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(chars) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// What is told of the words of a failure that are too many to be looked through: how many they are.
#[must_use]
pub fn only_counted(bytes: usize) -> String {
    format!(
        "it failed, and said so in {bytes} bytes, which nobody reads: at most {FAILURE_BYTES} may be"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_counted_as_it_is_written() {
        for value in [
            json!(null),
            json!([-1.5e300, 0, u64::MAX, true]),
            json!("a\"\\\u{1}\u{2028}é👍"),
            json!({"é": {}, "a": [[], "", {"b": "\n"}]}),
        ] {
            assert_eq!(json_bytes(&value), value.to_string().len(), "{value}");
        }
    }

    #[test]
    fn a_text_is_cut_between_characters_and_only_where_there_is_more() {
        for (text, chars, left) in [
            ("żółć", 4, "żółć"),
            ("żółć", 3, "żół…"),
            ("a", 0, "…"),
            ("", 0, ""),
        ] {
            assert_eq!(cut(text.to_owned(), chars), left);
        }
    }
}
