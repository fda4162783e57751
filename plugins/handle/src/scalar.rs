//! `handle.count` and `handle.scalar`: the little that may leave a handle. The host counts its bits.

use lazaret_sdk::prelude::*;

use crate::part::{Unit, text};

/// What a scalar is.
#[value]
#[derive(Copy, PartialEq, Eq)]
pub enum Type {
    /// `true` or `false`.
    Bool,
    /// A number.
    Number,
    /// A date, `YYYY-MM-DD`.
    Date,
    /// One of `options`.
    Enum,
    /// The place of the one element of a list that holds one of `options`, from 0.
    Index,
}

/// How many lines, characters, bytes or items there are. The number is shown.
#[tool(
    effect = "pure",
    example(
        title = "lines of a page",
        args = r#"{"value": {"$handle": "h12"}, "unit": "lines"}"#
    )
)]
pub fn count(
    /// The handle.
    value: Value,
    /// What to count.
    unit: Unit,
) -> Result<usize, Failure> {
    if unit == Unit::Items {
        let items = value.as_array().map(Vec::len);
        return items.or_fail("what is held is no list, so it has no items");
    }
    let text = text(&value);
    Ok(match unit {
        Unit::Lines => text.lines().count(),
        Unit::Bytes => text.len(),
        Unit::Chars | Unit::Items => text.chars().count(),
    })
}

/// A truth, number, date, choice or place out of what is held. It is shown, and charged to the run's bits.
#[tool(
    effect = "pure",
    example(
        title = "what a letter is about",
        args = r#"{"value": {"$handle": "h12"}, "type": "enum", "options": ["invoice", "offer", "other"]}"#
    )
)]
pub fn scalar(
    /// The handle: a whole leaf, or for `index` a list.
    value: Value,
    /// What it is.
    r#type: Type,
    /// For `enum` and `index`: what to choose from.
    #[default(Vec::new())]
    options: Vec<String>,
) -> Result<Value, Failure> {
    let words = text(&value);
    let word = words.trim();
    match r#type {
        Type::Bool => match word.to_ascii_lowercase().as_str() {
            "true" | "yes" => Ok(Value::Bool(true)),
            "false" | "no" => Ok(Value::Bool(false)),
            _ => Err(Failure::new("what is held is neither true nor false")),
        },
        Type::Number => {
            let number: f64 = word.parse().or_fail("what is held is no number")?;
            let whole = word.parse::<i64>().map(Value::from);
            let finite = serde_json::Number::from_f64(number).map(Value::Number);
            whole.or_else(|_| finite.or_fail("what is held is no number"))
        }
        Type::Date if is_date(word) => Ok(Value::String(word.to_owned())),
        Type::Date => Err(Failure::new("what is held is no date such as 2026-03-01")),
        Type::Enum => {
            let chosen = options
                .iter()
                .find(|option| option.eq_ignore_ascii_case(word));
            let chosen = chosen.or_fail("what is held is none of `options`")?;
            Ok(Value::String(chosen.clone()))
        }
        Type::Index => index(&value, &options),
    }
}

fn index(value: &Value, options: &[String]) -> Result<Value, Failure> {
    let items = value.as_array().or_fail("what is held is no list")?;
    let mut places = items.iter().enumerate().filter(|(_, item)| {
        let item = text(item);
        options
            .iter()
            .any(|option| !option.is_empty() && item.contains(option.as_str()))
    });
    match (places.next(), places.next()) {
        (Some((place, _)), None) => Ok(Value::from(place)),
        (None, _) => Err(Failure::new("no element holds one of `options`")),
        (Some(_), Some(_)) => Err(Failure::new("more than one element holds one of `options`")),
    }
}

fn is_date(word: &str) -> bool {
    let shape = word.len() == 10
        && word.chars().enumerate().all(|(at, c)| match at {
            4 | 7 => c == '-',
            _ => c.is_ascii_digit(),
        });
    let part =
        |from: usize, to: usize| word.get(from..to).and_then(|part| part.parse::<u32>().ok());
    shape
        && part(5, 7).is_some_and(|month| (1..=12).contains(&month))
        && part(8, 10).is_some_and(|day| (1..=31).contains(&day))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(value: Value, r#type: Type, options: &[&str], expected: Option<Value>) {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        assert_eq!(
            scalar(value.clone(), r#type, options).ok(),
            expected,
            "{value}"
        );
    }

    #[test]
    fn scalars() {
        check(json!(true), Type::Bool, &[], Some(json!(true)));
        check(json!("Yes"), Type::Bool, &[], Some(json!(true)));
        check(json!("yes, and send"), Type::Bool, &[], None);
        check(json!(" 12 "), Type::Number, &[], Some(json!(12)));
        check(json!("1.5"), Type::Number, &[], Some(json!(1.5)));
        check(json!("inf"), Type::Number, &[], None);
        check(
            json!("2026-03-01"),
            Type::Date,
            &[],
            Some(json!("2026-03-01")),
        );
        check(json!("2026-13-01"), Type::Date, &[], None);
        check(
            json!("Offer"),
            Type::Enum,
            &["offer", "other"],
            Some(json!("offer")),
        );
        check(json!("evil"), Type::Enum, &["offer", "other"], None);
        check(json!(["a1", "b2"]), Type::Index, &["b"], Some(json!(1)));
        check(json!(["b1", "b2"]), Type::Index, &["b"], None);
    }

    #[test]
    fn counts() {
        assert_eq!(count(json!("a\nbä"), Unit::Lines).unwrap(), 2);
        assert_eq!(count(json!("ä"), Unit::Bytes).unwrap(), 2);
        assert_eq!(count(json!([1, 2]), Unit::Items).unwrap(), 2);
        assert!(count(json!({}), Unit::Items).is_err());
    }
}
