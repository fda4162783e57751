//! Agents: named definitions of who a run is — instructions, tools, models, limits.

use super::budget::Caps;
use serde_json::Value;

use super::chain::Terms;
use super::code_mode::Names;
use super::context::rolling::Rolling;
use super::grant::Pattern;
use super::pace::Pace;
use crate::words::error::{Error, Result};
use crate::words::id::shown;
use crate::words::limits::RUN_TURNS;
use crate::words::message::Calling;

/// A named definition. Its instructions are authored text and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its name in `lazaret.toml`.
    pub name: String,
    /// What it is told first, literally: nothing in it is ever replaced.
    pub instructions: String,
    /// Tools that it may call.
    pub tools: Vec<Pattern>,
    /// Models by name, or tiers, first choice first.
    pub models: Vec<String>,
    /// On what terms they are asked.
    pub terms: Terms,
    /// Provider calls of one run.
    pub turns: u32,
    /// How far its runs may go otherwise.
    pub pace: Pace,
    /// How its model calls tools.
    pub calling: Calling,
    /// How much of its models one run may use.
    pub caps: Caps,
    /// The JSON Schema of its answers; any text where there is none.
    pub answer: Option<Value>,
    /// When older turns are folded into a summary.
    pub rolling: Rolling,
    /// What its model knows the host's own tools by.
    pub names: Names,
}

impl Agent {
    /// An agent without tools.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            instructions: String::new(),
            tools: Vec::new(),
            models: Vec::new(),
            terms: Terms::default(),
            turns: RUN_TURNS,
            pace: Pace::default(),
            calling: Calling::Direct,
            caps: Caps::default(),
            answer: None,
            rolling: Rolling::default(),
            names: Names::default(),
        }
    }

    /// The agent with fewer tools: a run's own list only narrows.
    ///
    /// # Errors
    /// `BadInput` for a tool that the agent does not have.
    pub fn narrowed(&self, tools: &[Pattern]) -> Result<Self> {
        if let Some(wider) = tools
            .iter()
            .find(|wish| !self.tools.iter().any(|line| line.covers(wish)))
        {
            return Err(Error::bad_input(format!(
                "the agent `{}` does not have `{wider}`",
                self.name
            ))
            .hint("a run may have fewer tools than its agent, never more"));
        }
        Ok(Self {
            tools: tools.to_vec(),
            ..self.clone()
        })
    }
}

/// Refuses a reference to a secret in authored text (R-21, U-62): whoever writes `{{ secrets.x }}`
/// expects it to be replaced, and it never is.
///
/// # Errors
/// `BadInput` with the place and the reference.
pub fn refuse_secrets(place: &str, text: &str) -> Result<()> {
    let lower = text.to_ascii_lowercase();
    for open in ["{{", "${", "<%"] {
        for (at, _) in lower.match_indices(open) {
            let inside: String = lower
                .get(at + open.len()..)
                .unwrap_or_default()
                .chars()
                .take(64)
                .collect();
            let word = inside.trim_start_matches(|c: char| c.is_whitespace() || c == '=');
            if ["secret", "vault", "env.", "credential"]
                .iter()
                .any(|start| word.starts_with(start))
            {
                let reference: String = text
                    .get(at..)
                    .unwrap_or_default()
                    .chars()
                    .take(40)
                    .collect();
                return Err(Error::bad_input(format!(
                    "{place} refers to a secret: `{}`",
                    shown(&reference)
                ))
                .hint("secrets never stand in texts; a tool names a slot, and the host fills it"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_to_secrets_are_found_however_written() {
        for bad in [
            "use {{ secrets.x }}",
            "{{secret.y}}",
            "${SECRETS.z}",
            "<%= secrets %>",
            "a {{ env.KEY }}",
        ] {
            assert!(refuse_secrets("instructions", bad).is_err(), "{bad}");
        }
        for good in [
            "keep secrets safe",
            "{{ run.output }}",
            "a { b } c",
            "${HOME}",
        ] {
            assert!(refuse_secrets("instructions", good).is_ok(), "{good}");
        }
    }

    #[test]
    fn a_run_only_narrows() {
        let pattern = |text: &str| Pattern::try_from(text.to_owned()).unwrap();
        let agent = Agent {
            tools: vec![pattern("text.*")],
            ..Agent::new("a")
        };
        assert!(agent.narrowed(&[pattern("text.count")]).is_ok());
        assert!(agent.narrowed(&[pattern("files.read")]).is_err());
        assert!(agent.narrowed(&[pattern("*")]).is_err());
    }
}
