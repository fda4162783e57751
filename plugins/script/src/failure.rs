//! What the host is told of a script that will not go on.

use rquickjs::{Ctx, Object, Value};

use crate::state::State;
use crate::{Failure, Reason, source, text};

/// The most of a message that is passed on.
const MESSAGE_BYTES_MAX: usize = 2048;
/// The most of a stack that is read.
const STACK_BYTES_MAX: usize = 8192;
/// What the interpreter calls a full heap.
const HEAP_FULL: &str = "out of memory";

/// A failure that has no place in the source.
pub fn placeless(reason: Reason, message: impl Into<String>) -> Failure {
    Failure {
        reason,
        message: message.into(),
        stack: String::new(),
        line: 0,
        column: 0,
    }
}

/// A failure at the innermost of these frames, which are as the interpreter writes them.
pub fn placed(reason: Reason, message: impl Into<String>, stack: &str) -> Failure {
    let (line, column) = source::place(stack).unwrap_or((0, 0));
    Failure {
        reason,
        message: message.into(),
        stack: source::own_frames(stack),
        line,
        column,
    }
}

/// What the script threw, or rejected its promise with.
pub fn thrown<'js>(ctx: &Ctx<'js>, value: &Value<'js>, state: &State) -> Failure {
    let Some(error) = value.as_object().filter(|_| value.is_error()) else {
        if value.is_null() && state.heap.was_full() {
            return out_of_memory("");
        }
        let said = said(ctx, value, state);
        return placeless(Reason::Thrown, format!("Thrown, and no error: {said}"));
    };
    let stack = word(ctx, error, "stack", STACK_BYTES_MAX);
    let name = word(ctx, error, "name", MESSAGE_BYTES_MAX);
    let message = word(ctx, error, "message", MESSAGE_BYTES_MAX);
    if name == "InternalError" && message == HEAP_FULL && state.heap.was_full() {
        return out_of_memory(&stack);
    }
    let is_too_big =
        name == "ToolError" && word(ctx, error, "code", MESSAGE_BYTES_MAX) == "too_big";
    let reason = if is_too_big {
        Reason::TooBig
    } else {
        Reason::Thrown
    };
    let mut sentence = match (name.as_str(), message.as_str()) {
        ("", _) => message,
        (_, "") => name,
        _ => format!("{name}: {message}"),
    };
    sentence.push_str(&causes(ctx, error));
    placed(reason, sentence, &stack)
}

/// The source is no program: what the parser threw.
pub fn syntax<'js>(ctx: &Ctx<'js>, value: &Value<'js>, state: &State, source: &str) -> Failure {
    let mut failure = thrown(ctx, value, state);
    if failure.reason != Reason::Thrown {
        return failure;
    }
    failure.reason = Reason::Syntax;
    failure.stack.clear();
    // What is missing at the end is found behind it, in what the engine adds.
    let lines = u32::try_from(source.lines().count().max(1)).unwrap_or(u32::MAX);
    if failure.line > lines {
        failure.line = lines;
        let last = source.lines().next_back().unwrap_or("");
        failure.column = u32::try_from(last.chars().count() + 1).unwrap_or(u32::MAX);
        failure.message = format!(
            "SyntaxError: the source ends too early, a bracket or quote is not closed ({})",
            failure.message.trim_start_matches("SyntaxError: ")
        );
    }
    if let Some(hint) = source::hint(source, failure.line) {
        failure.message.push_str(hint);
    }
    failure
}

/// The heap is full.
pub fn out_of_memory(stack: &str) -> Failure {
    let message = "the script needs more memory than it may use";
    placed(Reason::OutOfMemory, message, stack)
}

/// The meter has fired; where, the failure that came of it may know.
pub fn out_of_work(known: Option<Failure>) -> Failure {
    let message = "the script works too long; it may be in an endless loop";
    match known {
        Some(known) => Failure {
            reason: Reason::OutOfWork,
            message: message.to_owned(),
            ..known
        },
        None => placeless(Reason::OutOfWork, message),
    }
}

/// A property of an error, if it is a string; reading it may run the script, which the meter bounds.
fn word<'js>(ctx: &Ctx<'js>, error: &Object<'js>, name: &str, most: usize) -> String {
    let read = error.get::<_, Value>(name).and_then(|value| {
        if value.is_object() || value.is_symbol() || value.is_undefined() {
            return Ok(String::new());
        }
        text::coerced(ctx, &value, most)
    });
    read.unwrap_or_else(|_| {
        ctx.catch();
        String::new()
    })
}

/// What an `AggregateError` holds, the first few.
fn causes<'js>(ctx: &Ctx<'js>, error: &Object<'js>) -> String {
    let Ok(Some(errors)) = error.get::<_, Value>("errors").map(Value::into_array) else {
        ctx.catch();
        return String::new();
    };
    let mut causes = String::new();
    for cause in errors.iter::<Value>().take(3).flatten() {
        if let Some(cause) = cause.as_object() {
            let message = word(ctx, cause, "message", MESSAGE_BYTES_MAX / 4);
            causes.push_str(if causes.is_empty() { ": " } else { "; " });
            causes.push_str(&message);
        }
    }
    ctx.catch();
    causes
}

/// A value that is no error, as the console would write it.
fn said<'js>(ctx: &Ctx<'js>, value: &Value<'js>, state: &State) -> String {
    let inspect = state
        .prelude
        .borrow()
        .as_ref()
        .map(|prelude| prelude.inspect.clone());
    let written = inspect
        .ok_or(rquickjs::Error::Unknown)
        .and_then(|inspect| inspect.restore(ctx))
        .and_then(|inspect| inspect.call::<_, rquickjs::String>((value.clone(),)))
        .and_then(|written| text::cut(&written, MESSAGE_BYTES_MAX));
    match written {
        Ok((written, _)) => written,
        Err(_) => {
            ctx.catch();
            value.type_name().to_owned()
        }
    }
}
