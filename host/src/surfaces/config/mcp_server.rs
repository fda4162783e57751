//! `[mcp_server]`: how clients of MCP are served.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::within;
use crate::surfaces::mcp::desk::Serving;
use crate::words::error::{Error, Result};
use crate::words::id::ToolName;
use crate::words::limits::tuned::MCP_FRAME_BYTES_MIN;
use crate::words::limits::{
    MCP_ANSWER_MS_MAX, MCP_CALLS_MAX, MCP_FRAME_BYTES, MCP_IDLE_MS_MAX, MCP_NAMES,
    MCP_PAGE_TOOLS_MAX, MCP_SESSIONS_MAX,
};
use crate::words::message::Calling;

/// `[mcp_server]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct McpServerTable {
    /// How a client calls tools: `direct`, from scripts alone (`code`), or either way (`both`, where nothing is said).
    pub calling: Option<Calling>,
    /// Whether a client that can ask its user (elicitation) is asked the questions of its calls; absent: it is. Without
    /// it they wait for `lazaret ask`.
    pub elicitation: Option<bool>,
    /// How long a client's user has for one answer.
    pub answer_ms: Option<u64>,
    /// Calls at once, all clients together.
    pub calls: Option<usize>,
    /// Tools of one page of a list.
    pub page_tools: Option<usize>,
    /// Bytes of one message of a client, and of what it is told of one call; from 8192 to 1048576, which it is where
    /// nothing is said.
    pub frame_bytes: Option<usize>,
    /// Sessions over HTTP at once.
    pub sessions: Option<usize>,
    /// How long a session over HTTP may be silent.
    pub idle_ms: Option<u64>,
    /// What clients know tools by, where that is not the usual name: `"text.count" = "count"`.
    pub names: BTreeMap<String, String>,
}

/// The least that one of them says.
fn frame_bytes(tables: &[&McpServerTable]) -> Result<usize> {
    let said = tables.iter().filter_map(|table| table.frame_bytes).min();
    let bytes = said.unwrap_or(MCP_FRAME_BYTES);
    let all = (MCP_FRAME_BYTES_MIN, MCP_FRAME_BYTES);
    within("[mcp_server] frame_bytes", bytes, all)
}

/// What two files say together: the first that says something is followed.
///
/// # Errors
/// `BadInput` for a number out of its range, and for what is no tool's name.
pub(super) fn together(tables: &[&McpServerTable]) -> Result<Serving> {
    let usual = Serving::default();
    let number = |of: fn(&McpServerTable) -> Option<u64>, key: &str, usual: u64, most: u64| {
        let value = tables.iter().find_map(|table| of(table)).unwrap_or(usual);
        match (1..=most).contains(&value) {
            true => Ok(value),
            false => Err(Error::bad_input(format!(
                "[mcp_server] {key} is from 1 to {most}"
            ))),
        }
    };
    let count = |of: fn(&McpServerTable) -> Option<usize>, key: &str, usual: usize, most: usize| {
        let value = tables.iter().find_map(|table| of(table)).unwrap_or(usual);
        match (1..=most).contains(&value) {
            true => Ok(value),
            false => Err(Error::bad_input(format!(
                "[mcp_server] {key} is from 1 to {most}"
            ))),
        }
    };
    Ok(Serving {
        calling: tables
            .iter()
            .find_map(|table| table.calling)
            .unwrap_or(usual.calling),
        elicitation: tables
            .iter()
            .find_map(|table| table.elicitation)
            .unwrap_or(usual.elicitation),
        answer_ms: number(
            |t| t.answer_ms,
            "answer_ms",
            usual.answer_ms,
            MCP_ANSWER_MS_MAX,
        )?,
        calls: count(|t| t.calls, "calls", usual.calls, MCP_CALLS_MAX)?,
        page_tools: count(
            |t| t.page_tools,
            "page_tools",
            usual.page_tools,
            MCP_PAGE_TOOLS_MAX,
        )?,
        frame_bytes: frame_bytes(tables)?,
        sessions: count(|t| t.sessions, "sessions", usual.sessions, MCP_SESSIONS_MAX)?,
        idle_ms: number(|t| t.idle_ms, "idle_ms", usual.idle_ms, MCP_IDLE_MS_MAX)?,
        names: names(tables)?,
    })
}

fn names(tables: &[&McpServerTable]) -> Result<BTreeMap<String, String>> {
    let mut names = BTreeMap::new();
    for table in tables.iter().rev() {
        for (tool, name) in &table.names {
            ToolName::parse(tool).map_err(|error| {
                Error::bad_input(format!("[mcp_server.names]: {}", error.message()))
            })?;
            names.insert(tool.clone(), name.clone());
        }
    }
    if names.len() > MCP_NAMES {
        return Err(Error::too_many(
            "[mcp_server.names]",
            MCP_NAMES,
            names.len(),
        ));
    }
    Ok(names)
}

/// As a file would say it.
pub(super) fn shown(serving: Serving) -> McpServerTable {
    McpServerTable {
        calling: Some(serving.calling),
        elicitation: Some(serving.elicitation),
        answer_ms: Some(serving.answer_ms),
        calls: Some(serving.calls),
        page_tools: Some(serving.page_tools),
        frame_bytes: Some(serving.frame_bytes),
        sessions: Some(serving.sessions),
        idle_ms: Some(serving.idle_ms),
        names: serving.names,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> McpServerTable {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn the_first_file_that_says_something_is_followed() {
        let own = said("calls = 2\nnames = { \"a.b\" = \"mine\" }");
        let theirs =
            said("calls = 3\nsessions = 9\nnames = { \"a.b\" = \"theirs\", \"a.c\" = \"c\" }");
        let both = together(&[&own, &theirs]).unwrap();
        assert_eq!((both.calls, both.sessions), (2, 9));
        assert_eq!(both.names["a.b"], "mine");
        assert_eq!(both.names["a.c"], "c");
        assert_eq!(together(&[]).unwrap(), Serving::default());
    }

    #[test]
    fn the_least_that_a_file_says_bounds_messages() {
        let (own, theirs) = (said("frame_bytes = 9000"), said("frame_bytes = 20000"));
        for tables in [[&own, &theirs], [&theirs, &own]] {
            assert_eq!(together(&tables).unwrap().frame_bytes, 9_000);
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (text, says) in [
            ("calls = 0", "calls is from 1 to"),
            ("sessions = 100000", "sessions is from 1 to"),
            ("answer_ms = 0", "answer_ms is from 1 to"),
            ("frame_bytes = 8191", "frame_bytes is from 8192 to 1048576"),
            (
                "frame_bytes = 1048577",
                "frame_bytes is from 8192 to 1048576",
            ),
            (
                "names = { \"a\" = \"b\" }",
                "[mcp_server.names]: `a` is not a tool's name",
            ),
        ] {
            let error = together(&[&said(text)]).unwrap_err();
            assert!(error.message().contains(says), "{error}");
        }
    }
}
