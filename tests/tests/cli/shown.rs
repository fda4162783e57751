//! The providers that the README configures, each as it stands there, against a stub on loopback that speaks its format:
//! only where the stub is, and that it is on this machine, is put in.

use serde_json::Value;

use crate::server::{Answer, Server, plain};
use crate::station::Station;
use crate::wires::{KEY, WIRES, Wire};

/// The README's block.
fn shown() -> &'static str {
    let readme = include_str!("../../../README.md");
    let mut blocks = readme.split("```toml\n");
    let block = blocks.find(|block| block.starts_with("[models.openai]"));
    block.unwrap().split("```").next().unwrap()
}

/// A model of it.
struct Model {
    name: String,
    wire: &'static Wire,
    /// Path of its base.
    base: String,
    key_env: Option<String>,
    /// Keys that it adds to a request.
    extra: Value,
    private: bool,
}

fn models() -> Vec<Model> {
    let block: toml::Table = shown().parse().unwrap();
    let models = block["models"].as_table().unwrap().iter();
    let text = |model: &toml::Value, key: &str| model.get(key)?.as_str().map(str::to_owned);
    let read = |(name, model): (&String, &toml::Value)| {
        let provider = text(model, "provider").unwrap();
        let url = text(model, "url").unwrap();
        let (_, rest) = url.split_once("://").unwrap();
        let base = rest
            .split_once('/')
            .map_or(String::new(), |(_, path)| format!("/{path}"));
        Model {
            name: name.clone(),
            wire: WIRES.iter().find(|wire| wire.word == provider).unwrap(),
            base,
            key_env: text(model, "key_env"),
            extra: serde_json::to_value(model.get("extra")).unwrap(),
            private: model.get("private").is_some(),
        }
    };
    models.map(read).collect()
}

/// Its text, with the stub in the place of each server.
fn rewritten(server: &Server, streams: bool) -> String {
    let mut text =
        "[agents.a]\ninstructions = \"be brief\"\ntools = [\"text.*\"]\nmodels = [\"openai\"]\n"
            .to_owned();
    let models = models();
    let is_private = |name: &str| {
        models
            .iter()
            .any(|model| model.name == name && model.private)
    };
    let mut public = true;
    for line in shown().lines() {
        if let Some(rest) = line.strip_prefix("[models.") {
            public = !is_private(rest.split(']').next().unwrap());
        }
        let Some(url) = line.strip_prefix("url = \"") else {
            text.push_str(&format!("{line}\n"));
            continue;
        };
        let (_, rest) = url.split_once("://").unwrap();
        let (_, path) = rest.split_once('/').unwrap();
        text.push_str(&format!("url = \"{}/{path}\n", server.url()));
        if public {
            text.push_str("private = true\n");
        }
        if !streams {
            text.push_str("stream = false\n");
        }
    }
    text
}

/// A turn with a call, and one that answers.
fn goes_round(model: &Model, streams: bool) {
    let wire = model.wire;
    let said = if streams {
        [wire.calls, wire.text]
    } else {
        wire.wholes
    };
    let media_type = if streams {
        wire.media_type
    } else {
        "application/json"
    };
    let answers = said.map(|body| Answer::Bytes(plain(200, media_type, body)));
    let server = Server::start(answers.into());
    let station = Station::with(&rewritten(&server, streams));
    let mut command = station.command(&["run", "count", "--model", &model.name]);
    for other in models() {
        if let Some(name) = other.key_env {
            command.env(name, KEY);
        }
    }
    let ended = station.finish(&mut command).ends(0);
    assert_eq!(ended.out, "Three words.\n", "{}", model.name);
    ended.says(&["→ text.count {\"text\":\"a b\"}"]).never(KEY);
    let requests = server.requests();
    assert_eq!(requests.len(), 2, "{}", model.name);
    for request in &requests {
        assert!(
            request.starts_with(&format!("POST {}/", model.base)),
            "{request}"
        );
        assert_eq!(request.contains(KEY), model.key_env.is_some(), "{request}");
    }
    assert!(requests[1].contains("\\\"words\\\":2"), "{}", requests[1]);
    for (body, request) in server.bodies().iter().zip(&requests) {
        for (key, value) in model.extra.as_object().into_iter().flatten() {
            assert_eq!(&body[key], value, "{}", model.name);
        }
        // One format says it in its path.
        let said = body.get("stream").and_then(Value::as_bool);
        let said = said.unwrap_or(request.contains(":streamGenerateContent?"));
        assert_eq!(said, streams, "{}", model.name);
    }
}

#[test]
fn there_is_one_of_each_format() {
    let models = models();
    assert_eq!(models.len(), WIRES.len());
    for wire in &WIRES {
        assert!(
            models.iter().any(|model| model.wire.word == wire.word),
            "{}",
            wire.word
        );
    }
    // As it stands there, servers and all.
    Station::with(shown()).run(&["policy", "check"]).ends(0);
}

#[test]
fn a_call_goes_round_as_the_readme_configures_it() {
    for model in models() {
        goes_round(&model, true);
    }
}

#[test]
fn a_call_goes_round_in_one_piece_as_the_readme_configures_it() {
    for model in models() {
        goes_round(&model, false);
    }
}
