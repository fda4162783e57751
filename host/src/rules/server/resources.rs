//! Resources of a server: documents that it offers beside its tools, and that outcomes of its tools refer to.
//!
//! They are read by two tools of ours, `NAME.resources_list` and `NAME.resources_read`, which every server has that says it
//! has resources. So a resource takes the path of any call: the server is told an address, and is a sink for it; what it
//! answers is under its influence, bounded, held under a handle where outcomes are, and read by `handle.read` from there.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::definition::Definition;
use super::naming;
use crate::words::error::{Code, Error, Result};
use crate::words::limits::{
    DESCRIPTION_BYTES, SERVER_ADDRESS_BYTES, SERVER_CURSOR_BYTES, SERVER_RESOURCES,
};

/// What a server is asked for when one of its tools is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// To perform it.
    #[default]
    Call,
    /// For a page of the list of its resources.
    ListResources,
    /// For one of them.
    ReadResource,
}

impl Act {
    /// Whether it is a call of a tool of the server's own.
    #[must_use]
    pub fn is_call(&self) -> bool {
        *self == Self::Call
    }
}

/// The tools that read a server's resources.
#[must_use]
pub fn tools() -> [Definition; 2] {
    let of = |act, remote: &str, description: &str, input| Definition {
        remote: remote.to_owned(),
        short: naming::short(remote),
        description: description.to_owned(),
        input,
        output: None,
        hints: Value::Null,
        act,
    };
    let words = |bytes: usize| json!({"type": "string", "maxLength": bytes});
    let object = |properties: Value, required: &[&str]| {
        json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        })
    };
    [
        of(
            Act::ListResources,
            "resources/list",
            "Lists the resources of this server: addresses, names, and what it says of them. A list with `nextCursor` has \
             another page, which begins at that `cursor`.",
            object(json!({"cursor": words(SERVER_CURSOR_BYTES)}), &[]),
        ),
        of(
            Act::ReadResource,
            "resources/read",
            "Reads a resource of this server by its address, which its list or an outcome of one of its tools names. Text is \
             the outcome; whatever else it holds comes as files.",
            object(json!({"uri": words(SERVER_ADDRESS_BYTES)}), &["uri"]),
        ),
    ]
}

/// What a server answered, as the answer to a call.
///
/// # Errors
/// `BadOutcome` for a list that nobody could read on.
pub fn answer(act: Act, said: &Value) -> Result<Value> {
    Ok(match act {
        Act::Call => said.clone(),
        Act::ListResources => json!({"structuredContent": listed(said)?}),
        Act::ReadResource => json!({"content": contents(said)}),
    })
}

fn contents(said: &Value) -> Vec<Value> {
    let contents = said.get("contents").and_then(Value::as_array);
    let block = |resource: &Value| json!({"type": "resource", "resource": resource});
    contents.into_iter().flatten().map(block).collect()
}

/// A page of the list: what is said of each resource, where that has bounds.
fn listed(said: &Value) -> Result<Value> {
    let entries = said.get("resources").and_then(Value::as_array);
    let entries = entries.map_or(&[][..], Vec::as_slice);
    let resources: Vec<Value> = entries
        .iter()
        .take(SERVER_RESOURCES)
        .filter_map(one)
        .collect();
    let mut page = Map::new();
    let left_out = entries.len().saturating_sub(resources.len());
    page.insert("resources".to_owned(), resources.into());
    if left_out > 0 {
        page.insert("leftOut".to_owned(), left_out.into());
    }
    if let Some(next) = said.get("nextCursor").and_then(Value::as_str) {
        // Without it the list would look as if it ended here.
        if next.len() > SERVER_CURSOR_BYTES {
            let what = format!(
                "the server says that its list goes on at a cursor of {} bytes, and one has at most {SERVER_CURSOR_BYTES}",
                next.len()
            );
            return Err(Error::new(Code::BadOutcome, what));
        }
        page.insert("nextCursor".to_owned(), next.into());
    }
    Ok(page.into())
}

fn one(entry: &Value) -> Option<Value> {
    let uri = entry.get("uri").and_then(Value::as_str)?;
    if uri.is_empty() || uri.len() > SERVER_ADDRESS_BYTES {
        return None;
    }
    let mut told = Map::new();
    told.insert("uri".to_owned(), uri.into());
    for key in ["name", "title", "description", "mimeType"] {
        let text = entry.get(key).and_then(Value::as_str);
        if let Some(text) = text.filter(|text| text.len() <= DESCRIPTION_BYTES) {
            told.insert(key.to_owned(), text.into());
        }
    }
    if let Some(size) = entry.get("size").and_then(Value::as_u64) {
        told.insert("size".to_owned(), size.into());
    }
    Some(told.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::server::Line;

    #[test]
    fn what_reads_is_no_call_of_the_servers_own() {
        assert!(Act::Call.is_call());
        assert!(!Act::ListResources.is_call() && !Act::ReadResource.is_call());
    }

    #[test]
    fn they_are_tools_like_any_other() {
        for tool in tools() {
            let declared = tool.declared(&Line::default(), 5).unwrap();
            assert!(declared.is_sink() && declared.is_unclassified(), "{tool:?}");
        }
        let names = tools().map(|tool| tool.short);
        assert_eq!(names, ["resources_list", "resources_read"]);
    }

    #[test]
    fn a_list_is_bounded_entry_by_entry() {
        let long = "x".repeat(SERVER_ADDRESS_BYTES + 1);
        let said = json!({
            "resources": [
                {"uri": "a:/1", "name": "one", "size": 7, "annotations": {"audience": ["user"]}},
                {"uri": long, "name": "long"}, {"name": "no address"}, 7,
            ],
            "nextCursor": "2",
        });
        let told = &answer(Act::ListResources, &said).unwrap()["structuredContent"];
        assert_eq!(
            told,
            &json!({"resources": [{"uri": "a:/1", "name": "one", "size": 7}], "leftOut": 3, "nextCursor": "2"})
        );
        let many = vec![json!({"uri": "a:/1"}); SERVER_RESOURCES + 5];
        let told = answer(Act::ListResources, &json!({"resources": many})).unwrap();
        assert_eq!(told["structuredContent"]["leftOut"], 5);
        assert_eq!(
            answer(Act::ListResources, &json!(7)).unwrap()["structuredContent"],
            json!({"resources": []})
        );
    }

    #[test]
    fn a_list_that_nobody_could_read_on_is_none() {
        let page = |bytes: usize| json!({"resources": [], "nextCursor": "x".repeat(bytes)});
        assert!(answer(Act::ListResources, &page(SERVER_CURSOR_BYTES)).is_ok());
        let error = answer(Act::ListResources, &page(SERVER_CURSOR_BYTES + 1)).unwrap_err();
        assert_eq!(error.code(), Code::BadOutcome);
    }

    #[test]
    fn contents_are_blocks_of_an_outcome() {
        let said =
            json!({"contents": [{"uri": "a:/1", "text": "t"}, {"uri": "a:/1", "blob": "AA=="}]});
        let told = answer(Act::ReadResource, &said).unwrap();
        assert_eq!(told["content"][0]["resource"]["text"], "t");
        assert_eq!(told["content"][1]["resource"]["blob"], "AA==");
        assert_eq!(
            answer(Act::ReadResource, &json!({})).unwrap(),
            json!({"content": []})
        );
    }
}
