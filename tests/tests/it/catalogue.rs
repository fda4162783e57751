//! Tools as other frameworks are told of them, against the shapes that these take.

use lazaret::surfaces::catalogue::{Shape, exposed, full, list, names};
use lazaret::words::event::{Event, Surface};
use lazaret_tests::prelude::*;
use lazaret_tests::saying;

fn name() -> Value {
    json!({"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,64}$"})
}

/// A JSON Schema of arguments as providers take them: an object that names its properties.
fn parameters() -> Value {
    json!({
        "type": "object",
        "required": ["type", "properties"],
        "properties": {"type": {"const": "object"}, "properties": {"type": "object"}},
        "not": {"anyOf": [{"required": ["anyOf"]}, {"required": ["oneOf"]}, {"required": ["allOf"]}]},
    })
}

/// What a provider takes, as it documents it.
fn shape(shape: Shape) -> Value {
    let text = json!({"type": "string", "minLength": 1});
    let closed = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    match shape {
        Shape::OpenAi => {
            let function = closed(
                json!({"name": name(), "description": text, "parameters": parameters()}),
                &["name", "description", "parameters"],
            );
            let tool = closed(
                json!({"type": {"const": "function"}, "function": function}),
                &["type", "function"],
            );
            json!({"type": "array", "items": tool})
        }
        Shape::Anthropic => {
            let tool = closed(
                json!({"name": name(), "description": text, "input_schema": parameters()}),
                &["name", "description", "input_schema"],
            );
            json!({"type": "array", "items": tool})
        }
        Shape::Mcp => {
            let hints = [
                "readOnlyHint",
                "destructiveHint",
                "idempotentHint",
                "openWorldHint",
            ];
            let flags: serde_json::Map<String, Value> = hints
                .iter()
                .map(|hint| ((*hint).to_owned(), json!({"type": "boolean"})))
                .collect();
            let tool = closed(
                json!({
                    "name": name(), "title": text, "description": text, "inputSchema": parameters(),
                    "annotations": closed(Value::Object(flags), &hints),
                    "_meta": {"type": "object", "propertyNames": {"pattern": "^[a-z]+/[a-zA-Z]+$"}},
                }),
                &["name", "inputSchema"],
            );
            closed(
                json!({"tools": {"type": "array", "items": tool}}),
                &["tools"],
            )
        }
        Shape::AiSdk => {
            let tool = closed(
                json!({
                    "description": text, "inputSchema": parameters(), "outputSchema": true,
                    "needsApproval": {"type": "boolean"},
                }),
                &["description", "inputSchema"],
            );
            json!({"type": "object", "propertyNames": name(), "additionalProperties": tool})
        }
    }
}

const SHAPES: [Shape; 4] = [Shape::OpenAi, Shape::Anthropic, Shape::Mcp, Shape::AiSdk];

/// A policy by which every bundled tool may be called.
const ALL: &str = r#"
    [grants."files.remove"]
    [grants."files.*"]
    [grants."notes.delete"]
    [grants."notes.*"]
    [grants."web.*"]
    [grants."odd.*"]
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_list_is_what_its_framework_takes() {
    // A schema that begins with a choice, and no properties.
    let odd =
        json!({"input": {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}});
    let rig = Rig::of(ALL)
        .component("odd", &saying::component("odd", &odd, "1"))
        .open()
        .await;
    for one in SHAPES {
        let tools = exposed(&rig.host, one.surface());
        assert!(tools.len() > 15, "{}", tools.len());
        let told = list(&tools, &names(&tools), one);
        let validator = jsonschema::draft202012::new(&shape(one)).unwrap();
        let wrong: Vec<String> = validator
            .iter_errors(&told)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{one:?}: {wrong:#?}");
        let count = told.as_array().or(told["tools"].as_array()).map_or_else(
            || told.as_object().map_or(0, serde_json::Map::len),
            Vec::len,
        );
        assert_eq!(count, tools.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_lead_back() {
    let rig = Rig::of(ALL).open().await;
    let tools = exposed(&rig.host, Surface::Mcp);
    let names = names(&tools);
    for tool in &tools {
        assert_eq!(
            names.full(&names.wire(tool.name.as_str())),
            tool.name.as_str()
        );
    }
}

/// Of two that would have one name each has another, in every list; and each leads back, whoever calls by it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_of_any_list_is_that_of_its_tool() {
    let only = json!({"surfaces": ["mcp"]});
    let rig = Rig::of(ALL)
        .component("odd", &saying::component("odd", &json!({}), "1"))
        .component("mine", &saying::component("mine", &only, "1"))
        .open()
        .await;
    for one in SHAPES {
        let tools = exposed(&rig.host, one.surface());
        let names = names(&tools);
        for tool in tools {
            let wire = names.wire(tool.name.as_str());
            assert_eq!(full(&rig.host, &wire), tool.name.as_str(), "{one:?}");
        }
    }
    for name in ["text.count", "text__cuont", "", "nothing"] {
        assert_eq!(full(&rig.host, name), name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_follow_from_what_is_declared() {
    let rig = Rig::of(ALL).open().await;
    let tools = exposed(&rig.host, Surface::Mcp);
    let told = list(&tools, &names(&tools), Shape::Mcp);
    let hints = |name: &str| {
        let tools = told["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["title"] == name).unwrap();
        let hints = &tool["annotations"];
        [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ]
        .map(|hint| hints[hint].as_bool().unwrap())
    };
    assert_eq!(hints("text.count"), [true, false, true, false]);
    assert_eq!(hints("files.remove"), [false, true, false, false]);
    assert_eq!(hints("notes.delete"), [false, true, true, false]);
    assert_eq!(hints("web.get_page"), [true, false, true, true]);
    assert_eq!(hints("web.post"), [false, false, false, true]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_model_is_told_of_what_it_may_not_call() {
    for (visibility, told) in [
        ("public", true),
        ("local", false),
        ("private", false),
        ("user", false),
    ] {
        let component = saying::component("odd", &json!({"visibility": visibility}), "1");
        let rig = Rig::of("").component("odd", &component).open().await;
        for surface in [Surface::Http, Surface::Mcp, Surface::AiSdk] {
            let tools = exposed(&rig.host, surface);
            let is_told = tools.iter().any(|tool| tool.name.as_str() == "odd.run");
            assert_eq!(is_told, told, "{visibility}");
            // Without a line that names it alone, what cannot be undone is for nobody.
            assert!(
                tools
                    .iter()
                    .all(|tool| tool.name.as_str() != "files.remove")
            );
        }
    }
}

/// Row A-13b: who is told of a tool, by what its manifest says and what policy grants.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_told_of_what_is_not_for_them() {
    for (says, granted, expected) in [
        (json!({}), false, "http mcp model"),
        (json!({"effect": "destructive"}), false, ""),
        (json!({"effect": "destructive"}), true, "http mcp model"),
        (json!({"visibility": "user"}), false, "http"),
        (json!({"visibility": "local"}), false, "model"),
        (json!({"visibility": "private"}), false, ""),
        (json!({"surfaces": ["http"]}), false, "http"),
        (json!({"surfaces": ["mcp", "cli"]}), false, "mcp model"),
    ] {
        let grant = if granted { "[grants.\"box.run\"]" } else { "" };
        let rig = Rig::of(grant).component("box", &saying::component("box", &says, "1"));
        let rig = rig.replies(&[json!({"text": "Done."})]).open().await;
        let (run, _) = rig.pursue("Look.").await;
        let records = rig.records(&run).await;
        let prompted = records.iter().any(|record| {
            matches!(&record.event, Event::Prompted { tools, .. } if tools.iter().any(|tool| tool == "box.run"))
        });
        let host = &rig.host;
        let callable = host.catalog().callable(host.policy(), Surface::Http);
        let told = [
            (
                "http",
                callable.iter().any(|tool| tool.name.as_str() == "box.run"),
            ),
            (
                "mcp",
                exposed(host, Surface::Mcp)
                    .iter()
                    .any(|tool| tool.name.as_str() == "box.run"),
            ),
            ("model", prompted),
        ];
        let told: Vec<&str> = told
            .iter()
            .filter(|(_, is)| *is)
            .map(|(who, _)| *who)
            .collect();
        assert_eq!(told.join(" "), expected, "{says} {granted}");
    }
}
