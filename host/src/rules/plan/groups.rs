//! Which calls run together: contiguous ones that only look; everything else is a barrier (U-13). And which must not be
//! open together, whatever they do.

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

/// What the time of a call tells, and to whom. Calls share a processor: whoever is outside and sees when requests of one
/// come, its later attempts among them, and when it is cut off, sees how long others take that run meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Somebody outside may see it as long as it is open.
    pub seen: bool,
    /// How long it takes may tell of what is secret.
    pub secret: bool,
}

impl Timing {
    /// Whether none of the two may begin while the other is open, where a stranger has influence on what they do.
    #[must_use]
    pub fn bars(self, other: Self) -> bool {
        (self.seen && other.secret) || (self.secret && other.seen)
    }

    fn join(self, other: Self) -> Self {
        Self {
            seen: self.seen || other.seen,
            secret: self.secret || other.secret,
        }
    }
}

/// How many calls of a group, from its first one on, may be open together: what comes behind begins when these have ended.
#[must_use]
pub fn unbarred(group: &[Timing]) -> usize {
    let mut open = Timing::default();
    let fits = |timing: &&Timing| {
        let fits = !open.bars(**timing);
        open = open.join(**timing);
        fits
    };
    group.iter().take_while(fits).count()
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

    /// A letter each: seen outside, secret, both, or neither.
    fn timings(letters: &str) -> Vec<Timing> {
        let timing = |letter: char| Timing {
            seen: "ob".contains(letter),
            secret: "sb".contains(letter),
        };
        letters.chars().map(timing).collect()
    }

    #[test]
    fn nobody_outside_sees_a_call_while_one_tells_of_a_secret() {
        for (letters, together) in [
            ("", 0),
            ("n", 1),
            ("oooo", 4),
            ("ssss", 4),
            ("nos", 2),
            ("onso", 2),
            ("sno", 2),
            ("ssnos", 3),
            // It may see its own time, and that of no other.
            ("b", 1),
            ("bb", 1),
            ("bn", 2),
            ("bo", 1),
            ("bs", 1),
            ("ob", 1),
            ("nsb", 2),
        ] {
            assert_eq!(unbarred(&timings(letters)), together, "{letters}");
        }
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
