//! `[names]`: what models know the host's own tools by.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::resolve::check_name;
use crate::rules::code_mode::Names;
use crate::words::error::{Error, Result};

/// `[names]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NamesTable {
    /// What `run_script` is called.
    pub run_script: Option<String>,
    /// What `search_tools` is called.
    pub search_tools: Option<String>,
    /// What `handle.read` is called, the tool that shows what is held.
    pub read_result: Option<String>,
}

/// What two files say together: the first that says something is followed.
///
/// # Errors
/// `BadInput` for a name that is none, and for one name of both.
pub(super) fn together(tables: &[&NamesTable]) -> Result<Names> {
    let usual = Names::default();
    let said = |of: fn(&NamesTable) -> Option<&String>| tables.iter().find_map(|table| of(table));
    let names = Names {
        run_script: said(|table| table.run_script.as_ref())
            .cloned()
            .unwrap_or_else(|| usual.run_script.clone()),
        search_tools: said(|table| table.search_tools.as_ref())
            .cloned()
            .unwrap_or_else(|| usual.search_tools.clone()),
        read_result: said(|table| table.read_result.as_ref())
            .cloned()
            .unwrap_or_else(|| usual.read_result.clone()),
    };
    check_name("a tool of the host's own", &names.run_script)?;
    check_name("a tool of the host's own", &names.search_tools)?;
    if names.read_result != usual.read_result {
        check_name("a tool of the host's own", &names.read_result)?;
    }
    // Each card speaks of the other, so that neither name may hold the usual one of the other.
    let mixed = names.run_script.contains(&usual.search_tools)
        || names.search_tools.contains(&usual.run_script);
    if mixed {
        let what = "[names]: one of the two holds the usual name of the other";
        return Err(Error::bad_input(what).hint("name it otherwise, or leave it out"));
    }
    let all = [&names.run_script, &names.search_tools, &names.read_result];
    let is_twice = |name: &&&String| all.iter().filter(|other| other == name).count() > 1;
    if let Some(name) = all.iter().find(is_twice) {
        let what = format!("[names]: `{name}` is the name of two tools");
        return Err(Error::bad_input(what).hint("leave one of the two out"));
    }
    Ok(names)
}
