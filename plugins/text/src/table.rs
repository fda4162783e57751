//! `text.csv_to_json`, and the table that `text.aggregate` reads too.

use csv::{ReaderBuilder, StringRecord, Trim};
use lazaret_sdk::prelude::*;
use serde_json::{Map, Number};

use crate::{OUTCOME_BYTES_MAX, check_size};

const ROWS_MAX: usize = 100_000;
const COLUMNS_MAX: usize = 1000;

/// The rows of a table.
#[value]
#[derive(PartialEq)]
pub struct Rows {
    /// Names of the columns, in order.
    pub columns: Vec<String>,
    /// One object for each row, from column name to cell.
    pub rows: Vec<Map<String, Value>>,
    /// How many rows the table has in all.
    pub total: usize,
    /// Whether there are more than are listed.
    pub truncated: bool,
}

/// A table of texts.
pub(crate) struct Table {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// Reads CSV into JSON rows, one object per row.
///
/// Quoted cells may hold delimiters and line breaks. A row that is shorter than the header has
/// empty cells at its end; one that is longer is an error.
#[tool(
    effect = "pure",
    tier = "fast",
    example(
        title = "with numbers",
        args = r#"{"csv": "city,people\nBern,134000\n", "infer": true}"#
    ),
    example(
        title = "semicolons, no header",
        args = r#"{"csv": "a;b\nc;d\n", "delimiter": ";", "header": false}"#
    )
)]
pub fn csv_to_json(
    /// The CSV text.
    csv: String,
    /// The character between cells: one ASCII character, or `\t` for a tab. Guessed from the first
    /// line if left out.
    delimiter: Option<String>,
    /// Whether the first row names the columns; if not they are `column_1`, `column_2` and so on.
    #[default(true)]
    header: bool,
    /// Whether to turn cells that look like it into numbers, booleans and null (an empty cell).
    #[default(false)]
    infer: bool,
    /// How many rows to return.
    #[default(1000)]
    limit: usize,
) -> Result<Rows, Failure> {
    let Table { columns, rows } = read(&csv, delimiter.as_deref(), header)?;
    let total = rows.len();
    let mut bytes = 0;
    let mut listed = Vec::new();
    for row in rows.into_iter().take(limit) {
        let mut object = Map::new();
        for (column, cell) in columns.iter().zip(row) {
            bytes += column.len() + cell.len();
            object.insert(
                column.clone(),
                if infer {
                    infer_cell(&cell)
                } else {
                    cell.into()
                },
            );
        }
        if bytes > OUTCOME_BYTES_MAX {
            break;
        }
        listed.push(object);
    }
    Ok(Rows {
        columns,
        truncated: listed.len() < total,
        rows: listed,
        total,
    })
}

/// Reads a table; every row has as many cells as there are columns.
pub(crate) fn read(csv: &str, delimiter: Option<&str>, header: bool) -> Result<Table, Failure> {
    check_size(csv)?;
    let csv = csv.strip_prefix('\u{feff}').unwrap_or(csv);
    let delimiter = match delimiter {
        None => guess_delimiter(csv),
        Some("\\t" | "\t") => b'\t',
        Some(text) => match text.as_bytes() {
            [byte] if byte.is_ascii() && !b"\"\r\n".contains(byte) => *byte,
            _ => bad_input!("`{text}` is no delimiter: write one ASCII character"),
        },
    };
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .from_reader(csv.as_bytes());
    let mut records = Vec::new();
    for record in reader.records() {
        records.push(record?);
        if records.len() > ROWS_MAX {
            fail!("the table has more than {ROWS_MAX} rows");
        }
    }
    let mut records = records.into_iter();
    let first = records.next().or_fail("the table is empty")?;
    let columns = if header {
        named(&first)?
    } else {
        numbered(first.len())
    };
    let start = if header { None } else { Some(first) };
    let mut rows = Vec::new();
    for record in start.into_iter().chain(records) {
        rows.push(cells_of(&record, columns.len(), rows.len() + 1)?);
    }
    Ok(Table { columns, rows })
}

fn guess_delimiter(csv: &str) -> u8 {
    let first = csv.lines().next().unwrap_or_default();
    let count = |delimiter: u8| first.bytes().filter(|byte| *byte == delimiter).count();
    // The later of two equals wins: the comma is the last.
    [b'|', b'\t', b';', b',']
        .into_iter()
        .max_by_key(|delimiter| count(*delimiter))
        .unwrap_or(b',')
}

fn named(header: &StringRecord) -> Result<Vec<String>, Failure> {
    if header.len() > COLUMNS_MAX {
        fail!("the table has more than {COLUMNS_MAX} columns");
    }
    let mut columns: Vec<String> = Vec::new();
    for (at, name) in header.iter().enumerate() {
        let name = if name.is_empty() {
            format!("column_{}", at + 1)
        } else {
            name.to_owned()
        };
        if columns.contains(&name) {
            fail!("two columns are named `{name}`: read the table with `header` set to false");
        }
        columns.push(name);
    }
    Ok(columns)
}

fn numbered(count: usize) -> Vec<String> {
    (1..=count)
        .map(|number| format!("column_{number}"))
        .collect()
}

fn cells_of(record: &StringRecord, columns: usize, row: usize) -> Result<Vec<String>, Failure> {
    if record.len() > columns {
        fail!(
            "row {row} has {} cells, but there are {columns} columns",
            record.len()
        );
    }
    let mut cells: Vec<String> = record.iter().map(str::to_owned).collect();
    cells.resize(columns, String::new());
    Ok(cells)
}

fn infer_cell(cell: &str) -> Value {
    match cell {
        "" => Value::Null,
        "true" | "TRUE" | "True" => Value::Bool(true),
        "false" | "FALSE" | "False" => Value::Bool(false),
        // A number with zeros before it is a code, such as a postcode.
        _ if cell.trim_start_matches('-').starts_with('0')
            && cell.len() > 1
            && !cell.contains('.') =>
        {
            cell.into()
        }
        _ => number_of(cell).unwrap_or_else(|| cell.into()),
    }
}

fn number_of(cell: &str) -> Option<Value> {
    if let Ok(whole) = cell.parse::<i64>() {
        return Some(whole.into());
    }
    let sound = cell
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let number = cell.parse::<f64>().ok().filter(|_| sound)?;
    Number::from_f64(number).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(csv: &str, infer: bool, expected: Value) {
        let rows = csv_to_json(csv.to_owned(), None, true, infer, 100).unwrap();
        assert_eq!(
            serde_json::to_value(rows.rows).unwrap(),
            expected,
            "{csv:?}"
        );
    }

    #[test]
    fn rows_are_objects() {
        check("a,b\n1,x\n", false, json!([{"a": "1", "b": "x"}]));
        check("a;b\n1;x\n", false, json!([{"a": "1", "b": "x"}]));
        check(
            "a\tb\n\"1\n2\"\t\"x\"\"y\"",
            false,
            json!([{"a": "1\n2", "b": "x\"y"}]),
        );
        check("\u{feff}a,b\n1\n", false, json!([{"a": "1", "b": ""}]));
        check("a\n", false, json!([]));
    }

    #[test]
    fn cells_are_inferred_on_request() {
        check(
            "a,b,c,d,e,f\n1,-2.5,true,,007,nan\n",
            true,
            json!([{"a": 1, "b": -2.5, "c": true, "d": null, "e": "007", "f": "nan"}]),
        );
        check(
            "a\n0\n0.5\n1e3\n99999999999999999999",
            true,
            json!([{"a": 0}, {"a": 0.5}, {"a": 1000.0}, {"a": 1e20}]),
        );
    }

    #[test]
    fn a_table_without_header_numbers_its_columns() {
        let rows = csv_to_json("1,2\n".to_owned(), None, false, false, 9).unwrap();
        assert_eq!(rows.columns, ["column_1", "column_2"]);
        assert_eq!(rows.total, 1);
    }

    #[test]
    fn wrong_tables_are_failures() {
        for (csv, delimiter) in [
            ("", None),
            ("a,a\n", None),
            ("a\n1,2\n", Some(",")),
            ("a", Some("ab")),
        ] {
            let delimiter = delimiter.map(str::to_owned);
            assert!(
                csv_to_json(csv.to_owned(), delimiter, true, false, 9).is_err(),
                "{csv:?}"
            );
        }
    }
}
