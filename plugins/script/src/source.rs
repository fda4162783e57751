//! The script's source: how it is made a function, and where in it something is.

use rquickjs::{Ctx, Error, Function, Result, Value, qjs};

/// What the interpreter calls the source.
const NAME: &std::ffi::CStr = c"script";
/// Stands on a line of its own, line 0, so that every position is the script's own. The interpreter takes a first line of 0
/// for none given, so another one is before it.
const OPEN: &str = "\n({async script() {\n";
const CLOSE: &str = "\n}}).script";
/// The same body in a place where other things may follow it.
const OPEN_OTHERWISE: &str = "\nasync function script() {\n";
const CLOSE_OTHERWISE: &str = "\n}";

/// The function whose body the source is.
///
/// A source could close the function early and go on behind it. After that brace, a method may be followed by a comma
/// or another brace, a declaration by neither; so what is a program in both places has not closed it.
pub fn compile<'js>(ctx: &Ctx<'js>, source: &str) -> Result<Function<'js>> {
    if may_close_early(source) {
        let flags = qjs::JS_EVAL_TYPE_GLOBAL | qjs::JS_EVAL_FLAG_COMPILE_ONLY;
        evaluate(
            ctx,
            &format!("{OPEN_OTHERWISE}{source}{CLOSE_OTHERWISE}\0"),
            flags,
        )?;
    }
    let flags = qjs::JS_EVAL_TYPE_GLOBAL;
    let function = evaluate(ctx, &format!("{OPEN}{source}{CLOSE}\0"), flags)?;
    function.into_function().ok_or(Error::Unknown)
}

/// A brace that closes and, behind it, one that opens: without them nothing can be closed early.
fn may_close_early(source: &str) -> bool {
    match (source.find('}'), source.rfind('{')) {
        (Some(first), Some(last)) => first < last,
        _ => false,
    }
}

/// Compiles, and evaluates unless the flags say otherwise. The text ends in a zero byte.
fn evaluate<'js>(ctx: &Ctx<'js>, text: &str, flags: u32) -> Result<Value<'js>> {
    let mut options = qjs::JSEvalOptions {
        version: qjs::JS_EVAL_OPTIONS_VERSION as _,
        eval_flags: flags as _,
        filename: NAME.as_ptr(),
        line_num: -1,
    };
    // SAFETY: a live context, a text that ends in zero, and options that outlive the call; the result is owned.
    unsafe {
        let raw = qjs::JS_Eval2(
            ctx.as_raw().as_ptr(),
            text.as_ptr().cast(),
            (text.len() - 1) as _,
            &raw mut options,
        );
        if qjs::JS_IsException(raw) {
            return Err(Error::Exception);
        }
        Ok(Value::from_raw(ctx.clone(), raw))
    }
}

/// The innermost place in the script, of frames as the interpreter writes them.
pub fn place(stack: &str) -> Option<(u32, u32)> {
    stack.lines().find_map(place_in)
}

/// The frames that are the script's own, `at NAME (LINE:COLUMN)`, one a line.
pub fn own_frames(stack: &str) -> String {
    let mut frames = String::new();
    for line in stack.lines() {
        let Some((row, column)) = place_in(line) else {
            continue;
        };
        let name = line.trim_start().strip_prefix("at ").unwrap_or("");
        let name = name.rfind(" (").map_or("", |end| &name[..end]);
        if !frames.is_empty() {
            frames.push('\n');
        }
        frames.push_str(&match name {
            "" => format!("at {row}:{column}"),
            _ => format!("at {name} ({row}:{column})"),
        });
    }
    frames
}

/// The lines of a stack that are about the script, unchanged: what the script itself sees.
pub fn script_lines(stack: &str) -> String {
    let mut lines = String::new();
    for line in stack.lines().filter(|line| place_in(line).is_some()) {
        lines.push_str(line);
        lines.push('\n');
    }
    lines
}

/// `… (script:3:5)`, or, from the parser, `… script:3:5`.
fn place_in(frame: &str) -> Option<(u32, u32)> {
    let frame = frame.trim_end().trim_end_matches(')');
    let at = frame.rfind("script:")?;
    if !(frame[..at].ends_with('(') || frame[..at].ends_with(' ')) {
        return None;
    }
    let (line, column) = frame[at + "script:".len()..].split_once(':')?;
    let place = (line.parse().ok()?, column.parse().ok()?);
    (place.0 > 0).then_some(place)
}

/// What to do about a syntax error, where the line shows what was meant.
pub fn hint(source: &str, line: u32) -> Option<&'static str> {
    let line = usize::try_from(line).ok()?.checked_sub(1)?;
    let line = source.lines().nth(line)?.trim_start();
    let begins = |word: &str| {
        line.strip_prefix(word)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    if begins("import") {
        Some(
            "; a script cannot import, everything it may use is there already (`tools`, `console`, …)",
        )
    } else if begins("export") {
        Some("; a script exports nothing, it ends with `return`")
    } else if begins("interface") || begins("type") || begins("enum") || begins("declare") {
        Some("; this is TypeScript, and the script is read as JavaScript")
    } else {
        None
    }
}
