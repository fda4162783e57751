//! A wrong `lazaret.toml`: the file, the place, what is wrong, and what was probably meant.

use serde_json::json;

use crate::station::{Ended, Station};

/// What is said of a configuration that its owner trusts.
#[track_caller]
fn check(config: &str) -> Ended {
    let station = Station::new();
    station.write("lazaret.toml", config);
    // A file that cannot be read cannot be trusted either, and is told in the same words.
    station.run(&["policy", "trust"]);
    station.run(&["policy", "check"])
}

#[track_caller]
fn wrong(config: &str, says: &[&str]) {
    check(config)
        .ends(2)
        .says(&["error: `[HERE]/lazaret.toml`"])
        .says(says)
        .never("panicked");
}

#[test]
fn an_empty_file_is_a_policy_that_grants_nothing() {
    check("")
        .ends(0)
        .prints(&["ok [HERE]/lazaret.toml: 0 grants, 0 mounts"]);
    let station = Station::with("");
    station.write("a.txt", "x");
    station
        .run(&["call", "files.read", r#"{"path":"a.txt"}"#])
        .ends(3)
        .says(&["[grants.\"files.read\"]"]);
}

#[test]
fn unknown_keys_are_refused_and_the_nearest_is_named() {
    wrong(
        "[mount.docs]\npath = \"x\"\n",
        &[
            "line 1, column 2: there is no key `mount` here",
            "hint: did you mean `mounts`?",
        ],
    );
    wrong(
        "[mounts.docs]\npath = \"x\"\nacess = \"read\"\n",
        &[
            "line 3, column 1: there is no key `acess` here",
            "hint: did you mean `access`?",
        ],
    );
    wrong(
        "[models.m]\nprovider = \"openai\"\nurl = \"http://a.test\"\nmodel = \"m\"\nkey = \"canary\"\n",
        &[
            "line 5, column 1: there is no key `key` here",
            "hint: a key is never in this file: write `key_env = \"OPENAI_API_KEY\"`",
        ],
    );
    let key = check(
        "[models.m]\nprovider = \"openai\"\nurl = \"http://a.test\"\nmodel = \"m\"\napi_key = \"sk-canary\"\n",
    );
    let told = key.ends(2).says(&[
        "no key `api_key` here",
        "`key_env = \"OPENAI_API_KEY\"`",
        "`lazaret secret set NAME`",
    ]);
    assert!(!format!("{told:?}").contains("canary"), "{told:?}");
    let far = check("path = \"x\"\n").ends(2);
    assert!(!far.err.contains("did you mean"), "{far:?}");
    wrong(
        "[grants.\"web.get_page\"]\nfetch = [{ url = \"http://a.test/\", metods = [\"GET\"] }]\n",
        &[
            "line 2, column 9: `grants.\"web.get_page\".fetch`: a destination is a URL, or a table with `url` and, if wanted, `methods`, `private`, `max_request_bytes`, `max_answer_bytes` and `per_minute`",
        ],
    );
}

#[test]
fn wrong_types_are_refused() {
    wrong(
        "allow_risk = \"x\"\n",
        &["line 1, column 14: `allow_risk`: a list is expected here, and this is the text \"x\""],
    );
    wrong(
        "[limits]\nfuel = \"much\"\n",
        &["line 2, column 8: `limits.fuel`: a whole number"],
    );
    wrong("a = \n", &["line 1, column 5"]);
    wrong(
        "[mounts.docs]\n",
        &["line 1", "the key `path` is missing here"],
    );
}

/// How a model's table is read follows from its provider, and what is wrong in it is said where it stands all the same.
#[test]
fn what_is_wrong_in_a_model_is_said_where_it_stands() {
    let model = |more: &str| format!("block = []\n[models.m]\nprovider = \"openai\"\n{more}");
    for (more, says) in [
        (
            "model = \"m\"\nurl = 3\n",
            "line 5, column 7: `models.m.url`: a text in quotes is expected here, and this is the number `3`",
        ),
        (
            "model = \"m\"\nurl = \"https://a.test/\"\nprice = { input = \"x\", output = 1 }\n",
            "line 6, column 19: `models.m.price.input`: a number is expected here, and this is the text \"x\"",
        ),
        (
            "model = \"m\"\n",
            "line 2, column 1: `models.m`: the key `url` is missing here",
        ),
        (
            "script = \"s\"\n",
            "line 4, column 1: there is no key `script` here",
        ),
    ] {
        wrong(&model(more), &[says]);
    }
    wrong(
        "[models]\nm = 3\n",
        &["line 2, column 5: `models.m`: a table is expected here, and this is the number `3`"],
    );
}

/// A key that somebody has written in the place of its variable's name is said to be none, and shown nowhere.
#[test]
fn a_key_in_the_place_of_a_variables_name_is_not_shown() {
    const KEY: &str = "sk-abc123456789abcdefghij";
    let model = format!(
        "[models.m]\nprovider = \"openai\"\nurl = \"https://a.test/v1\"\nmodel = \"x\"\nkey_env = \"{KEY}\"\n"
    );
    let header = format!("headers = {{ authorization = {{ env = \"{KEY}\" }} }}\n");
    for (text, says) in [
        (
            model,
            "line 5, column 11: `models.m.key_env`: `key_env` is the name of a variable, not the key\nhint: write a name such as",
        ),
        (
            format!("[traces]\nendpoint = \"https://a.test/\"\n{header}"),
            "`env` is the name of a variable, not the key",
        ),
        (
            format!("[mcp.m]\nurl = \"https://a.test/\"\n{header}"),
            "`env` is the name of a variable, not the key",
        ),
        (
            format!("[mcp.m]\ncommand = [\"x\"]\nenv = {{ TOKEN = {{ env = \"{KEY}\" }} }}\n"),
            "a variable is a text, or `{ env = \"VARIABLE\" }`",
        ),
    ] {
        let station = Station::new();
        station.write("lazaret.toml", text);
        for command in [
            &["policy", "check"][..],
            &["policy", "trust"],
            &["run", "hi"],
        ] {
            station.run(command).ends(2).says(&[says]).never(KEY);
        }
    }
}

#[test]
fn wrong_words_are_refused() {
    wrong(
        "[mounts.docs]\npath = \"x\"\naccess = \"reed\"\n",
        &[
            "line 3, column 10: `mounts.docs.access`: `reed` is not one of those that may stand here",
            "hint: did you mean `read`?",
        ],
    );
    wrong(
        "[models.m]\nprovider = \"magic\"\n",
        &[
            "`magic` is not one of those that may stand here: it may be `scripted`, `openai`, `responses`, `anthropic`, `gemini`, `ollama`",
        ],
    );
    wrong(
        "collisions = \"rename\"\n",
        &["line 1", "`rename` is not one of those that may stand here"],
    );
}

#[test]
fn wrong_patterns_are_refused() {
    let form = "names no tools: write `plugin.tool`, `plugin.*` or `*`";
    wrong(
        "block = [\"a b\"]\n",
        &["line 1, column 9: `block`: `a b` ", form],
    );
    wrong("[grants.\"text.\"]\n", &["`text.` ", form]);
    wrong("[agents.a]\ntools = [\"*.count\"]\n", &["line 2", form]);
}

#[test]
fn wrong_destinations_are_refused() {
    let grant = |entry: &str| format!("[grants.\"web.get_page\"]\nfetch = [{entry}]\n");
    let place = "[grants.\"web.get_page\"]: ";
    for (entry, why) in [
        (
            "\"ftp://x/\"",
            "`ftp://x/` is no destination: the scheme is `http` or `https`",
        ),
        (
            "\"nonsense\"",
            "`nonsense` is no destination: it does not begin with `https://`",
        ),
        (
            "{ url = \"http://a.test/\", methods = [] }",
            "`methods` is empty, so the line could never match",
        ),
        (
            "{ url = \"http://a.test/\", methods = [\"get\"] }",
            "`get` is no method",
        ),
        ("\"http://user:pw@a.test/\"", "is no destination"),
    ] {
        wrong(&grant(entry), &[place, why]);
    }
}

#[test]
fn a_grant_about_a_mount_that_is_not_there_is_refused() {
    let error = "`[HERE]/lazaret.toml`, line 1: [grants.\"files.read\"] speaks of the mount `dcos`, which is not there";
    check("[grants.\"files.read\"]\nmounts = { dcos = \"read\" }\n")
        .ends(2)
        .says_only(&format!(
            "error: {error}\nhint: write `[mounts.dcos]` with its `path`"
        ));
    check("[mounts.docs]\npath = \".\"\n[grants.\"files.read\"]\nmounts = { dcos = \"read\" }\n")
        .ends(2)
        .says(&["hint: mounts that are there: docs"]);
}

#[test]
fn a_mount_whose_folder_is_missing_is_told_and_keeps_nobody_from_the_rest() {
    let text = "[mounts.docs]\naccess = \"read\"\npath = \"none\"\n[grants.\"files.*\"]\nmounts = { docs = \"read\" }\n";
    let what = "[mounts.docs]: `path` leads nowhere: there is no folder `[HERE]/none`";
    let fix = "mkdir -p [HERE]/none, or correct `path`";
    let told = format!("warning: `[HERE]/lazaret.toml`, line 3: {what}\nhint: {fix}");
    let told = [told.as_str()];
    check(text).ends(0).says(&told);
    let station = Station::with(text);
    let found = station.run(&["policy", "check", "--json"]).json();
    assert_eq!(
        found["findings"],
        json!([{
            "file": "[HERE]/lazaret.toml", "line": 3, "table": "[mounts.docs]",
            "what": what, "fix": fix,
        }])
    );
    let count = ["call", "text.count", r#"{"text":"a"}"#];
    station.run(&count).ends(0).says(&told);
    station.run(&["ask", "list"]).ends(0).says(&told);
    station
        .run(&["call", "files.list", r#"{"path":"docs"}"#])
        .ends(4)
        .says(&["the folder of the mount `docs` was not there at the start"]);
}

#[test]
fn a_path_from_a_home_is_written_whole() {
    for (text, place) in [
        (
            "[mounts.docs]\npath = \"~/docs\"\n",
            "line 2: [mounts.docs]: `path`",
        ),
        ("[plugins]\nx = \"~/x.wasm\"\n", "line 2: [plugins]: `x`"),
    ] {
        let why =
            format!("{place} begins with `~`, which a shell writes out and this file does not");
        check(text).ends(2).says(&[
            &why,
            "hint: write the whole path, or one from the folder of this file",
        ]);
    }
}

#[test]
fn a_plugin_that_is_missing_is_refused() {
    check("[plugins]\nx = \"none.wasm\"\n")
        .ends(4)
        .says(&["error: plugin `x`: the component `[HERE]/none.wasm` cannot be read: there is no such file or folder"]);
}

#[test]
fn instructions_never_refer_to_secrets() {
    for reference in [
        "${secret:X}",
        "{{ secrets.X }}",
        "<%= vault.x %>",
        "${env.X}",
    ] {
        wrong(
            &format!("[agents.a]\ninstructions = \"use {reference}\"\n"),
            &[
                "`instructions` of agent `a` refers to a secret",
                "hint: secrets never stand in texts",
            ],
        );
    }
}

#[test]
fn an_agent_whose_model_is_not_there_is_refused() {
    check("[agents.a]\nmodels = [\"gpt\"]\n").ends(2).says_only(
        "error: [HERE]/lazaret.toml: agent `a` speaks of the model `gpt`, which is not there
hint: write `[models.gpt]`",
    );
}

#[test]
fn names_follow_one_form() {
    let form = "hint: names have lower-case letters, digits, `-` and `_`, and begin with a letter";
    wrong("[agents.A]\n", &["`A` is no name for an agent", form]);
    wrong(
        "[plugins]\n\"a b\" = \"x.wasm\"\n",
        &["`a b` is no name for a plugin", form],
    );
    wrong(
        "[mounts.\"a/b\"]\npath = \".\"\n",
        &["`a/b` is no name for a mount"],
    );
}

#[test]
fn limits_out_of_range_are_refused() {
    for mib in ["0", "257", "100000"] {
        let config = format!("[limits]\nmemory_mib = {mib}\n");
        wrong(
            &config,
            &["[limits]: `memory_mib` is not between 1 and 256"],
        );
    }
    for name in ["fuel", "cpu_ms", "timeout_ms"] {
        let said = format!("[limits]: `{name}` is 0, so no tool could ever run");
        wrong(&format!("[limits]\n{name} = 0\n"), &[&said]);
    }
    wrong(
        "[limits]\nfuel = -1\n",
        &[
            "line 2, column 8: `limits.fuel`: a whole number, 0 or more, is expected here, and this is the number `-1`",
        ],
    );
    for turns in ["0", "1001"] {
        let config = format!("[agents.a]\nturns = {turns}\n");
        wrong(&config, &["`turns` of agent `a` is not between 1 and 1000"]);
    }
}

#[test]
fn a_file_that_is_too_big_is_refused() {
    check(&"#".repeat(2_000_000)).ends(2).says_only(
        "error: the configuration `[HERE]/lazaret.toml` is too big: 2000000 bytes, and at most 1048576 may be",
    );
}

#[test]
fn a_file_that_is_no_text_is_refused() {
    let station = Station::new();
    station.write("lazaret.toml", b"\xff");
    for command in [["policy", "check"], ["policy", "trust"], ["runs", "list"]] {
        station
            .run(&command)
            .ends(2)
            .says_only("error: `[HERE]/lazaret.toml` is no UTF-8 text");
    }
}

#[test]
fn every_command_that_needs_it_says_the_same() {
    let station = Station::new();
    station.write("lazaret.toml", "frob = 1\n");
    for command in [
        &["call", "text.count", r#"{"text":"a"}"#][..],
        &["tools"],
        &["run", "hi"],
        &["runs", "list"],
        &["plugin", "list"],
        &["policy", "explain", "text.count"],
    ] {
        station
            .run(command)
            .ends(2)
            .says(&["error: `[HERE]/lazaret.toml`, line 1, column 1: there is no key `frob` here"]);
    }
}

#[test]
fn it_is_found_upward() {
    let station = Station::with("[grants.\"nope.*\"]\n");
    station.write("deep/er/x", "");
    station
        .run_in("deep/er", &["policy", "check"])
        .ends(0)
        .prints(&["ok [HERE]/lazaret.toml: 1 grant, 0 mounts"]);
    station
        .run_in("deep/er", &["call", "text.count", r#"{"text":"a"}"#])
        .ends(0);
    assert!(station.workspace().join(".lazaret/journal.db").exists());
}

#[test]
fn the_nearest_counts() {
    let station = Station::with("");
    station.write("deep/lazaret.toml", "[grants.\"text.*\"]\n");
    station.run_in("deep", &["policy", "trust"]).ends(0);
    station
        .run_in("deep", &["policy", "check"])
        .prints(&["ok [HERE]/deep/lazaret.toml: 1 grant"]);
}

#[test]
fn a_named_file_is_used_instead() {
    let station = Station::with("");
    station.write("other.toml", "[grants.\"text.*\"]\n");
    station
        .run(&["policy", "trust", "--config", "other.toml"])
        .ends(0);
    station
        .run(&["--config", "other.toml", "policy", "check"])
        .ends(0)
        .prints(&["ok [HERE]/other.toml: 1 grant"]);
    station
        .run(&["--config", "none.toml", "policy", "check"])
        .ends(4)
        .says_only("error: there is no configuration `[HERE]/none.toml`");
}
