//! The functions that the prelude calls, and its evaluation.

use std::rc::Rc;

use rquickjs::function::Opt;
use rquickjs::object::Property;
use rquickjs::{
    Array, ArrayBuffer, Ctx, Error, Exception, Function, IntoJs, Object, Persistent, Promise,
    Result, String as JsString, TypedArray, Value, qjs,
};

use crate::decode::{self, Decoding};
use crate::state::{Prelude, State};
use crate::{Level, clock, text, timers, tools, url};

/// The parts of the prelude, each a function that takes what it needs and returns what others need.
const PARTS: [(&std::ffi::CStr, &str); 6] = [
    (c"lazaret:tools", include_str!("../prelude/tools.js")),
    (c"lazaret:inspect", include_str!("../prelude/inspect.js")),
    (c"lazaret:console", include_str!("../prelude/console.js")),
    (c"lazaret:clone", include_str!("../prelude/clone.js")),
    (c"lazaret:url", include_str!("../prelude/url.js")),
    (c"lazaret:globals", include_str!("../prelude/globals.js")),
];

/// Makes everything that a script finds.
pub fn install(ctx: &Ctx<'_>, state: &Rc<State>) -> Result<()> {
    let natives = Object::new(ctx.clone())?;
    install_calls(ctx, &natives, state)?;
    install_clock(ctx, &natives, state)?;
    install_texts(ctx, &natives)?;
    install_urls(ctx, &natives)?;
    install_looks(ctx, &natives, state)?;
    for (name, source) in PARTS {
        let part = evaluate(ctx, name, source)?;
        part.call::<_, ()>((natives.clone(),))?;
    }
    let prelude = Prelude {
        bare_error: Persistent::save(ctx, ctx.globals().get::<_, Function>("Error")?),
        tool_error: Persistent::save(ctx, natives.get::<_, Function>("makeToolError")?),
        inspect: Persistent::save(ctx, natives.get::<_, Function>("inspect")?),
        tools: Persistent::save(ctx, natives.get::<_, Object>("toolTraps")?),
        held: Persistent::save(ctx, natives.get::<_, Object>("held")?),
        with_handles: Persistent::save(ctx, natives.get::<_, Function>("writtenWithHandles")?),
    };
    *state.prelude.borrow_mut() = Some(prelude);
    Ok(())
}

/// Defines a property of an object itself, whatever its prototypes say.
pub fn define<'js>(
    ctx: &Ctx<'js>,
    object: &Object<'js>,
    name: &str,
    value: impl IntoJs<'js>,
    is_enumerable: bool,
) -> Result<()> {
    let mut property = Property::from(value.into_js(ctx)?)
        .writable()
        .configurable();
    if is_enumerable {
        property = property.enumerable();
    }
    object.prop(name, property)
}

fn evaluate<'js>(ctx: &Ctx<'js>, name: &std::ffi::CStr, source: &str) -> Result<Function<'js>> {
    let source = format!("{source}\0");
    // SAFETY: a live context, a text that ends in zero; the result is owned by the new value.
    let part = unsafe {
        let raw = qjs::JS_Eval(
            ctx.as_raw().as_ptr(),
            source.as_ptr().cast(),
            (source.len() - 1) as _,
            name.as_ptr(),
            (qjs::JS_EVAL_TYPE_GLOBAL | qjs::JS_EVAL_FLAG_STRICT) as _,
        );
        if qjs::JS_IsException(raw) {
            return Err(Error::Exception);
        }
        Value::from_raw(ctx.clone(), raw)
    };
    part.into_function().ok_or(Error::Unknown)
}

fn install_calls<'js>(ctx: &Ctx<'js>, natives: &Object<'js>, state: &Rc<State>) -> Result<()> {
    let shared = Rc::clone(state);
    let call = move |ctx: Ctx<'js>, name: JsString<'js>, args: Array<'js>| {
        tools::call(&shared, &ctx, &name, &args)
    };
    natives.set("call", Function::new(ctx.clone(), call)?)?;
    let shared = Rc::clone(state);
    let log = move |level: u32, line: JsString<'js>| log(&shared, level, &line);
    natives.set("log", Function::new(ctx.clone(), log)?)
}

fn log(state: &State, level: u32, line: &JsString<'_>) -> Result<()> {
    let level = match level {
        0 => Level::Debug,
        1 => Level::Info,
        2 => Level::Warn,
        _ => Level::Error,
    };
    let most = state.bounds.get().log_bytes as usize;
    let room = state.log.borrow().room(most);
    let (line, length) = text::cut(line, room)?;
    state.log.borrow_mut().add(level, line, length, most);
    Ok(())
}

fn install_clock<'js>(ctx: &Ctx<'js>, natives: &Object<'js>, state: &Rc<State>) -> Result<()> {
    let shared = Rc::clone(state);
    let random = move || shared.random.unit();
    natives.set("random", Function::new(ctx.clone(), random)?)?;
    let shared = Rc::clone(state);
    let elapsed = move || clock::now_ms().saturating_sub(shared.started_ms.get()) as f64;
    natives.set("elapsed", Function::new(ctx.clone(), elapsed)?)?;
    let shared = Rc::clone(state);
    let started = move || shared.started_ms.get() as f64;
    natives.set("started", Function::new(ctx.clone(), started)?)?;
    let shared = Rc::clone(state);
    let set = move |ctx: Ctx<'js>, callback, pause: f64, args, repeats: bool| {
        timers::set(&shared, &ctx, callback, pause, args, repeats)
    };
    natives.set("setTimer", Function::new(ctx.clone(), set)?)?;
    let shared = Rc::clone(state);
    let clear = move |id: f64| timers::clear(&shared, id);
    natives.set("clearTimer", Function::new(ctx.clone(), clear)?)
}

fn install_texts<'js>(ctx: &Ctx<'js>, natives: &Object<'js>) -> Result<()> {
    let encode = |ctx: Ctx<'js>, string: JsString<'js>| {
        TypedArray::<u8>::new(ctx, text::whole(&string)?.into_bytes())
    };
    natives.set("encode", Function::new(ctx.clone(), encode)?)?;
    let decode = |ctx: Ctx<'js>, bytes: TypedArray<'js, u8>, fatal, keeps_mark, streams| {
        let how = Decoding {
            fatal,
            keeps_mark,
            streams,
        };
        decoded(&ctx, &bytes, how)
    };
    natives.set("decode", Function::new(ctx.clone(), decode)?)
}

/// The text and the number of bytes left over.
fn decoded<'js>(ctx: &Ctx<'js>, bytes: &TypedArray<'js, u8>, how: Decoding) -> Result<Array<'js>> {
    // SAFETY: nothing of the script runs while the bytes are borrowed.
    let bytes = unsafe { bytes.as_bytes() }.unwrap_or_default();
    let Some((text, left)) = decode::utf8(bytes, how) else {
        return Err(Exception::throw_type(
            ctx,
            "The encoded data was not valid for encoding utf-8",
        ));
    };
    let pair = Array::new(ctx.clone())?;
    pair.set(0, text)?;
    pair.set(1, left as f64)?;
    Ok(pair)
}

fn install_urls<'js>(ctx: &Ctx<'js>, natives: &Object<'js>) -> Result<()> {
    let parse =
        |ctx: Ctx<'js>, string: JsString<'js>, base: Opt<JsString<'js>>| -> Result<String> {
            let string = text::whole(&string)?;
            let base = base.0.as_ref().map(text::whole).transpose()?;
            url::parse(&string, base.as_deref())
                .map_err(|why| Exception::throw_type(&ctx, &format!("Invalid URL: {why}")))
        };
    natives.set("urlParse", Function::new(ctx.clone(), parse)?)?;
    let part = |href: JsString<'js>, name: JsString<'js>| -> Result<String> {
        Ok(url::part(&text::whole(&href)?, &text::whole(&name)?))
    };
    natives.set("urlPart", Function::new(ctx.clone(), part)?)?;
    let replace =
        |href: JsString<'js>, name: JsString<'js>, value: JsString<'js>| -> Result<String> {
            Ok(url::replaced(
                &text::whole(&href)?,
                &text::whole(&name)?,
                &text::whole(&value)?,
            ))
        };
    natives.set("urlReplace", Function::new(ctx.clone(), replace)?)?;
    let pairs =
        |query: JsString<'js>| -> Result<Vec<String>> { Ok(url::pairs(&text::whole(&query)?)) };
    natives.set("queryPairs", Function::new(ctx.clone(), pairs)?)?;
    let query = |pairs: Array<'js>| -> Result<String> {
        let pairs: Result<Vec<String>> = pairs
            .iter::<JsString>()
            .map(|string| text::whole(&string?))
            .collect();
        Ok(url::query(&pairs?))
    };
    natives.set("queryText", Function::new(ctx.clone(), query)?)
}

/// What the inspector and the clone see of a value without asking it.
fn install_looks<'js>(ctx: &Ctx<'js>, natives: &Object<'js>, state: &Rc<State>) -> Result<()> {
    // SAFETY: reads the class of a live value.
    let class = |value: Value<'js>| unsafe { qjs::JS_GetClassID(value.as_raw()) as u32 };
    natives.set("classOf", Function::new(ctx.clone(), class)?)?;
    let is_proxy = |value: Value<'js>| value.is_proxy();
    natives.set("isProxy", Function::new(ctx.clone(), is_proxy)?)?;
    let settled = |ctx: Ctx<'js>, promise: Promise<'js>| {
        let pair = Array::new(ctx.clone())?;
        pair.set(0, promise.state() as u32)?;
        Ok::<_, Error>(pair)
    };
    natives.set("promiseState", Function::new(ctx.clone(), settled)?)?;
    let bytes = |buffer: ArrayBuffer<'js>| buffer.len() as f64;
    natives.set("bufferBytes", Function::new(ctx.clone(), bytes)?)?;
    let shared = Rc::clone(state);
    let name = move |ctx: Ctx<'js>, value: Value<'js>| tool_name(&shared, &ctx, &value);
    natives.set("toolName", Function::new(ctx.clone(), name)?)
}

/// The name that a part of `tools` stands for.
fn tool_name<'js>(
    state: &State,
    ctx: &Ctx<'js>,
    value: &Value<'js>,
) -> Result<Option<JsString<'js>>> {
    if !value.is_proxy() {
        return Ok(None);
    }
    // SAFETY: a live context and a proxy of it; both results are owned by the new values.
    let (handler, target) = unsafe {
        let raw = ctx.as_raw().as_ptr();
        let handler = qjs::JS_GetProxyHandler(raw, value.as_raw());
        let target = qjs::JS_GetProxyTarget(raw, value.as_raw());
        (
            Value::from_raw(ctx.clone(), handler),
            Value::from_raw(ctx.clone(), target),
        )
    };
    let traps = state.of_prelude(|prelude| prelude.tools.clone())?;
    let traps = traps.restore(ctx)?;
    match target.into_object() {
        Some(target) if handler == traps.into_value() => target.get("path").map(Some),
        _ => Ok(None),
    }
}
