//! The scripted provider: replies from a file, one JSON line each (design §10).
//!
//! Turn n is answered by line n, so that a run that resumes goes on where it was. A line is
//! `{"text": …}` or `{"calls": [{"tool": …, "args": {…}, "id": …}]}`, with optional `"usage"` and
//! `"when"`, a text that the prompt must contain. A text may quote what an earlier call gave: `{{ID}}`
//! is the observation of call ID, `{{ID#/a/b}}` a value in it by JSON pointer; `{{secret:NAME}}` stays as it is.
//!
//! A line may fail before it replies: `"fail": [{"status": 429}, …]` is what comes of the first attempts of its turn,
//! with an error's `"kind"`, `"after_ms"` for a `Retry-After`, and `"said"` and `"usage"` for what was said and counted
//! before it broke off.
//!
//! A line with `"consult": true` answers no turn. It answers questions about what is held: each question is
//! answered by the first such line whose `when` stands in it, and asked again, by the next.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Asking;
use crate::edges::named;
use crate::rules::codec::{readable, refused};
use crate::rules::inbound::inside;
use crate::words::error::{Code, Error, Result};
use crate::words::id::shown;
use crate::words::limits::{CALLS_PER_TURN, CONFIG_BYTES};
use crate::words::message::{
    Delta, Message, Prompt, Reply, StopReason, ToolCall, Usage, WishedArgs,
};

/// How a marker begins that stands for a secret.
const SLOT: &str = "secret:";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    text: String,
    #[serde(default)]
    calls: Vec<Wish>,
    #[serde(default)]
    usage: Usage,
    #[serde(default)]
    when: String,
    #[serde(default)]
    consult: bool,
    #[serde(default)]
    fail: Vec<Fail>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fail {
    status: u16,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    after_ms: Option<u64>,
    #[serde(default)]
    said: String,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    tool: String,
    #[serde(default)]
    args: Value,
    #[serde(default)]
    id: String,
}

/// The reply to a prompt.
pub(super) fn reply(
    script: &Path,
    asking: &Asking<'_>,
    mut see: impl FnMut(Delta),
) -> Result<Reply> {
    let prompt = asking.prompt;
    let failed = |why: String| {
        Error::new(
            Code::ProviderFailed,
            format!("script `{}`: {why}", script.display()),
        )
        .retry(false)
    };
    let bytes = named::read(script, "the file", CONFIG_BYTES);
    let bytes = bytes.map_err(|error| failed(error.message().to_owned()))?;
    let text = String::from_utf8(bytes).map_err(|_| failed("it is no UTF-8 text".to_owned()))?;
    let turn = prompt
        .messages
        .iter()
        .filter(|message| matches!(message, Message::Assistant(_)))
        .count()
        .saturating_add(prompt.replies_before);
    let (number, line) = match asking.turn {
        0 => line_of_question(&text, prompt, turn),
        _ => line_of_turn(&text, turn),
    }
    .map_err(failed)?;
    let at = |why: String| failed(format!("line {}: {why}", number + 1));
    if !line.when.is_empty() && !contains(prompt, &line.when) {
        return Err(at(format!(
            "the prompt does not contain `{}`",
            shown(&line.when)
        )));
    }
    let attempt = usize::try_from(asking.attempt).unwrap_or(usize::MAX);
    if let Some(fail) = line.fail.get(attempt) {
        return Err(failure(fail, &mut see));
    }
    if line.calls.len() > CALLS_PER_TURN {
        return Err(at(format!("more than {CALLS_PER_TURN} calls")));
    }
    let stop = if line.calls.is_empty() {
        StopReason::End
    } else {
        StopReason::Calls
    };
    let calls = line.calls.into_iter().enumerate();
    let calls = calls
        .map(|(place, wish)| call(prompt, turn, place, wish))
        .collect::<Result<_, String>>()
        .map_err(&at)?;
    let text = fill(&line.text, prompt).map_err(&at)?;
    Ok(Reply {
        // As of any other provider.
        text: readable(&text),
        calls,
        stop,
        usage: line.usage,
        ..Reply::default()
    })
}

/// As a server would have failed.
fn failure(fail: &Fail, see: &mut impl FnMut(Delta)) -> Error {
    if !fail.said.is_empty() {
        see(Delta::Text(readable(&fail.said)));
    }
    let body = json!({"error": {"type": fail.kind}}).to_string();
    let body = if fail.kind.is_empty() { "" } else { &body };
    let error = refused(fail.status, body.as_bytes()).after_ms(fail.after_ms);
    match fail.usage {
        Some(usage) => error.spending(usage),
        None => error,
    }
}

/// The lines in order, each with its number from 0; one that cannot be read is told when it is reached.
fn lines(text: &str) -> impl Iterator<Item = (usize, Result<Line, String>)> {
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(number, line)| {
        let line = serde_json::from_str(line);
        let line = line.map_err(|error| format!("line {}: {error}", number + 1));
        (number, line)
    })
}

fn line_of_turn(text: &str, turn: usize) -> Result<(usize, Line), String> {
    let turns = || lines(text).filter(|(_, line)| !matches!(line, Ok(line) if line.consult));
    match turns().nth(turn) {
        Some((number, line)) => Ok((number, line?)),
        None => Err(format!(
            "turn {} has no reply: the last one is for turn {}",
            turn + 1,
            turns().count()
        )),
    }
}

fn line_of_question(text: &str, prompt: &Prompt, asked: usize) -> Result<(usize, Line), String> {
    let mut answers = lines(text).filter_map(|(number, line)| {
        let line = line.ok().filter(|line| line.consult)?;
        (line.when.is_empty() || contains(prompt, &line.when)).then_some((number, line))
    });
    answers
        .nth(asked)
        .ok_or_else(|| "no line with `\"consult\": true` answers this question".to_owned())
}

fn contains(prompt: &Prompt, text: &str) -> bool {
    prompt.messages.iter().any(|message| match message {
        Message::User { text: said, .. } => said.contains(text),
        Message::Assistant(reply) => reply.text.contains(text),
        Message::Tool { observation, .. } => observation.text.contains(text),
    })
}

fn call(prompt: &Prompt, turn: usize, place: usize, wish: Wish) -> Result<ToolCall, String> {
    let id = if wish.id.is_empty() {
        format!("call_{}_{}", turn + 1, place + 1)
    } else {
        wish.id
    };
    let mut args = if wish.args.is_null() {
        Value::Object(serde_json::Map::new())
    } else {
        wish.args
    };
    fill_value(&mut args, prompt)?;
    Ok(ToolCall {
        id,
        tool: wish.tool,
        args: WishedArgs::Json(args),
    })
}

fn fill_value(value: &mut Value, prompt: &Prompt) -> Result<(), String> {
    match value {
        Value::String(text) => {
            *text = fill(text, prompt)?;
            Ok(())
        }
        Value::Array(items) => items
            .iter_mut()
            .try_for_each(|item| fill_value(item, prompt)),
        Value::Object(map) => map
            .values_mut()
            .try_for_each(|item| fill_value(item, prompt)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// Puts what earlier calls gave in the place of `{{…}}`. What is put in is not looked at again.
fn fill(text: &str, prompt: &Prompt) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, behind) = after.split_once("}}").ok_or("`{{` without `}}`")?;
        out.push_str(before);
        // A place where egress puts a secret is the model's to write.
        match name.starts_with(SLOT) {
            true => out.push_str(&format!("{{{{{name}}}}}")),
            false => out.push_str(&quoted(name.trim(), prompt)?),
        }
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

fn quoted(name: &str, prompt: &Prompt) -> Result<String, String> {
    let (id, pointer) = name
        .split_once('#')
        .map_or((name, None), |(id, pointer)| (id, Some(pointer)));
    let found = prompt
        .messages
        .iter()
        .rev()
        .find_map(|message| match message {
            Message::Tool {
                id: known,
                observation,
            } if known == id => Some(inside(&observation.text)),
            Message::Tool { .. } | Message::User { .. } | Message::Assistant(_) => None,
        });
    let text = found.ok_or_else(|| {
        format!(
            "`{{{{{}}}}}`: no call `{}` was observed",
            shown(name),
            shown(id)
        )
    })?;
    let Some(pointer) = pointer else {
        return Ok(text.to_owned());
    };
    let value: Value =
        serde_json::from_str(text).map_err(|_| format!("what `{}` gave is no JSON", shown(id)))?;
    match value.pointer(pointer) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(value) => Ok(value.to_string()),
        None => Err(format!(
            "what `{}` gave has nothing at `{}`",
            shown(id),
            shown(pointer)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_of_a_secret_stays_and_all_else_is_quoted() {
        let none = Prompt::default();
        let said = "Bearer {{secret:github}}!";
        assert_eq!(fill(said, &none).unwrap(), said);
        assert!(
            fill("{{secret}}", &none)
                .unwrap_err()
                .contains("no call `secret`")
        );
    }
}
