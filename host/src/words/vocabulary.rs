//! Vocabularies: what the five systems call what we call by our own words (U-05).
//!
//! Tables and nothing else: each answers for every one of our words, so that a new one does not build until all have
//! answered. Where a system has no word for something, it has that of what it does about it.

use super::error::Code;
use super::event::{Event, Limit};
use super::setback::{Miss, Setback};

/// A system whose words are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Thirteen codes (R-35a).
    Relavium,
    /// Kinds of errors of tools (G-17b).
    Graphorin,
    /// Types of errors of tools (S-14d).
    Sage,
    /// Codes of envelopes.
    Ageniti,
    /// Errors of its loop (O-05, O-17).
    Oxydra,
}

impl System {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Relavium,
        Self::Graphorin,
        Self::Sage,
        Self::Ageniti,
        Self::Oxydra,
    ];

    /// What it calls a failure: by our code, by the bound that ended the run where one did, and by why the model gave
    /// no reply where that was it. Never by a text.
    #[must_use]
    pub fn word(self, code: Code, limit: Option<Limit>, setback: Option<Setback>) -> &'static str {
        match self {
            Self::Relavium => relavium(code, limit, setback),
            Self::Graphorin => graphorin(code, setback),
            Self::Sage => sage(code, setback),
            Self::Ageniti => code.envelope(),
            Self::Oxydra => oxydra(code, setback),
        }
    }
}

/// R-29 to R-35a.
fn relavium(code: Code, limit: Option<Limit>, setback: Option<Setback>) -> &'static str {
    match (limit, code) {
        (Some(Limit::TurnLimit | Limit::CallLimit), _) => "turn_limit",
        (Some(Limit::RunTimeout), _) => "run_timeout",
        (Some(Limit::TokenBudget | Limit::CostBudget), _) => "budget_exceeded",
        (
            Some(
                Limit::CorrectionLimit
                | Limit::FailureLimit
                | Limit::LoopGuard
                | Limit::NoSuchTools,
            ),
            _,
        ) => "tool_failed",
        (
            None,
            Code::BadInput | Code::BadArgs | Code::BadLine | Code::BadPlugin | Code::BadSurface,
        ) => "validation",
        (None, Code::Denied | Code::Asked | Code::Unconfirmed | Code::Unsafe) => "tool_denied",
        (None, Code::OverBudget) => "budget_exceeded",
        (None, Code::Cancelled) => "cancelled",
        (None, Code::OutOfFuel | Code::OutOfMemory | Code::Trapped) => "sandbox_error",
        (None, Code::Unauthenticated) => "provider_auth",
        (None, Code::ProviderFailed) => provider(setback),
        (
            None,
            Code::UnknownTool
            | Code::TooBig
            | Code::TooSlow
            | Code::GuestFailed
            | Code::ScriptFailed
            | Code::Stalled
            | Code::NotJson
            | Code::BadOutcome
            | Code::FetchFailed
            | Code::Busy
            | Code::NotFound
            | Code::Conflict
            | Code::RateLimited,
        ) => "tool_failed",
        (None, Code::Diverged | Code::DiskFailed | Code::InDoubt | Code::Corrupt | Code::Bug) => {
            "internal"
        }
    }
}

/// what a chain came to.
fn provider(setback: Option<Setback>) -> &'static str {
    match setback {
        Some(Setback::Unauthorised) => "provider_auth",
        Some(Setback::Limited) => "provider_rate_limit",
        Some(Setback::Filtered) => "content_filter",
        Some(Setback::TooLong | Setback::Unstreamed | Setback::Lasting) => "validation",
        Some(Setback::Overloaded | Setback::TooSlow | Setback::Broken) | None => {
            "provider_unavailable"
        }
    }
}

/// G-17b, and `capability_blocked` of its later versions.
fn graphorin(code: Code, setback: Option<Setback>) -> &'static str {
    match code {
        Code::BadInput | Code::BadArgs | Code::BadLine | Code::TooBig => "invalid_input",
        Code::UnknownTool | Code::NotFound => "unknown_tool",
        Code::BadSurface | Code::BadPlugin | Code::Unauthenticated => "capability_blocked",
        Code::Denied => "dataflow_policy_blocked",
        Code::Asked | Code::Unconfirmed => "approval_denied",
        Code::RateLimited | Code::Busy => "rate_limited",
        Code::TooSlow => "timeout",
        Code::OutOfFuel | Code::OutOfMemory | Code::Trapped | Code::Unsafe => "sandbox_violation",
        Code::NotJson | Code::BadOutcome => "invalid_output",
        Code::Cancelled => "aborted",
        Code::ProviderFailed if setback == Some(Setback::Limited) => "rate_limited",
        Code::ProviderFailed if setback == Some(Setback::TooSlow) => "timeout",
        Code::Conflict
        | Code::OverBudget
        | Code::GuestFailed
        | Code::ScriptFailed
        | Code::Stalled
        | Code::Diverged
        | Code::FetchFailed
        | Code::ProviderFailed
        | Code::DiskFailed
        | Code::InDoubt
        | Code::Corrupt
        | Code::Bug => "execution_failed",
    }
}

/// S-14d.
fn sage(code: Code, setback: Option<Setback>) -> &'static str {
    match code {
        Code::BadInput
        | Code::BadArgs
        | Code::BadLine
        | Code::TooBig
        | Code::NotJson
        | Code::BadOutcome => "validation",
        Code::UnknownTool | Code::NotFound | Code::BadSurface => "not_found",
        Code::RateLimited | Code::Busy => "rate_limited",
        Code::TooSlow | Code::OutOfFuel => "timeout",
        Code::ProviderFailed if setback == Some(Setback::Limited) => "rate_limited",
        Code::ProviderFailed if setback == Some(Setback::TooSlow) => "timeout",
        Code::BadPlugin
        | Code::Denied
        | Code::Asked
        | Code::Unconfirmed
        | Code::Unauthenticated
        | Code::Conflict
        | Code::Unsafe
        | Code::OverBudget
        | Code::OutOfMemory
        | Code::Trapped
        | Code::GuestFailed
        | Code::ScriptFailed
        | Code::Stalled
        | Code::Diverged
        | Code::FetchFailed
        | Code::ProviderFailed
        | Code::DiskFailed
        | Code::InDoubt
        | Code::Cancelled
        | Code::Corrupt
        | Code::Bug => "unknown",
    }
}

/// O-05, O-16, O-17, O-19 to O-23.
fn oxydra(code: Code, setback: Option<Setback>) -> &'static str {
    match code {
        Code::OverBudget => "BudgetExceeded",
        Code::Cancelled => "Cancelled",
        Code::ProviderFailed if setback == Some(Setback::TooLong) => "BudgetExceeded",
        Code::ProviderFailed => "ProviderFailed",
        Code::BadInput
        | Code::BadArgs
        | Code::UnknownTool
        | Code::BadSurface
        | Code::BadPlugin
        | Code::Denied
        | Code::Asked
        | Code::Unconfirmed
        | Code::Unauthenticated
        | Code::RateLimited
        | Code::BadLine
        | Code::Conflict
        | Code::Unsafe
        | Code::TooBig
        | Code::TooSlow
        | Code::OutOfFuel
        | Code::OutOfMemory
        | Code::Trapped
        | Code::GuestFailed
        | Code::ScriptFailed
        | Code::Stalled
        | Code::Diverged
        | Code::NotJson
        | Code::BadOutcome
        | Code::FetchFailed
        | Code::DiskFailed
        | Code::Busy
        | Code::NotFound
        | Code::InDoubt
        | Code::Corrupt
        | Code::Bug => "ToolExecutionFailed",
    }
}

/// What sage calls the reason for which a model was chosen or passed over (S-39); nothing where it has no word. There are
/// no tenants, so the only list that a model must stand on is of what its provider may be told (S-37); a model that says
/// nothing of what it can is asked, and where all were passed over none is, so there is no fall-back to the first.
#[must_use]
pub fn selection(miss: Option<Miss>) -> Option<&'static str> {
    match miss {
        None => Some("selected"),
        Some(Miss::Private | Miss::Secret) => Some("allowlist_filtered"),
        Some(Miss::Context | Miss::Tools | Miss::Images | Miss::Documents | Miss::Structured) => {
            Some("capability_mismatch")
        }
        Some(Miss::Cooling) => None,
    }
}

/// Reasons of sage's that are not here, and why.
pub const NOT_CHOSEN: [(&str, &str); 2] = [
    (
        "catalog_miss_accept_unknown",
        "what a model can is said in the configuration; one that says nothing is asked like any other",
    ),
    (
        "fallback_first_candidate",
        "where every model was passed over, the run fails and says why of each",
    ),
];

/// What stands in other systems where we have this event; empty where they have none (G-04, G-04a, R-36 to R-41, O-44).
#[must_use]
pub fn event(event: &Event) -> [(&'static str, &'static str); 3] {
    let (relavium, graphorin, oxydra) = match event {
        Event::Started(_) => ("run:started", "agent.start", ""),
        Event::Prompted { .. } => ("", "step.start", "progress"),
        Event::Attempted(_) => ("cost:updated", "agent.model.fellback", ""),
        Event::Replied { .. } => ("cost:updated", "text.complete", "text"),
        Event::Judged(_) => ("agent:tool_call", "tool.execute.start", "progress"),
        Event::Finished(_) => ("agent:tool_result", "tool.execute.end", "progress"),
        Event::Observed { .. } => ("", "tool.call.end", "text"),
        Event::Paused { .. } => ("", "tool.approval.requested", ""),
        Event::Answered { .. } => ("", "approval.granted", ""),
        Event::Expired { .. } => ("", "approval.denied", ""),
        Event::Compacted(_) => ("", "context.compacted", ""),
        Event::Stopped(_) => ("run:completed", "agent.end", "text"),
        Event::Brought(_)
        | Event::Scripted(_)
        | Event::Rested { .. }
        | Event::Resumed { .. }
        | Event::Overspent(_) => ("", "", ""),
    };
    [
        ("relavium", relavium),
        ("graphorin", graphorin),
        ("oxydra", oxydra),
    ]
}

/// Events of other systems that are not here, and why (G-04a, G-04b, S-10).
pub const NOT_HERE: [(&str, &str); 42] = [
    (
        "agent:token",
        "a glimpse, `text`: a piece of a reply is shown and not recorded",
    ),
    ("text.delta", "a glimpse, `text`"),
    ("reasoning.delta", "a glimpse, `thought`"),
    (
        "tool.call.start",
        "a reply lists its calls; each is `judged` before it is made",
    ),
    (
        "tool.call.delta",
        "a call that is not whole is shown to nobody",
    ),
    (
        "tool.call.incomplete",
        "likewise: the reply is asked for again, or the run stops",
    ),
    ("tool.execute.progress", "a glimpse, `progress`"),
    (
        "tool.execute.partial",
        "glimpses, `said` and `artifact`; there is one outcome",
    ),
    ("tool.execute.error", "`finished`, which says how it ended"),
    ("step.end", "`replied`, or the last `observed` of a turn"),
    ("agent.error", "`stopped`, which says how it ended"),
    ("run:failed", "`stopped`, which says how it ended"),
    ("memory.read", "notes are effects: `judged` and `finished`"),
    ("memory.write", "notes are effects: `judged` and `finished`"),
    (
        "progress.read",
        "files are effects: `judged` and `finished`",
    ),
    (
        "progress.written",
        "files are effects: `judged` and `finished`",
    ),
    (
        "artifact_written",
        "a glimpse, `artifact`, and a part of the outcome",
    ),
    (
        "file.generated",
        "a glimpse, `artifact`, and a part of the outcome",
    ),
    (
        "source.cited",
        "the label says what influenced an answer, whether it is cited or not",
    ),
    ("handoff", "no run hands over to another"),
    ("subagent.event", "no runs of runs"),
    ("fanout.spawned", "no runs of runs"),
    ("fanout.merged", "no runs of runs"),
    (
        "agent.steered",
        "nobody speaks into a run; a session has the next one",
    ),
    (
        "followup.queued",
        "a session's next run has its own `started`",
    ),
    ("agent.cancelling", "`stopped` with `cancelled`"),
    ("evaluator.iteration", "nobody evaluates"),
    ("evaluator.converged", "nobody evaluates"),
    ("pass", "nobody evaluates"),
    ("maxIterations", "`stopped` with `turn_limit`"),
    ("generator-exhausted", "nobody evaluates"),
    ("cancelled", "`stopped` with `cancelled`"),
    ("verifier.result", "nobody verifies"),
    (
        "lateral-leak.detected",
        "`judged` with `deny`, and its guard as the rule",
    ),
    (
        "guardrail.tripped",
        "`judged` with `deny`, and its guard as the rule",
    ),
    ("graph_started", "there are no graphs"),
    ("graph_completed", "there are no graphs"),
    ("graph_validation_failed", "there are no graphs"),
    ("node_started", "there are no graphs"),
    ("node_completed", "there are no graphs"),
    ("node_failed", "there are no graphs"),
    ("node_retry", "there are no graphs"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;

    /// Every code that there is, by its JSON word.
    fn codes() -> Vec<Code> {
        let words = "bad_input bad_args unknown_tool bad_surface bad_plugin denied asked unconfirmed unauthenticated \
            rate_limited bad_line conflict unsafe over_budget too_big too_slow out_of_fuel out_of_memory trapped guest_failed \
            script_failed stalled diverged not_json bad_outcome fetch_failed provider_failed disk_failed busy not_found \
            in_doubt cancelled corrupt bug";
        let read = |word: &str| serde_json::from_str(&format!("{word:?}")).unwrap();
        words.split_whitespace().map(read).collect()
    }

    #[test]
    fn no_word_leaves_the_closed_sets() {
        let relavium = "validation content_filter provider_auth provider_rate_limit provider_unavailable tool_denied \
            tool_failed budget_exceeded run_timeout turn_limit cancelled sandbox_error internal";
        let graphorin = "approval_denied sandbox_violation timeout invalid_input invalid_output execution_failed unknown_tool \
            aborted inbound_sanitization_blocked dataflow_policy_blocked rate_limited capability_blocked";
        let sage = "timeout not_found rate_limited validation unknown";
        for code in codes() {
            let word = |system: System| system.word(code, None, None);
            for (system, set) in [
                (System::Relavium, relavium),
                (System::Graphorin, graphorin),
                (System::Sage, sage),
            ] {
                let word = word(system);
                assert!(
                    set.split_whitespace().any(|known| known == word),
                    "{code:?} {word}"
                );
            }
            assert_eq!(word(System::Ageniti), code.envelope());
        }
    }

    #[test]
    fn what_a_chain_came_to_and_what_ended_a_run_have_their_words() {
        let relavium = |code, limit, setback| System::Relavium.word(code, limit, setback);
        for (setback, word) in [
            (Setback::Unauthorised, "provider_auth"),
            (Setback::Limited, "provider_rate_limit"),
            (Setback::Overloaded, "provider_unavailable"),
            (Setback::Broken, "provider_unavailable"),
            (Setback::Filtered, "content_filter"),
            (Setback::Lasting, "validation"),
        ] {
            assert_eq!(relavium(Code::ProviderFailed, None, Some(setback)), word);
        }
        for (limit, word) in [
            (Limit::TurnLimit, "turn_limit"),
            (Limit::RunTimeout, "run_timeout"),
            (Limit::CostBudget, "budget_exceeded"),
            (Limit::LoopGuard, "tool_failed"),
        ] {
            assert_eq!(relavium(Code::OverBudget, Some(limit), None), word);
        }
        let turns = |system: System| system.word(Code::OverBudget, Some(Limit::TurnLimit), None);
        assert_eq!(turns(System::Oxydra), "BudgetExceeded");
        assert_eq!(
            System::Graphorin.word(Code::Cancelled, None, None),
            "aborted"
        );
        assert_eq!(System::Sage.word(Code::TooSlow, None, None), "timeout");
    }

    #[test]
    fn every_reason_of_a_selection_has_its_word_or_a_reason() {
        let theirs = "allowlist_filtered capability_mismatch catalog_miss_accept_unknown selected fallback_first_candidate";
        let all = [
            None,
            Some(Miss::Secret),
            Some(Miss::Private),
            Some(Miss::Context),
            Some(Miss::Tools),
            Some(Miss::Images),
            Some(Miss::Documents),
            Some(Miss::Structured),
            Some(Miss::Cooling),
        ];
        let ours: BTreeSet<&str> = all.into_iter().filter_map(selection).collect();
        let not: BTreeSet<&str> = NOT_CHOSEN.iter().map(|(word, _)| *word).collect();
        assert!(ours.is_disjoint(&not));
        let theirs: BTreeSet<&str> = theirs.split_whitespace().collect();
        assert_eq!(theirs, ours.union(&not).copied().collect());
        assert_eq!(selection(Some(Miss::Tools)), Some("capability_mismatch"));
        assert_eq!(selection(Some(Miss::Private)), Some("allowlist_filtered"));
    }

    /// One event of each kind, as records have them.
    fn events() -> Vec<Event> {
        let digest = "0".repeat(64);
        let usage = json!({"input_tokens": 0, "output_tokens": 0, "cached_tokens": 0});
        let reply = json!({"text": "", "calls": []});
        let observation = json!({"text": "", "ok": true, "label": []});
        let bounds = json!({"calls": 0, "timers": 0, "polls": 0, "heap_bytes": 0, "json_bytes": 0, "log_bytes": 0});
        let read = |event: &Value| serde_json::from_value(event.clone());
        let all = json!([
            {"event": "started", "surface": "cli", "subject": "", "goal": "", "label": []},
            {"event": "brought", "name": "a", "from": "0".repeat(32), "handle": "", "tool": "a.b", "content": "empty", "label": []},
            {"event": "prompted", "turn": 1, "turns_max": 1, "model": "", "tools": []},
            {"event": "attempted", "turn": 1, "model": "", "outcome": "failed", "setback": "limited", "code": "provider_failed",
                "message": "", "then": "next"},
            {"event": "replied", "turn": 1, "reply": reply, "label": []},
            {"event": "judged", "effect": "call", "subject": "", "origin": "model", "content": "empty", "label": [],
                "verdict": {"verdict": "allow", "rule": ""}},
            {"event": "finished", "of": 1, "end": "done", "content": "empty", "label": [], "spent": {"us": 0}},
            {"event": "scripted", "engine": digest, "seed": 0, "now": 0, "bounds": bounds},
            {"event": "rested", "place": [0]},
            {"event": "paused", "questions": []},
            {"event": "answered", "question": digest, "answer": "allow"},
            {"event": "expired", "question": digest},
            {"event": "resumed"},
            {"event": "overspent", "budget": "tokens", "spent": 0, "cap": 0},
            {"event": "observed", "call": "", "tool": "", "observation": observation},
            {"event": "compacted", "through": 0, "turns": 0, "summary": "", "label": [], "by": "", "cause": "window",
                "before_tokens": 0, "after_tokens": 0, "summary_tokens": 0, "spent": {"us": 0}},
            {"event": "stopped", "end": "done", "content": "empty", "turns": 0, "usage": usage},
        ]);
        let all = all.as_array().unwrap();
        all.iter()
            .map(|one| read(one).unwrap_or_else(|error| panic!("{one}: {error}")))
            .collect()
    }

    #[test]
    fn every_event_of_the_others_has_ours_or_a_reason() {
        let theirs = "run:started run:completed run:failed agent:token agent:tool_call agent:tool_result cost:updated \
            agent.start step.start step.end text.delta text.complete reasoning.delta tool.call.start tool.call.delta tool.call.end \
            tool.call.incomplete tool.execute.start tool.execute.progress tool.execute.partial tool.execute.end \
            tool.execute.error tool.approval.requested approval.granted approval.denied context.compacted \
            agent.model.fellback agent.end agent.error agent.steered agent.cancelling memory.read memory.write handoff \
            followup.queued fanout.spawned fanout.merged evaluator.iteration evaluator.converged pass maxIterations \
            generator-exhausted cancelled progress.written progress.read lateral-leak.detected guardrail.tripped \
            subagent.event verifier.result file.generated source.cited graph_started node_started node_completed node_failed \
            node_retry graph_completed graph_validation_failed artifact_written text progress";
        let events = events();
        let ours = events.iter().flat_map(event).map(|(_, word)| word);
        let ours: BTreeSet<&str> = ours.filter(|word| !word.is_empty()).collect();
        let not: BTreeSet<&str> = NOT_HERE.iter().map(|(word, _)| *word).collect();
        assert_eq!(not.len(), NOT_HERE.len(), "one reason for each");
        assert!(ours.is_disjoint(&not), "here and not here");
        let theirs: BTreeSet<&str> = theirs.split_whitespace().collect();
        let answered: BTreeSet<&str> = ours.union(&not).copied().collect();
        assert_eq!(theirs, answered);
    }
}
