//! The document of the API by the schema of its own format: `tests/openapi/schema-3.1.json` is that of the OpenAPI Initiative
//! (`https://spec.openapis.org/oas/3.1/schema/2022-10-07`, Apache-2.0).

use std::path::Path;

use serde_json::Value;

use crate::serving::Serving;
use crate::station::Station;

fn wrong(schema: &Value, value: &Value) -> Vec<String> {
    let validator = jsonschema::draft202012::new(schema).expect("a schema");
    let errors = validator.iter_errors(value);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[test]
fn the_document_is_one_of_openapi() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi/schema-3.1.json");
    let schema = std::fs::read_to_string(path).expect("the schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let station = Station::new();
    let serving = Serving::start(&station);
    let document = &serving.document;
    assert_eq!(wrong(&schema, document), Vec::<String>::new());
    // That schema leaves to another what stands in schemas: JSON Schema itself.
    let schemas = document["components"]["schemas"].as_object();
    for (name, one) in schemas.expect("schemas") {
        assert!(jsonschema::meta::is_valid(one), "{name}: {one}");
    }
    // It finds what is wrong.
    let mut torn = document.clone();
    torn["paths"]["/healthz"]["get"]["responses"] = Value::from("none");
    assert!(!wrong(&schema, &torn).is_empty());
    serving.end().ends(0);
}
