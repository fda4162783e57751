//! `GET /openapi.json`: what the server does, as OpenAPI 3.1. The bodies that it takes are described by the types that
//! read them; a test walks the routes, and another holds every answer of the tests against what is said of it here.

mod parts;

use std::sync::LazyLock;

use axum::http::StatusCode;
use axum::response::Response as Answer;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::answer::json as answer_of;
use super::{questions, runs, scripts, tools};

/// The document, made once.
static DOCUMENT: LazyLock<Value> = LazyLock::new(described);

/// `GET /openapi.json`.
pub(super) async fn document() -> Answer {
    answer_of(StatusCode::OK, &*DOCUMENT)
}

/// One way to ask.
struct Operation {
    method: &'static str,
    path: &'static str,
    /// What it does, in one sentence.
    summary: &'static str,
    /// Names in the query or the head: where, name, type, what for.
    asks: &'static [(&'static str, &'static str, &'static str, &'static str)],
    /// The schema of the body, if it has one.
    takes: Option<&'static str>,
    /// Statuses, media types and schemas of its answers, beside failures.
    gives: &'static [(u16, &'static str, &'static str)],
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

const fn get(
    path: &'static str,
    summary: &'static str,
    gives: &'static [(u16, &'static str, &'static str)],
) -> Operation {
    Operation {
        method: "get",
        path,
        summary,
        asks: &[],
        takes: None,
        gives,
    }
}

const fn post(
    path: &'static str,
    (summary, takes): (&'static str, Option<&'static str>),
    gives: &'static [(u16, &'static str, &'static str)],
) -> Operation {
    Operation {
        method: "post",
        path,
        summary,
        asks: &[],
        takes,
        gives,
    }
}

impl Operation {
    const fn asking(
        self,
        asks: &'static [(&'static str, &'static str, &'static str, &'static str)],
    ) -> Self {
        Self { asks, ..self }
    }
}

/// Who asks for tools.
const WHOSE: (&str, &str, &str, &str) = (
    "query",
    "surface",
    "string",
    "For whom: http, ai-sdk, react or dev.",
);

const OPERATIONS: [Operation; 22] = [
    get("/", "The console.", &[(200, "text/html", "Text")]),
    get(
        "/console/{part}",
        "What the console is made of.",
        &[(200, "text/javascript", "Text"), (200, "text/css", "Text")],
    ),
    get(
        "/healthz",
        "Whether the server is there.",
        &[(200, JSON, "Health")],
    ),
    get(
        "/openapi.json",
        "This document.",
        &[(200, JSON, "Document")],
    ),
    get(
        "/v1/tools",
        "The tools that may be called here.",
        &[(200, JSON, "Tools")],
    )
    .asking(&[
        (
            "query",
            "q",
            "string",
            "Words that their names and descriptions have.",
        ),
        WHOSE,
    ]),
    get(
        "/v1/tools/{name}",
        "One tool, by its own name or that of a catalogue.",
        &[(200, JSON, "Tool")],
    )
    .asking(&[WHOSE]),
    post(
        "/v1/tools/{name}/call",
        (
            "Call a tool. What waits for a person is accepted, and goes on when they have answered.",
            Some("Call"),
        ),
        &[(200, JSON, "Envelope"), (202, JSON, "WaitingEnvelope")],
    ),
    get("/v1/agents", "The agents.", &[(200, JSON, "Agents")]),
    get("/v1/runs", "The newest runs.", &[(200, JSON, "Runs")]).asking(&[(
        "query",
        "limit",
        "integer",
        "At most this many.",
    )]),
    post(
        "/v1/runs",
        ("Give an agent a goal.", Some("Begin")),
        &[(201, JSON, "Standing")],
    ),
    get(
        "/v1/runs/{run}",
        "A run with all its records.",
        &[(200, JSON, "Run")],
    ),
    get(
        "/v1/runs/{run}/flow",
        "Which sources reached which sinks of a run, and why they might.",
        &[(200, JSON, "Flows")],
    ),
    post(
        "/v1/runs/{run}/cancel",
        ("Stop a run, or end one that was left.", None),
        &[(200, JSON, "Standing")],
    ),
    post(
        "/v1/runs/{run}/resume",
        ("Go on with a run that was left.", None),
        &[(202, JSON, "Standing")],
    ),
    get(
        "/v1/runs/{run}/events",
        "What happens in a run: `record` with its place as id, `glimpse` between two, and `end`.",
        &[(200, EVENTS, "Text")],
    )
    .asking(&[
        ("query", "from", "integer", "The first record to be told."),
        (
            "header",
            "Last-Event-ID",
            "integer",
            "The last record that was seen.",
        ),
    ]),
    post(
        "/v1/scripts",
        ("Run a script against the tools.", Some("Script")),
        &[(200, JSON, "Envelope"), (202, JSON, "WaitingEnvelope")],
    ),
    get(
        "/v1/questions",
        "What waits for a person.",
        &[(200, JSON, "Questions")],
    ),
    get(
        "/v1/questions/{question}",
        "One question.",
        &[(200, JSON, "Question")],
    ),
    post(
        "/v1/questions/{question}",
        ("Answer a question, once.", Some("Reply")),
        &[(200, JSON, "Replied")],
    ),
    post(
        "/v1/chat/completions",
        (
            "Give an agent a goal as OpenAI's chat completions have it; `model` is the agent.",
            Some("Completion"),
        ),
        &[(200, JSON, "Completed"), (200, EVENTS, "Text")],
    )
    .asking(&[(
        "header",
        "x-lazaret-session",
        "string",
        "The session that it goes on with, or begins.",
    )]),
    get(
        "/v1/models",
        "The agents, as OpenAI lists models.",
        &[(200, JSON, "Models")],
    ),
    get(
        "/v1/models/{model}",
        "One of them.",
        &[(200, JSON, "Model")],
    ),
];

/// Routes that need no token.
const OPEN: [&str; 4] = ["/", "/console/{part}", "/healthz", "/openapi.json"];

/// The document.
pub(super) fn described() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for operation in &OPERATIONS {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        if let Some(methods) = path.as_object_mut() {
            methods.insert(operation.method.to_owned(), operation.described());
        }
    }
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "Lazaret",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Tools, runs, questions and scripts of one user's host, behind one gate.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {"token": {
                "type": "http",
                "scheme": "bearer",
                "description": "`lazaret serve --show-token` prints it.",
            }},
        },
        "security": [{"token": []}],
    })
}

fn schemas() -> Map<String, Value> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    let mut generator = settings.into_generator();
    let known: [fn(&mut SchemaGenerator); 4] = [
        |generator| drop(generator.subschema_for::<tools::Call>()),
        |generator| drop(generator.subschema_for::<runs::Begin>()),
        |generator| drop(generator.subschema_for::<scripts::Script>()),
        |generator| drop(generator.subschema_for::<questions::Reply>()),
    ];
    for add in known {
        add(&mut generator);
    }
    let mut all: Map<String, Value> = generator.take_definitions(true).into_iter().collect();
    all.extend(parts::schemas());
    all
}

impl Operation {
    fn described(&self) -> Value {
        let mut said = json!({
            "operationId": self.id(),
            "summary": self.summary,
            "responses": self.answers(),
        });
        let Some(fields) = said.as_object_mut() else {
            return said;
        };
        let parameters = self.parameters();
        if !parameters.is_empty() {
            fields.insert("parameters".to_owned(), parameters.into());
        }
        if let Some(takes) = self.takes {
            let body = json!({"required": true, "content": {JSON: {"schema": reference(takes)}}});
            fields.insert("requestBody".to_owned(), body);
        }
        if OPEN.contains(&self.path) {
            fields.insert("security".to_owned(), json!([]));
        }
        said
    }

    /// A name for programs that are made of this document.
    fn id(&self) -> String {
        let words = self.path.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<&str> = words
            .filter(|word| !word.is_empty() && *word != "v1")
            .collect();
        format!(
            "{}_{}",
            self.method,
            if words.is_empty() {
                "page".to_owned()
            } else {
                words.join("_")
            }
        )
    }

    fn parameters(&self) -> Vec<Value> {
        let named = self.path.split(['{', '}']).skip(1).step_by(2).map(|name| {
            json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}})
        });
        let asked = self.asks.iter().map(|(place, name, kind, what)| {
            json!({"name": name, "in": place, "required": false, "description": what, "schema": {"type": kind}})
        });
        named.chain(asked).collect()
    }

    fn answers(&self) -> Value {
        let mut all = Map::new();
        for (status, media, schema) in self.gives {
            let answer = all.entry(status.to_string()).or_insert_with(
                || json!({"description": "It is done, or accepted.", "content": {}}),
            );
            if let Some(content) = answer.get_mut("content").and_then(Value::as_object_mut) {
                content.insert((*media).to_owned(), json!({"schema": reference(schema)}));
            }
        }
        let failure = match self.path.starts_with("/v1/chat") || self.path.starts_with("/v1/models")
        {
            true => json!({"anyOf": [reference("Failure"), reference("Refusal")]}),
            false => reference("Failure"),
        };
        let failed = json!({
            "description": "It is not done; `error.code` says why.",
            "headers": {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}},
            "content": {JSON: {"schema": failure}},
        });
        all.insert("default".to_owned(), failed);
        all.into()
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}
