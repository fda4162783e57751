//! The JSON Schema of `lazaret.toml`: it takes every file that the host takes, and refuses what the host refuses.

use std::fs;
use std::path::{Path, PathBuf};

use lazaret::surfaces::config::file::ConfigFile;
use lazaret::surfaces::config::profile::PROFILES;
use lazaret::surfaces::config::schema::schema;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What the host and an editor say of a text.
fn verdicts(
    editor: &jsonschema::Validator,
    text: &str,
) -> (Result<(), String>, Result<(), String>) {
    let host = toml::from_str::<ConfigFile>(text);
    let host = host.map(|_| ()).map_err(|error| error.to_string());
    let table: Result<toml::Table, _> = toml::from_str(text);
    let editor = match table {
        Err(error) => Err(error.to_string()),
        Ok(table) => {
            let value = serde_json::to_value(table).unwrap();
            let wrong: Vec<String> = editor
                .iter_errors(&value)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            if wrong.is_empty() {
                Ok(())
            } else {
                Err(wrong.join("; "))
            }
        }
    };
    (host, editor)
}

fn editor() -> jsonschema::Validator {
    jsonschema::draft202012::new(&schema()).unwrap()
}

/// Every configuration that the tree has: of examples, of README, of attacks, of profiles.
fn corpus() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = PROFILES
        .iter()
        .map(|profile| (profile.word().to_owned(), profile.text().to_owned()))
        .collect();
    for example in fs::read_dir(root().join("examples")).unwrap() {
        let path = example.unwrap().path().join("lazaret.toml");
        if let Ok(text) = fs::read_to_string(&path) {
            all.push((path.display().to_string(), text));
        }
    }
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for (number, block) in readme.split("```toml\n").skip(1).enumerate() {
        let text = block.split("```").next().unwrap();
        all.push((format!("README.md, block {number}"), text.to_owned()));
    }
    for attack in fs::read_dir(root().join("tests/attack")).unwrap() {
        let path = attack.unwrap().path();
        // What is filled in later, as the test of the attacks has it.
        let text = fs::read_to_string(&path).unwrap();
        let text = text.replace("{port}", "1").replace("{folder}", "/f");
        let table: toml::Table = toml::from_str(&text).unwrap();
        if let Some(policy) = table.get("policy").and_then(toml::Value::as_str) {
            all.push((path.display().to_string(), policy.to_owned()));
        }
    }
    all
}

#[test]
fn an_editor_takes_every_file_that_the_host_takes() {
    let editor = editor();
    let mut taken = 0;
    for (name, text) in corpus() {
        let (host, editor) = verdicts(&editor, &text);
        // What README shows is taken as it stands there.
        assert!(
            host.is_ok() || !name.starts_with("README.md"),
            "{name}: {host:?}\n{text}"
        );
        if host.is_ok() {
            taken += 1;
            assert_eq!(editor, Ok(()), "{name}\n{text}");
        }
    }
    // Some attacks hold what is filled in later; most are files as they are.
    assert!(taken > 50, "{taken}");
}

#[test]
fn what_the_host_refuses_an_editor_marks() {
    let editor = editor();
    for text in [
        "frob = 1",
        "version = 2",
        "profile = \"safe\"",
        "[mounts.docs]\npath = \"x\"\nacess = \"read\"",
        "[mounts.docs]\npath = \"x\"\naccess = \"reed\"",
        "[mounts.docs]",
        "[limits]\nfuel = \"much\"",
        "[limits]\nfuel = -1",
        "[limits]\nfule = 1",
        "[models.m]\nprovider = \"magic\"",
        "[models.m]\nprovider = \"openai\"\nurl = \"u\"\nmodel = \"m\"\nkey = \"k\"",
        "[models.m]\nprovider = \"scripted\"",
        "[agents.a]\ntools = \"text.*\"",
        "[agents.a.budget]\non_exceed = \"shrug\"",
        "[agents.a.chain]\nbackof = \"linear\"",
        "[grants.\"x.y\"]\nfetch = [3]",
        "[grants.\"x.y\"]\nfetch = [{ url = \"http://a.test/\", metods = [\"GET\"] }]",
        "[grants.\"x.y\"]\nsecrets = [{ name = \"k\", too = \"x\" }]",
        "[flow]\nmode = \"loud\"",
        "[flow.tools.\"a.b\"]\nsteer = {}",
        "[flow.tools.\"a.b\".records]\nnope = 1",
        "[compaction]\ntrigger = 5",
        "[pace]\nturn = 5",
    ] {
        let (host, editor) = verdicts(&editor, text);
        assert!(host.is_err(), "the host takes {text}");
        assert!(editor.is_err(), "an editor takes {text}");
    }
}

/// A key without a word about it is of little use in an editor.
#[test]
fn every_key_is_described() {
    fn walk(schema: &Value, path: &str, mute: &mut Vec<String>) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            for (name, property) in properties {
                let path = format!("{path}.{name}");
                let is_told =
                    property.get("description").is_some() || property.get("const").is_some();
                if !is_told {
                    mute.push(path.clone());
                }
                walk(property, &path, mute);
            }
        }
        let nested = ["additionalProperties", "items"];
        for key in nested {
            if let Some(inner) = schema.get(key) {
                walk(inner, &format!("{path}.*"), mute);
            }
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            for inner in schema
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                walk(inner, path, mute);
            }
        }
    }
    let schema = schema();
    let mut mute = Vec::new();
    walk(&schema, "", &mut mute);
    let tables = schema["$defs"].as_object().unwrap();
    for (name, table) in tables {
        walk(table, name, &mut mute);
    }
    assert!(mute.is_empty(), "{mute:?}");
    assert!(tables.len() > 20);
}
