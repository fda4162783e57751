//! The macros behind `lazaret-sdk`: [`macro@tool`], [`macro@value`] and [`plugin!`].
//!
//! They live in a crate of their own because procedural macros must; use them through
//! `lazaret_sdk::prelude`. Every wrong use is a compile error that says what to write instead.

#![warn(missing_docs)]

mod docs;
mod options;
mod parameters;
mod plugin;
mod tool;
mod value;

use proc_macro::TokenStream;

/// Makes a plain function a tool.
///
/// The doc comment becomes the tool's description, each parameter becomes a field of its input
/// (with the parameter's doc comment as the field's description), and the return type, `T` or
/// `Result<T, Failure>`, its output. A parameter of type `Option<T>` may be left out, as may one
/// with `#[default(EXPR)]`. The attributes `#[serde(…)]` and `#[schemars(…)]` of a parameter are
/// handed on to the field.
///
/// ```ignore
/// /// Says hello.
/// #[tool(effect = "pure", example(title = "a friend", args = r#"{"name": "Ada"}"#))]
/// fn hello(
///     /// Whom to greet.
///     name: String,
/// ) -> String {
///     format!("Hello, {name}!")
/// }
/// ```
///
/// | key | value |
/// |---|---|
/// | `name` | the tool's name, where it differs from the function's |
/// | `effect` | `"pure"`, `"read-only"`, `"side-effecting"`, `"destructive"` and so on |
/// | `risk` | `"read_only"`, `"network_read"`, `"external_write"` and so on, as in the WIT |
/// | `hosts` | what it wants to fetch, `["GET https://api.example.com/v1"]` |
/// | `mounts`, `notes` | `"none"`, `"read"`, `"write"` |
/// | `calls` | tools it wants to call, `["text.count", "files.*"]` |
/// | `secrets` | names of secrets it wants placed in its requests |
/// | `sensitivity` | of what it returns: `"public"`, `"internal"`, `"secret"` |
/// | `surfaces` | of `"cli"`, `"json"`, `"http"`, `"mcp"`, `"react"`, `"dev"`, `"ai-sdk"` |
/// | `visibility` | `"public"`, `"local"`, `"private"`, `"user"` |
/// | `timeout_ms` | 1 to 600000 |
/// | `retry` | `retry(retries = 2, delay_ms = 500)`, and with `backoff = "exponential"` each wait is twice the one before |
/// | `idempotent`, `sequential`, `deferred` | a bare word, or `= true` and `= false` |
/// | `requires_confirmation` | a bare word: whoever calls confirms each call; `= false` for a destructive tool that need not be |
/// | `at_once` | calls of it that are made at once, such as `2` |
/// | `deprecated` | what to use instead: each call logs a warning |
/// | `needs_approval` | a bare word: a person is asked before every call, and no line of policy lifts it |
/// | `truncation` | `"middle"`, `"tail"`, `"head"`, `"head-tail"`, `"spill"`, `"summarise"` |
/// | `tier` | `"fast"`, `"balanced"`, `"smart"` |
/// | `steers` | arguments that say where, whom or what to act on, and their kinds: `steers(path = "file")` |
/// | `content` | arguments that are content: `content = ["text"]`; what is in neither of the two steers |
/// | `naming` | the argument that names what is made: `naming = "title"` |
/// | `new` | the values with which it only makes what is not there: `new(mode = "create")`; left out, an argument says the same |
/// | `example` | `example(title = "…", args = r#"{…}"#)`, at most five |
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    tool::expand(options.into(), item.into())
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Makes a struct or an enum something that tools take and return.
///
/// It derives `Debug`, `Clone`, `Serialize`, `Deserialize` and `JsonSchema` through `lazaret-sdk`,
/// so that a plugin depends on nothing else. The variants of an enum are spelt in `snake_case`
/// unless a `#[serde(rename_all = "…")]` says otherwise.
#[proc_macro_attribute]
pub fn value(options: TokenStream, item: TokenStream) -> TokenStream {
    value::expand(options.into(), item.into())
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Exports tools as a plugin; used once in a crate, in its `lib.rs`.
///
/// ```ignore
/// plugin! {
///     name: "text",
///     description: "Counts and searches texts.",
///     tools: [count, search],
/// }
/// ```
///
/// The plugin's version is its crate's. The macro defines a type `Plugin` with `Plugin::manifest()`
/// and `Plugin::call(tool, args)` for tests, and a test that checks the manifest's examples.
#[proc_macro]
pub fn plugin(input: TokenStream) -> TokenStream {
    plugin::expand(input.into())
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
