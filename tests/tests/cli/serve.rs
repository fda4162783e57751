//! `lazaret serve` as a program meets it: tools, runs, questions, scripts and streams over real HTTP.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::sync::Barrier;

use lazaret_tests::wait::{found, until};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::provider;
use crate::server::{Answer, Server};
use crate::serving::Serving;
use crate::station::Station;

const COUNT: &str = r#"{"calls":[{"tool":"text.count","args":{"text":"a b"}}]}"#;

/// A trusted agent that counts, and says so.
pub fn counting(more: &str) -> Station {
    let station = Station::scripted("[\"text.count\"]", &[COUNT, r#"{"text":"Two words."}"#], "");
    let config = format!("{more}\n{}", station.read("lazaret.toml"));
    station.write("lazaret.toml", config);
    station.trust();
    station
}

fn words(records: &Value) -> Vec<String> {
    let records = records.as_array().expect("records").iter();
    let word = |record: &Value| record["event"].as_str().expect("a word").to_owned();
    records.map(word).collect()
}

#[test]
fn a_server_says_where_it_is_and_shows_its_token_once() {
    let station = Station::new();
    let mut command = station.command(&["serve", "--listen", "127.0.0.1:0", "--json"]);
    let mut child = station.spawn(&mut command);
    let mut line = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().expect("its output"));
    std::io::BufRead::read_line(&mut out, &mut line).expect("a line");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let ready: Value = serde_json::from_str(&line).expect("JSON");
    let token = station.run(&["serve", "--show-token"]).ends(0).out;
    let url = format!(
        "http://{}/#token={}",
        ready["address"].as_str().expect("text"),
        token.trim()
    );
    assert_eq!(ready["url"], url);
    assert!(
        token.starts_with("laz_") && token.trim().len() == 47,
        "{token}"
    );
    let file = std::fs::metadata(station.state().join("serve.token")).expect("a file");
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    let later = Serving::start(&station);
    let url = later.ready["url"].as_str().expect("text");
    assert!(!url.contains("token"), "{url}");
    let renewed = station.run(&["serve", "--new-token"]).ends(0).out;
    assert_ne!(renewed, token);
}

#[test]
fn only_whoever_says_so_listens_for_other_machines() {
    let station = Station::new();
    station
        .run(&["serve", "--listen", "0.0.0.0:0"])
        .ends(2)
        .says(&[
            "is open to other machines",
            "--allow-remote",
            "not encrypted",
        ]);
    station
        .run(&["serve", "--listen", "localhost"])
        .ends(2)
        .says(&["is no address and port"]);
}

#[test]
fn tools_are_listed_described_and_called() {
    let station = Station::with("");
    let server = Serving::start(&station);
    assert_eq!(server.get("/healthz").is(200)["ok"], true);
    let all = server.get("/v1/tools").is(200);
    let all = all["tools"].as_array().expect("a list").len();
    let found = server.get("/v1/tools?q=count%20words").is(200);
    let found = found["tools"].as_array().expect("a list");
    assert!(all > 8 && found.len() == 1, "{all} {found:?}");
    let tool = server.get("/v1/tools/text.count").is(200);
    assert_eq!(tool, found[0]);
    assert_eq!(
        (&tool["effect"], &tool["plugin"]),
        (&json!("pure"), &json!("text"))
    );
    let envelope = server.call("text.count", json!({"text": "a b"})).is(200);
    assert_eq!(envelope["data"]["words"], 2, "{envelope}");
    assert_eq!(envelope["meta"]["surface"], "http");
    // What no line allows is not even shown here.
    server
        .get("/v1/tools/files.write")
        .fails(404, "ACTION_NOT_FOUND");
    server
        .call("text.count", json!({}))
        .fails(400, "VALIDATION_ERROR");
    server
        .call("text.cuont", json!({}))
        .fails(404, "ACTION_NOT_FOUND");
    server
        .call("files.remove", json!({"path": "here/x"}))
        .fails(409, "CONFIRMATION_REQUIRED");
    let confirmed = json!({"input": {"path": "here/x"}, "confirm": true});
    server
        .post("/v1/tools/files.remove/call", &confirmed)
        .fails(403, "AUTHORIZATION_ERROR");
}

#[test]
fn an_agent_pursues_a_goal_and_its_run_is_seen_to_the_end() {
    let station = counting("");
    let server = Serving::start(&station);
    let agents = server.get("/v1/agents").is(200);
    assert_eq!(agents["agents"][0]["name"], "a", "{agents}");
    let told = server.post("/v1/runs", &json!({"prompt": "Count."}));
    let run = told.is(201)["run"].as_str().expect("a name").to_owned();
    assert_eq!(told.header("location"), Some(&*format!("/v1/runs/{run}")));
    let events: Vec<_> = server.events(&run, None).collect();
    let records = events.iter().filter(|event| event.name == "record");
    let places: Vec<u64> = records.filter_map(|event| event.id).collect();
    let all: Vec<u64> = (0..u64::try_from(places.len()).expect("few")).collect();
    assert_eq!(places, all);
    let end = events.last().expect("an end");
    assert_eq!((&*end.name, &end.value), ("end", &json!({"state": "done"})));
    let shown = server.get(&format!("/v1/runs/{run}")).is(200);
    assert_eq!(
        (&shown["state"], &shown["answer"]),
        (&json!("done"), &json!("Two words."))
    );
    assert_eq!(words(&shown["records"]).len(), places.len());
    assert_eq!(shown["records"][0]["surface"], "http");
    // Nobody typed it: none of its words is a witness.
    assert!(
        shown["records"][0]["label"]
            .to_string()
            .contains("file:/client"),
        "{shown}"
    );
    let listed = server.get("/v1/runs?limit=1").is(200);
    assert_eq!(listed["runs"][0]["run"], json!(run));
    assert_eq!(listed["runs"][0]["state"], "done");
    let flows = server.get(&format!("/v1/runs/{run}/flow")).is(200);
    assert_eq!(flows["flows"], json!([]));
    // Whoever comes back is told what came since.
    let last = places.len() - 2;
    let late: Vec<_> = server.events(&run, Some(places[last - 1])).collect();
    let late: Vec<_> = late.iter().map(|event| (event.id, &*event.name)).collect();
    assert_eq!(
        late,
        [
            (Some(places[last]), "record"),
            (Some(places[last + 1]), "record"),
            (None, "end")
        ]
    );
}

#[test]
fn a_run_that_cannot_begin_is_a_failure_and_no_run() {
    let station = counting("");
    let server = Serving::start(&station);
    let begin = |body: Value| server.post("/v1/runs", &body);
    begin(json!({"prompt": "x", "agent": "none"})).fails(404, "NOT_FOUND");
    begin(json!({"prompt": "x", "model": "none"})).fails(404, "NOT_FOUND");
    begin(json!({"prompt": "x", "vouch": ["ada@x.test", " "]})).fails(400, "VALIDATION_ERROR");
    begin(json!({"prompt": "x", "tools": ["files.*"]})).fails(400, "VALIDATION_ERROR");
    begin(json!({"prompt": " "})).fails(400, "VALIDATION_ERROR");
    begin(json!({"prompt": "x", "session": "../x"})).fails(400, "VALIDATION_ERROR");
    begin(json!({"prompt": "x".repeat(300_000)})).fails(413, "VALIDATION_ERROR");
    assert_eq!(server.get("/v1/runs").is(200)["runs"], json!([]));
}

#[test]
fn a_question_is_answered_once_and_the_run_goes_on() {
    let station = counting("ask = [\"text.count\"]");
    let server = Serving::start(&station);
    let run = server
        .post("/v1/runs", &json!({"prompt": "Count."}))
        .is(201)["run"]
        .clone();
    let run = run.as_str().expect("a name");
    let end = server.events(run, None).last().expect("an end");
    assert_eq!(end.value, json!({"state": "waiting"}));
    let questions = server.get("/v1/questions").is(200)["questions"].clone();
    assert_eq!(questions.as_array().expect("a list").len(), 1);
    let shown = server.get(&format!("/v1/runs/{run}")).is(200);
    assert_eq!(
        (&shown["state"], &shown["questions"]),
        (&json!("waiting"), &questions)
    );
    let id = questions[0]["question"].as_str().expect("a name");
    let path = format!("/v1/questions/{id}");
    assert_eq!(server.get(&path).is(200), questions[0]);
    // By a piece of its name nobody answers one by chance.
    let short = format!("/v1/questions/{}", &id[..6]);
    server
        .post(&short, &json!({"answer": "allow"}))
        .fails(404, "NOT_FOUND");
    server
        .post(&path, &json!({"answer": "maybe"}))
        .fails(400, "VALIDATION_ERROR");
    let told = server.post(&path, &json!({"answer": "allow"})).is(200);
    assert_eq!(
        (&told["run"], &told["answer"]),
        (&json!(run), &json!("allow"))
    );
    assert_eq!(
        server.events(run, None).last().expect("an end").value,
        json!({"state": "done"})
    );
    // Two answers to one question: the second comes too late, also where it says the same.
    for answer in ["deny", "allow"] {
        server
            .post(&path, &json!({"answer": answer}))
            .fails(409, "CONFLICT");
    }
    let shown = server.get(&format!("/v1/runs/{run}")).is(200);
    assert_eq!(shown["answer"], "Two words.");
    assert_eq!(
        words(&shown["records"])
            .iter()
            .filter(|word| *word == "answered")
            .count(),
        1
    );
}

#[test]
fn a_call_that_waits_for_a_person_says_whose_answer_it_waits_for() {
    let station = counting("ask = [\"text.count\"]");
    let server = Serving::start(&station);
    let told = server.call("text.count", json!({"text": "a"}));
    told.fails(202, "CONFIRMATION_REQUIRED");
    let told = told.json();
    let (run, id) = (&told["run"], &told["questions"][0]["question"]);
    assert_eq!(told["questions"][0]["run"], *run);
    let path = format!("/v1/questions/{}", id.as_str().expect("a name"));
    let told = server
        .post(
            &path,
            &json!({"answer": "deny", "reason": "not now", "resume": false}),
        )
        .is(200);
    assert_eq!(told["state"], "paused", "{told}");
    let run = run.as_str().expect("a name");
    server
        .post(&format!("/v1/runs/{run}/resume"), &json!({}))
        .is(202);
    let events: Vec<Value> = server.events(run, None).map(|event| event.value).collect();
    assert_eq!(events.last(), Some(&json!({"state": "denied"})));
    let why = "said no: \\\"not now";
    assert!(events.iter().any(|event| event.to_string().contains(why)));
    server
        .post(&format!("/v1/runs/{run}/resume"), &json!({}))
        .fails(409, "CONFLICT");
}

#[test]
fn a_script_runs_against_the_tools() {
    let station = Station::new();
    let server = Serving::start(&station);
    let source = "const {words} = await tools.text.count({text: 'a b c'}); return words";
    let envelope = server
        .post("/v1/scripts", &json!({"source": source}))
        .is(200);
    assert_eq!(
        (&envelope["data"], &envelope["meta"]["action"]),
        (&json!(3), &json!("script.run"))
    );
    server
        .post("/v1/scripts", &json!({"source": "return ("}))
        .fails(400, "VALIDATION_ERROR");
    server
        .post("/v1/scripts", &json!({"source": "x".repeat(100_001)}))
        .fails(413, "VALIDATION_ERROR");
}

/// Where a model is behind a program, it reads no question that spells a secret; a person finds it among all that wait.
#[test]
fn a_question_that_spells_a_secret_is_told_to_no_model_behind_a_program() {
    let station = Station::with(
        "ask = [\"files.write\"]\n[flow.classes]\n\"file:keys\" = { integrity = \"trusted\", secrecy = \"secret\" }\n\
         [mounts.keys]\npath = \"keys\"\n[mounts.out]\npath = \"out\"\naccess = \"write\"\n\
         [grants.\"files.*\"]\nmounts = { keys = \"read\", out = \"write\" }\n",
    );
    station.write("keys/pin.txt", "The pin is 7391.");
    station.write("out/a.txt", "a");
    let server = Serving::start(&station);
    let source = "const found = await tools.files.search({path: 'keys', pattern: '7391'});
        const path = ['out/can', 'ary', ('bytes' in found ? found.bytes : undefined)].join('');
        await tools.files.write({path, content: 'x'})";
    for (surface, for_models) in [("http", false), ("ai-sdk", true)] {
        let wish = json!({"source": source, "surface": surface});
        let asked = server.post("/v1/scripts", &wish).is(202);
        assert_eq!(asked["error"]["kind"], "asked", "{asked}");
        assert_eq!(
            asked["questions"].as_array().map(Vec::is_empty),
            Some(for_models)
        );
        let told = asked.to_string();
        assert_eq!(told.contains("canary"), !for_models, "{told}");
    }
    let all = server.get("/v1/questions").is(200);
    assert_eq!(all["questions"].as_array().map(Vec::len), Some(2), "{all}");
    assert!(all.to_string().contains("canary"), "{all}");
}

const SLOW: &str = "await new Promise(done => setTimeout(done, 1500)); return 7";

/// A client that goes away changes nothing: its script goes on to its end.
#[test]
fn a_run_goes_on_without_its_client() {
    let station = Station::new();
    let server = Serving::start(&station);
    let body = json!({"source": SLOW}).to_string();
    let request = format!(
        "POST /v1/scripts HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        server.address,
        server.token,
        body.len()
    );
    let mut stream = server.connect();
    stream.write_all(request.as_bytes()).expect("a request");
    let run = found("the script begins", || {
        let runs = server.get("/v1/runs").is(200)["runs"].clone();
        let run = runs[0]["run"].as_str()?.to_owned();
        assert_eq!(runs[0]["state"], "running");
        Some(run)
    });
    drop(stream);
    let events: Vec<_> = server.events(&run, None).collect();
    assert_eq!(
        events.last().expect("an end").value,
        json!({"state": "done"})
    );
}

#[test]
fn a_run_is_stopped_by_its_name() {
    let server = Server::start(vec![Answer::Silence(String::new())]);
    let station = provider::station(&server);
    let serving = Serving::start(&station);
    let run = serving.post("/v1/runs", &json!({"prompt": "x"})).is(201)["run"].clone();
    let run = run.as_str().expect("a name");
    server.wait();
    let path = format!("/v1/runs/{run}");
    assert_eq!(serving.get(&path).is(200)["state"], "running");
    serving
        .post(&format!("{path}/resume"), &json!({}))
        .fails(429, "CONCURRENCY_LIMIT");
    let told = serving.post(&format!("{path}/cancel"), &json!({})).is(200);
    assert_eq!(told, json!({"run": run, "state": "cancelled"}));
    let again = serving.post(&format!("{path}/cancel"), &json!({}));
    again.fails(409, "CONFLICT");
}

/// Of answers that come at the same time, over HTTP and from the command line, one holds, and one is on record.
#[test]
fn of_answers_that_come_at_once_one_holds() {
    let station = counting("ask = [\"text.count\"]");
    let server = Serving::start(&station);
    let run = server
        .post("/v1/runs", &json!({"prompt": "Count."}))
        .is(201)["run"]
        .clone();
    let run = run.as_str().expect("a name");
    server.events(run, None).last().expect("an end");
    let questions = server.get("/v1/questions").is(200)["questions"].clone();
    let id = questions[0]["question"].as_str().expect("a name");
    let path = format!("/v1/questions/{id}");
    let all = Barrier::new(9);
    // Whoever is late finds it answered, or the run in the hands of whoever answers it now.
    let is_late = |kind: &Value| ["conflict", "busy"].contains(&kind.as_str().unwrap_or_default());
    let over_http = |answer: &str| {
        all.wait();
        let told = server.post(&path, &json!({"answer": answer, "resume": false}));
        let kind = &told.json()["error"]["kind"];
        assert!(told.status == 200 || is_late(kind), "{told:?}");
        told.status == 200
    };
    let by_command = || {
        all.wait();
        let ended = station.run(&["ask", "deny", id, "--json"]);
        let kind = &ended.json()["error"]["kind"];
        assert!(ended.status == 0 || is_late(kind), "{ended}");
        ended.status == 0
    };
    let held: Vec<&str> = std::thread::scope(|scope| {
        let answers = ["allow", "deny"].into_iter().cycle().take(8);
        let threads: Vec<_> = answers
            .map(|answer| (answer, scope.spawn(move || over_http(answer))))
            .chain([("deny", scope.spawn(by_command))])
            .collect();
        let held = threads
            .into_iter()
            .filter_map(|(answer, thread)| thread.join().expect("an answer").then_some(answer));
        held.collect()
    });
    let shown = server.get(&format!("/v1/runs/{run}")).is(200);
    let records = shown["records"].as_array().expect("records").iter();
    let answered: Vec<&str> = records
        .filter(|record| record["event"] == "answered")
        .filter_map(|record| record["answer"].as_str())
        .collect();
    assert_eq!((held.len(), &answered), (1, &held), "{shown}");
}

/// One active turn for each session: the second is refused, and says why.
#[test]
fn a_session_has_one_run_at_a_time() {
    let server = Server::start(vec![
        Answer::Silence(String::new()),
        provider::says("Later."),
    ]);
    let station = provider::station(&server);
    let serving = Serving::start(&station);
    let begin = || serving.post("/v1/runs", &json!({"prompt": "x", "session": "work"}));
    let run = begin().is(201)["run"].clone();
    server.wait();
    begin().fails(429, "CONCURRENCY_LIMIT");
    let cancel = format!("/v1/runs/{}/cancel", run.as_str().expect("a name"));
    serving.post(&cancel, &json!({})).is(200);
    let run = begin().is(201)["run"].clone();
    let end = serving
        .events(run.as_str().expect("a name"), None)
        .last()
        .expect("an end");
    assert_eq!(end.value, json!({"state": "done"}));
}

/// Another user's session is another one, and a run may wait for the one before it.
#[test]
fn a_session_is_a_users_and_a_run_of_it_may_wait_for_another() {
    let server = Server::start(vec![
        Answer::Silence(String::new()),
        provider::says("Theirs."),
        provider::says("Later."),
    ]);
    let station = provider::station(&server);
    let serving = Serving::start(&station);
    let begin = |more: Value| {
        let mut body = json!({"prompt": "x", "session": "work"});
        let all = body.as_object_mut().expect("an object");
        all.extend(more.as_object().expect("an object").clone());
        serving.post("/v1/runs", &body)
    };
    let ended = |run: &Value| {
        let events = serving.events(run.as_str().expect("a name"), None);
        let end = events.last().expect("an end").value.clone();
        assert_eq!(end, json!({"state": "done"}));
    };
    let first = begin(json!({})).is(201)["run"].clone();
    server.wait();
    let theirs = begin(json!({"user": "ann@example.org"})).is(201)["run"].clone();
    ended(&theirs);
    begin(json!({"user": "../ann"})).fails(400, "VALIDATION_ERROR");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| begin(json!({"queue": true, "compact": true})).is(201));
        let cancel = format!("/v1/runs/{}/cancel", first.as_str().expect("a name"));
        serving.post(&cancel, &json!({})).is(200);
        ended(&waits.join().expect("it has begun")["run"]);
    });
    for without in [
        json!({"queue": true}),
        json!({"compact": true}),
        json!({"user": "ann"}),
    ] {
        let mut body = json!({"prompt": "x"});
        let all = body.as_object_mut().expect("an object");
        all.extend(without.as_object().expect("an object").clone());
        serving
            .post("/v1/runs", &body)
            .fails(400, "VALIDATION_ERROR");
    }
}

/// How much goes on of one user is bounded apart from what all have together, also where a run that was left goes on.
#[test]
fn a_user_has_so_many_runs_at_once_and_leaves_room_for_others() {
    let silence = || Answer::Silence(String::new());
    let server = Server::start(vec![silence(), silence(), silence()]);
    let station = provider::station(&server);
    let config = station.read("lazaret.toml") + "\n[serve]\nruns_per_user = 1\n";
    station.write("lazaret.toml", config);
    station.trust();
    let begin = |serving: &Serving<'_>, user: &str, session: &str| {
        let body = json!({"prompt": "x", "session": session, "user": user});
        serving.post("/v1/runs", &body)
    };
    let serving = Serving::start(&station);
    let left = begin(&serving, "ann", "work").is(201)["run"].clone();
    server.wait();
    let error = begin(&serving, "ann", "home").fails(429, "CONCURRENCY_LIMIT");
    assert_eq!(error["message"], "user `ann` has 1 of 1 runs under way");
    assert_eq!(error["hints"], json!(["[serve]\nruns_per_user = …"]));
    begin(&serving, "bob", "work").is(201);
    server.wait();
    serving.call("text.count", json!({"text": "a"})).is(200);
    serving.kill();
    let serving = Serving::start(&station);
    begin(&serving, "ann", "home").is(201);
    server.wait();
    let resume = format!("/v1/runs/{}/resume", left.as_str().expect("a name"));
    serving
        .post(&resume, &json!({}))
        .fails(429, "CONCURRENCY_LIMIT");
}

/// Whatever is under way when the server ends is left, and goes on where it was: by the command line or another server.
#[test]
fn a_server_that_ends_leaves_runs_that_go_on() {
    let answers = vec![Answer::Silence(String::new()), provider::says("Here.")];
    let server = Server::start(answers);
    let station = provider::station(&server);
    let config = station.read("lazaret.toml") + "\n[serve]\ngrace_ms = 50\n";
    station.write("lazaret.toml", config);
    station.trust();
    let serving = Serving::start(&station);
    let run = serving.post("/v1/runs", &json!({"prompt": "x"})).is(201)["run"].clone();
    let run = run.as_str().expect("a name").to_owned();
    let mut events = serving.events(&run, None);
    server.wait();
    serving.end().ends(0).says(&["some runs were left"]);
    let end = events.by_ref().last().expect("an end");
    assert_eq!(end.name, "end", "{end:?}");
    let serving = Serving::start(&station);
    assert_eq!(
        serving.get(&format!("/v1/runs/{run}")).is(200)["state"],
        "unfinished"
    );
    serving
        .post(&format!("/v1/runs/{run}/resume"), &json!({}))
        .is(202);
    let end = serving.events(&run, None).last().expect("an end");
    assert_eq!(end.value, json!({"state": "done"}));
    serving.end().ends(0).says_only("");
}

/// A server that is killed leaves no less.
#[test]
fn a_server_that_is_killed_leaves_runs_that_go_on() {
    let answers = vec![Answer::Silence(String::new()), provider::says("Here.")];
    let server = Server::start(answers);
    let station = provider::station(&server);
    let serving = Serving::start(&station);
    let run = serving.post("/v1/runs", &json!({"prompt": "x"})).is(201)["run"].clone();
    server.wait();
    serving.kill();
    let ended = station.run(&["runs", "resume", run.as_str().expect("a name")]);
    assert_eq!(ended.ends(0).out, "Here.\n");
}

/// A run of another process is seen from its records.
#[test]
fn a_run_of_another_process_is_watched() {
    let station = Station::new();
    let serving = Serving::start(&station);
    let child = station.spawn(&mut station.command(&["script", "-e", SLOW]));
    let run = found("the script begins", || {
        let runs = serving.get("/v1/runs").is(200)["runs"].clone();
        runs[0]["run"].as_str().map(str::to_owned)
    });
    let events: Vec<_> = serving.events(&run, None).collect();
    assert_eq!(
        events.last().expect("an end").value,
        json!({"state": "done"})
    );
    station.wait(child).ends(0);
    let places: Vec<u64> = events.iter().filter_map(|event| event.id).collect();
    let all: Vec<u64> = (0..u64::try_from(places.len()).expect("few")).collect();
    assert_eq!(places, all);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let server = Server::start(vec![Answer::Silence(String::new())]);
    let station = provider::station(&server);
    let config = station.read("lazaret.toml") + "\n[serve]\ngrace_ms = 600000\n";
    station.write("lazaret.toml", config);
    station.trust();
    let serving = Serving::start(&station);
    serving.post("/v1/runs", &json!({"prompt": "x"})).is(201);
    server.wait();
    serving.signal(Signal::INT);
    // It begins nothing new, and takes no connection.
    until("its door closes", || {
        std::net::TcpStream::connect(&serving.address).is_err()
    });
    serving.end().ends(0).says(&["some runs were left"]);
}

#[test]
fn a_configuration_that_changes_holds_for_what_begins_then() {
    let station = Station::new();
    station.write_user_file("block = [\"text.count\"]");
    let serving = Serving::start(&station);
    serving
        .get("/v1/tools/text.count")
        .fails(404, "ACTION_NOT_FOUND");
    // One that is wrong changes nothing.
    station.write_user_file("blok = []");
    station.write_user_file("block = []");
    until("the configuration holds", || {
        serving.get("/v1/tools/text.count").status != 404
    });
    serving.call("text.count", json!({"text": "a"})).is(200);
    let token = station.run(&["serve", "--new-token"]).ends(0).out;
    until("the old token is refused", || {
        serving.get("/v1/tools").status != 200
    });
    let renewed = lazaret_tests::client::Client {
        token: token.trim().to_owned(),
        ..(*serving).clone()
    };
    renewed.get("/v1/tools").is(200);
}

/// What was given up a moment ago may be valid still, and is in what was said before.
#[test]
fn a_secret_that_was_changed_is_recognised_also_after_the_configuration_has_changed() {
    const OLD: &str = "old-Zq9+8e41b7-given-up";
    let station = Station::new();
    let set = |value: &str| {
        let line = format!("{value}\n");
        let set = station.run_with_input(&["secret", "set", "key"], line.as_bytes());
        set.ends(0);
    };
    let serving = Serving::start(&station);
    let args = || json!({"text": format!("it was {OLD}"), "pattern": "was", "replacement": "is"});
    let said = serving.call("text.replace", args()).is(200).to_string();
    assert!(said.contains(&format!("it is {OLD}")), "{said}");
    set(OLD);
    let seen = serving.get("/v1/runs/last").is(200).to_string();
    assert!(!seen.contains(OLD) && seen.contains("[REDACTED]"), "{seen}");
    set("new-Zq9+8e41b7-in-use");
    let _ = serving.get("/v1/tools").is(200);
    station.write_user_file("block = [\"text.count\"]");
    until("the configuration holds", || {
        serving.get("/v1/tools/text.count").status == 404
    });
    let said = serving.call("text.replace", args()).is(200).to_string();
    assert!(said.contains("it is [REDACTED]"), "{said}");
}

#[test]
fn the_console_is_one_page_that_speaks_to_nobody_else() {
    let station = Station::new();
    let serving = Serving::start(&station);
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/console/app.js", "text/javascript; charset=utf-8"),
        ("/console/timeline.js", "text/javascript; charset=utf-8"),
        ("/console/style.css", "text/css; charset=utf-8"),
    ] {
        let told = serving.bare("GET", path, &[("host", &serving.address)], "");
        assert_eq!(
            (told.status, told.header("content-type")),
            (200, Some(kind))
        );
        let policy = told.header("content-security-policy").expect("a policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';"),
            "{policy}"
        );
        assert_eq!(told.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(told.header("referrer-policy"), Some("no-referrer"));
        let tag = told.header("etag").expect("a tag").to_owned();
        let again = [("host", &*serving.address), ("if-none-match", &tag)];
        assert_eq!(serving.bare("GET", path, &again, "").status, 304);
    }
}

#[test]
fn a_policy_that_has_changed_and_that_nobody_trusts_is_none() {
    let station = Station::with("block = [\"text.count\"]\n");
    let serving = Serving::start(&station);
    let count = |token: &str| {
        let client = lazaret_tests::client::Client {
            token: token.to_owned(),
            ..(*serving).clone()
        };
        client.get("/v1/tools/text.count").status
    };
    assert_eq!(count(&serving.token), 404);
    station.write("lazaret.toml", "");
    // Both are looked at together: by the second new token the file has been looked at as well.
    let mut token = serving.token.clone();
    for _ in 0..2 {
        let before = token;
        let renewed = station.run(&["serve", "--new-token"]).ends(0).out;
        token = renewed.trim().to_owned();
        until("the old token is refused", || count(&before) == 401);
    }
    assert_eq!(count(&token), 404);
}

#[test]
fn what_needs_no_token_may_be_asked_for_without_its_body() {
    let station = Station::new();
    let serving = Serving::start(&station);
    let head = |path: &str| {
        let mut stream = std::net::TcpStream::connect(&serving.address).expect("a server");
        let request = format!(
            "HEAD {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
            serving.address
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut told = String::new();
        stream.read_to_string(&mut told).expect("it writes text");
        told
    };
    for path in ["/", "/healthz", "/openapi.json"] {
        let told = head(path);
        assert!(
            told.starts_with("HTTP/1.1 200 ") && told.ends_with("\r\n\r\n"),
            "{told}"
        );
    }
    assert!(head("/v1/tools").starts_with("HTTP/1.1 401 "));
}
