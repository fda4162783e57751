//! What the macros build on; plugins do not use it directly.
//!
//! `#[tool]` implements [`Tool`], `plugin!` implements [`Plugin`], and every plugin so described is
//! a guest of the host through the one implementation of `Guest` below.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use schemars;
pub use serde;

use crate::bindings::exports::lazaret::plugin::tool::Guest;
use crate::bindings::lazaret::plugin::types;
use crate::{Failure, schema};

/// One tool: a function and what is declared about it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tool",
    label = "write `#[tool]` above the function of that name"
)]
pub trait Tool: Sized {
    /// Name within the plugin.
    const NAME: &'static str;
    /// The doc comment.
    const DESCRIPTION: &'static str;
    /// The other fields of the manifest, as a JSON object.
    const SETTINGS: &'static str;
    /// All of it as a value.
    const ENTRY: Entry = Entry::of::<Self>();
    /// The schema of the arguments.
    fn input() -> Value;
    /// The schema of the answer.
    fn output() -> Value;
    /// Whether the arguments can be read.
    fn fits(args: &str) -> Result<(), Failure>;
    /// Reads the arguments, runs the function, writes the answer.
    fn run(args: &str) -> Result<String, Failure>;
}

/// A tool as a value.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    name: &'static str,
    description: &'static str,
    settings: &'static str,
    input: fn() -> Value,
    output: fn() -> Value,
    fits: fn(&str) -> Result<(), Failure>,
    run: fn(&str) -> Result<String, Failure>,
}

impl Entry {
    /// The entry of `T`.
    const fn of<T: Tool>() -> Self {
        Self {
            name: T::NAME,
            description: T::DESCRIPTION,
            settings: T::SETTINGS,
            input: T::input,
            output: T::output,
            fits: T::fits,
            run: T::run,
        }
    }
}

/// A plugin: its name and its tools.
pub trait Plugin {
    /// Name of the plugin.
    const NAME: &'static str;
    /// Version of its crate.
    const VERSION: &'static str;
    /// One paragraph.
    const DESCRIPTION: &'static str;
    /// Its tools, in the order of the macro.
    const TOOLS: &'static [Entry];
}

impl<P: Plugin> Guest for P {
    fn manifest() -> String {
        manifest::<P>().to_string()
    }

    fn run(name: String, args: String) -> Result<String, types::Failure> {
        run::<P>(&name, &args).map_err(types::Failure::from)
    }
}

/// The manifest of `P`.
pub fn manifest<P: Plugin>() -> Value {
    let tools = P::TOOLS.iter().map(declare).collect();
    let mut manifest = Map::new();
    manifest.insert("plugin".to_owned(), P::NAME.into());
    manifest.insert("version".to_owned(), P::VERSION.into());
    manifest.insert("description".to_owned(), P::DESCRIPTION.into());
    manifest.insert("tools".to_owned(), Value::Array(tools));
    Value::Object(manifest)
}

fn declare(entry: &Entry) -> Value {
    let mut tool: Map<String, Value> = serde_json::from_str(entry.settings).unwrap_or_default();
    tool.insert("name".to_owned(), entry.name.into());
    tool.insert("description".to_owned(), entry.description.into());
    tool.insert("input".to_owned(), (entry.input)());
    tool.insert("output".to_owned(), (entry.output)());
    Value::Object(tool)
}

fn entry_of<P: Plugin>(name: &str) -> Result<&'static Entry, Failure> {
    let entry = P::TOOLS.iter().find(|entry| entry.name == name);
    entry.ok_or_else(|| Failure::new(format!("there is no tool `{name}` in `{}`", P::NAME)))
}

fn run<P: Plugin>(name: &str, args: &str) -> Result<String, Failure> {
    (entry_of::<P>(name)?.run)(args)
}

/// Calls a tool as the host would, for tests.
pub fn call<P: Plugin>(name: &str, args: Value) -> Result<Value, Failure> {
    let answer = run::<P>(name, &args.to_string())?;
    Ok(serde_json::from_str(&answer)?)
}

/// Panics if an example of a tool of `P` cannot be read as its arguments; for tests.
pub fn check<P: Plugin>() {
    for entry in P::TOOLS {
        let settings: Value = serde_json::from_str(entry.settings).unwrap_or_default();
        for example in settings["examples"].as_array().into_iter().flatten() {
            if let Err(failure) = (entry.fits)(&example["args"].to_string()) {
                panic!(
                    "example {} of `{}`: {failure}",
                    example["title"], entry.name
                );
            }
        }
        assert_eq!(
            (entry.input)()["type"],
            "object",
            "input of `{}`",
            entry.name
        );
    }
}

/// Stops the build if two tools have one name.
pub const fn assert_distinct(tools: &[Entry]) {
    let mut one = 0;
    while one < tools.len() {
        let mut other = one + 1;
        while other < tools.len() {
            assert!(
                !same(tools[one].name, tools[other].name),
                "two tools have one name"
            );
            other += 1;
        }
        one += 1;
    }
}

const fn same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.len() != right.len() {
        return false;
    }
    let mut at = 0;
    while at < left.len() {
        if left[at] != right[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// The schema of a tool's arguments.
pub fn input_schema<T: JsonSchema>() -> Value {
    schema::of_input::<T>()
}

/// The schema of a tool's answer.
pub fn output_schema<T: JsonSchema>() -> Value {
    schema::of_output::<T>()
}

/// Reads a tool's arguments.
pub fn read<T: DeserializeOwned>(args: &str) -> Result<T, Failure> {
    serde_json::from_str(args)
        .map_err(|error| Failure::new(format!("the arguments do not fit: {error}")))
}

/// Writes a tool's answer.
pub fn write<T: Serialize>(answer: &T) -> Result<String, Failure> {
    serde_json::to_string(answer)
        .map_err(|error| Failure::new(format!("the answer is no JSON: {error}")))
}
