//! What the two models say. A scripted model has to know what it calls, so its replies are made from the shop.

use serde_json::{Value, json};

use crate::orders::{CURRENCY, LEAST, Shop, TODAY};

/// What both agents are asked.
#[must_use]
pub fn goal() -> String {
    let least = LEAST / 100;
    format!(
        "Today is {TODAY}. Which customers who pay in {CURRENCY} have overdue orders of {least} {CURRENCY} or more? \
         An order is overdue if it is not paid and was due before today. \
         Answer with JSON: a list of {{customer, orders, cents}}, the largest sum first."
    )
}

/// In direct mode: list, read everything, look up everybody, join in its head, let a tool sum up, answer. Calls that do
/// not need one another are in one turn, as a good model has them: one call a turn would cost several times as much.
#[must_use]
pub fn direct(shop: &Shop, api: &str) -> Vec<Value> {
    let read = |(path, _): &(String, String)| json!({"tool": "files.read", "args": {"path": path}});
    let get =
        |path: String| json!({"tool": "web.get_json", "args": {"url": format!("{api}{path}")}});
    let reads: Vec<Value> = shop.files().iter().map(read).collect();
    let mut gets = vec![get(format!("/prices/{CURRENCY}"))];
    gets.extend(shop.late().iter().map(|id| get(format!("/customers/{id}"))));
    let mut joined = "order,customer,cents\n".to_owned();
    for (order, customer, cents) in shop.counted() {
        joined += &format!("{order},{customer},{cents}\n");
    }
    let sums = json!({
        "csv": joined, "group_by": ["customer"], "sort_by": "-cents",
        "measures": [
            {"function": "count", "column": "order", "name": "orders"},
            {"function": "sum", "column": "cents", "name": "cents"},
        ],
    });
    vec![
        json!({"calls": [{"tool": "files.list", "args": {"path": "orders"}}]}),
        json!({"calls": reads}),
        json!({"calls": gets}),
        json!({"calls": [{"id": "sums", "tool": "text.aggregate", "args": sums}]}),
        json!({"text": "{{sums#/groups}}"}),
    ]
}

/// In code mode: look for tools, run a script, answer with what it returned.
#[must_use]
pub fn code(script: &str) -> Vec<Value> {
    let query = json!({"query": "list and read files, fetch JSON", "limit": 3});
    vec![
        json!({"calls": [{"tool": "search_tools", "args": query}]}),
        json!({"calls": [{"id": "script", "tool": "run_script", "args": {"source": script}}]}),
        json!({"text": "{{script}}"}),
    ]
}
