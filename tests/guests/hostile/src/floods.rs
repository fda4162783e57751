//! What is too much.

use std::io::Write;

use lazaret_sdk::prelude::*;

/// Returns a text of so many bytes.
#[tool(effect = "pure")]
pub fn text(
    /// How many.
    bytes: usize,
) -> String {
    "x".repeat(bytes)
}

/// Reports progress so many times, with numbers that are none too.
#[tool(effect = "pure")]
pub fn progress(
    /// How often.
    times: u64,
) -> u64 {
    for at in 0..times {
        let percent = [f32::NAN, f32::INFINITY, -5.0, 1e30][at as usize % 4];
        log::progress("busy", percent);
    }
    times
}

/// Writes so many bytes to standard output and error, without a line end.
#[tool(effect = "pure")]
pub fn output(
    /// How many mebibytes.
    mebibytes: usize,
) -> Result<usize, Failure> {
    let block = vec![b'o'; 1 << 20];
    for _ in 0..mebibytes {
        std::io::stdout().write_all(&block)?;
        std::io::stderr().write_all(&block)?;
    }
    Ok(mebibytes)
}

/// Adds so many artifacts of a size.
#[tool(effect = "pure")]
pub fn add_artifacts(
    /// How many.
    count: usize,
    /// Bytes of each.
    bytes: usize,
    /// Bytes more in the name of each.
    #[default(0)]
    named: usize,
    /// Bytes that are said of each.
    #[default(0)]
    said: usize,
) -> Vec<String> {
    let name = format!("a\u{202e}b{}.txt", "n".repeat(named));
    let metadata = json!({ "said": "s".repeat(said) });
    let add = |_| match artifacts::add_with(&name, "text/plain", &metadata, vec![b'a'; bytes]) {
        Ok(id) => format!("ok: {id}"),
        Err(refusal) => format!("{}: {}", refusal.code.as_str(), refusal.message),
    };
    let mut said: Vec<String> = (0..count).map(add).collect();
    said.dedup();
    said
}

/// Fails, and says so in so many bytes.
#[tool(effect = "pure")]
pub fn fail_long(
    /// How many.
    bytes: usize,
) -> Result<Value, Failure> {
    Err(Failure::new("f".repeat(bytes)))
}

/// Returns lists within lists.
#[tool(effect = "pure")]
pub fn nest(
    /// How deep.
    depth: usize,
) -> Value {
    let mut value = Value::Null;
    for _ in 0..depth {
        value = Value::Array(vec![value]);
    }
    value
}

/// Sends a request with so many headers that all lie at the same place in memory: little for a guest, and its square
/// for a host that copies each.
#[tool(effect = "read-only", risk = "network_read")]
pub fn same_header(
    /// How many.
    count: usize,
    /// How long each is.
    bytes: usize,
) -> String {
    let mut request = lazaret_sdk::fetch::Request::new("GET", "http://nowhere.test/");
    let value = "x".repeat(bytes);
    for _ in 0..count {
        // SAFETY: the texts share their memory, which is not freed before the guest ends: below, and by a trap.
        let same = unsafe {
            String::from_raw_parts(value.as_ptr().cast_mut(), value.len(), value.capacity())
        };
        request = request.header("x", same);
    }
    let answer = request.send();
    // The texts were dropped with the request, many times over: whatever comes of it, nothing is allocated again.
    std::mem::forget(value);
    match answer {
        Ok(_) => std::process::abort(),
        Err(_) => std::process::exit(3),
    }
}
