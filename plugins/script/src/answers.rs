//! Answers of the host, one at a time.

use rquickjs::{Ctx, Function, Object, Persistent, Result, Value};

use crate::engine::Mistake;
use crate::state::{Open, OpenCall, State, Timer};
use crate::{Answer, Outcome, ToolError, timers, tools};

/// Hands in one answer. What the script throws meanwhile is the exception.
pub fn take(
    state: &State,
    ctx: &Ctx<'_>,
    answer: Answer,
) -> std::result::Result<Result<()>, Mistake> {
    let position = answer.position;
    let Some(known) = state.open.borrow_mut().remove(&position) else {
        return Err(Mistake::NotOpen(position));
    };
    // What the host has mistaken stays open.
    let mistaken = |known, mistake| {
        state.open.borrow_mut().insert(position, known);
        Err(mistake)
    };
    match (known, answer.outcome) {
        (Open::Cleared, _) => Ok(Ok(())),
        (Open::Timer(timer), Outcome::Rested) => Ok(rang(state, ctx, timer)),
        (Open::Call(call), Outcome::Failed(said)) => Ok(fail(state, ctx, call, &said)),
        (Open::Call(call), Outcome::Value(json)) => match parse(state, ctx, json) {
            Ok(value) => Ok(settle(ctx, call.resolve, value)),
            // Too deep or too big for the heap: the script may catch that.
            Err(NotRead::Thrown(error)) => Ok(settle(ctx, call.reject, error)),
            Err(NotRead::Json) => mistaken(Open::Call(call), Mistake::NotJson(position)),
        },
        (known, _) => mistaken(known, Mistake::OtherKind(position)),
    }
}

/// Calls one of a promise's two ends, which no script can replace.
fn settle<'js>(
    ctx: &Ctx<'js>,
    end: Persistent<Function<'static>>,
    value: Value<'js>,
) -> Result<()> {
    end.restore(ctx)?.call((value,))
}

fn fail(state: &State, ctx: &Ctx<'_>, call: OpenCall, said: &ToolError) -> Result<()> {
    let trace = call.trace.restore(ctx)?;
    let error = tools::failed(state, ctx, &trace, said)?;
    settle(ctx, call.reject, error.into_value())
}

/// How the host writes an outcome that is held: its keys are in order, and this is the first.
const HANDLE: &str = r#"{"$handle":"#;

enum NotRead<'js> {
    Json,
    Thrown(Value<'js>),
}

/// Reads JSON by the interpreter's own function; no script can change what it does.
fn parse<'js>(
    state: &State,
    ctx: &Ctx<'js>,
    json: String,
) -> std::result::Result<Value<'js>, NotRead<'js>> {
    let is_handle = json.starts_with(HANDLE);
    let value = ctx.json_parse(json).map_err(|_| {
        let error = ctx.catch();
        let name = error
            .as_object()
            .and_then(|error| error.get::<_, String>("name").ok());
        ctx.catch();
        match name.as_deref() {
            // A script may have changed the names of errors; what a full heap does is its own affair.
            _ if state.heap.was_full() => NotRead::Thrown(error),
            Some("SyntaxError") | None => NotRead::Json,
            Some(_) => NotRead::Thrown(error),
        }
    })?;
    if is_handle {
        behind(state, ctx, &value).map_err(|_| NotRead::Thrown(ctx.catch()))?;
    }
    Ok(value)
}

/// Gives a handle its prototype.
fn behind<'js>(state: &State, ctx: &Ctx<'js>, handle: &Value<'js>) -> Result<()> {
    let held = state.of_prelude(|prelude| prelude.held.clone())?;
    let held: Object = held.restore(ctx)?;
    match handle.as_object() {
        Some(handle) => handle.set_prototype(Some(&held)),
        None => Ok(()),
    }
}

fn rang(state: &State, ctx: &Ctx<'_>, timer: Timer) -> Result<()> {
    state.timers.borrow_mut().remove(&timer.id);
    if let Some(pause) = timer.every {
        timers::wait(state, ctx, timer.clone(), pause)?;
    }
    let callback: Function = timer.callback.restore(ctx)?;
    let args = timer.args.restore(ctx)?;
    let mut given = rquickjs::function::Args::new(ctx.clone(), args.len());
    for arg in args.iter::<Value>() {
        given.push_arg(arg?)?;
    }
    given.apply::<Value>(&callback).map(|_| ())
}
