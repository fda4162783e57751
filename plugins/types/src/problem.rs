//! What is said of a source that does not become JavaScript, and where.

/// Something that cannot simply be taken away, or is no program at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// One sentence: what it is, and what to write instead.
    pub message: String,
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
}

/// A problem whose place is still a byte of the source.
#[derive(Debug)]
pub struct Obstacle {
    pub at: u32,
    message: String,
}

impl Obstacle {
    pub fn new(at: u32, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
        }
    }

    pub fn placed_in(self, source: &str) -> Problem {
        let mut line = 1;
        let mut column = 1;
        let mut after_return = false;
        for (offset, char) in source.char_indices() {
            // `\r\n` is one line break.
            let ends_pair = after_return && char == '\n';
            if offset >= self.at as usize && !ends_pair {
                break;
            }
            after_return = char == '\r';
            if ends_pair {
                continue;
            } else if is_line_break(char) {
                line += 1;
                column = 1;
            } else {
                column += 1;
            }
        }
        Problem {
            message: self.message,
            line,
            column,
        }
    }
}

/// What JavaScript takes for the end of a line.
pub fn is_line_break(char: char) -> bool {
    matches!(char, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}
