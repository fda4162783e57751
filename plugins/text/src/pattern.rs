//! Regular expressions from strangers: bounded in size, with an error that says what is wrong.
//!
//! The engine runs in linear time; so the size of the compiled program is all that needs a bound.

use lazaret_sdk::prelude::*;
use regex::{Regex, RegexBuilder};

const PATTERN_BYTES_MAX: usize = 2000;
const PROGRAM_BYTES_MAX: usize = 1024 * 1024;

pub(crate) fn compile(pattern: &str, ignore_case: bool) -> Result<Regex, Failure> {
    if pattern.len() > PATTERN_BYTES_MAX {
        bad_input!(
            "the pattern has {} bytes, at most {PATTERN_BYTES_MAX} are taken",
            pattern.len()
        );
    }
    RegexBuilder::new(pattern)
        .case_insensitive(ignore_case)
        .multi_line(true)
        .size_limit(PROGRAM_BYTES_MAX)
        .build()
        .or_bad_input("the pattern is no regular expression that can be used")
}

/// The functions `match` and `search` of JSONPath, with patterns bounded as all others are here.
///
/// They are here and not in the JSONPath crate since that would bring a much larger engine.
mod path_functions {
    use lazaret_sdk::Value;
    use serde_json_path::functions::{LogicalType, ValueType};
    use serde_json_path_macros::function;

    fn matches(text: &ValueType<'_>, pattern: &ValueType<'_>, whole: bool) -> LogicalType {
        let (Some(Value::String(text)), Some(Value::String(pattern))) =
            (text.as_value(), pattern.as_value())
        else {
            return LogicalType::False;
        };
        let pattern = if whole {
            format!(r"\A(?:{pattern})\z")
        } else {
            pattern.clone()
        };
        match super::compile(&pattern, false) {
            Ok(pattern) if pattern.is_match(text) => LogicalType::True,
            _ => LogicalType::False,
        }
    }

    #[function(name = "match")]
    fn match_whole(text: ValueType, pattern: ValueType) -> LogicalType {
        matches(&text, &pattern, true)
    }

    #[function(name = "search")]
    fn match_part(text: ValueType, pattern: ValueType) -> LogicalType {
        matches(&text, &pattern, false)
    }
}
