//! `[tools]`: what tools may be called, and how much of them is shown.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::within;
use super::file::ConfigFile;
use crate::rules::tooling::ToolRules;
use crate::words::error::Result;
use crate::words::limits::tuned::TOOL_NAME_CHARS_MIN;

/// `[tools]`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolsTable {
    /// Characters of a tool's full name, from 32 to 128; absent: 128. A plugin with a longer one is refused, and a tool of
    /// an MCP server with a longer one left out.
    pub name_chars: Option<usize>,
    /// Examples of each manifest that are shown, from 0 to 5; absent: 5. Of more, the first.
    pub examples: Option<usize>,
    /// Characters that are kept of a model's arguments where those are too long for any tool, from 1 to 500; absent: 500.
    /// They are what a person, the model and the journal have of them.
    pub summary_chars: Option<usize>,
}

/// What the files say together: the least that one of them says.
///
/// # Errors
/// `BadInput` for a number out of its range.
pub(super) fn together(files: &[(&Path, &ConfigFile)]) -> Result<ToolRules> {
    let of = ToolRules::default();
    let least = |said: fn(&ToolsTable) -> Option<usize>, or: usize| {
        let all = files.iter().filter_map(|(_, file)| said(&file.tools));
        all.min().unwrap_or(or)
    };
    Ok(ToolRules {
        name_chars: within(
            "[tools] name_chars",
            least(|table| table.name_chars, of.name_chars),
            (TOOL_NAME_CHARS_MIN, of.name_chars),
        )?,
        examples: within(
            "[tools] examples",
            least(|table| table.examples, of.examples),
            (0, of.examples),
        )?,
        summary_chars: within(
            "[tools] summary_chars",
            least(|table| table.summary_chars, of.summary_chars),
            (1, of.summary_chars),
        )?,
    })
}

/// As a file would say it.
pub(super) fn shown(rules: ToolRules) -> ToolsTable {
    ToolsTable {
        name_chars: Some(rules.name_chars),
        examples: Some(rules.examples),
        summary_chars: Some(rules.summary_chars),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Result<ToolRules> {
        let files = texts.iter().map(|text| toml::from_str(text).unwrap());
        let files: Vec<ConfigFile> = files.collect();
        let files: Vec<_> = files.iter().map(|file| (Path::new("f"), file)).collect();
        together(&files)
    }

    #[test]
    fn the_least_of_what_two_files_say_holds() {
        let own = "tools = { name_chars = 40, examples = 2 }";
        let theirs = "tools = { name_chars = 50, examples = 1, summary_chars = 9 }";
        let both = rules(&[own, theirs]).unwrap();
        assert_eq!(
            (both.name_chars, both.examples, both.summary_chars),
            (40, 1, 9)
        );
        assert_eq!(rules(&[""]).unwrap(), ToolRules::default());
    }

    #[test]
    fn none_goes_beyond_what_every_host_takes() {
        for (said, says) in [
            ("name_chars = 129", "[tools] name_chars is from 32 to 128"),
            ("name_chars = 31", "[tools] name_chars is from 32 to 128"),
            ("examples = 6", "[tools] examples is from 0 to 5"),
            (
                "summary_chars = 0",
                "[tools] summary_chars is from 1 to 500",
            ),
            (
                "summary_chars = 501",
                "[tools] summary_chars is from 1 to 500",
            ),
        ] {
            let error = rules(&[&format!("[tools]\n{said}")]).unwrap_err();
            assert_eq!(error.message(), says);
        }
    }
}
