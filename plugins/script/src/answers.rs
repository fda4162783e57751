//! Answers of the host, one at a time.

use rquickjs::{Ctx, Function, Result, Value};

use crate::engine::Mistake;
use crate::natives::define;
use crate::state::{Open, State, Timer};
use crate::{Answer, Outcome, ToolError, timers};

/// Hands in one answer. What the script throws meanwhile is the exception.
pub fn take(
    state: &State,
    ctx: &Ctx<'_>,
    answer: Answer,
) -> std::result::Result<Result<()>, Mistake> {
    let position = answer.position;
    let known = state.open.borrow_mut().remove(&position);
    match (known, answer.outcome) {
        (None, _) => Err(Mistake::NotOpen(position)),
        (Some(Open::Cleared), _) => Ok(Ok(())),
        (Some(Open::Timer(timer)), Outcome::Rested) => Ok(rang(state, ctx, timer)),
        (Some(Open::Call { reject, error, .. }), Outcome::Failed(said)) => {
            Ok(error.restore(ctx).and_then(|error| {
                fill(ctx, &error, &said)?;
                reject.restore(ctx)?.call((error,))
            }))
        }
        (
            Some(Open::Call {
                resolve, reject, ..
            }),
            Outcome::Value(json),
        ) => {
            let value = match parse(ctx, json) {
                Ok(value) => value,
                Err(NotRead::Json) => return Err(Mistake::NotJson(position)),
                // Too deep or too big for the heap: the script may catch that.
                Err(NotRead::Thrown(error)) => {
                    return Ok(reject.restore(ctx).and_then(|reject| reject.call((error,))));
                }
            };
            Ok(resolve
                .restore(ctx)
                .and_then(|resolve| resolve.call((value,))))
        }
        (Some(open), _) => {
            state.open.borrow_mut().insert(position, open);
            Err(Mistake::OtherKind(position))
        }
    }
}

enum NotRead<'js> {
    Json,
    Thrown(Value<'js>),
}

/// Reads JSON by the interpreter's own function; no script can change what it does.
fn parse<'js>(ctx: &Ctx<'js>, json: String) -> std::result::Result<Value<'js>, NotRead<'js>> {
    ctx.json_parse(json).map_err(|_| {
        let error = ctx.catch();
        let name = error
            .as_object()
            .and_then(|error| error.get::<_, String>("name").ok());
        ctx.catch();
        match name.as_deref() {
            Some("SyntaxError") | None => NotRead::Json,
            Some(_) => NotRead::Thrown(error),
        }
    })
}

/// The error was made at the call; now it is known what went wrong.
fn fill<'js>(ctx: &Ctx<'js>, error: &rquickjs::Object<'js>, said: &ToolError) -> Result<()> {
    define(ctx, error, "message", said.message.as_str(), false)?;
    define(ctx, error, "code", said.code.as_str(), true)?;
    define(ctx, error, "retryable", said.retryable, true)
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
