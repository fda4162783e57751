//! Tooling: what a tool may be called, and how much of it and of what went wrong with it is shown. From `[tools]`.

use super::manifest::Declared;
use crate::words::error::{Code, Error, Result};
use crate::words::id::ToolName;
use crate::words::limits::{MANIFEST_EXAMPLES, SUMMARY_CHARS, TOOL_NAME_CHARS};

/// What holds of all tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolRules {
    /// Characters of a full name: the plugin or server, the dot, and the rest.
    pub name_chars: usize,
    /// Examples of a manifest that are shown; of more, the first.
    pub examples: usize,
    /// Characters that are kept of a model's arguments where they are too long for any tool.
    pub summary_chars: usize,
}

impl Default for ToolRules {
    fn default() -> Self {
        Self::USUAL
    }
}

impl ToolRules {
    /// Where nobody says otherwise, which is also the most.
    pub const USUAL: Self = Self {
        name_chars: TOOL_NAME_CHARS,
        examples: MANIFEST_EXAMPLES,
        summary_chars: SUMMARY_CHARS,
    };

    /// A name that is no longer than the operator wants it.
    ///
    /// # Errors
    /// `BadInput`.
    pub fn check_name(&self, name: &ToolName) -> Result<()> {
        let chars = name.as_str().chars().count();
        if chars <= self.name_chars {
            return Ok(());
        }
        let what = format!(
            "the tool `{name}` has a name of {chars} characters, and at most {} are allowed",
            self.name_chars
        );
        let hint = format!("[tools]\nname_chars = {chars}");
        Err(Error::new(Code::BadInput, what).hint(hint))
    }

    /// What a tool declares, as far as it is shown.
    #[must_use]
    pub fn shown(&self, declared: &Declared) -> Declared {
        let mut declared = declared.clone();
        declared.examples.truncate(self.examples);
        declared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_as_long_as_the_operator_allows() {
        let rules = ToolRules {
            name_chars: 32,
            ..ToolRules::default()
        };
        let name = |chars: usize| ToolName::parse(&format!("p.{}", "t".repeat(chars - 2))).unwrap();
        assert!(rules.check_name(&name(32)).is_ok());
        let error = rules.check_name(&name(33)).unwrap_err();
        assert_eq!(error.hints(), ["[tools]\nname_chars = 33"]);
        assert!(ToolRules::default().check_name(&name(60)).is_ok());
    }
}
