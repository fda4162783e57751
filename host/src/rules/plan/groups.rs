//! Which calls of a reply run together: contiguous ones that only look; everything else is a barrier (U-13).

use super::super::manifest::EffectClass;
use crate::words::message::ToolCall;

/// How one tool's calls may be grouped with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// It only looks: may run beside others that only look.
    Together,
    /// A barrier: everything before it is done first.
    Alone,
}

impl Grouping {
    /// Of a tool that declares so. An unknown tool cannot run, so it may stand anywhere.
    #[must_use]
    pub fn of(effect: EffectClass, sequential: bool) -> Self {
        if effect.leaves_no_trace() && !sequential {
            Self::Together
        } else {
            Self::Alone
        }
    }
}

/// Groups calls in their order: neighbours that only look go together, at most `parallel`;
/// everything else is a barrier (U-13, O-12…O-14).
pub(super) fn groups(
    calls: &[ToolCall],
    parallel: usize,
    grouping: impl Fn(&str) -> Grouping,
) -> Vec<Vec<ToolCall>> {
    let mut groups: Vec<Vec<ToolCall>> = Vec::new();
    let mut open = false;
    for call in calls {
        let together = grouping(&call.tool) == Grouping::Together;
        match groups.last_mut() {
            Some(last) if open && together && last.len() < parallel => last.push(call.clone()),
            _ => groups.push(vec![call.clone()]),
        }
        open = together;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(parallel: usize, tools: &str, expected: &str) {
        let calls: Vec<_> = tools
            .chars()
            .map(|tool| ToolCall {
                id: tool.to_string(),
                tool: tool.to_string(),
                args: crate::rules::json::wished(""),
            })
            .collect();
        let grouping = |tool: &str| match tool {
            "R" => Grouping::Together,
            _ => Grouping::Alone,
        };
        let got: Vec<String> = groups(&calls, parallel, grouping)
            .iter()
            .map(|group| group.iter().map(|call| call.tool.as_str()).collect())
            .collect();
        assert_eq!(got.join(" "), expected, "{tools}");
    }

    #[test]
    fn calls_keep_their_order_by_barriers() {
        check(8, "RRWRR", "RR W RR");
        check(8, "WW", "W W");
        check(8, "WRRW", "W RR W");
        check(8, "RRRRRRRRRR", "RRRRRRRR RR");
        check(8, "", "");
        check(3, "RRRRWR", "RRR R W R");
        check(1, "RRWR", "R R W R");
    }
}
