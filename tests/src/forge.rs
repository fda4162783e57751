//! Components of a few lines: for what no compiler would write.

/// A manifest of the plugin `forged` with the one pure tool `run`.
pub const MANIFEST: &str = r#"{"plugin":"forged","version":"1","description":"d","tools":[{"name":"run","description":"d","input":{"type":"object"},"output":{},"effect":"pure"}]}"#;

/// What a forged module exports where the fields do not say otherwise.
const RUN: &str = "(func (export \"run\") (param i32 i32 i32 i32) (result i32) unreachable)";
/// Where the fields say this, texts of `run` have two bytes for each unit.
const UTF_16: &str = ";; utf16";
/// How it makes room for what it is given, where the fields do not say otherwise.
const REALLOC: &str = r#"(func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (local $at i32)
      (local.set $at (global.get $next))
      (global.set $next (i32.and
        (i32.add (i32.add (global.get $next) (local.get 3)) (i32.const 15)) (i32.const -16)))
      (local.get $at))"#;
/// Where the manifest's text lies in memory; below it is room for what `run` returns.
const MANIFEST_AT: usize = 8_192;

/// A plugin whose core module holds `fields` beside a memory `$memory`, an allocator and its
/// manifest. The fields may define `(func (export "run") (param i32 i32 i32 i32) (result i32) …)`,
/// which gets name and arguments and returns the address of its result: a zero byte and at 4 the
/// place and length of a text, or a one and a failure. They may bring an allocator `realloc` of their own.
///
/// # Panics
/// Where the fields are no core wasm.
#[must_use]
pub fn plugin(manifest: &str, fields: &str) -> Vec<u8> {
    plugin_with(manifest, fields, "")
}

/// The same, with more in the component, `beside` its module.
///
/// # Panics
/// Where they are no component.
#[must_use]
pub fn plugin_with(manifest: &str, fields: &str, beside: &str) -> Vec<u8> {
    component(&text(manifest, fields, beside))
}

/// A component as it stands in the text format.
///
/// # Panics
/// Where it is none.
#[must_use]
pub fn component(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn text(manifest: &str, fields: &str, beside: &str) -> String {
    let run = if fields.contains("\"run\"") { "" } else { RUN };
    let realloc = match fields.contains("\"realloc\"") {
        true => "",
        false => REALLOC,
    };
    let encoding = match fields.contains(UTF_16) {
        true => "string-encoding=utf16",
        false => "",
    };
    let manifest_func = if fields.contains("\"manifest\"") {
        ""
    } else {
        "(func (export \"manifest\") (result i32) (i32.const 0))"
    };
    let place: String = [MANIFEST_AT, manifest.len()]
        .iter()
        .flat_map(|n| bytes_of(*n))
        .collect();
    let escaped: String = manifest
        .bytes()
        .map(|byte| format!("\\{byte:02x}"))
        .collect();
    let pages = 4 + manifest.len() / 65_536;
    format!(
        r#"(component
  {beside}
  (core module $m
    (memory $memory (export "memory") {pages})
    (global $next (mut i32) (i32.const 131072))
    {realloc}
    (data (i32.const 0) "{place}")
    (data (i32.const {MANIFEST_AT}) "{escaped}")
    {manifest_func}
    {run}
    {fields})
  (core instance $i (instantiate $m))
  (alias core export $i "memory" (core memory $memory))
  (alias core export $i "realloc" (core func $realloc))
  (type $failure (record
    (field "message" string) (field "retryable" bool) (field "details" string)))
  (func $manifest (result string)
    (canon lift (core func $i "manifest") (memory $memory) (realloc $realloc)))
  (func $run (param "name" string) (param "args" string)
    (result (result string (error $failure)))
    (canon lift (core func $i "run") {encoding} (memory $memory) (realloc $realloc)))
  (component $shim
    (type $record (record
      (field "message" string) (field "retryable" bool) (field "details" string)))
    (import "import-failure" (type $failure (eq $record)))
    (import "import-manifest" (func $manifest (result string)))
    (import "import-run" (func $run (param "name" string) (param "args" string)
      (result (result string (error $failure)))))
    (type $own (record
      (field "message" string) (field "retryable" bool) (field "details" string)))
    (export $shown "failure" (type $own))
    (export "manifest" (func $manifest))
    (export "run" (func $run)
      (func (param "name" string) (param "args" string)
        (result (result string (error $shown))))))
  (instance $tool (instantiate $shim
    (with "import-failure" (type $failure))
    (with "import-manifest" (func $manifest))
    (with "import-run" (func $run))))
  (export "lazaret:plugin/tool@0.1.0" (instance $tool)))
"#
    )
}

fn bytes_of(number: usize) -> Vec<String> {
    let number = u32::try_from(number).expect("a manifest of a test is short");
    number
        .to_le_bytes()
        .iter()
        .map(|byte| format!("\\{byte:02x}"))
        .collect()
}
