//! `tools`: a call that a script makes becomes a request, and a promise.
//!
//! The names live in the prelude's proxy; here a full name and its arguments arrive. Arguments are written as JSON by the
//! interpreter's own function, at once, so that what the script does to them later changes nothing.

use rquickjs::{Array, Ctx, Error, Function, Object, Persistent, Promise, Result, Value};

use crate::state::{Open, OpenCall, State};
use crate::{Call, ToolError, Wish, source, text};

/// The longest name of a tool; the host's own are far shorter.
const NAME_BYTES_MAX: usize = 1024;
/// All arguments of one step together may have this share of the heap, since they are kept outside of it.
const HEAP_SHARE: usize = 4;
/// What stands in the JSON text of every handle, and of no text: its quotes would be escaped.
const HANDLE: &str = "\"$handle\":";

/// A call by the script. Whatever is wrong with it rejects the promise; only an interrupted script gets none.
pub fn call<'js>(
    state: &State,
    ctx: &Ctx<'js>,
    name: &rquickjs::String<'js>,
    args: &Array<'js>,
) -> Result<Promise<'js>> {
    let (promise, resolve, reject) = ctx.promise()?;
    match request(state, ctx, name, args) {
        Ok((call, trace)) => state.ask(
            Wish::Call(call),
            Open::Call(OpenCall {
                resolve: Persistent::save(ctx, resolve),
                reject: Persistent::save(ctx, reject),
                trace: Persistent::save(ctx, trace),
            }),
        ),
        Err(Error::Exception) => {
            let error = ctx.catch();
            if error.is_uncatchable_error() {
                return Err(ctx.throw(error));
            }
            reject.call::<_, ()>((error,))?;
        }
        Err(other) => return Err(other),
    }
    Ok(promise)
}

fn request<'js>(
    state: &State,
    ctx: &Ctx<'js>,
    name: &rquickjs::String<'js>,
    args: &Array<'js>,
) -> Result<(Call, Value<'js>)> {
    let bounds = state.bounds.get();
    if state.calls.get() >= bounds.calls {
        return Err(over_budget(state, ctx, bounds.calls)?);
    }
    let (tool, length) = text::cut(name, NAME_BYTES_MAX)?;
    if tool.is_empty() {
        return Err(rquickjs::Exception::throw_type(
            ctx,
            "`tools` itself is no tool: name one, as in `await tools.files.read({ path })`",
        ));
    }
    if length > NAME_BYTES_MAX {
        let message = format!("no tool has a name of {length} bytes");
        return Err(refuse(state, ctx, "unknown_tool", &message)?);
    }
    if args.len() > 1 {
        return Err(rquickjs::Exception::throw_type(
            ctx,
            &format!(
                "`{tool}` was given {} arguments; a tool takes one object",
                args.len()
            ),
        ));
    }
    let args = written(state, ctx, &tool, args)?;
    state.calls.set(state.calls.get() + 1);
    // Where the script is: an error that nobody throws. Most calls succeed, so a `ToolError` is made only of one that
    // fails; making that here would take longer than all the rest of a call.
    let bare = state.of_prelude(|prelude| prelude.bare_error.clone())?;
    let bare: Function = bare.restore(ctx)?;
    let trace = bare.call(())?;
    Ok((Call { tool, args }, trace))
}

/// What a call is rejected with that has failed: a `ToolError` at the place where the script called.
pub fn failed<'js>(
    state: &State,
    ctx: &Ctx<'js>,
    trace: &Value<'js>,
    said: &ToolError,
) -> Result<Object<'js>> {
    let error = made(state, ctx, said)?;
    if let Some(trace) = trace.as_object() {
        place(ctx, &error, trace)?;
    }
    Ok(error)
}

/// The arguments as JSON text.
fn written<'js>(state: &State, ctx: &Ctx<'js>, tool: &str, args: &Array<'js>) -> Result<String> {
    let first = if args.is_empty() {
        Value::new_undefined(ctx.clone())
    } else {
        args.get::<Value>(0)?
    };
    if first.is_undefined() {
        return Ok("{}".to_owned());
    }
    let Some(json) = ctx.json_stringify(first.clone())? else {
        return Err(rquickjs::Exception::throw_type(
            ctx,
            &format!("`{tool}` was given what cannot be written as JSON; a tool takes one object"),
        ));
    };
    let bounds = state.bounds.get();
    let most = bounds.json_bytes as usize;
    let at_least = text::units(&json);
    let (json, length) = if at_least > most {
        (String::new(), at_least)
    } else {
        text::cut(&json, most)?
    };
    if json.contains(HANDLE) {
        check_handles(state, ctx, first)?;
    }
    if length > most {
        let message =
            format!("the arguments of `{tool}` have {length} bytes as JSON, {most} are allowed");
        return Err(refuse(state, ctx, "too_big", &message)?);
    }
    let together = state.args_bytes.get() + length;
    if together > most.max(bounds.heap_bytes as usize / HEAP_SHARE) {
        let message = "the calls that were made at once have too many bytes of arguments together; await some first";
        return Err(refuse(state, ctx, "too_big", message)?);
    }
    state.args_bytes.set(together);
    Ok(json)
}

/// What a tool is given has no object that only looks like a handle.
fn check_handles<'js>(state: &State, ctx: &Ctx<'js>, args: Value<'js>) -> Result<()> {
    let check = state.of_prelude(|prelude| prelude.with_handles.clone())?;
    let check: Function = check.restore(ctx)?;
    check.call::<_, Value>((args,)).map(drop)
}

/// A hundred thousand calls too many are cheap, because they are all refused with the same error.
fn over_budget(state: &State, ctx: &Ctx<'_>, most: u32) -> Result<Error> {
    let known = state.over_budget.borrow().clone();
    let error = match known {
        Some(error) => error.restore(ctx)?,
        None => {
            let message = match most {
                0 => "a function that runs apart has no tools: give it what it needs".to_owned(),
                most => format!("this script may make {most} calls, and has made them"),
            };
            let error = tool_error(state, ctx, "over_budget", &message)?.into_value();
            *state.over_budget.borrow_mut() = Some(Persistent::save(ctx, error.clone()));
            error
        }
    };
    Ok(ctx.throw(error))
}

/// Throws a `ToolError`.
fn refuse(state: &State, ctx: &Ctx<'_>, code: &str, message: &str) -> Result<Error> {
    let error = tool_error(state, ctx, code, message)?;
    Ok(ctx.throw(error.into_value()))
}

/// A `ToolError` at the place where the script is.
fn tool_error<'js>(
    state: &State,
    ctx: &Ctx<'js>,
    code: &str,
    message: &str,
) -> Result<Object<'js>> {
    let said = ToolError {
        code: code.to_owned(),
        message: message.to_owned(),
        retryable: false,
    };
    let error = made(state, ctx, &said)?;
    place(ctx, &error, &error)?;
    Ok(error)
}

/// A `ToolError`, made by the prelude.
fn made<'js>(state: &State, ctx: &Ctx<'js>, said: &ToolError) -> Result<Object<'js>> {
    let make = state.of_prelude(|prelude| prelude.tool_error.clone())?;
    let make: Function = make.restore(ctx)?;
    make.call((said.code.as_str(), said.message.as_str(), said.retryable))
}

/// Gives an error the stack of another, as far as that is the script's own.
fn place<'js>(ctx: &Ctx<'js>, error: &Object<'js>, trace: &Object<'js>) -> Result<()> {
    let stack: Value = trace.get("stack")?;
    let Some(stack) = stack.as_string() else {
        return Ok(());
    };
    let frames = source::script_lines(&text::whole(stack)?);
    crate::natives::define(ctx, error, "stack", frames, false)
}
