//! Requests that no SDK would send of itself, and those of the README's configuration: each must fit the SDK's types.

use lazaret::rules::codec::{Target, Wire};
use lazaret::words::message::Prompt;
use serde_json::{Map, Value, json};

use crate::Bench;
use crate::talks::{cards, complaint};

/// Checks them, streamed and not.
pub fn check(bench: &mut Bench, wire: Wire) {
    for streams in [true, false] {
        for (what, extra) in [
            ("with nothing extra", Map::new()),
            ("as in the README", extra_of_readme(wire)),
        ] {
            let target = Target {
                model: "m",
                by: "us",
                extra: &extra,
                streams,
            };
            let body = wire.encode(&target, &after_other_models(wire)).body;
            let body: Value = serde_json::from_slice(&body).expect("a request is JSON");
            let fits = bench.sdk.ask(wire, "complaints", json!({"body": body}));
            let place = format!("after other models, {what}, streams: {streams}");
            bench.count(wire, "bodies typed", &place, complaint(fits));
        }
    }
}

/// A run that has changed its model: calls of another's, with its ids, and with arguments that were none.
fn after_other_models(wire: Wire) -> Prompt {
    let told = |id: &str, text: &str, ok: bool| json!({"role": "tool", "id": id, "observation": {"text": text, "ok": ok, "label": []}});
    let sealed = match wire {
        Wire::OpenAi | Wire::Ollama => Value::Null,
        Wire::Responses => {
            json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2ln"})
        }
        Wire::Anthropic => json!({"type": "thinking", "signature": "c2ln"}),
        Wire::Gemini => json!({"thoughtSignature": "c2ln"}),
    };
    let call = |id: &str, tool: &str, args: Value| json!({"id": id, "tool": tool, "args": args});
    let messages = json!([
        {"role": "user", "text": "Count."},
        {"role": "assistant", "by": "us", "text": "Hm.", "stop": "calls",
            "thoughts": [{"text": "So.", "opaque": sealed, "call": "a"}],
            "calls": [
                call("a", "text.count", json!({"json": {"text": "é😀"}})),
                call("call_1", "rm -rf", json!({"broken": "{\"x"})),
            ]},
        told("a", "3", true),
        told("call_1", "no such tool", false),
        {"role": "assistant", "by": "them", "stop": "calls",
            "thoughts": [{"text": "Secret.", "opaque": {"signature": "c2ln"}, "call": "b:1"}],
            "calls": [call("b:1", "files.list", json!({"json": []}))]},
        told("b:1", "", true),
        {"role": "assistant", "text": "Three."},
        {"role": "user", "text": "Go on."},
    ]);
    Prompt {
        instructions: "Be brief.".to_owned(),
        cards: cards(),
        messages: serde_json::from_value(messages).expect("messages as a journal has them"),
        shape: Some(
            json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "minimum": 0}}}),
        ),
        ..Prompt::default()
    }
}

/// `extra` of the model that the README configures for this format.
fn extra_of_readme(wire: Wire) -> Map<String, Value> {
    let readme = include_str!("../../../../README.md");
    let mut blocks = readme.split("```toml\n").skip(1);
    let block = blocks.find(|block| block.starts_with("[models.openai]"));
    let block = block.and_then(|block| block.split("```").next());
    let shown: Value = toml::from_str(block.expect("README, Providers")).expect("it is TOML");
    let models = shown["models"].as_object().expect("models").values();
    let speaks = |model: &&Value| model["provider"] == wire.word();
    let mut of_this = models.filter(speaks);
    let model = of_this.next().expect("README has one of each format");
    model["extra"].as_object().cloned().unwrap_or_default()
}
