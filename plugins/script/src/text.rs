//! Strings on their way from the interpreter to Rust.
//!
//! A script's string may hold halves of surrogate pairs, which no Rust string can; they become U+FFFD. It may also be
//! longer than anybody wants to copy, so that every reader says how much it takes.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use rquickjs::{Ctx, Error, Result, String as JsString, Value, qjs};

/// The text of a string, at most `most` bytes of it, and its whole length in bytes.
///
/// Fails when the heap is too full for the conversion; the exception is then set.
pub fn cut(string: &JsString<'_>, most: usize) -> Result<(String, usize)> {
    let ctx = string.as_value().ctx().as_raw().as_ptr();
    let mut length = MaybeUninit::uninit();
    // SAFETY: a live context and a value of it; the bytes are read before they are freed, and never after.
    unsafe {
        let start =
            qjs::JS_ToCStringLen2(ctx, length.as_mut_ptr(), string.as_value().as_raw(), false);
        if start.is_null() {
            return Err(Error::Exception);
        }
        let length = length.assume_init() as usize;
        let bytes = std::slice::from_raw_parts(start.cast::<u8>(), length);
        let text = lossy(&bytes[..length.min(most)], length > most);
        qjs::JS_FreeCString(ctx, start.cast::<c_char>());
        Ok((text, length))
    }
}

/// The whole text of a string.
pub fn whole(string: &JsString<'_>) -> Result<String> {
    cut(string, usize::MAX).map(|(text, _)| text)
}

/// The text of a value that is a string; of another, what JavaScript's own conversion says, which may run the script.
pub fn coerced<'js>(ctx: &Ctx<'js>, value: &Value<'js>, most: usize) -> Result<String> {
    if let Some(string) = value.as_string() {
        return cut(string, most).map(|(text, _)| text);
    }
    // SAFETY: a live context and a value of it; the result is owned by the new value, or is the exception.
    let string = unsafe {
        let raw = qjs::JS_ToString(ctx.as_raw().as_ptr(), value.as_raw());
        if qjs::JS_IsException(raw) {
            return Err(Error::Exception);
        }
        Value::from_raw(ctx.clone(), raw)
    };
    match string.as_string() {
        Some(string) => cut(string, most).map(|(text, _)| text),
        None => Ok(String::new()),
    }
}

/// How many UTF-16 units a string has, which its bytes cannot be fewer than; costs nothing.
pub fn units(string: &JsString<'_>) -> usize {
    let ctx = string.as_value().ctx().as_raw().as_ptr();
    let mut length = 0;
    // SAFETY: a live context and a string of it, whose length is no property that a script can replace.
    let failed = unsafe { qjs::JS_GetLength(ctx, string.as_value().as_raw(), &raw mut length) };
    if failed < 0 {
        return usize::MAX;
    }
    usize::try_from(length).unwrap_or(usize::MAX)
}

fn lossy(bytes: &[u8], was_cut: bool) -> String {
    let end = if was_cut {
        whole_characters(bytes)
    } else {
        bytes.len()
    };
    let mut rest = &bytes[..end];
    let mut text = String::with_capacity(end);
    loop {
        match std::str::from_utf8(rest) {
            Ok(valid) => {
                text.push_str(valid);
                return text;
            }
            Err(error) => {
                let (valid, after) = rest.split_at(error.valid_up_to());
                text.push_str(&String::from_utf8_lossy(valid));
                text.push(char::REPLACEMENT_CHARACTER);
                // Half of a pair is written as three bytes.
                rest = after.get(3..).unwrap_or_default();
            }
        }
    }
}

/// Where the last character ends that was not cut through.
fn whole_characters(bytes: &[u8]) -> usize {
    let mut end = bytes.len();
    // A character has one first byte and up to three that continue it.
    for _ in 0..4 {
        match end.checked_sub(1).map(|last| bytes[last]) {
            Some(0x80..=0xbf) => end -= 1,
            Some(first @ 0xc0..) => {
                let length = match first {
                    0xf0.. => 4,
                    0xe0.. => 3,
                    _ => 2,
                };
                let is_whole = end - 1 + length <= bytes.len();
                return if is_whole { end - 1 + length } else { end - 1 };
            }
            _ => return bytes.len(),
        }
    }
    bytes.len()
}
