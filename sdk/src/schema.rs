//! JSON Schemas of inputs and outputs, as the manifest wants them.
//!
//! Everything is inlined where it is used (a type that contains itself stays a local reference),
//! and what only Rust knows is left out: `uint64` is no format that a reader of JSON has heard of.

use schemars::generate::{Contract, SchemaSettings};
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// The schema of what `T` is read from.
pub(crate) fn of_input<T: JsonSchema>() -> Value {
    generate::<T>(Contract::Deserialize)
}

/// The schema of what `T` is written as.
pub(crate) fn of_output<T: JsonSchema>() -> Value {
    generate::<T>(Contract::Serialize)
}

fn generate<T: JsonSchema>(contract: Contract) -> Value {
    let mut settings = SchemaSettings::draft2020_12().with_transform(Plain);
    settings.meta_schema = None;
    settings.inline_subschemas = true;
    settings.contract = contract;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.to_value()
}

/// A transform that removes formats which JSON Schema does not define, and defaults that say
/// nothing.
#[derive(Debug, Clone)]
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        let foreign = schema
            .get("format")
            .and_then(Value::as_str)
            .is_some_and(|format| {
                format.starts_with("int")
                    || format.starts_with("uint")
                    || format == "float"
                    || format == "double"
            });
        if foreign {
            schema.remove("format");
        }
        // Of something that may be left out, `null` only says again that it may.
        if schema.get("default").is_some_and(Value::is_null) {
            schema.remove("default");
        }
        transform_subschemas(self, schema);
    }
}
