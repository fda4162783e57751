//! What a guest that knows a secret can make anybody see, exit by exit: the command line and its log, JSON lines,
//! clients of MCP, HTTP with its streams and its page, records, exports and collectors.

use lazaret_tests::forge;
use lazaret_tests::spell::{found, spelled};
use lazaret_tests::verdict::files_with;
use serde_json::{Value, json};

use crate::client::Client;
use crate::server::{Answer, Server, plain};
use crate::serving::Serving;
use crate::station::{Ended, Station, hostile};

const CANARY: &str = "canary-Zq9+7f3a9c-Lw4x8Tb2Xs";
/// How the call of the guest ends.
const ENDS: [&str; 3] = ["return", "fail", "panic"];

/// A user with a secret, and a guest that has come to know it. Its agent has the guest do the same.
fn station(more: &str) -> Station {
    let spill = json!({"calls": [{"tool": "hostile.spill", "args": args("return")}]});
    let says = json!({"text": format!("it is {}", spelled(CANARY).join(" "))});
    let lines = [spill.to_string(), says.to_string()];
    let lines = lines.each_ref().map(String::as_str);
    let station = Station::scripted(
        "[\"hostile.spill\"]",
        &lines,
        &format!(
            "[plugins]\nhostile = {:?}\n[grants.\"hostile.spill\"]\nnotes = \"write\"\ncalls = [\"*\"]\n\
             [flow]\nmode = \"off\"\n{more}",
            hostile()
        ),
    );
    let kept = station.run_with_input(
        &["secret", "set", "canary"],
        format!("{CANARY}\n").as_bytes(),
    );
    kept.ends(0);
    station
}

/// The secret in every spelling, also in the middle of something longer.
fn args(end: &str) -> Value {
    let long = |text: &String| format!("long {} {text} more", "x".repeat(200));
    let texts = spelled(CANARY);
    let longer: Vec<String> = texts.iter().take(4).map(long).collect();
    let texts = [texts, longer].concat();
    json!({"texts": texts, "end": end})
}

#[track_caller]
fn assert_nowhere(exit: &str, text: &str) {
    // An exit where nothing came out at all would hold nothing either.
    assert!(!text.is_empty(), "{exit} said nothing");
    if let Some(spelling) = found(CANARY, text.as_bytes()) {
        panic!("{exit} holds the secret as `{spelling}`:\n{text}");
    }
}

/// It spoke of something that was taken out, so that the guest was there and had its say.
#[track_caller]
fn assert_clean(exit: &str, text: &str) {
    assert!(text.contains("[REDACTED]"), "{exit} tells nothing: {text}");
    assert_nowhere(exit, text);
}

fn both(ended: &Ended) -> String {
    format!("{}\n{}", ended.out, ended.err)
}

#[test]
fn the_command_line_and_its_log() {
    let station = station("");
    for end in ENDS {
        let args = args(end).to_string();
        for more in [&[][..], &["--json"]] {
            let arguments = [&["call", "hostile.spill", args.as_str()][..], more].concat();
            let ended = station.run_told(&[("LAZARET_LOG", "trace")], &arguments);
            assert_eq!(ended.status == 0, end == "return", "{ended}");
            assert_clean("the command line", &both(&ended));
        }
    }
    for more in [&[][..], &["--json"]] {
        let arguments = [&["run", "Spill it."][..], more].concat();
        let ended = station
            .run_told(&[("LAZARET_LOG", "trace")], &arguments)
            .ends(0);
        assert_clean("an agent's run", &both(&ended));
    }
}

#[test]
fn json_lines() {
    let station = station("");
    let lines = ENDS.map(|end| json!({"action": "hostile.spill", "input": args(end)}).to_string());
    let ended = station.run_with_input(&["json"], lines.join("\n").as_bytes());
    let lines = ended.lines();
    let went: Vec<bool> = lines.iter().map(|line| line["ok"] == true).collect();
    assert_eq!(went, [true, false, false], "{ended}");
    assert_clean("JSON lines", &both(&ended));
}

#[test]
fn a_client_of_mcp() {
    let station = station("");
    let mut client = Client::start(&station);
    for end in ENDS {
        let params = json!({"name": "hostile__spill", "arguments": args(end), "_meta": {"progressToken": end}});
        let answer = client.ask("tools/call", params);
        assert_eq!(
            answer["result"]["isError"] == true,
            end != "return",
            "{answer}"
        );
        assert_clean("an answer of MCP", &answer.to_string());
    }
    // Progress and log lines on the way.
    let heard = Value::from(client.heard.clone()).to_string();
    assert_clean("what a client of MCP hears", &heard);
    let ended = client.end();
    assert_eq!(found(CANARY, both(&ended).as_bytes()), None, "{ended}");
}

/// Everything that the server tells of one run.
fn assert_told_nowhere(server: &Serving<'_>, run: &str) {
    let mut streamed = String::new();
    for event in server.events(run, None) {
        streamed.push_str(&format!("{} {}\n", event.name, event.value));
    }
    assert_clean("the stream of a run", &streamed);
    // Its stream has ended, and so has it.
    let shown = server.get(&format!("/v1/runs/{run}"));
    assert_clean("a run over HTTP", &shown.body);
}

#[test]
fn http_its_streams_and_its_page() {
    let station = station("");
    let server = Serving::start(&station);
    for end in ENDS {
        let told = server.call("hostile.spill", args(end));
        assert_eq!(told.json()["ok"] == true, end == "return", "{told:?}");
        assert_clean("an envelope over HTTP", &format!("{told:?}"));
    }
    let begun = server.post("/v1/runs", &json!({"prompt": "Spill it."}));
    let begun = begun.is(201)["run"].as_str().expect("a name").to_owned();
    // To its end, so that the list below tells of it.
    assert_told_nowhere(&server, &begun);
    let listed = server.get("/v1/runs");
    assert_nowhere("the list of runs", &listed.body);
    let runs = listed.is(200)["runs"].as_array().expect("a list").clone();
    assert_eq!(runs.len(), 4, "{runs:?}");
    for run in &runs {
        assert_told_nowhere(&server, run["run"].as_str().expect("a name"));
    }
    for path in [
        "/",
        "/v1/tools",
        "/v1/agents",
        "/v1/questions",
        "/openapi.json",
    ] {
        assert_nowhere(path, &server.get(path).body);
    }
    let ended = server.end();
    assert_eq!(found(CANARY, both(&ended).as_bytes()), None, "{ended}");
}

#[test]
fn records_exports_and_collectors() {
    // Each process sends what it has to tell at once, or in as many parts as it likes.
    let taken = || Answer::Bytes(plain(200, "application/json", "{}"));
    let collector = Server::start((0..64).map(|_| taken()).collect());
    let station = station(&format!(
        "[traces]\nendpoint = \"{}\"\nprivate = true\n",
        collector.url()
    ));
    for end in ENDS {
        station.run(&["call", "hostile.spill", &args(end).to_string()]);
        let looks: [&[&str]; 6] = [
            &["runs", "show"],
            &["runs", "show", "--json"],
            &["runs", "show", "--audit"],
            &["runs", "export"],
            &["runs", "export", "--format", "otlp"],
            &["policy", "explain", "--run", "last"],
        ];
        for look in looks {
            let ended = station.run(look).ends(0);
            assert_nowhere(&look.join(" "), &both(&ended));
        }
        let shown = station.run(&["runs", "show", "--json"]).ends(0);
        assert_clean("the records", &shown.out);
    }
    station.run(&["run", "Spill it."]).ends(0);
    for look in [
        &["runs", "list", "--json"][..],
        &["runs", "show", "--json"],
        &["runs", "export"],
    ] {
        assert_nowhere("an agent's run", &both(&station.run(look).ends(0)));
    }
    let sent = collector.requests();
    assert!(sent.len() >= 4, "{sent:?}");
    for request in sent {
        assert!(request.starts_with("POST /v1/traces "), "{request}");
        assert_nowhere("what a collector is told", &request);
    }
}

/// What a server says of its tools is its own text, and it was given the secret before it said it.
#[test]
fn what_servers_and_plugins_say_of_their_tools() {
    let station = told_of_itself();
    let every: [&[&str]; 12] = [
        &["servers", "check", "mail"],
        &["servers", "check", "mail", "--json"],
        &["servers", "trust", "mail"],
        &["servers", "trust", "mail", "--json"],
        &["tools", "--format", "json"],
        &["tools", "--format", "openai"],
        &["tools", "--format", "anthropic"],
        &["tools", "--format", "mcp"],
        &["tools", "--format", "ai-sdk"],
        &["tools", "--format", "ts"],
        &["plugin", "inspect", "forged", "--json"],
        &["plugin", "inspect", "./forged.wasm"],
    ];
    for arguments in every {
        let ended = station.run_told(&[("LAZARET_LOG", "trace")], arguments);
        assert_clean(&arguments.join(" "), &both(&ended.ends(0)));
    }
    let kept = station.state().join("servers");
    assert_eq!(files_with(CANARY, &kept), Vec::<String>::new());
    let named = station.run(&["servers", "check", "mail"]).ends(0);
    named.says(&["left out: `named-[REDACTED]`: its name holds a secret"]);
    let mut client = Client::start(&station);
    let listed = client.ask("tools/list", json!({}));
    assert_clean("a list of MCP", &listed.to_string());
    client.end();
    let server = Serving::start(&station);
    assert_clean("tools over HTTP", &server.get("/v1/tools").body);
    server.end();
    // What was trusted stays so with another value of the secret, which is not what was shown either.
    let renewed = station.run_with_input(&["secret", "set", "canary"], b"another-Zq9+8e41b7\n");
    renewed.ends(0);
    let checked = station.run(&["servers", "check", "mail"]).ends(0);
    checked
        .prints(&["ok as it was trusted"])
        .never("another-Zq9");
}

/// A user with a secret, a server that repeats it in all that it says of its tools, and a plugin in whose words it stands.
fn told_of_itself() -> Station {
    let says = format!("\"description\":\"Knows {CANARY}.\"");
    let manifest = forge::MANIFEST.replacen("\"description\":\"d\"", &says, 2);
    assert_eq!(manifest.matches(CANARY).count(), 2, "{manifest}");
    let station = Station::with(&format!(
        "[plugins]\nforged = \"forged.wasm\"\n[grants.\"forged.*\"]\n[grants.\"mail.*\"]\n[mcp.mail]\n\
         command = [{:?}, \"tells\"]\nenv = {{ TOKEN = {{ secret = \"canary\" }} }}\n",
        env!("CARGO_BIN_EXE_stranger")
    ));
    station.write("forged.wasm", forge::plugin(&manifest, ""));
    station.trust();
    let kept = station.run_with_input(
        &["secret", "set", "canary"],
        format!("{CANARY}\n").as_bytes(),
    );
    kept.ends(0);
    station
}
