//! `handle.pick`: what stands beside the user's own word in a list of records.

use lazaret_sdk::prelude::*;

use crate::part::text;

/// One field of the one record in a held list whose other field is a word that you know: exactly one, or it fails. It
/// stays held.
///
/// With a word that the user typed it costs nothing; with any other, that there is such a record is a bit that leaves.
#[tool(
    effect = "pure",
    example(
        title = "the id of the letter from Ada",
        args = r#"{"value": {"$handle": "h12"}, "where": "/from", "is": "ada@x.test", "field": "/id"}"#
    )
)]
pub fn pick(
    /// The handle, of a list of records.
    value: Value,
    /// Where in each record the word stands, such as `/from`.
    r#where: String,
    /// The word: a whole value, letter for letter.
    is: String,
    /// What of that record is taken, such as `/id`.
    field: String,
) -> Result<Value, Failure> {
    let records = value.as_array().or_fail("what is held is no list")?;
    let of_word = |record: &&Value| {
        record
            .pointer(&r#where)
            .is_some_and(|found| text(found) == is)
    };
    let mut found = records.iter().filter(of_word);
    match (found.next(), found.count()) {
        (Some(record), 0) => {
            let taken = record.pointer(&field).cloned();
            taken.or_fail("the record that holds the word has nothing at `field`")
        }
        (None, _) => Err(Failure::new("no record holds the word at `where`")),
        (Some(_), more) => Err(Failure::new(format!(
            "{} records hold the word at `where`, and not one",
            more + 1
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn exactly_one_record() {
        let records = json!([
            {"name": "Rent", "id": "r1", "of": {"sum": 700}},
            {"name": "Rent", "id": "r2", "of": {"sum": 7}},
            {"name": "Gas", "id": 3, "of": {"sum": 70}},
            "Gas",
        ]);
        for (place, word, field, expected) in [
            ("/name", "Gas", "/id", Some(json!(3))),
            ("/id", "r2", "/of/sum", Some(json!(7))),
            ("/of/sum", "700", "/id", Some(json!("r1"))),
            ("/name", "Rent", "/id", None),
            ("/name", "gas", "/id", None),
            ("/name", "Ga", "/id", None),
            ("/none", "Gas", "/id", None),
            ("/name", "Gas", "/none", None),
            // The records that are themselves the word.
            ("", "Gas", "", Some(json!("Gas"))),
        ] {
            let picked = pick(records.clone(), place.into(), word.into(), field.into());
            assert_eq!(picked.ok(), expected, "{place} {word} {field}");
        }
        assert!(
            pick(
                json!({"name": "Gas"}),
                "/name".into(),
                "Gas".into(),
                "/id".into()
            )
            .is_err()
        );
    }
}
