//! The script's value, as the JSON text that the host gets.

use rquickjs::{Ctx, Value};

use crate::state::State;
use crate::{Failure, Reason, engine, failure, text};

/// What the interpreter says of a value that refers to itself.
const CYCLE: &str = "TypeError: circular reference";
/// What it says of a BigInt.
const BIGINT: &str = "TypeError: BigInt are forbidden in JSON.stringify";

/// Writes the value as JSON. `toJSON` and getters of the script run here.
pub fn json<'js>(ctx: &Ctx<'js>, value: &Value<'js>, state: &State) -> Result<String, Failure> {
    if value.is_undefined() {
        return Ok("null".to_owned());
    }
    let written = match ctx.json_stringify(value.clone()) {
        Ok(Some(written)) => written,
        Ok(None) => {
            let what = value.type_name();
            return Err(not_json(&format!(
                "the script returned a {what}, which cannot be written as JSON; return plain values instead"
            )));
        }
        Err(_) => return Err(unwritten(ctx, state)),
    };
    let most = state.bounds.get().json_bytes as usize;
    let length = text::units(&written);
    if length > most {
        return Err(too_big(length, most));
    }
    match text::cut(&written, most) {
        Ok((json, length)) if length <= most => Ok(json),
        Ok((_, length)) => Err(too_big(length, most)),
        Err(_) => Err(unwritten(ctx, state)),
    }
}

fn unwritten(ctx: &Ctx<'_>, state: &State) -> Failure {
    let thrown = ctx.catch();
    engine::let_speak(state);
    let failure = failure::thrown(ctx, &thrown, state);
    if failure.reason != Reason::Thrown {
        return failure;
    }
    match failure.message.as_str() {
        CYCLE => not_json(
            "the script returned a value that contains itself; return a part of it, without the cycle",
        ),
        BIGINT => {
            not_json("the script returned a BigInt; return `String(it)` or `Number(it)` instead")
        }
        _ => failure,
    }
}

fn not_json(message: &str) -> Failure {
    failure::placeless(Reason::NotJson, message)
}

fn too_big(length: usize, most: usize) -> Failure {
    let message = format!(
        "the script returned {length} bytes of JSON, {most} are allowed; return a summary, or a part"
    );
    failure::placeless(Reason::TooBig, message)
}
