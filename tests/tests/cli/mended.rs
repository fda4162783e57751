//! What is wrong is said with what mends it, and done literally it does.

use serde_json::json;

use crate::station::Station;

#[test]
fn the_agent_that_is_proposed_is_one_that_is_read() {
    let station = Station::new();
    let run = station.run(&["run", "hi"]).ends(2);
    let (_, proposed) = run.err.split_once("in `lazaret.toml`:\n").expect("a block");
    let (block, _) = proposed.split_once("\nhint: ").expect("one more hint");
    let block: Vec<&str> = block.lines().map(str::trim).collect();
    station.write("lazaret.toml", block.join("\n"));
    // One that is there and does not count is what is the matter.
    station.run(&["run", "hi"]).ends(2).says(&[
        "no agent is configured: `[HERE]/lazaret.toml` has the agent `helper`, and is not trusted",
        "hint: read it, then run `lazaret policy trust`",
    ]);
    station.trust();
    station.run(&["policy", "check"]).ends(0);
    station
        .run(&["config", "show", "agents.helper.models"])
        .ends(0);
}

#[test]
fn a_file_says_which_form_a_line_should_have() {
    let station = Station::new();
    for (config, says) in [
        (
            "[secrets]\ngithub = \"x\"\n",
            "hint: secrets are never in this file: `lazaret secret set NAME` keeps one",
        ),
        (
            "[grants.files.read]\nmounts = { docs = \"read\" }\n",
            "hint: quote the tools: `[grants.\"files.read\"]`",
        ),
        (
            "[grants.\"files.read\"]\nmounts = [\"docs\"]\n",
            "hint: write it as `mounts = { docs = \"read\" }`",
        ),
        (
            "ask = \"files.write\"\n",
            "hint: write it as `ask = [\"files.write\"]`",
        ),
        (
            "[grants.\"web.*\"]\nfetch = [\"docs.rs/wasmtime\"]\n",
            "`docs.rs/wasmtime` is no destination: it does not begin with `https://`\nhint: https://docs.rs/wasmtime",
        ),
    ] {
        station.write("lazaret.toml", config);
        station.run(&["policy", "check"]).ends(2).says(&[says]);
    }
}

#[test]
fn a_name_that_is_nearly_one_is_taken_for_a_slip() {
    let station = Station::new();
    station.write(
        "lazaret.toml",
        "[mounts.docs]\npath = \".\"\n[grants.\"file.*\"]\n[grants.\"files.raed\"]\n[grants.\"files.write\"]\n\
         mounts = { docs = \"create\" }\n[flow]\ntrust = [\"fiels\"]\n[flow.tools.\"files.wirte\"]\nhold = \"never\"\n",
    );
    let checked = station.run(&["policy", "check"]).ends(0);
    for part in [
        "[grants.\"file.*\"] is about no tool that is installed\nhint: did you mean `files.*`?",
        "[grants.\"files.raed\"] is about no tool that is installed\nhint: did you mean `files.read` or `files.search` or `files.write`?",
        "`trust = [\"fiels\"]` is about no plugin that is installed\nhint: did you mean `files`?",
        "[flow.tools.\"files.wirte\"] is about no tool that is installed\nhint: did you mean `files.write` or `files.list` or `files.read`?",
        "[grants.\"files.write\"] asks \"create\" of the mount `docs`, which allows \"read\"\n\
         hint: write `access = \"create\"` in [mounts.\"docs\"], or less in the grant",
    ] {
        assert!(checked.err.contains(part), "{part}: {checked}");
    }
}

/// Who is on the way reads and changes what is not encrypted; nobody is on the way to this machine.
#[test]
fn an_address_that_is_not_encrypted_is_pointed_at() {
    let check = |address: &str| {
        let line = format!("[grants.\"web.get_page\"]\nfetch = [{address}]\n");
        Station::with(&line).run(&["policy", "check"]).ends(0)
    };
    check("\"http://docs.test/\"").says_only(
        "warning: `[HERE]/lazaret.toml`: [grants.\"web.get_page\"] `http://docs.test/` is not encrypted: who is on the way \
         can read what is sent there, and change what comes back\n\
         hint: write `https://` if the server speaks it",
    );
    check("{ url = \"http://10.0.0.1/\", private = true }")
        .says(&["`http://10.0.0.1/` is not encrypted"]);
    check("\"https://docs.test/\"").says_only("");
    check("{ url = \"http://127.0.0.1:1/\", private = true }").says_only("");
}

#[test]
fn a_check_without_a_file_says_so() {
    let station = Station::new();
    station
        .run(&["policy", "check"])
        .ends(0)
        .prints(&["(no `lazaret.toml` here or above: `lazaret init` writes one)"]);
    station.write("lazaret.toml", "");
    station
        .run(&["policy", "check"])
        .ends(0)
        .never("here or above");
}

#[test]
fn a_run_with_a_tool_that_its_agent_has_not_is_none() {
    let station = Station::scripted("[\"files.*\"]", &[r#"{"text":"Done."}"#], "");
    let run = |tool: &str| station.run(&["run", "go", "--tool", tool]);
    run("files.raed").ends(2).says_only(
        "error: the agent `a` has no tool `files.raed`\nhint: did you mean `files.read`?",
    );
    run("text.count")
        .ends(2)
        .says(&["the agent `a` does not have `text.count`"]);
    for tool in ["files.read", "files.*"] {
        run(tool).ends(0).prints(&["Done."]);
    }
}

#[test]
fn arguments_that_are_no_json_are_explained_as_they_are_called() {
    Station::new()
        .run(&["policy", "explain", "text.count", "{bad"])
        .ends(2)
        .says(&[
            "error: the arguments are no JSON: ",
            "hint: write them in single quotes",
        ]);
}

#[test]
fn a_server_that_is_not_trusted_is_why_its_tools_are_not_found() {
    let station = Station::with("[mcp.ferry]\ncommand = [\"/bin/true\"]\n");
    let found = station.run(&["tools", "ferry"]).ends(0).says(&[
        "no tool has all these words",
        "the MCP server `ferry` is not trusted yet",
        "hint: lazaret servers trust ferry",
    ]);
    assert_eq!(found.out, "");
    station
        .run(&["tools", "xyzzy"])
        .ends(0)
        .says_only("no tool has all these words");
}

#[test]
fn what_is_trusted_is_said_also_where_it_only_forbids() {
    let station = Station::new();
    station.write(
        "lazaret.toml",
        "ask = [\"text.replace\"]\nblock = [\"web.*\"]\n[grants.\"notes.*\"]\nnotes = \"write\"\n",
    );
    station.run(&["policy", "trust"]).ends(0).prints(&[
        "ask = [\"text.replace\"]",
        "block = [\"web.*\"]",
        "  notes.* notes write\n",
    ]);
}

#[test]
fn wrong_input_of_a_model_is_no_denial_and_a_list_has_entries() {
    let calls = json!({"calls": [
        {"tool": "text.count", "args": {"txt": "a"}},
        {"tool": "files.list", "args": {"path": "."}},
    ]});
    let station = Station::scripted(
        "[\"text.count\", \"files.list\"]",
        &[&calls.to_string(), r#"{"text":"Done."}"#],
        "[mounts.here]\npath = \"docs\"\n[grants.\"files.list\"]\nmounts = { here = \"read\" }\n",
    );
    station.write("docs/one.md", "1");
    let calls = calls.to_string().replace("\".\"", "\"here\"");
    station.write(
        "script.jsonl",
        format!("{calls}\n{}", r#"{"text":"Done."}"#),
    );
    let run = station.run(&["run", "go"]).ends(0);
    run.prints(&[])
        .never("denied")
        .never(" B, ")
        .says(&["wrong ", "file list here (1 entry, "]);
}

#[test]
fn a_no_for_want_of_somebody_to_ask_is_said_also_quietly() {
    let calls = json!({"calls": [{"tool": "text.replace", "args": {"text": "a", "pattern": "a", "replacement": "b"}}]});
    let station = Station::scripted(
        "[\"text.*\"]",
        &[&calls.to_string(), r#"{"text":"Done."}"#],
        "",
    );
    let file = station.read("lazaret.toml");
    station.write("lazaret.toml", format!("ask = [\"text.replace\"]\n{file}"));
    station.trust();
    station
        .run(&["run", "go", "--unattended", "deny", "--quiet"])
        .ends(0)
        .says_only("1 call denied, since nobody was there to be asked: lazaret runs show [RUN]");
}

#[test]
fn what_is_there_is_not_written_over() {
    let station = Station::new();
    station
        .run(&["call", "text.count", r#"{"text":"a"}"#])
        .ends(0);
    let export = ["runs", "export", "last", "--output", "run.jsonl"];
    station.run(&export).ends(0);
    let again = station.run(&export);
    assert_ne!(again.status, 0);
    again.says(&["hint: name another one: nothing is written over"]);
    station
        .run(&["runs", "prune", "--older", "1d", "--dry-run"])
        .ends(0)
        .says(&["no run has ended by then"]);
}
