//! What guests wished in the middle of their calls, and were denied, or would have been where flows are enforced.
//!
//! Whoever is denied there is under somebody's influence, or reaches for what nobody has granted. So each line is a comment.

use super::{Suggestion, under};
use crate::rules::advice::{accepting, vouching};
use crate::rules::flow::lines::{Flows, SHADOWED, against};
use crate::words::event::{EffectKind, Judged, Verdict};
use crate::words::id::{Seq, ToolName, shown};
use crate::words::limits::STEERING_CHARS;

impl Suggestion {
    /// Adds what became of a guest's own wish, with the line that would let it pass.
    pub(super) fn add_inner(&mut self, (seq, judged): (Seq, &Judged), flows: &Flows) {
        let Ok(tool) = ToolName::parse(&judged.origin) else {
            return;
        };
        let (rule, became, found) = match &judged.verdict {
            Verdict::Deny(denial) if is_told(judged) => {
                let line = denial.allow.join("\n");
                let found = Some(line).filter(|line| !line.is_empty());
                (denial.rule.as_str(), "was denied", found.ok_or(NONE))
            }
            Verdict::Allow { rule } if is_told(judged) && rule.contains(SHADOWED) => {
                let rule = against(&judged.verdict).unwrap_or_default();
                (rule, "would have been denied", line_of(judged, &tool))
            }
            Verdict::Allow { .. } | Verdict::Deny(_) | Verdict::Ask(_) => return,
        };
        let (what, rule) = (
            format!("`{}` of `{tool}`", shown(&judged.subject)),
            shown(rule),
        );
        match found {
            Ok(line) => {
                let wished = under(&flows.classes.blamed(&judged.label).join(", "));
                let why = format!("record {seq}: {what} {became} ({rule}){wished}");
                self.denied.entry(line).or_default().insert(why);
            }
            Err(why) => {
                let left =
                    format!("{what} in record {seq}, which {became} ({rule}), because {why}");
                self.left.insert(left);
            }
        }
    }
}

/// Why no line is proposed.
const NONE: &str = "no line lets it pass";

/// Whether it is about a request, or about what flows say of a file or a note: which files and notes a tool may have is the
/// word of grants.
fn is_told(judged: &Judged) -> bool {
    match judged.effect {
        EffectKind::Fetch => true,
        EffectKind::File | EffectKind::Keep => against(&judged.verdict).is_some(),
        EffectKind::Call | EffectKind::Show => false,
    }
}

/// The line that its denial would have proposed, of what was let pass in shadow.
fn line_of(judged: &Judged, tool: &ToolName) -> Result<String, &'static str> {
    match against(&judged.verdict) {
        Some("flow_private") => Ok(accepting(tool)),
        Some("flow_browse" | "flow_only_looks") if judged.effect == EffectKind::Fetch => {
            let (_, url) = judged.subject.split_once(' ').ok_or(NONE)?;
            match url.ends_with("?…") {
                true => Err("its query is not kept"),
                false if url.len() > STEERING_CHARS => {
                    Err("nobody reads an address as long as that")
                }
                false => Ok(vouching(tool, url, None)),
            }
        }
        Some(_) | None => Err(NONE),
    }
}
