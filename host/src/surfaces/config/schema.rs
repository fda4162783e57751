//! The JSON Schema of `lazaret.toml`, for editors. It is made of the tables that read the file, so that it says no
//! more and no less than they do.

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use serde_json::{Value, json};

use super::file::ConfigFile;

/// The schema.
#[must_use]
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(plain);
    let schema = settings
        .into_generator()
        .into_root_schema_for::<ConfigFile>();
    let mut schema = Value::from(schema);
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("title".to_owned(), json!("lazaret.toml"));
    }
    schema
}

/// TOML has no `null`: what may be absent is left out.
fn plain(schema: &mut schemars::Schema) {
    transform_subschemas(&mut plain, schema);
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if object.get("default") == Some(&Value::Null) {
        object.remove("default");
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(ways)) = object.get_mut("anyOf") else {
        return;
    };
    ways.retain(|way| way.get("type") != Some(&json!("null")));
    if let [Value::Object(only)] = ways.as_slice() {
        let only = only.clone();
        object.remove("anyOf");
        for (key, value) in only {
            object.entry(key).or_insert(value);
        }
    }
}
