//! Picking: which record of a held list is meant, said by a word (`handle.pick`).
//!
//! What is picked stays held. That exactly one record holds the word is told all the same: nothing where the user has
//! typed the word, who wants to know just that, and a bit where whoever picks has made it up.

use serde_json::Value;

use super::kind::Kind;
use super::typed::Typed;
use crate::words::id::ToolName;

/// The tool that picks.
pub const PICK: &str = "handle.pick";
/// There is such a record.
const BITS: u32 = 1;

/// The bits that leave what is held when an outcome of `tool` is held again.
#[must_use]
pub fn bits(tool: &ToolName, (args, places): (&Value, &[String]), typed: &Typed) -> u32 {
    if tool.as_str() != PICK {
        return 0;
    }
    // A word, or a place to look for it, that is held itself was chosen by nobody.
    let of_value = |place: &String| place == "/value" || place.starts_with("/value/");
    let word = args.get("is").and_then(Value::as_str);
    match word.is_some_and(|word| typed.has(Kind::Value, word)) && places.iter().all(of_value) {
        true => 0,
        false => BITS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_word_of_the_users_own_costs_nothing() {
        let mut typed = Typed::default();
        typed.add("Pay the rent to Gas, number \"12\".");
        let bits_of = |tool: &str, word: Value, places: &[&str]| {
            let places: Vec<String> = places.iter().map(ToString::to_string).collect();
            let args = json!({"value": [], "where": "/a", "is": word, "field": "/b"});
            let tool = ToolName::parse(tool).unwrap();
            bits(&tool, (&args, &places), &typed)
        };
        for (word, places, expected) in [
            (json!("Gas"), &["/value"][..], 0),
            (json!("Gas"), &["/value/0", "/value/1"], 0),
            (json!("12"), &["/value"], 0),
            (json!("Ga"), &["/value"], 1),
            (json!("gas"), &["/value"], 1),
            (json!("Water"), &["/value"], 1),
            (json!(""), &["/value"], 1),
            // It is the user's word by chance alone.
            (json!("Gas"), &["/value", "/is"], 1),
            (json!("Gas"), &["/value", "/where"], 1),
            (json!("Gas"), &[""], 1),
            (json!("Gas"), &["/values"], 1),
        ] {
            assert_eq!(
                bits_of(PICK, word.clone(), places),
                expected,
                "{word} {places:?}"
            );
        }
        assert_eq!(bits_of("handle.field", json!("Water"), &["/value"]), 0);
    }
}
