//! What the five systems call our events, and why a model is chosen or passed over, beside what they call our failures
//! (`words/vocabulary.rs`): each word of theirs is one of ours, or stands here with the reason why it is none. For whoever
//! moves a program over.

use std::collections::BTreeSet;

use lazaret::words::event::Event;
use lazaret::words::setback::Miss;
use lazaret_tests::prelude::*;

/// What sage calls the reason for which a model was chosen or passed over (S-39); nothing where it has no word. There are
/// no tenants, so the only list that a model must stand on is of what its provider may be told (S-37); a model that says
/// nothing of what it can is asked, and where all were passed over none is, so there is no fall-back to the first.
fn selection(miss: Option<Miss>) -> Option<&'static str> {
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
const NOT_CHOSEN: [(&str, &str); 2] = [
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
fn event(event: &Event) -> [(&'static str, &'static str); 3] {
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
const NOT_HERE: [(&str, &str); 42] = [
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
