//! Where an SDK and we may differ, and why. A rule brings one side into the words of the other; after all of them,
//! both sides are the same, or the comparison has failed.

use std::cell::Cell;

use lazaret::rules::codec::Wire;
use serde_json::{Map, Value, json};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// What was read in an answer.
    Reading,
    /// The body of a request.
    Body,
    /// Its path and headers.
    Head,
}

/// One difference that may be.
struct Rule {
    wires: &'static [Wire],
    about: About,
    why: &'static str,
    /// Changes ours, theirs, or both, where the difference is there.
    apply: fn(&mut Value, &mut Value),
    used: Cell<bool>,
}

/// All of them, and which were needed.
pub struct Rules(Vec<Rule>);

impl Rules {
    /// Applies those that are about this.
    pub fn apply(&self, wire: Wire, about: About, ours: &mut Value, theirs: &mut Value) {
        let fitting = |rule: &&Rule| rule.about == about && rule.wires.contains(&wire);
        for rule in self.0.iter().filter(fitting) {
            let before = (ours.clone(), theirs.clone());
            (rule.apply)(ours, theirs);
            if before != (ours.clone(), theirs.clone()) {
                rule.used.set(true);
            }
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Those that changed nothing.
    pub fn idle(&self) -> Vec<&'static str> {
        let idle = self.0.iter().filter(|rule| !rule.used.get());
        idle.map(|rule| rule.why).collect()
    }
}

fn rule(
    wires: &'static [Wire],
    about: About,
    why: &'static str,
    apply: fn(&mut Value, &mut Value),
) -> Rule {
    Rule {
        wires,
        about,
        why,
        apply,
        used: Cell::new(false),
    }
}

impl Default for Rules {
    fn default() -> Self {
        let mut rules = readings();
        rules.extend(openai());
        rules.extend(responses());
        rules.extend(anthropic());
        rules.extend(gemini());
        rules.extend(ollama());
        rules.extend(heads());
        Self(rules)
    }
}

fn readings() -> Vec<Rule> {
    use About::Reading;
    vec![
        rule(
            &[Wire::Gemini, Wire::Ollama],
            Reading,
            "a call without an id gets one from us, since outcomes are told by it; and Ollama's SDK knows no ids",
            |ours, theirs| {
                let theirs = list(&theirs["calls"]).clone();
                for (call, other) in items(&mut ours["calls"]).zip(theirs) {
                    if other["id"] == "" {
                        call["id"] = json!("");
                    }
                }
            },
        ),
        rule(
            &[Wire::OpenAi],
            Reading,
            "no arguments at all are an empty object to us",
            |_, theirs| {
                for call in items(&mut theirs["calls"]) {
                    if call["args"] == "" {
                        call["args"] = json!({});
                    }
                }
            },
        ),
        rule(
            &[Wire::OpenAi],
            Reading,
            "an older Ollama numbers all its calls 0: the SDK joins them into one that nobody can run, and we tell them \
             apart by their ids; that it said `stop` after them is the end to the SDK, and calls to us",
            |ours, theirs| {
                let calls = list(&ours["calls"]);
                let joined = |key: &str| -> String {
                    calls.iter().filter_map(|call| call[key].as_str()).collect()
                };
                let args: String = calls.iter().map(|call| call["args"].to_string()).collect();
                let [other] = list(&theirs["calls"]).as_slice() else {
                    return;
                };
                let same = other["id"] == joined("id") && other["name"] == joined("name");
                if calls.len() > 1 && same && other["args"] == args && theirs["stop"] == "end" {
                    theirs["calls"] = ours["calls"].clone();
                    theirs["stop"] = ours["stop"].clone();
                }
            },
        ),
        rule(
            &[Wire::Responses, Wire::Anthropic],
            Reading,
            "of an answer that was cut short, the SDKs hand out the call that was cut, too; we make only those that are whole",
            |ours, theirs| {
                let (whole, all) = (list(&ours["calls"]).len(), list(&theirs["calls"]).len());
                if ours["stop"] == "length" && all == whole + 1 {
                    theirs["calls"].as_array_mut().map(Vec::pop);
                }
            },
        ),
    ]
}

fn openai() -> Vec<Rule> {
    use About::Body;
    vec![
        rule(
            &[Wire::OpenAi],
            Body,
            "the SDK writes fields that a message does not have as null, and numbers of a stream's calls",
            |_, theirs| {
                for message in items(&mut theirs["messages"]) {
                    drop_nulls(message, &["content"]);
                    for call in items(&mut message["tool_calls"]) {
                        drop_key(call, "index");
                        drop_nulls(&mut call["function"], &[]);
                    }
                    drop_nulls(message, &["content"]);
                }
            },
        ),
        rule(
            &[Wire::OpenAi],
            Body,
            "no arguments go back as an empty object, since some servers read the history's arguments as JSON",
            |_, theirs| {
                for message in items(&mut theirs["messages"]) {
                    let calls = message.get_mut("tool_calls");
                    for call in calls.and_then(Value::as_array_mut).into_iter().flatten() {
                        if call["function"]["arguments"] == "" {
                            call["function"]["arguments"] = json!("{}");
                        }
                    }
                }
            },
        ),
        rule(
            &[Wire::OpenAi],
            Body,
            "arguments go back as the JSON that was read, without the blanks that they came with",
            |_, theirs| {
                for message in items(&mut theirs["messages"]) {
                    let calls = message.get_mut("tool_calls");
                    for call in calls.and_then(Value::as_array_mut).into_iter().flatten() {
                        let arguments = &mut call["function"]["arguments"];
                        let text = arguments.as_str().unwrap_or_default();
                        if let Ok(value) = serde_json::from_str::<Value>(text) {
                            *arguments = json!(value.to_string());
                        }
                    }
                }
            },
        ),
        rule(
            &[Wire::OpenAi],
            Body,
            "thoughts that nobody signed are not told back (U-38); these servers ask for none",
            |_, theirs| {
                for message in items(&mut theirs["messages"]) {
                    drop_key(message, "reasoning");
                    drop_key(message, "reasoning_content");
                }
            },
        ),
    ]
}

fn responses() -> Vec<Rule> {
    use About::Body;
    vec![
        rule(
            &[Wire::Responses],
            Body,
            "nothing is stored there, so ids and states of messages and calls name nothing; a message is its text",
            |_, theirs| {
                for item in items(&mut theirs["input"]) {
                    if item["type"] == "message" {
                        let parts = list(&item["content"]).iter();
                        let text: String = parts.filter_map(|part| part["text"].as_str()).collect();
                        *item = json!({"role": item["role"], "content": text});
                    }
                    if item["type"] == "function_call" {
                        drop_key(item, "id");
                        drop_key(item, "status");
                    }
                }
            },
        ),
        rule(
            &[Wire::OpenAi, Wire::Responses, Wire::Anthropic],
            Body,
            "we always say whether an answer is to be streamed",
            |ours, theirs| {
                if ours["stream"] == false && theirs.get("stream").is_none() {
                    drop_key(ours, "stream");
                }
            },
        ),
    ]
}

fn anthropic() -> Vec<Rule> {
    use About::Body;
    vec![
        rule(
            &[Wire::Anthropic],
            Body,
            "we mark where its cache may end",
            |ours, _| drop_everywhere(ours, "cache_control"),
        ),
        rule(
            &[Wire::Anthropic],
            Body,
            "a text alone and a list with one text are the same; only the list can be marked",
            |_, theirs| {
                listed(&mut theirs["system"]);
                for message in items(&mut theirs["messages"]) {
                    listed(&mut message["content"]);
                }
            },
        ),
    ]
}

fn gemini() -> Vec<Rule> {
    use About::Body;
    vec![
        rule(
            &[Wire::Gemini],
            Body,
            "thoughts that nobody signed are not told back (U-38)",
            |_, theirs| {
                each_parts(theirs, |parts| {
                    parts.retain(|part| {
                        part["thought"] != true || part.get("thoughtSignature").is_some()
                    });
                });
            },
        ),
        rule(
            &[Wire::Gemini],
            Body,
            "the SDK tells back the pieces of a stream; we tell the text that they are, with the signature that came after it",
            |_, theirs| each_parts(theirs, join_texts),
        ),
        rule(
            &[Wire::Gemini],
            Body,
            "the SDK reads a signature and writes it anew in the alphabet for URLs; we give back the very text",
            |_, theirs| {
                each_parts(theirs, |parts| {
                    for part in parts {
                        let signature = part.get("thoughtSignature").and_then(Value::as_str);
                        if let Some(signature) = signature {
                            part["thoughtSignature"] =
                                json!(signature.replace('-', "+").replace('_', "/"));
                        }
                    }
                });
            },
        ),
        rule(
            &[Wire::Gemini],
            Body,
            "the SDK says of instructions that a user gives them, and of the rest of the configuration that it is empty",
            |_, theirs| {
                drop_key(&mut theirs["systemInstruction"], "role");
                if theirs["generationConfig"] == json!({}) {
                    drop_key(theirs, "generationConfig");
                }
            },
        ),
        rule(
            &[Wire::Gemini],
            Body,
            "the SDK writes types in capitals, keys of schemas with underscores and bounds with a point; the server takes both",
            |_, theirs| plain_schema(&mut theirs["tools"]),
        ),
        rule(
            &[Wire::Gemini],
            Body,
            "a tool without arguments has no parameters: the server has refused objects without properties",
            |_, theirs| {
                for tool in items(&mut theirs["tools"][0]["functionDeclarations"]) {
                    if tool["parameters"] == json!({"type": "object", "properties": {}}) {
                        drop_key(tool, "parameters");
                    }
                }
            },
        ),
    ]
}

fn ollama() -> Vec<Rule> {
    use About::Body;
    vec![
        rule(
            &[Wire::Ollama],
            Body,
            "the server gives ids and numbers to calls and reads them again; this SDK knows neither",
            |ours, _| {
                for message in items(&mut ours["messages"]) {
                    drop_key(message, "tool_call_id");
                    let calls = message.get_mut("tool_calls");
                    for call in calls.and_then(Value::as_array_mut).into_iter().flatten() {
                        drop_key(call, "id");
                        drop_key(&mut call["function"], "index");
                    }
                }
            },
        ),
        rule(
            &[Wire::Ollama],
            Body,
            "of a schema this SDK keeps type, items, description and enum, one level deep; the server takes the schema",
            |ours, _| {
                for tool in items(&mut ours["tools"]) {
                    let schema = &mut tool["function"]["parameters"];
                    keep(
                        schema,
                        &["type", "properties", "required", "items", "$defs"],
                    );
                    for (_, property) in schema["properties"].as_object_mut().into_iter().flatten()
                    {
                        keep(property, &["type", "items", "description", "enum"]);
                    }
                }
            },
        ),
    ]
}

fn heads() -> Vec<Rule> {
    use About::Head;
    vec![
        rule(
            &Wire::ALL,
            Head,
            "we say which form of an answer we ask for; the SDKs take what comes",
            |ours, theirs| {
                drop_key(ours, "accept");
                drop_key(theirs, "accept");
            },
        ),
        rule(
            &[Wire::Anthropic],
            Head,
            "the SDK gives the key as a bearer since its version 2; the provider documents `x-api-key`, which every server of \
             this format takes",
            |_, theirs| {
                let bearer = theirs["authorization"].as_str();
                let key = bearer.and_then(|bearer| bearer.strip_prefix("Bearer "));
                if let Some(key) = key.map(str::to_owned) {
                    theirs["x-api-key"] = json!(key);
                    drop_key(theirs, "authorization");
                }
            },
        ),
        rule(
            &[Wire::Anthropic],
            Head,
            "we speak the version that every server of this format knows; the newer one takes keys away that `extra` may hold",
            |ours, theirs| {
                let versions = (&ours["anthropic-version"], &theirs["anthropic-version"]);
                if versions == (&json!("2023-06-01"), &json!("2026-10-21")) {
                    theirs["anthropic-version"] = ours["anthropic-version"].clone();
                }
            },
        ),
    ]
}

/// What differs, place by place, or nothing.
pub fn difference(ours: &Value, theirs: &Value) -> Option<String> {
    let mut found = Vec::new();
    differ(String::new(), ours, theirs, &mut found);
    (!found.is_empty()).then(|| found.join("\n"))
}

fn differ(place: String, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let mut keys: Vec<&String> = ours.keys().chain(theirs.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                let place = format!("{place}/{key}");
                pair(place, ours.get(key), theirs.get(key), found);
            }
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            for at in 0..ours.len().max(theirs.len()) {
                pair(format!("{place}/{at}"), ours.get(at), theirs.get(at), found);
            }
        }
        (ours, theirs) if ours == theirs => {}
        (ours, theirs) => found.push(format!("  {place}: ours {ours}, theirs {theirs}")),
    }
}

fn pair(place: String, ours: Option<&Value>, theirs: Option<&Value>, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) => differ(place, ours, theirs, found),
        (Some(ours), None) => found.push(format!("  {place}: only ours, {ours}")),
        (None, Some(theirs)) => found.push(format!("  {place}: only theirs, {theirs}")),
        (None, None) => {}
    }
}

fn list(value: &Value) -> &Vec<Value> {
    static NONE: Vec<Value> = Vec::new();
    value.as_array().unwrap_or(&NONE)
}

fn items(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.as_array_mut().into_iter().flatten()
}

fn drop_key(value: &mut Value, key: &str) {
    value.as_object_mut().map(|map| map.remove(key));
}

fn drop_nulls(value: &mut Value, but: &[&str]) {
    if let Some(map) = value.as_object_mut() {
        map.retain(|key, value| !value.is_null() || but.contains(&key.as_str()));
    }
}

fn drop_everywhere(value: &mut Value, key: &str) {
    match value {
        Value::Object(map) => {
            map.remove(key);
            map.values_mut()
                .for_each(|value| drop_everywhere(value, key));
        }
        Value::Array(all) => all.iter_mut().for_each(|value| drop_everywhere(value, key)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn keep(value: &mut Value, keys: &[&str]) {
    if let Some(map) = value.as_object_mut() {
        map.retain(|key, _| keys.contains(&key.as_str()));
    }
}

/// A text as the list that it stands for.
fn listed(content: &mut Value) {
    if let Some(text) = content.as_str() {
        *content = json!([{"type": "text", "text": text}]);
    }
}

fn each_parts(body: &mut Value, change: impl Fn(&mut Vec<Value>)) {
    for turn in items(&mut body["contents"]) {
        if let Some(parts) = turn["parts"].as_array_mut() {
            change(parts);
        }
    }
}

/// Neighbouring texts as one; a signature after them is that of the text.
fn join_texts(parts: &mut Vec<Value>) {
    let mut joined: Vec<Value> = Vec::new();
    for part in parts.drain(..) {
        let is_open = |last: &Value| is_text(last) && last.get("thoughtSignature").is_none();
        match joined.last_mut() {
            Some(last) if is_text(&part) && is_open(last) => {
                let text = format!(
                    "{}{}",
                    last["text"].as_str().unwrap_or_default(),
                    part["text"].as_str().unwrap_or_default()
                );
                let mut whole: Map<String, Value> = part.as_object().cloned().unwrap_or_default();
                whole.insert("text".to_owned(), json!(text));
                *last = Value::Object(whole);
            }
            Some(_) | None => joined.push(part),
        }
    }
    *parts = joined;
}

fn is_text(part: &Value) -> bool {
    part.get("text").is_some() && part["thought"] != true
}

/// A schema as it is written elsewhere.
fn plain_schema(value: &mut Value) {
    match value {
        Value::Object(map) => {
            let plain = std::mem::take(map).into_iter().map(|(key, mut value)| {
                match (key.as_str(), value.as_str(), value.as_f64()) {
                    ("type", Some(kind), _) => value = json!(kind.to_lowercase()),
                    (_, _, Some(number)) if number.fract() == 0.0 => value = json!(number as i64),
                    _ => plain_schema(&mut value),
                }
                (camel(&key), value)
            });
            *map = plain.collect();
        }
        Value::Array(all) => all.iter_mut().for_each(plain_schema),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `max_items` as `maxItems`.
fn camel(key: &str) -> String {
    let mut words = key.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |whole, word| {
        let (head, tail) = word.split_at(word.len().min(1));
        whole + &head.to_uppercase() + tail
    })
}
