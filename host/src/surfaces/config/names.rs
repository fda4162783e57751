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
            .unwrap_or(usual.run_script),
        search_tools: said(|table| table.search_tools.as_ref())
            .cloned()
            .unwrap_or(usual.search_tools),
    };
    check_name("a tool of the host's own", &names.run_script)?;
    check_name("a tool of the host's own", &names.search_tools)?;
    if names.run_script == names.search_tools {
        let what = format!("[names]: `{}` is the name of two tools", names.run_script);
        return Err(Error::bad_input(what).hint("leave one of the two out"));
    }
    Ok(names)
}
