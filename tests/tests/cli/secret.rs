//! `lazaret secret`: values go in and never come out, but on the wire in their place.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use lazaret_tests::wait::until;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};
use serde_json::json;

use crate::inline::terminal;
use crate::provider::{choice, piece, says};
use crate::server::{Answer, Server, plain, stream};
use crate::station::{Ended, Station, holds_nothing, hostile};

const CANARY: &str = "canary-7f3a9c-wire";

fn set(station: &Station, name: &str, value: &str) -> Ended {
    station.run_with_input(&["secret", "set", name], format!("{value}\n").as_bytes())
}

/// A trusted policy that lets the hostile guest send the secret to the server.
fn with_server(server: &Server, more: &str) -> Station {
    let to = server.url();
    Station::with(&format!(
        "{more}[plugins]\nhostile = {:?}\n[grants.\"hostile.send_each\"]\n\
         fetch = [{{ url = \"{to}/\", private = true }}]\n\
         secrets = [{{ name = \"canary\", to = \"{to}/\", header = \"authorization\", before = \"Bearer \" }}]\n",
        hostile()
    ))
}

fn send(server: &Server) -> String {
    let url = server.url();
    json!({"requests": [{"url": url, "headers": ["authorization={{secret:canary}}"]}]}).to_string()
}

#[test]
fn a_secret_is_set_listed_and_removed() {
    let station = Station::new();
    station
        .run(&["secret", "list"])
        .ends(0)
        .says_only("there are no secrets; `lazaret secret set NAME` keeps one");
    set(&station, "github", CANARY)
        .ends(0)
        .prints(&["kept `github` (file)\n"])
        .says(&["hint: nobody may use it yet"])
        .never(CANARY);
    station
        .run(&["secret", "list"])
        .ends(0)
        .prints(&["github", "file", "nobody"])
        .never(CANARY);
    let listed = station
        .run(&["secret", "list", "--json"])
        .never(CANARY)
        .json();
    assert_eq!(
        listed,
        json!([{"name": "github", "backend": "file", "set": true, "granted": [], "uses": [], "trouble": null}])
    );
    for name in ["vault.json", "vault.key"] {
        let mode = fs::metadata(station.state().join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    holds_nothing(&station.state(), CANARY);
    let gone = station
        .run(&["secret", "remove", "github", "--json"])
        .ends(0)
        .json();
    assert_eq!(gone, json!({"ok": true, "name": "github"}));
    station
        .run(&["secret", "remove", "github"])
        .ends(4)
        .says_only("error: there is no secret `github`\nhint: lazaret secret list");
}

#[test]
fn what_can_be_no_secret_is_refused_with_its_reason() {
    let station = Station::new();
    for (value, reason) in [
        ("admin", "it has 5 characters and needs 8"),
        ("Password123", "it is made of common words"),
        ("passwordpassword", "it is a common word, repeated"),
        ("12345678", "it is a common number"),
        (" ghp_a1b2c3d4 ", "it begins or ends with a blank"),
        ("xxxxxxxxxxxx", "it has fewer than 4 different characters"),
        ("internationals", "it is one word"),
        (
            "application/json",
            "it is a MIME type; redacting it would blank ordinary text: take one that is random",
        ),
        ("two\nlines-of-it", "it has control characters"),
    ] {
        set(&station, "weak", value)
            .ends(2)
            .says(&["error: the secret is refused: ", reason])
            .never(value);
    }
    for name in ["", "Git", "a b", "../x", "models.x", "gіthub"] {
        set(&station, name, CANARY)
            .ends(2)
            .says(&["is no name of a secret"])
            .never(CANARY);
    }
    // There is no way to write a value among the arguments.
    station.run(&["secret", "set", "github", CANARY]).ends(2);
    station
        .run_with_input(
            &["secret", "set", "b"],
            b"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7",
        )
        .ends(2)
        .says(&["no UTF-8"]);
    assert_eq!(station.run(&["secret", "list", "--json"]).json(), json!([]));
}

/// Of what is not read to its end, nobody says how much it is.
#[test]
fn a_value_that_is_too_long_is_told_its_bytes_where_they_are_known() {
    let station = Station::new();
    for (bytes, says) in [
        (16_385, "16385 bytes, and at most 16384 may be"),
        (20_000, "the secret has more than 16384 bytes"),
    ] {
        let value = format!("{}x", &"aB3$".repeat(bytes)[..bytes - 1]);
        set(&station, "long", &value).ends(2).says(&[says]);
    }
}

/// A command that asks at a terminal for a value, and has asked; our end of the terminal, and the other one.
fn asked(station: &Station) -> (Child, File, OwnedFd) {
    let (ours, theirs) = terminal();
    let mut command = station.command(&["secret", "set", "github"]);
    let mut child = station.spawn(command.stdin(theirs.try_clone().unwrap()));
    let said = child.stderr.as_mut().unwrap();
    let mut shown = Vec::new();
    while !shown.ends_with(b"value of github: ") {
        let mut byte = [0];
        assert_eq!(said.read(&mut byte).unwrap(), 1, "it has not asked");
        shown.push(byte[0]);
    }
    (child, ours, theirs)
}

/// Whether a terminal shows what is typed, line by line, and makes signals of keys, as it does to begin with.
fn shows(terminal: &OwnedFd) -> bool {
    let modes = LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    tcgetattr(terminal).unwrap().local_modes.contains(modes)
}

#[test]
fn a_value_that_is_typed_is_kept_and_not_shown() {
    let station = Station::new();
    let (child, mut ours, theirs) = asked(&station);
    assert!(!shows(&theirs));
    ours.write_all(format!("{CANARY}\n").as_bytes()).unwrap();
    station
        .wait(child)
        .ends(0)
        .prints(&["kept `github` (file)\n"])
        .never(CANARY);
    assert!(shows(&theirs));
    drop(theirs);
    let mut shown = Vec::new();
    // The end of a terminal is an error to whoever reads it.
    let _ = ours.read_to_end(&mut shown);
    let shown = String::from_utf8(shown).unwrap();
    assert!(!shown.contains(&CANARY[..6]), "{shown}");
}

#[test]
fn a_terminal_is_as_it_was_however_a_hidden_prompt_ends() {
    let station = Station::new();
    for signal in [Signal::INT, Signal::QUIT, Signal::TERM] {
        let (child, _ours, theirs) = asked(&station);
        assert!(!shows(&theirs));
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ended = station.wait(child).ends(130);
        ended.says(&["error: cancelled: nothing was kept"]);
        assert!(shows(&theirs), "{signal:?}");
    }
    // Ctrl-C, as it is typed.
    for typed in ["\u{3}", "canary\u{3}"] {
        let (child, mut ours, theirs) = asked(&station);
        ours.write_all(typed.as_bytes()).unwrap();
        let ended = station.wait(child).ends(130);
        ended.says(&["error: cancelled: nothing was kept"]);
        assert!(shows(&theirs), "{typed:?}");
    }
    assert_eq!(station.run(&["secret", "list", "--json"]).json(), json!([]));
}

#[test]
fn a_granted_secret_reaches_the_server_and_nothing_else() {
    let reflected = plain(200, "text/plain", &format!("you said Bearer {CANARY}"));
    let server = Server::start(vec![
        Answer::Bytes(reflected.clone()),
        Answer::Bytes(reflected),
    ]);
    let station = with_server(&server, "");
    station.run(&["secret", "list"]).ends(0).prints(&[
        "canary",
        "not set",
        "hostile.send_each: header `authorization` to http://127.0.0.1",
        ", if its manifest declares it",
    ]);
    let call = ["call", "hostile.send_each", &send(&server), "--json"];
    let before = station.run(&call).ends(0);
    assert!(
        before
            .out
            .contains("there is no secret `canary` for this request"),
        "{before}"
    );
    set(&station, "canary", CANARY).ends(0).says_only("");
    let mut command = station.command(&call);
    station
        .finish(command.env("LAZARET_LOG", "trace"))
        .ends(0)
        .prints(&["you said Bearer [REDACTED]"])
        .never(CANARY)
        .never("Y2FuYXJ5");
    station
        .run(&["runs", "show", "last", "--json"])
        .ends(0)
        .prints(&["secret canary in header `authorization`"])
        .never(CANARY);
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(
        requests[0]
            .to_lowercase()
            .contains(&format!("authorization: bearer {CANARY}"))
    );
    station.run(&["secret", "remove", "canary"]).ends(0);
    let after = station.run(&call).ends(0);
    assert_eq!(after.json()["data"], before.json()["data"]);
    holds_nothing(&station.state(), CANARY);
    holds_nothing(&station.workspace(), CANARY);
}

#[test]
fn the_environment_keeps_secrets_where_it_is_told_to() {
    let server = Server::start(vec![Answer::Bytes(plain(200, "text/plain", CANARY))]);
    let station = with_server(&server, "[vault]\nbackend = \"env\"\n");
    set(&station, "canary", CANARY).ends(2).says(&[
        "the environment is only read",
        "hint: set or unset the variable `LAZARET_SECRET_CANARY`",
    ]);
    let mut list = station.command(&["secret", "list", "--json"]);
    let listed = station
        .finish(list.env("LAZARET_SECRET_CANARY", CANARY))
        .never(CANARY)
        .json();
    assert_eq!(
        (&listed[0]["backend"], &listed[0]["set"]),
        (&json!("env"), &json!(true))
    );
    let mut call = station.command(&["call", "hostile.send_each", &send(&server)]);
    station
        .finish(call.env("LAZARET_SECRET_CANARY", CANARY))
        .ends(0)
        .prints(&["[REDACTED]"])
        .never(CANARY);
    assert!(server.requests()[0].contains(CANARY));
}

#[test]
fn a_variable_that_can_be_no_secret_is_said_with_what_unsets_it() {
    let station = Station::with("[vault]\nbackend = \"env\"\n");
    let with = |arguments: &[&str]| {
        let mut command = station.command(arguments);
        station.finish(command.env("LAZARET_SECRET_MY_KEY", "20261123"))
    };
    with(&["call", "text.count", r#"{"text":"a"}"#])
        .ends(3)
        .says(&[
            "the secret `my_key` cannot be read",
            "hint: or forget it: unset LAZARET_SECRET_MY_KEY",
        ])
        .never("secret remove");
    with(&["secret", "list"])
        .ends(0)
        .prints(&[
            "my_key",
            "cannot be read",
            "which whoever guesses tries first",
        ])
        .never("20261123");
}

#[test]
fn a_passphrase_locks_the_vault() {
    let server = Server::start(vec![Answer::Bytes(plain(200, "text/plain", "reached"))]);
    let station = with_server(&server, "");
    let with = |arguments: &[&str], phrase: &str, input: &str| {
        let mut command = station.command(arguments);
        let command = command
            .env("LAZARET_VAULT_PASSPHRASE", phrase)
            .stdin(Stdio::piped());
        let mut child = station.spawn(command);
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        station.wait(child)
    };
    with(&["secret", "set", "canary"], "correct horse", CANARY).ends(0);
    assert!(!station.state().join("vault.key").exists());
    let args = send(&server);
    let call = ["call", "hostile.send_each", &args];
    // Locked, or with another key: nobody could keep the value out of requests and records, so nothing is called.
    let count = ["call", "text.count", &json!({"text": CANARY}).to_string()];
    for (phrase, why) in [
        ("", "locked with a passphrase"),
        ("correct house", "another key"),
    ] {
        for call in [&call, &count] {
            with(call, phrase, "").ends(3).says(&[
                "the secret `canary` cannot be read, so nobody could keep it out",
                why,
                "lazaret secret remove canary",
            ]);
        }
        with(&["secret", "list"], phrase, "")
            .ends(0)
            .prints(&["canary", "cannot be read", why]);
        with(&["secret", "set", "second"], phrase, "x y z x y z").ends(3);
        // What was recorded can be looked at.
        with(&["runs", "list"], phrase, "").ends(0);
    }
    holds_nothing(&station.workspace(), CANARY);
    with(&call, "correct horse", "")
        .ends(0)
        .prints(&["reached"]);
    // One that has a key of its own does not pretend to have a passphrase.
    let other = Station::new();
    set(&other, "canary", CANARY).ends(0);
    let mut command = other.command(&["secret", "set", "second"]);
    let command = command
        .env("LAZARET_VAULT_PASSPHRASE", "x y z")
        .stdin(Stdio::piped());
    let mut child = other.spawn(command);
    let _ = child.stdin.take().unwrap().write_all(CANARY.as_bytes());
    other
        .wait(child)
        .ends(2)
        .says(&["made without a passphrase"]);
}

#[test]
fn a_keyring_works_or_says_that_it_does_not() {
    let station = Station::with("[vault]\nbackend = \"keyring\"\n");
    let kept = set(&station, "lazaret-test-canary", CANARY).never(CANARY);
    if kept.status == 0 {
        let listed = station
            .run(&["secret", "list", "--json"])
            .ends(0)
            .never(CANARY);
        assert!(listed.out.contains("lazaret-test-canary"), "{listed}");
        station
            .run(&["secret", "remove", "lazaret-test-canary"])
            .ends(0);
    } else {
        kept.ends(3).says(&[
            "the keyring of this system cannot be used",
            "hint: keep secrets in a file",
        ]);
    }
    holds_nothing(&station.state(), CANARY);
}

#[test]
fn the_configuration_says_no_value_and_no_unknown_back_end() {
    let station = Station::new();
    for (config, says) in [
        (
            "[vault]\nbackend = \"disk\"\n",
            "`disk` is not one of those that may stand here",
        ),
        ("[vault]\ngithub = \"x\"\n", "there is no key `github` here"),
        ("[scrub]\nkeyword = true\n", "did you mean `keywords`?"),
        (
            "[grants.\"web.get_page\"]\nsecrets = [{ name = \"a\", to = \"https://a.test/\" }]\n",
            "needs one place",
        ),
        (
            "[grants.\"web.get_page\"]\nsecrets = [{ name = \"a\", to = \"https://a.test/\", value = \"x\" }]\n",
            "there is no key `value` here",
        ),
    ] {
        station.write("lazaret.toml", config);
        station.run(&["policy", "check"]).ends(2).says(&[says]);
    }
}

#[test]
fn lines_that_cannot_help_or_that_harm_are_pointed_at() {
    let station = Station::with(
        "[grants.\"web.get_page\"]\nsecrets = [{ name = \"a\", to = \"http://a.test/\", query = \"k\" }]\n",
    );
    station.run(&["policy", "check"]).ends(0).says_only(
        "warning: `[HERE]/lazaret.toml`: [grants.\"web.get_page\"] secrets: `a` is declared by no such tool, so none gets it
hint: `lazaret plugin inspect` says what a plugin declares; no bundled tool does, so a server that wants a secret needs another plugin, or a server of MCP
warning: `[HERE]/lazaret.toml`: [grants.\"web.get_page\"] secrets: `a` is sent to `http://a.test/` without encryption
hint: write `https://` if the server speaks it
warning: `[HERE]/lazaret.toml`: [grants.\"web.get_page\"] secrets: `a` is for `http://a.test/`, and no `fetch` lets these tools send anything there
hint: write `fetch = [\"http://a.test/\"]` beside it
warning: `[HERE]/lazaret.toml`: [grants.\"web.get_page\"] query parameter `k` to http://a.test/: the secret `a` is not kept
hint: lazaret secret set a",
    );
    let server = Server::start(vec![]);
    let told = with_server(&server, "").run(&["policy", "explain", "hostile.send_each"]);
    told.ends(0)
        .prints(&["secret canary in header `authorization` to http://127.0.0.1"]);
}

#[test]
fn what_was_recorded_before_it_was_a_secret_is_not_shown_afterwards() {
    let station = Station::new();
    let args = json!({"text": format!("it is {CANARY}")}).to_string();
    station.run(&["call", "text.count", &args]).ends(0);
    station
        .run(&["runs", "show", "last", "--json"])
        .prints(&[CANARY]);
    set(&station, "canary", CANARY).ends(0);
    for arguments in [
        &["runs", "show", "last", "--json"][..],
        &["runs", "show"],
        &["runs", "list", "--json"],
    ] {
        station.run(arguments).ends(0).never(CANARY);
    }
    station.run(&["call", "text.count", &args]).ends(0);
    station
        .run(&["runs", "show", "last", "--json"])
        .prints(&["it is [REDACTED]"])
        .never(CANARY);
}

#[test]
fn no_core_is_dumped_of_a_process_that_holds_secrets() {
    let station = Station::new();
    let mut child = station.spawn(
        station
            .command(&["secret", "set", "a"])
            .stdin(Stdio::piped()),
    );
    // It reads until its input ends; by then it has given up its right to dump.
    let limits = format!("/proc/{}/limits", child.id());
    let is_off = || {
        let text = fs::read_to_string(&limits).unwrap_or_default();
        let core = text
            .lines()
            .find(|line| line.starts_with("Max core file size"));
        core.is_some_and(|line| line.split_whitespace().nth(4) == Some("0"))
    };
    until("no cores are dumped", is_off);
    drop(child.stdin.take());
    station.wait(child).ends(2);
}

/// A tool whose manifest declares no secret gets none by any line, so none is proposed.
#[test]
fn what_a_manifest_does_not_declare_no_line_gives_and_none_is_proposed() {
    let grant =
        "[grants.\"web.get_json\"]\nfetch = [{ url = \"http://127.0.0.1:9/\", private = true }]\n";
    let line = "secrets = [{ name = \"github\", to = \"http://127.0.0.1:9/\", query = \"k\" }]\n";
    for policy in [grant.to_owned(), format!("{grant}{line}")] {
        let station = Station::new();
        station.write("lazaret.toml", policy);
        station.trust();
        set(&station, "github", CANARY);
        let args = r#"{"url":"http://127.0.0.1:9/?k={{secret:github}}"}"#;
        for asked in [&["call"][..], &["policy", "explain"]] {
            let ended = station.run(&[asked, &["web.get_json", args]].concat());
            let said = format!("{}{}", ended.out, ended.err);
            for part in [
                "there is no secret `github` for this request",
                "declares no such secret, so no line gives it one",
                "lazaret plugin inspect",
            ] {
                assert!(said.contains(part), "{asked:?}: {part} in {said}");
            }
            assert!(
                !said.contains("secrets = [") && !said.contains("write in"),
                "{said}"
            );
        }
    }
}

/// All that leaves for whoever runs the model: prompts, outcomes in them, and what a model is told of its own words.
#[test]
fn what_leaves_for_a_provider_holds_no_secret() {
    let encoded = "Y2FuYXJ5LTdmM2E5Yy13aXJl";
    // Says back what it is sent, and the value in another spelling.
    let tells = format!("so {CANARY}, and {encoded}");
    let other = Server::start(vec![Answer::Bytes(plain(200, "text/plain", &tells))]);
    let model = Server::start(vec![
        Answer::Bytes(stream(&[
            choice(json!({"content": format!("I look for {CANARY}. ")}), None),
            piece(0, "hostile__send_each", &send(&other)),
            choice(json!({}), Some("tool_calls")),
            "[DONE]".to_owned(),
        ])),
        says(&format!("it is {encoded}")),
        says("Once more."),
    ]);
    let agent = format!(
        "[agents.a]\ninstructions = \"be brief\"\ntools = [\"hostile.*\"]\nmodels = [\"m\"]\n[models.m]\n\
         provider = \"openai\"\nurl = \"{}/v1\"\nmodel = \"tiny\"\nprivate = true\n",
        model.url()
    );
    let station = with_server(&other, &agent);
    set(&station, "canary", CANARY).ends(0);
    let session = ["--session", "s"];
    let goal = format!("tell me {CANARY}, {encoded}");
    let first = [&["run", goal.as_str()][..], &session].concat();
    station
        .run(&first)
        .ends(0)
        .prints(&["it is [REDACTED]"])
        .never(CANARY);
    station
        .run(&[&["run", "and now?"][..], &session].concat())
        .ends(0);
    let sent = model.requests();
    assert_eq!(sent.len(), 3);
    for request in &sent {
        assert!(request.contains("[REDACTED]"), "{request}");
        for value in [CANARY, encoded] {
            assert!(!request.contains(value), "{request}");
        }
    }
    assert_eq!(other.requests().len(), 1);
    assert!(other.requests()[0].contains(&format!("Bearer {CANARY}")));
    holds_nothing(&station.state(), CANARY);
}
