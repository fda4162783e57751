//! What a span says: which of a record's fields are names, numbers or closed words, and nothing else of it.

use serde::Serialize;

use super::{Attribute, Served, Value, count, text};
use crate::rules::fetch::reason::Reason;
use crate::words::budget::Over;
use crate::words::error::Code;
use crate::words::event::{
    Attempted, Compacted, EffectKind, Finished, Judged, Started, Stopped, Tried, Verdict,
};
use crate::words::id::{Digest, RunId};
use crate::words::inert::one_line;
use crate::words::label::Label;
use crate::words::limits::{SPAN_ID_CHARS, SPAN_NAME_CHARS};
use crate::words::message::{Reply, StopReason, Usage};

/// How the name of a model is called in a span.
const MODEL: &str = "lazaret.model";
/// How ids of calls begin that a provider's server gives, and ours. One that begins otherwise may be a model's own words.
const GIVEN: [&str; 4] = ["call_", "toolu_", "fc_", "chatcmpl-tool-"];

/// A name from outside: inert, on one line, cut.
pub(super) fn name(name: &str) -> String {
    // What is cut away is not worth making inert.
    let start: String = name.chars().take(SPAN_NAME_CHARS).collect();
    one_line(&start).chars().take(SPAN_NAME_CHARS).collect()
}

/// A value whose JSON is one word of a closed set.
pub(super) fn word(value: &impl Serialize) -> Value {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => text(word),
        Ok(_) | Err(_) => text(""),
    }
}

/// An id or short name that has the form of one; anything else may say something.
fn plain(id: &str) -> Option<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_plain = (1..=SPAN_ID_CHARS).contains(&id.len()) && id.chars().all(fits);
    is_plain.then(|| id.to_owned())
}

/// The name and the attributes of a run.
pub(super) fn run(run: &RunId, started: &Started) -> (String, Vec<Attribute>) {
    let mut said = vec![
        ("gen_ai.provider.name", text("lazaret")),
        ("lazaret.run", text(name(run.as_str()))),
        ("lazaret.surface", word(&started.surface)),
    ];
    said.extend(label(&started.label));
    // A call or script of a client has no goal; what it is called is told by its own span.
    if started.goal.is_empty() {
        return ("run".to_owned(), said);
    }
    let agent = name(&started.subject);
    let called = format!("invoke_agent {agent}");
    said.extend([
        ("gen_ai.operation.name", text("invoke_agent")),
        ("gen_ai.agent.name", text(agent)),
    ]);
    (called, said)
}

/// The session of a run: its name is the user's, so a digest stands for it.
pub(super) fn session(started: &Started) -> Vec<Attribute> {
    let Some(session) = &started.session else {
        return Vec::new();
    };
    let of = format!("lazaret session\n{}\n{}", session.user, session.name);
    let id: String = Digest::of(of.as_bytes()).to_string();
    vec![("gen_ai.conversation.id", text(name(&id)))]
}

/// The name and the attributes of an attempt to have a reply.
pub(super) fn prompt(
    model: &str,
    served: Option<&Served>,
    tools: usize,
) -> (String, Vec<Attribute>) {
    let known = served.map_or(model, |served| &served.model);
    let known = name(known);
    let said = vec![
        ("gen_ai.operation.name", text("chat")),
        (
            "gen_ai.provider.name",
            text(served.map_or("unknown", |served| served.provider)),
        ),
        ("gen_ai.request.model", text(known.clone())),
        (MODEL, text(name(model))),
        ("lazaret.tools", count(tools)),
    ];
    (format!("chat {known}"), said)
}

/// The name of the model in the configuration, where this is it.
pub(super) fn asked_of((key, value): &Attribute) -> Option<&String> {
    match value {
        Value::Text(model) if *key == MODEL => Some(model),
        Value::Text(_) | Value::Texts(_) | Value::Number(_) | Value::Flag(_) => None,
    }
}

/// What a reply says of itself.
pub(super) fn reply(reply: &Reply) -> Vec<Attribute> {
    let reason = match reply.stop {
        StopReason::End => "stop",
        StopReason::Calls => "tool_calls",
        StopReason::Length => "length",
        StopReason::Filtered => "content_filter",
    };
    let reasons = Value::Texts(vec![reason.to_owned()]);
    let mut said = vec![("gen_ai.response.finish_reasons", reasons)];
    said.extend(usage(reply.usage));
    said
}

/// Tokens and cost, as far as somebody has counted.
fn usage(usage: Usage) -> Vec<Attribute> {
    let mut said = Vec::new();
    if !usage.has_no_tokens() {
        said.push((
            "gen_ai.usage.input_tokens",
            Value::Number(usage.input_tokens),
        ));
        said.push((
            "gen_ai.usage.output_tokens",
            Value::Number(usage.output_tokens),
        ));
    }
    let parts = [
        ("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens),
        (
            "gen_ai.usage.cache_creation.input_tokens",
            usage.kept_tokens,
        ),
        ("lazaret.usage.reasoning_tokens", usage.reasoning_tokens),
        ("lazaret.cost.micros", usage.cost.micros),
        ("lazaret.cost.unknown_calls", usage.cost.unknown),
    ];
    let parts = parts.into_iter().filter(|(_, number)| *number > 0);
    said.extend(parts.map(|(key, number)| (key, Value::Number(number))));
    said
}

/// How much of its window the model had to read (O-43).
pub(super) fn filled(usage: Usage, served: Option<&Served>) -> Option<Attribute> {
    let window = served?.window_tokens;
    let hundredfold = usage.input_tokens.saturating_mul(100);
    let percent = hundredfold.checked_div(window)?;
    (usage.input_tokens > 0).then_some(("lazaret.context.percent", Value::Number(percent)))
}

/// What became of a model that gave no reply.
pub(super) fn attempt(attempted: &Attempted) -> Vec<Attribute> {
    match &attempted.tried {
        Tried::Failed {
            setback,
            then,
            wait_ms,
            usage: lost,
            ..
        } => {
            let mut said = vec![
                ("lazaret.setback", word(setback)),
                ("lazaret.then", word(then)),
                ("lazaret.wait_ms", Value::Number(*wait_ms)),
            ];
            if !lost.is_nothing() {
                said.extend(usage(*lost));
            }
            said
        }
        Tried::Skipped { miss } => vec![
            (MODEL, text(name(&attempted.model))),
            ("lazaret.miss", word(miss)),
        ],
    }
}

/// The name and the attributes of an effect.
pub(super) fn effect(judged: &Judged, call: Option<&str>) -> (String, Vec<Attribute>) {
    let mut said = vec![("lazaret.effect", word(&judged.effect))];
    said.extend(origin(judged));
    said.extend(label(&judged.label));
    let kind = match judged.effect {
        EffectKind::Call => {
            let tool = tool(judged);
            let called = format!("execute_tool {tool}");
            said.extend([
                ("gen_ai.operation.name", text("execute_tool")),
                ("gen_ai.tool.name", text(tool)),
                ("gen_ai.tool.type", text("function")),
            ]);
            let is_given = |id: &String| GIVEN.iter().any(|start| id.starts_with(start));
            let id = call.and_then(plain).filter(is_given);
            said.extend(id.map(|id| ("gen_ai.tool.call.id", text(id))));
            let component = judged.component.map(|component| component.short());
            said.extend(component.map(|short| ("lazaret.component", text(short))));
            return (called, said);
        }
        EffectKind::Fetch => "fetch",
        EffectKind::File => "file",
        EffectKind::Keep => "keep",
        EffectKind::Show => "show",
    };
    (kind.to_owned(), said)
}

/// Who wished: a closed word, or the tool whose guest did.
fn origin(judged: &Judged) -> Option<Attribute> {
    let closed = ["model", "script", "client", "schedule", "host"];
    let is_closed = closed.contains(&judged.origin.as_str());
    let who = if is_closed {
        judged.origin.clone()
    } else {
        format!("tool:{}", name(&judged.origin))
    };
    Some(("lazaret.origin", text(who)))
}

/// The tool of a call; one that there is not may be called anything by whoever wished for it.
pub(super) fn tool(judged: &Judged) -> String {
    let nowhere = match &judged.verdict {
        Verdict::Deny(denial) => denial.rule == Code::UnknownTool.envelope(),
        Verdict::Allow { .. } | Verdict::Ask(_) => false,
    };
    let known = plain(&judged.subject).filter(|_| !nowhere);
    known.unwrap_or_else(|| "unknown".to_owned())
}

/// Whose influence there is: how many sources, and of which sorts. Which sources is nobody else's business.
fn label(label: &Label) -> [Attribute; 2] {
    let mut sorts: Vec<String> = Vec::new();
    for source in label.sources() {
        let sort = source.sort().word().to_owned();
        if !sorts.contains(&sort) {
            sorts.push(sort);
        }
    }
    [
        ("lazaret.label.sources", count(label.sources().count())),
        ("lazaret.label.sorts", Value::Texts(sorts)),
    ]
}

/// A verdict and its rule, where that is a short name and no line of somebody's configuration.
pub(super) fn verdict(verdict: &Verdict) -> Vec<Attribute> {
    let mut said = vec![("lazaret.verdict", text(verdict.word()))];
    let rule = match verdict {
        Verdict::Allow { .. } => None,
        Verdict::Deny(denial) => plain(&denial.rule),
        Verdict::Ask(question) => {
            said.push(("lazaret.reasons", count(question.reasons.len())));
            plain(&question.rule)
        }
    };
    said.extend(rule.map(|rule| ("lazaret.rule", text(rule))));
    said
}

/// The kind of error that a denial is.
pub(super) fn refused(verdict: &Verdict) -> String {
    let unfit = [
        Code::UnknownTool,
        Code::BadArgs,
        Code::BadSurface,
        Code::NotJson,
        Code::TooBig,
    ];
    let rule = match verdict {
        Verdict::Deny(denial) => denial.rule.as_str(),
        Verdict::Allow { .. } | Verdict::Ask(_) => "",
    };
    if rule == Reason::Malformed.word() {
        return Code::BadInput.word();
    }
    let code = unfit.into_iter().find(|code| code.envelope() == rule);
    code.unwrap_or(Code::Denied).word()
}

/// What an effect took.
pub(super) fn finish(finished: &Finished) -> Vec<Attribute> {
    let spent = &finished.spent;
    let mut said = vec![("lazaret.spent.us", Value::Number(spent.us))];
    let more = [
        ("lazaret.spent.fuel", spent.fuel),
        ("lazaret.spent.memory_bytes", spent.memory_bytes),
        ("lazaret.spent.host_calls", spent.host_calls),
        ("lazaret.spent.calls", spent.calls),
    ];
    let more = more.into_iter().filter(|(_, number)| *number > 0);
    said.extend(more.map(|(key, number)| (key, Value::Number(number))));
    if spent.repeated {
        said.push(("lazaret.repeated", Value::Flag(true)));
    }
    if finished.told.is_some() {
        said.push(("lazaret.held", Value::Flag(true)));
    }
    said.extend(usage(spent.usage));
    said
}

/// What a run took, and what ended it.
pub(super) fn stop(stopped: &Stopped) -> Vec<Attribute> {
    let mut said = vec![("lazaret.turns", Value::Number(stopped.turns.into()))];
    said.extend(usage(stopped.usage));
    let limit = stopped.limit.map(|limit| text(limit.word()));
    said.extend(limit.map(|limit| ("lazaret.limit", limit)));
    said
}

/// A budget that is used up.
pub(super) fn overspent(over: &Over) -> Vec<Attribute> {
    vec![
        ("lazaret.budget", word(&over.budget)),
        ("lazaret.budget.spent", Value::Number(over.spent)),
        ("lazaret.budget.ahead", Value::Number(over.ahead)),
        ("lazaret.budget.cap", Value::Number(over.cap)),
    ]
}

/// What was folded into a summary.
pub(super) fn compacted(compacted: &Compacted) -> Vec<Attribute> {
    let noted = ("lazaret.compacted.noted", count(compacted.noted()));
    let noted = (!compacted.after.is_empty()).then_some(noted);
    let folded = vec![
        ("lazaret.compacted.turns", Value::Number(compacted.turns)),
        (
            "lazaret.compacted.before_tokens",
            Value::Number(compacted.before_tokens),
        ),
        (
            "lazaret.compacted.after_tokens",
            Value::Number(compacted.after_tokens),
        ),
        ("lazaret.compacted.by", text(name(&compacted.by))),
        ("lazaret.compacted.cause", word(&compacted.cause)),
    ];
    folded.into_iter().chain(noted).collect()
}
