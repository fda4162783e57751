//! The part of a value that is read at once: so much of it, where it lies, and whether that was the end.

use lazaret_sdk::prelude::*;
use serde_json::json;

use crate::part::{Unit, text};

/// What an outcome may be as JSON, less what stands around the content of a part.
const JSON_BYTES: usize = (1 << 20) - 1_024;

/// What stands from `from` to `to`, cut to `most` bytes behind a whole unit.
pub(crate) fn read(
    value: &Value,
    unit: Unit,
    (from, to): (usize, Option<usize>),
    most: usize,
) -> Result<Value, Failure> {
    if to.is_some_and(|to| from > to) {
        return Err(Failure::new("`from` lies behind `to`"));
    }
    if let (Unit::Items, Value::Array(items)) = (unit, value) {
        let texts: Vec<String> = items.iter().map(Value::to_string).collect();
        let pieces = texts.iter().map(|text| (1, text.as_str()));
        let part = Part::of(pieces, (from, to), items.len(), (most, unit))?;
        let items = items.iter().skip(part.from).take(part.to - part.from);
        return Ok(part.with(items.cloned().collect()));
    }
    let text = text(value);
    let chars = text
        .char_indices()
        .map(|(at, c)| &text[at..at + c.len_utf8()]);
    let part = match unit {
        Unit::Items => {
            return Err(Failure::new("what is held is no list, so it has no items"));
        }
        Unit::Bytes => {
            let pieces = chars.map(|c| (c.len(), c));
            Part::of(pieces, (from, to), text.len(), (most, unit))?
        }
        Unit::Chars => {
            let pieces = chars.map(|c| (1, c));
            Part::of(pieces, (from, to), text.chars().count(), (most, unit))?
        }
        Unit::Lines => {
            let lines = || text.split_inclusive('\n');
            let pieces = lines().map(|line| (1, line));
            Part::of(pieces, (from, to), lines().count(), (most, unit))?
        }
    };
    let content = text[part.begins..part.ends].into();
    Ok(part.with(content))
}

/// A part: in units, and in bytes of the text.
#[derive(Default)]
struct Part {
    from: usize,
    to: usize,
    total: usize,
    begins: usize,
    ends: usize,
}

impl Part {
    /// Of pieces, each so many units long, whole pieces within the range.
    fn of<'a>(
        pieces: impl Iterator<Item = (usize, &'a str)>,
        (from, to): (usize, Option<usize>),
        total: usize,
        (most, unit): (usize, Unit),
    ) -> Result<Self, Failure> {
        let end = to.unwrap_or(total).min(total);
        let from = from.min(total);
        let mut part = Self {
            from,
            to: from,
            total,
            ..Self::default()
        };
        let (mut at, mut byte, mut json) = (0, 0, 0);
        for (units, piece) in pieces {
            let (begins, is_before) = (byte, at < from);
            at += units;
            byte += piece.len();
            if is_before {
                (part.begins, part.ends) = (byte, byte);
                continue;
            }
            json += as_json(piece);
            if at > end {
                break;
            }
            if byte - part.begins > most || json > JSON_BYTES {
                if begins == part.begins {
                    return Err(too_long(unit, piece.len(), most.min(JSON_BYTES)));
                }
                break;
            }
            (part.to, part.ends) = (at, byte);
        }
        Ok(part)
    }

    fn with(&self, content: Value) -> Value {
        let eof = self.to >= self.total;
        json!({"content": content, "from": self.from, "to": self.to, "total": self.total, "eof": eof})
    }
}

/// How long a text is inside of JSON.
fn as_json(text: &str) -> usize {
    let escaped = |c: char| match c {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        c if c.is_control() => 6,
        c => c.len_utf8(),
    };
    text.chars().map(escaped).sum()
}

fn too_long(unit: Unit, bytes: usize, most: usize) -> Failure {
    let what = match unit {
        Unit::Lines => "line",
        Unit::Items => "item",
        Unit::Bytes | Unit::Chars => "character",
    };
    Failure::new(format!(
        "this {what} alone has {bytes} bytes, and {most} are read at once: read it by `bytes`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: Value, unit: Unit, range: (usize, Option<usize>), most: usize, said: Value) {
        let part = read(&value, unit, range, most).unwrap();
        let numbers = json!([
            part["content"],
            part["from"],
            part["to"],
            part["total"],
            part["eof"]
        ]);
        assert_eq!(numbers, said);
    }

    #[test]
    fn a_part_says_where_it_lies_and_whether_that_was_the_end() {
        use Unit::{Bytes, Chars, Items, Lines};
        let (text, all) = ("äb\nc\n", usize::MAX);
        for (unit, range, most, said) in [
            (Bytes, (0, None), all, json!(["äb\nc\n", 0, 6, 6, true])),
            (Bytes, (0, Some(1)), all, json!(["", 0, 0, 6, false])),
            (Bytes, (2, Some(3)), all, json!(["b", 2, 3, 6, false])),
            (Bytes, (0, None), 3, json!(["äb", 0, 3, 6, false])),
            (Bytes, (3, None), 3, json!(["\nc\n", 3, 6, 6, true])),
            (Bytes, (6, None), all, json!(["", 6, 6, 6, true])),
            (Bytes, (60, Some(70)), all, json!(["", 6, 6, 6, true])),
            (Bytes, (2, Some(2)), all, json!(["", 2, 2, 6, false])),
            (Chars, (1, None), all, json!(["b\nc\n", 1, 5, 5, true])),
            (Chars, (0, None), 2, json!(["ä", 0, 1, 5, false])),
            (Lines, (0, Some(1)), all, json!(["äb\n", 0, 1, 2, false])),
            (Lines, (1, Some(9)), all, json!(["c\n", 1, 2, 2, true])),
            (Lines, (0, None), 5, json!(["äb\n", 0, 1, 2, false])),
        ] {
            check(json!(text), unit, range, most, said);
        }
        let list = json!(["a", 2, "c"]);
        check(
            list.clone(),
            Items,
            (1, Some(9)),
            all,
            json!([[2, "c"], 1, 3, 3, true]),
        );
        check(list, Items, (0, None), 4, json!([["a", 2], 0, 2, 3, false]));
        check(
            json!({"a": 1}),
            Chars,
            (0, Some(4)),
            all,
            json!(["{\"a\"", 0, 4, 7, false]),
        );
        check(json!(""), Lines, (0, None), 0, json!(["", 0, 0, 0, true]));
    }

    #[test]
    fn what_makes_no_part_says_what_to_do() {
        let says = |value: Value, unit, range, most| {
            let failure = read(&value, unit, range, most).unwrap_err();
            format!("{failure:?}")
        };
        assert!(says(json!("a"), Unit::Chars, (2, Some(1)), 9).contains("behind `to`"));
        assert!(says(json!("a"), Unit::Items, (0, None), 9).contains("no list"));
        let long = says(json!("abcdef\n"), Unit::Lines, (0, None), 4);
        assert!(
            long.contains("7 bytes, and 4 are read at once: read it by `bytes`"),
            "{long}"
        );
    }

    #[test]
    fn a_part_fits_what_an_outcome_may_be() {
        let text = json!("\n".repeat(2 << 20));
        let part = read(&text, Unit::Bytes, (0, None), 1 << 20).unwrap();
        assert!(part.to_string().len() <= 1 << 20);
        assert_eq!(part["eof"], json!(false));
    }
}
