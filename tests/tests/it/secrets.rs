//! Secrets: on the wire in their declared place, and nowhere else.

use std::io::Write;
use std::path::Path;

use lazaret::words::event::Sight;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;
use lazaret_tests::spell::{found, spelled};
use lazaret_tests::verdict::files_with;

use crate::page::observed;

const CANARY: &str = "canary-Zq9+7f3a9c";

fn policy(server: &Server) -> String {
    let to = format!("http://127.0.0.1:{}/", server.port());
    format!(
        r#"
flow.mode = "off"
[grants."hostile.*"]
fetch = [{{ url = "{to}", private = true, methods = ["GET", "POST"] }}]
mounts = {{ out = "write" }}
notes = "write"
calls = ["*"]
secrets = [
  {{ name = "canary", to = "{to}", header = "x-key" }},
  {{ name = "canary", to = "{to}", query = "key" }},
  {{ name = "canary", to = "{to}", json = "/token" }},
]
[mounts.out]
path = "out"
access = "write"
"#
    )
}

fn requests(server: &Server) -> Value {
    let to = format!("http://127.0.0.1:{}/", server.port());
    json!([
        {"url": to, "headers": ["x-key={{secret:canary}}"]},
        {"url": format!("{to}?key={{{{secret:canary}}}}")},
        {"url": to, "method": "POST", "body": "{\"token\": \"{{secret:canary}}\"}"},
        {"url": to, "headers": ["x-other={{secret:canary}}"]},
    ])
}

async fn host(server: &Server) -> Rigged {
    server.say(vec![Answer {
        path: "/".to_owned(),
        reflect: true,
        ..Answer::default()
    }]);
    let rig = Rig::of("").kept().await.policy(&policy(server));
    rig.guest("hostile").secret("canary", CANARY).open().await
}

fn assert_nowhere(what: &str, text: &str) {
    if let Some(spelling) = found(CANARY, text.as_bytes()) {
        panic!("{what} holds the secret as `{spelling}`:\n{text}");
    }
}

/// Calls `hostile.spill`, and looks at everything that somebody could see of it.
async fn spill(host: &Rigged, args: Value) -> lazaret::runs::host::Called {
    let (run, tasks) = (host.host.new_run(), Tasks::new());
    let mut watcher = host.host.watch(&run);
    let called = host
        .call_in(run.clone(), &tasks, ("hostile.spill", &args.to_string()))
        .await;
    loop {
        let sight = watcher.next().await;
        assert_nowhere("what a watcher sees", &format!("{sight:?}"));
        if matches!(&sight, Sight::Record(record) if record.event.word() == "stopped") {
            break;
        }
    }
    let outcome = &called.outcome;
    let code = outcome.result.as_ref().err().map(|error| error.code());
    assert_ne!(code, Some(Code::Denied), "it has done nothing: {outcome:?}");
    assert_nowhere("the outcome", &format!("{outcome:?}"));
    for artifact in &outcome.trail.artifacts {
        assert_nowhere("an artifact", &String::from_utf8_lossy(&artifact.bytes));
    }
    let records = serde_json::to_string(&host.records(&run).await).unwrap();
    assert_nowhere("the journal", &records);
    called
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_reflects_reaches_no_exit_of_a_hostile_guest() {
    let server = Server::start().await;
    let host = host(&server).await;
    for end in ["return", "fail", "panic"] {
        let args = json!({"requests": requests(&server), "into_files": true, "end": end});
        let called = spill(&host, args).await;
        assert!(
            !called.outcome.trail.logs.is_empty()
                && called.outcome.result.is_ok() == (end == "return")
        );
    }
    // It went where it belongs, three requests of each call, and the fourth did not leave.
    let sent = server.sent();
    assert_eq!(sent.len(), 9);
    for (at, request) in sent.iter().enumerate() {
        let place = match at % 3 {
            0 => format!("x-key: {CANARY}\r\n"),
            1 => "/?key=canary-Zq9%2B7f3a9c HTTP".to_owned(),
            _ => format!("{{\"token\": \"{CANARY}\"}}"),
        };
        assert_eq!(request.matches(&place).count(), 1, "{request}");
        assert_nowhere("the rest of a request", &request.replace(&place, ""));
    }
    let folder = host.close();
    assert!(folder.path("out/0.txt").is_file() && folder.path("state/vault.json").is_file());
    assert_eq!(files_with(CANARY, folder.folder()), [""; 0]);
}

/// What is held is held without it, and so is whatever is made of that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_reflects_is_held_without_the_secret() {
    let server = Server::start().await;
    server.say(vec![Answer {
        path: "/".to_owned(),
        reflect: true,
        ..Answer::default()
    }]);
    let to = format!("http://127.0.0.1:{}/", server.port());
    let policy = format!(
        r#"
[flow]
hold = "untrusted"
[mounts.out]
path = "out"
access = "write"
own = true
workspace = true
[grants."files.write"]
mounts = {{ out = "write" }}
[grants."hostile.send_each"]
fetch = [{{ url = "{to}", private = true }}]
secrets = [{{ name = "canary", to = "{to}", header = "x-key" }}]
"#
    );
    let rig = Rig::of("").kept().await.policy(&policy);
    let host = rig.guest("hostile").secret("canary", CANARY).open().await;
    let source = format!(
        "const requests = [{{url: '{to}', headers: ['x-key={{{{secret:canary}}}}']}}];
         const held = await tools.hostile.send_each({{requests}});
         const content = await tools.handle.template({{template: 'got {{it}}', values: {{it: held}}}});
         await tools.files.write({{path: 'out/got.txt', content}});
         const made = await tools.handle.isolate({{code: '(all) => all', of: [held]}});
         return [await reveal(held), await reveal(content), await reveal(made), JSON.stringify(held)]"
    );
    let called = host.script(&source).await;
    let said = rig::value(&called.outcome).to_string();
    assert_eq!(said.matches("x-key").count(), 3, "{said}");
    assert_nowhere("what is shown", &said);
    let records = serde_json::to_string(&host.records(&called.run).await).unwrap();
    assert_nowhere("the journal", &records);
    assert!(server.sent()[0].contains(CANARY));
    let folder = host.close();
    let got = std::fs::read_to_string(folder.path("out/got.txt")).expect("it is written");
    assert!(got.contains("x-key"), "{got}");
    assert_eq!(files_with(CANARY, folder.folder()), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_knows_a_secret_cannot_tell_it() {
    let server = Server::start().await;
    let host = host(&server).await;
    for end in ["return", "fail", "panic"] {
        for text in spelled(CANARY) {
            let args =
                json!({"texts": [text, format!("long {} {text}", "x".repeat(1_990))], "end": end});
            spill(&host, args).await;
        }
    }
    let rig = host.close();
    assert_eq!(files_with(CANARY, rig.folder()), [""; 0]);
}

/// What is cut would be half a secret, which nobody recognises.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_cut_leaves_half_a_secret() {
    let server = Server::start().await;
    let host = host(&server).await;
    let text = format!("{}{CANARY}", "x ".repeat(995));
    let called = spill(&host, json!({"texts": [text], "end": "fail"})).await;
    let said = format!("{:?}", called.outcome.result);
    assert!(said.contains("x x") && !said.contains("canary"), "{said}");
}

/// Elsewhere a part is an answer like any other, and one that numbers its records is whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_is_taken_where_no_secret_may_go() {
    let (told, other) = (Server::start().await, Server::start().await);
    for server in [&told, &other] {
        let part = Answer {
            path: "/part".to_owned(),
            status: Some(206),
            body: "a part".to_owned(),
            ..Answer::default()
        };
        let rows = Answer {
            path: "/rows".to_owned(),
            headers: [("content-range".to_owned(), "0-24/319".to_owned())].into(),
            body: "all rows".to_owned(),
            ..Answer::default()
        };
        server.say(vec![part, rows]);
    }
    let at = |server: &Server| format!("http://127.0.0.1:{}/", server.port());
    let (told, other) = (at(&told), at(&other));
    let policy = format!(
        r#"
flow.mode = "off"
[grants."hostile.send_each"]
fetch = [{{ url = "{told}", private = true }}, {{ url = "{other}", private = true }}]
secrets = [{{ name = "canary", to = "{told}v1/", header = "x-key" }}]
"#
    );
    let rig = Rig::of(&policy).guest("hostile").secret("canary", CANARY);
    let host = rig.open().await;
    let range = ["Range=bytes=0-5"];
    let requests = json!([
        {"url": format!("{told}part"), "headers": range},
        {"url": format!("{told}part")},
        {"url": format!("{told}rows")},
        {"url": format!("{other}part"), "headers": range},
        {"url": format!("{other}rows")},
    ]);
    let called = host
        .call("hostile.send_each", json!({"requests": requests}))
        .await;
    let said = rig::value(&called.outcome).as_array().unwrap();
    let says = [
        "-> denied: a header such as `range` asks for a part",
        "-> denied: the server has answered with a part",
        "| all rows",
        "| a part",
        "| all rows",
    ];
    assert_eq!(said.len(), says.len());
    for (said, says) in said.iter().zip(says) {
        assert!(said.as_str().unwrap().contains(says), "{said}: {says}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_model_reads_a_secret() {
    let server = Server::start().await;
    server.say(vec![Answer {
        path: "/".to_owned(),
        reflect: true,
        ..Answer::default()
    }]);
    // In a script of replies, braces ask for an earlier outcome; escaped ones reach the tool.
    let url = format!(
        "http://127.0.0.1:{}/?key=%7B%7Bsecret:canary%7D%7D",
        server.port()
    );
    let args = json!({"requests": [{"url": url}], "texts": [CANARY]});
    let replies = [
        json!({"calls": [{"tool": "hostile.spill", "args": args}]}),
        json!({"text": format!("it is {CANARY}")}),
    ];
    let rig = Rig::of("")
        .kept()
        .await
        .policy(&policy(&server))
        .guest("hostile");
    let host = rig.replies(&replies).secret("canary", CANARY).open().await;
    let (run, answer) = host.pursue(&format!("tell me {CANARY}")).await;
    assert_eq!(answer.unwrap(), "it is [REDACTED]");
    let records = host.records(&run).await;
    assert_nowhere("the journal", &serde_json::to_string(&records).unwrap());
    let rig = host.close();
    // The model's own script of replies is the test's.
    std::fs::remove_file(rig.path("replies.jsonl")).unwrap();
    assert_eq!(files_with(CANARY, rig.folder()), [""; 0]);
}

/// `policy check` says which other one is kept, to the person; hints are read by models, which would learn what there is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_model_reads_the_name_of_a_secret_that_was_not_asked_for() {
    let to = "http://127.0.0.1:9/";
    let policy = format!(
        r#"
flow.mode = "off"
[grants."http.spy"]
fetch = [{{ url = "{to}", private = true }}]
secrets = [{{ name = "canary", to = "{to}", header = "x-key" }}]
"#
    );
    let args = json!({"url": to, "halves": ["one", "two"]});
    let replies = [
        json!({"calls": [{"tool": "http.spy", "args": args}]}),
        json!({"text": "It failed."}),
    ];
    let rig = Rig::of(&policy).guest("http").replies(&replies);
    let host = rig.secret("canary-2", CANARY).open().await;
    let called = host.call("http.spy", args).await;
    let error = rig::error(&called.outcome);
    let hints = error.hints().concat();
    assert!(
        error.code() == Code::Denied && hints.contains("lazaret secret set canary"),
        "{error:?}: {hints}"
    );
    assert!(!hints.contains("canary-2"), "{hints}");
    let (run, answer) = host.pursue("Look.").await;
    assert_eq!(answer.unwrap(), "It failed.");
    let read = observed(&host.records(&run).await);
    assert!(
        read[0].0.contains("Tool execution failed") && !read[0].0.contains("canary-2"),
        "{read:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_is_removed_is_unknown_at_once_and_is_still_not_told() {
    let server = Server::start().await;
    let host = host(&server).await;
    let to = format!("http://127.0.0.1:{}/", server.port());
    let request = |name: &str| {
        let header = format!("x-key={{{{secret:{name}}}}}");
        json!({"requests": [{"url": to, "headers": [header]}]})
    };
    let before = host.call("hostile.send_each", request("canary")).await;
    assert!(
        rig::value(&before.outcome)[0]
            .as_str()
            .unwrap()
            .contains("-> 200")
    );
    assert!(host.vault().remove("canary").unwrap());
    let after = host.call("hostile.send_each", request("canary")).await;
    let missing = host.call("hostile.send_each", request("missing")).await;
    let said = |called: &lazaret::runs::host::Called| {
        rig::value(&called.outcome)[0].as_str().unwrap().to_owned()
    };
    assert_eq!(said(&after), said(&missing).replace("missing", "canary"));
    assert!(said(&after).contains("denied: there is no secret `canary` for this request"));
    assert_eq!(server.seen().len(), 1);
    spill(&host, json!({"texts": spelled(CANARY)})).await;
}

/// By whoever has set it: a host serves for days, and its user changes a token meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_is_set_or_changed_is_known_to_whatever_is_called_next() {
    let server = Server::start().await;
    let host = host(&server).await;
    for value in ["first-58ab10-later", "second-77cd31-later"] {
        let secret = lazaret::edges::vault::Secret::new(value.to_owned()).unwrap();
        host.vault().store("late", &secret).unwrap();
        let called = spill(&host, json!({"texts": spelled(value)})).await;
        let said = format!("{:?}", called.outcome);
        assert_eq!(found(value, said.as_bytes()), None, "{said}");
        let records = format!("{:?}", host.records(&called.run).await);
        assert_eq!(found(value, records.as_bytes()), None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_is_changed_is_known_before_it_is_used() {
    let server = Server::start().await;
    let host = host(&server).await;
    let other = "other-58ab10-later";
    let value = lazaret::edges::vault::Secret::new(other.to_owned()).unwrap();
    host.vault().store("canary", &value).unwrap();
    let called = spill(&host, json!({"requests": requests(&server)})).await;
    assert_eq!(
        found(other, format!("{:?}", called.outcome).as_bytes()),
        None
    );
    assert!(server.sent()[0].contains(other));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_read_no_secret_and_compute_with_what_only_looks_like_one() {
    let server = Server::start().await;
    let host = host(&server).await;
    let source = format!(
        "const said = await tools.hostile.echo({{text: 'password=hunter2 {CANARY}'}}); \
         console.log(said); return {{length: said.length, said}}"
    );
    let called = host.script(&source).await;
    let value = rig::value(&called.outcome);
    // The known secret is gone before the script reads it; the guess is made for whoever reads the end.
    assert_eq!(value["length"], json!("password=hunter2 [REDACTED]".len()));
    assert_eq!(value["said"], json!("password=[REDACTED] [REDACTED]"));
    let records = host.records(&called.run).await;
    assert_nowhere("the journal", &serde_json::to_string(&records).unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guesses_are_switched_by_policy() {
    let text = "token=abc ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    for (policy, expected) in [
        (
            "flow.hold = \"never\"",
            "token=[REDACTED] ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        ),
        (
            "flow.hold = \"never\"\n[scrub]\nentropy = true",
            "token=[REDACTED] [REDACTED]",
        ),
        ("flow.hold = \"never\"\n[scrub]\nkeywords = false", text),
    ] {
        let rig = Rig::of(policy).guest("hostile");
        let echo = json!({"calls": [{"tool": "hostile.echo", "args": {"text": text}}]});
        let host = rig.replies(&[echo, json!({"text": "done"})]).open().await;
        let called = host.call("hostile.echo", json!({"text": text})).await;
        assert_eq!(*rig::value(&called.outcome), json!(expected), "{policy}");
        let (run, _) = host.pursue("go").await;
        let seen = host.records(&run).await;
        let observed = seen.iter().find_map(|record| match &record.event {
            lazaret::words::event::Event::Observed { observation, .. } => Some(&observation.text),
            _ => None,
        });
        assert_eq!(observed.map(String::as_str), Some(expected), "{policy}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vault_is_no_part_of_any_mount() {
    let server = Server::start().await;
    let policy = policy(&server).replace("path = \"out\"", "path = \".\"");
    let rig = Rig::of("").kept().await.policy(&policy);
    let host = rig.guest("hostile").secret("canary", CANARY).open().await;
    let wishes = json!({"wishes": [
        {"op": "read", "path": "out/state/vault.json"}, {"op": "read", "path": "out/state/vault.key"},
    ]});
    let called = host.call("hostile.file_each", wishes).await;
    for line in rig::value(&called.outcome).as_array().unwrap() {
        assert!(!line.as_str().unwrap().contains("-> ok"), "{line}");
    }
    assert!(Path::new(host.folder()).join("state/vault.key").is_file());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_a_client_writes_where_a_name_belongs_stands_in_no_record() {
    const NAME: &str = "zq9K7mPw2XvR4tLb";
    let rig = Rig::of("").kept().await.secret("name", NAME);
    let host = rig.open().await;
    let named = host.call(&format!("text.{NAME}"), json!({})).await;
    assert_eq!(rig::error(&named.outcome).code(), Code::UnknownTool);
    let (_, answer) = host.pursue_in_session(NAME, "Hello.").await;
    let error = answer.expect_err("no session has such a name");
    assert_eq!(error.code(), Code::BadInput, "{error:?}");
    for text in [
        format!("{:?}", host.records(&named.run).await),
        format!("{:?}", named.outcome),
        format!("{error:?}"),
    ] {
        assert_eq!(found(NAME, text.as_bytes()), None, "{text}");
    }
    let folder = Path::new(host.folder());
    assert_eq!(files_with(NAME, folder), Vec::<String>::new());
}

/// A name is seen by whoever looks into its folder, and is kept beside a label where no tool of this run ever looks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_named_by_a_secret() {
    let server = Server::start().await;
    let host = host(&server).await;
    let named = format!("out/{CANARY}/a.txt");
    let wishes = json!({"wishes": [
        {"op": "write", "path": "out/plain.txt", "with": "x"},
        {"op": "write", "path": named, "with": "x"},
        {"op": "append", "path": named, "with": "x"},
        {"op": "move", "path": "out/plain.txt", "with": named},
        {"op": "remove", "path": named},
    ]});
    let called = host.call("hostile.file_each", wishes).await;
    let said = rig::value(&called.outcome).as_array().unwrap();
    let denied = |line: &&Value| line.as_str().unwrap().contains("-> denied");
    assert_eq!(said.iter().filter(denied).count(), 4, "{said:?}");
    assert!(host.path("out/plain.txt").is_file());
    assert_nowhere("the outcome", &format!("{:?}", called.outcome));
    let rig = host.close();
    assert_eq!(files_with(CANARY, rig.folder()), [""; 0]);
}

/// What is too long is not looked through, and what is said of it holds nothing of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_long_is_refused_before_it_is_looked_through() {
    let server = Server::start().await;
    let host = host(&server).await;
    let named = format!("out/{}/{CANARY}/", "x".repeat(60));
    let wishes = json!({"wishes": [
        {"op": "write", "path": named, "times": 300, "with": "x"},
        {"op": "move", "path": "out/a.txt", "with": CANARY.repeat(300)},
    ]});
    // Without its secrets it would be short enough.
    let notes = json!({"wishes": [{"op": "keep", "path": CANARY.repeat(16), "with": "x"}]});
    for (tool, args, says) in [
        (
            "hostile.file_each",
            wishes,
            "-> denied: the path is too long",
        ),
        (
            "hostile.carry",
            notes,
            "-> denied: a key has at most 256 characters",
        ),
    ] {
        let called = host.call(tool, args).await;
        let said = rig::value(&called.outcome).as_array().unwrap();
        let is_said = |line: &Value| line.as_str().unwrap().contains(says);
        assert!(!said.is_empty() && said.iter().all(is_said), "{said:?}");
        assert_nowhere("the outcome", &format!("{:?}", called.outcome));
    }
    let rig = host.close();
    assert_eq!(files_with(CANARY, rig.folder()), [""; 0]);
}

/// Whoever gets an export reads what nobody knew to be a secret when it was kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_become_a_secret_since_leaves_with_no_export() {
    let host = Rig::of("").kept().await.open().await;
    let wish = json!({"text": format!("it is {CANARY} today")});
    let run = host.call("text.count", wish).await.run;
    let rig = host.close();
    let before = rig.audit().export(&run, false).await;
    assert!(before.expect("it holds no secret yet").contains(CANARY));
    let rig = rig.secret("canary", CANARY);
    let refused = rig.audit().export(&run, false).await;
    let error = refused.expect_err("it holds a secret");
    assert_eq!(error.code(), Code::Denied, "{error:?}");
    assert_nowhere("the refusal", &format!("{error:?}"));
    let redacted = rig.audit().export(&run, true).await;
    let text = redacted.expect("without it");
    assert_nowhere("the export", &text);
    assert!(text.contains("it is [REDACTED] today"), "{text}");
}

/// It may have been packed by whoever was sent the secret, and begins like a text.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_packed_and_begins_with_two_letters_is_passed_on_in_no_pieces() {
    let mut state = 1_u32;
    // More than comes at once, and nothing of the secret in all but the last of it.
    let noise = (0..1_000_000).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    let bytes: Vec<u8> = noise.chain(CANARY.bytes()).collect();
    let level = flate2::Compression::new(2);
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), level);
    zlib.write_all(&bytes).unwrap();
    let packed = zlib.finish().unwrap();
    assert!(packed.starts_with(b"x^"));
    let server = Server::start().await;
    server.say(vec![Answer {
        path: "/".to_owned(),
        body: packed.into_iter().map(char::from).collect(),
        bytes: true,
        ..Answer::default()
    }]);
    let to = format!("http://127.0.0.1:{}/", server.port());
    let policy = format!(
        "flow.mode = \"off\"\n[grants.\"http.each\"]\nfetch = [{{ url = \"{to}\", private = true }}]"
    );
    let rig = Rig::of(&policy).guest("http").secret("canary", CANARY);
    let host = rig.open().await;
    let called = host.call("http.each", json!({"urls": [to]})).await;
    let line = rig::value(&called.outcome)[0].as_str().unwrap();
    assert_eq!(line, format!("{to} -> ok: 200  [REDACTED]"));
}
