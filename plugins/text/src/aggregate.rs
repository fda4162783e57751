//! `text.aggregate`: figures from a table, by group.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use lazaret_sdk::prelude::*;
use serde_json::Map;

use crate::table::{self, Table};

const MEASURES_MAX: usize = 20;
const GROUPS_MAX: usize = 1000;

/// A figure to compute in each group.
#[value]
pub struct Measure {
    /// What to compute.
    pub function: Function,
    /// The column to compute it from; `count` may do without and counts rows then.
    #[serde(default)]
    pub column: Option<String>,
    /// What to call the figure; `FUNCTION_COLUMN` if left out.
    #[serde(default)]
    pub name: Option<String>,
}

/// What can be computed.
#[value]
#[derive(Copy, PartialEq, Eq)]
pub enum Function {
    /// The sum of the numbers.
    Sum,
    /// How many rows there are, or how many cells that are not empty.
    Count,
    /// The arithmetic mean of the numbers.
    Mean,
    /// The smallest number.
    Min,
    /// The largest number.
    Max,
}

/// Figures by group.
#[value]
#[derive(PartialEq)]
pub struct Figures {
    /// Names of what is in each group: the columns grouped by, then the figures.
    pub columns: Vec<String>,
    /// One object for each group.
    pub groups: Vec<Map<String, Value>>,
    /// How many groups there are in all.
    pub total: usize,
    /// How many rows the table has.
    pub rows: usize,
    /// How many cells were left out of a figure because they are not empty, but no number.
    pub skipped: usize,
}

/// Computes sum, count, mean, min or max over the rows of a table, for each group of rows.
///
/// The table is CSV text with a header, or rows as objects. Without `group_by` all rows are one
/// group. An empty cell is no number and not an error; so a `mean` is over the cells that hold a
/// number, and `null` if none does.
#[tool(
    effect = "pure",
    tier = "fast",
    example(
        title = "turnover by region, the largest first",
        args = r#"{
            "csv": "region,amount\nnorth,10\nsouth,5\nnorth,2.5\n",
            "group_by": ["region"],
            "measures": [{"function": "sum", "column": "amount"}, {"function": "count"}],
            "sort_by": "-sum_amount"
        }"#
    ),
    example(
        title = "one figure over rows",
        args = r#"{"rows": [{"x": 1}, {"x": 3}], "measures": [{"function": "mean", "column": "x"}]}"#
    )
)]
pub fn aggregate(
    /// CSV text with a header; give this or `rows`.
    csv: Option<String>,
    /// Rows as objects from column name to cell; give this or `csv`.
    rows: Option<Vec<Map<String, Value>>>,
    /// The columns whose equal cells make a group.
    #[default(Vec::new())]
    group_by: Vec<String>,
    /// The figures to compute, at most 20.
    measures: Vec<Measure>,
    /// The column or figure to sort the groups by, with `-` before it for the largest first; else
    /// by `group_by`.
    sort_by: Option<String>,
    /// How many groups to return, at most 1000.
    #[default(100)]
    limit: usize,
) -> Result<Figures, Failure> {
    let table = match (csv, rows) {
        (Some(csv), None) => table::read(&csv, None, true)?,
        (None, Some(rows)) => table_of(&rows),
        _ => bad_input!("give `csv` or `rows`, one of the two"),
    };
    if measures.is_empty() || measures.len() > MEASURES_MAX {
        bad_input!("give 1 to {MEASURES_MAX} measures");
    }
    let mut figures = compute(&table, &group_by, &measures)?;
    if let Some(order) = sort_by {
        sort(&mut figures, &order)?;
    }
    figures.groups.truncate(limit.min(GROUPS_MAX));
    Ok(figures)
}

fn table_of(rows: &[Map<String, Value>]) -> Table {
    let mut columns: Vec<String> = Vec::new();
    for key in rows.iter().flat_map(Map::keys) {
        if !columns.contains(key) {
            columns.push(key.clone());
        }
    }
    let cell = |row: &Map<String, Value>, column: &String| match row.get(column) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let rows = rows
        .iter()
        .map(|row| columns.iter().map(|column| cell(row, column)).collect());
    Table {
        rows: rows.collect(),
        columns,
    }
}

/// What has been seen of one column in one group.
#[derive(Clone, Default)]
struct Tally {
    numbers: usize,
    filled: usize,
    sum: f64,
    /// What rounding has taken from `sum` so far (Neumaier), so that cents add up.
    lost: f64,
    min: Option<f64>,
    max: Option<f64>,
}

impl Tally {
    /// Adds a cell; says whether it was skipped.
    fn add(&mut self, cell: &str) -> bool {
        if cell.is_empty() {
            return false;
        }
        self.filled += 1;
        let Some(number) = cell.parse::<f64>().ok().filter(|number| number.is_finite()) else {
            return true;
        };
        self.numbers += 1;
        let sum = self.sum + number;
        self.lost += if self.sum.abs() >= number.abs() {
            (self.sum - sum) + number
        } else {
            (number - sum) + self.sum
        };
        self.sum = sum;
        self.min = Some(self.min.map_or(number, |min| min.min(number)));
        self.max = Some(self.max.map_or(number, |max| max.max(number)));
        false
    }

    fn figure(&self, function: Function) -> Value {
        let sum = self.sum + self.lost;
        let number = match function {
            Function::Count => return self.filled.into(),
            Function::Sum => Some(as_decimal(sum)),
            Function::Mean => (self.numbers > 0).then(|| sum / self.numbers as f64),
            Function::Min => self.min,
            Function::Max => self.max,
        };
        number.map_or(Value::Null, whole_if_possible)
    }
}

fn whole_if_possible(number: f64) -> Value {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT_MAX {
        return (number as i64).into();
    }
    number.into()
}

fn compute(table: &Table, group_by: &[String], measures: &[Measure]) -> Result<Figures, Failure> {
    let place = |name: &String| {
        let at = table.columns.iter().position(|column| column == name);
        at.or_fail(format!(
            "there is no column `{name}`, but {}",
            table.columns.join(", ")
        ))
    };
    let keys = group_by.iter().map(place).collect::<Result<Vec<_>, _>>()?;
    let mut columns = group_by.to_vec();
    let mut sources = Vec::new();
    for measure in measures {
        let source = measure.column.as_ref().map(place).transpose()?;
        if source.is_none() && measure.function != Function::Count {
            bad_input!("{:?} needs a column", measure.function);
        }
        let name = name_of(measure);
        if columns.contains(&name) {
            bad_input!("two columns of the outcome are named `{name}`: name the measure");
        }
        columns.push(name);
        sources.push(source);
    }
    let mut groups: BTreeMap<Vec<&str>, Vec<Tally>> = BTreeMap::new();
    let mut skipped = 0;
    for row in &table.rows {
        let key = keys.iter().map(|at| row[*at].as_str()).collect();
        let tallies = groups
            .entry(key)
            .or_insert_with(|| vec![Tally::default(); sources.len()]);
        for ((tally, source), measure) in tallies.iter_mut().zip(&sources).zip(measures) {
            // Without a column each row counts: any cell that is filled will do.
            let wrong = tally.add(source.map_or("1", |at| row[at].as_str()));
            skipped += usize::from(wrong && measure.function != Function::Count);
        }
    }
    let told = groups.iter().map(|(key, tallies)| {
        let cells = key.iter().map(|cell| Value::from(*cell));
        let figures = tallies
            .iter()
            .zip(measures)
            .map(|(tally, measure)| tally.figure(measure.function));
        columns.iter().cloned().zip(cells.chain(figures)).collect()
    });
    Ok(Figures {
        groups: told.collect(),
        columns,
        total: groups.len(),
        rows: table.rows.len(),
        skipped,
    })
}

fn name_of(measure: &Measure) -> String {
    let function = match measure.function {
        Function::Sum => "sum",
        Function::Count => "count",
        Function::Mean => "mean",
        Function::Min => "min",
        Function::Max => "max",
    };
    match (&measure.name, &measure.column) {
        (Some(name), _) => name.clone(),
        (None, Some(column)) => format!("{function}_{column}"),
        (None, None) => function.to_owned(),
    }
}

fn sort(figures: &mut Figures, order: &str) -> Result<(), Failure> {
    let known = |name: &str| figures.columns.iter().any(|column| column == name);
    let (name, largest_first) = match order.strip_prefix('-') {
        Some(name) if !known(order) => (name, true),
        _ => (order, false),
    };
    if !known(name) {
        fail!(
            "there is no `{name}` to sort by, but {}",
            figures.columns.join(", ")
        );
    }
    figures.groups.sort_by(|left, right| {
        let order = compare(&left[name], &right[name]);
        if largest_first {
            order.reverse()
        } else {
            order
        }
    });
    Ok(())
}

/// A sum as whoever wrote the addends would: 10.1 and 0.2 are 10.3. Fifteen digits are what survives the way from
/// decimals and back.
fn as_decimal(sum: f64) -> f64 {
    format!("{sum:.14e}").parse().unwrap_or(sum)
}

fn compare(left: &Value, right: &Value) -> Ordering {
    match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => left.total_cmp(&right),
        // No figure sorts below any figure.
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (None, None) => left.as_str().cmp(&right.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALES: &str = "region,amount,units\nnorth,10.10,1\nsouth,5,2\nnorth,0.20,\neast,n/a,4\n";

    fn check(args: Value, groups: Value) {
        let figures = crate::Plugin::call("aggregate", args).unwrap();
        assert_eq!(figures["groups"], groups);
    }

    #[test]
    fn groups_are_summed_and_sorted() {
        check(
            json!({
                "csv": SALES, "group_by": ["region"], "sort_by": "-sum_amount",
                "measures": [{"function": "sum", "column": "amount"}, {"function": "count"}],
            }),
            json!([
                {"region": "north", "sum_amount": 10.3, "count": 2},
                {"region": "south", "sum_amount": 5, "count": 1},
                {"region": "east", "sum_amount": 0, "count": 1},
            ]),
        );
    }

    #[test]
    fn all_rows_are_one_group() {
        check(
            json!({
                "csv": SALES,
                "measures": [
                    {"function": "mean", "column": "units"}, {"function": "min", "column": "units"},
                    {"function": "max", "column": "units"},
                    {"function": "count", "column": "units", "name": "n"},
                ],
            }),
            json!([{"mean_units": 7.0 / 3.0, "min_units": 1, "max_units": 4, "n": 3}]),
        );
    }

    #[test]
    fn rows_may_be_objects() {
        check(
            json!({
                "rows": [{"k": "a", "x": 1}, {"k": "b", "x": null}, {"k": "a", "x": "2"}],
                "group_by": ["k"], "measures": [{"function": "mean", "column": "x", "name": "m"}],
            }),
            json!([{"k": "a", "m": 1.5}, {"k": "b", "m": null}]),
        );
    }

    #[test]
    fn skipped_cells_are_told() {
        let args = json!({"csv": SALES, "measures": [{"function": "sum", "column": "amount"}]});
        let figures = crate::Plugin::call("aggregate", args).unwrap();
        assert_eq!(
            (&figures["skipped"], &figures["rows"]),
            (&json!(1), &json!(4))
        );
    }

    #[test]
    fn cents_add_up() {
        let mut tally = Tally::default();
        for _ in 0..1000 {
            tally.add("0.1");
        }
        assert_eq!(tally.figure(Function::Sum), json!(100));
    }

    #[test]
    fn wrong_requests_are_failures() {
        for args in [
            json!({"measures": [{"function": "count"}]}),
            json!({"csv": SALES, "measures": []}),
            json!({"csv": SALES, "measures": [{"function": "sum"}]}),
            json!({"csv": SALES, "measures": [{"function": "sum", "column": "x"}]}),
            json!({"csv": SALES, "measures": [{"function": "count"}], "sort_by": "x"}),
            json!({"csv": SALES, "measures": [{"function": "count"}, {"function": "count"}]}),
        ] {
            assert!(
                crate::Plugin::call("aggregate", args.clone()).is_err(),
                "{args}"
            );
        }
    }
}
