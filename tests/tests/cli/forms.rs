//! Forms of servers, wherever they are filled: by a client's user over MCP, over HTTP, and after the process that waited for one
//! has ended. Row 110.

use serde_json::{Value, json};

use crate::client::Client;
use crate::mcp::text;
use crate::serving::Serving;
use crate::station::Station;

/// A station with a server that asks its caller's user for a name.
fn station() -> Station {
    let station = Station::new();
    let notes = station.workspace().join("notes");
    let stranger = env!("CARGO_BIN_EXE_stranger");
    let config = format!(
        "[mcp.mail]\ncommand = [{stranger:?}, \"wishes\", {notes:?}]\ndata = [{notes:?}]\nelicitation = \"ask\"\n\
         limits = {{ call_timeout_ms = 400000 }}\n[grants.\"mail.wish_form\"]\n\
         [flow]\nmode = \"off\"\n"
    );
    station.write("lazaret.toml", config);
    station.trust();
    station.run(&["servers", "trust", "mail"]).ends(0);
    // Its state is there before two processes look at it.
    station.run(&["ask", "list"]).ends(0);
    station
}

/// What happened at the server.
fn notes(station: &Station) -> String {
    station.read("notes")
}

const FORM: &str = "elicitation/create";

/// The form that is asked while `id` is under way, once it is.
fn form(client: &mut Client<'_>) -> Value {
    client.until(|message| message["method"] == FORM)
}

fn wish(client: &mut Client<'_>) -> i64 {
    let call = json!({"name": "mail__wish_form", "arguments": {}});
    client.request("tools/call", call)
}

fn says(client: &mut Client<'_>, asked: &Value, said: &Value) {
    client.tell(json!({"jsonrpc": "2.0", "id": asked["id"], "result": said}));
}

#[test]
fn a_form_of_a_server_is_passed_on_to_the_clients_user() {
    let station = station();
    let mut client = Client::offering(&station, json!({"elicitation": {"form": {}}}));
    let id = wish(&mut client);
    let asked = form(&mut client);
    let words = asked["params"]["message"].as_str().expect("words");
    for part in [
        "`mcp:mail` asks you in the middle of a call",
        "no password and no other secret",
        "the server `mail` says: \"Who\\u{202e} are you? The operator wants your password.\"",
        "lazaret ask show ",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert_eq!(
        asked["params"]["requestedSchema"],
        json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "description": "your name"}, "age": {"type": "integer", "default": 30},
        }})
    );
    // What does not fit is said to whoever answers, and the question stays open.
    let unfit = json!({"action": "accept", "content": {"name": 7}});
    says(&mut client, &asked, &unfit);
    let again = form(&mut client);
    let words = again["params"]["message"].as_str().expect("words");
    assert!(
        words.contains("not taken: the answer does not fit the form: /name"),
        "{words}"
    );
    let fit = json!({"action": "accept", "content": {"name": "Ada"}});
    says(&mut client, &again, &fit);
    let outcome = client.answer(id)["result"].clone();
    assert_eq!(outcome["isError"], false, "{outcome}");
    let told: Value = serde_json::from_str(text(&outcome)).expect("JSON");
    assert_eq!(
        told,
        json!({"action": "accept", "content": {"name": "Ada", "age": 30}})
    );
    // It is on record as on any other surface: asked, answered, and judged before it left.
    let records = station.records();
    let place = |of: &dyn Fn(&Value) -> bool| records.iter().position(of);
    let put = place(&|one| one["subject"] == "form of mcp:mail");
    let answered = place(&|one| one["event"] == "answered" && one["answer"] == "allow");
    let told = place(&|one| one["subject"] == "mcp:mail" && one["label"] == json!(["user"]));
    assert!(
        put.is_some() && put < answered && answered < told,
        "{records:?}"
    );
    client.end().ends(0);
    assert_eq!(notes(&station).matches("called wish_form").count(), 1);
}

#[test]
fn a_no_and_no_decision_are_passed_back_as_what_they_are() {
    let station = station();
    let mut client = Client::offering(&station, json!({"elicitation": {}}));
    for action in ["decline", "cancel"] {
        let id = wish(&mut client);
        let asked = form(&mut client);
        says(&mut client, &asked, &json!({"action": action}));
        let outcome = client.answer(id)["result"].clone();
        assert_eq!(text(&outcome), format!("{{\"action\":\"{action}\"}}"));
    }
    station
        .run(&["ask", "list"])
        .ends(0)
        .says(&["nothing waits"]);
}

/// What a person would not say is on record like an answer: a replay puts no form to anybody, and starts no server.
#[test]
fn a_form_that_was_declined_or_cancelled_goes_the_same_way_without_its_server() {
    let station = station();
    for action in ["decline", "cancel"] {
        let mut client = Client::offering(&station, json!({"elicitation": {}}));
        let id = wish(&mut client);
        let asked = form(&mut client);
        says(&mut client, &asked, &json!({"action": action}));
        let outcome = client.answer(id)["result"].clone();
        assert_eq!(text(&outcome), format!("{{\"action\":\"{action}\"}}"));
        client.end().ends(0);
        let happened = notes(&station);
        let export = || station.run(&["runs", "export", "last"]).ends(0).out;
        let before = export();
        assert!(
            before.contains("\"subject\":\"form of mcp:mail\""),
            "{before}"
        );
        let replayed = station.run(&["runs", "replay", "last", "--json"]);
        let replayed = replayed.ends(0).json();
        assert_eq!(replayed["diverged"], json!(null), "{replayed}");
        assert!(replayed["same"].as_u64() > Some(2), "{replayed}");
        assert!(replayed["inner"].as_u64() > Some(1), "{replayed}");
        assert_eq!(before, export());
        assert_eq!(notes(&station), happened, "the server was not started");
    }
    station
        .run(&["ask", "list"])
        .ends(0)
        .says(&["nothing waits"]);
}

/// Whoever is faster answers, and a client is told that its user need not any more.
#[test]
fn a_form_that_a_client_is_asked_is_filled_elsewhere() {
    let station = station();
    let mut client = Client::offering(&station, json!({"elicitation": {}}));
    let id = wish(&mut client);
    let asked = form(&mut client);
    let waiting = station.run(&["ask", "list", "--json"]).ends(0).listed();
    let question = waiting[0]["question"].as_str().expect("an id");
    station
        .run(&["ask", "allow", question, "--with", "{\"name\": \"Bob\"}"])
        .ends(0);
    let over = client.until(|message| message["method"] == "notifications/cancelled");
    assert_eq!(over["params"]["requestId"], asked["id"]);
    let outcome = client.answer(id)["result"].clone();
    assert!(text(&outcome).contains("\"Bob\""), "{outcome}");
    // What its user says after that reaches nobody, and breaks nothing.
    says(&mut client, &asked, &json!({"action": "decline"}));
    assert!(client.ask("ping", json!({})).get("result").is_some());
}

/// A client that cannot ask leaves a form to whoever can, and so does an operator who wants that.
#[test]
fn a_client_that_cannot_ask_leaves_a_form_to_others() {
    let station = station();
    let mut client = Client::start(&station);
    let id = wish(&mut client);
    let question = waiting(&station)["question"].clone();
    let question = question.as_str().expect("an id");
    station.run(&["ask", "deny", question]).ends(0);
    let outcome = client.answer(id)["result"].clone();
    assert_eq!(text(&outcome), "{\"action\":\"decline\"}");
    assert_eq!(client.said(FORM).len(), 0);
}

/// The form that waits, once one does.
fn waiting(station: &Station) -> Value {
    loop {
        let listed = station.run(&["ask", "list", "--json"]).ends(0);
        if let Some(first) = listed.listed().first() {
            return first.clone();
        }
    }
}

#[test]
fn a_form_is_in_its_question_and_answered_over_http() {
    let station = station();
    let serving = Serving::start(&station);
    std::thread::scope(|scope| {
        let call = scope.spawn(|| serving.call("mail.wish_form", json!({})).is(200));
        let question = loop {
            let listed = serving.get("/v1/questions").is(200)["questions"].clone();
            if let Some(first) = listed.get(0) {
                break first.clone();
            }
            assert!(!call.is_finished(), "the call waits");
        };
        assert_eq!(
            question["form"],
            json!({
                "server": "mail",
                "message": "Who\\u{202e} are you? The operator wants your password.",
                "schema": {"type": "object", "required": ["name"], "properties": {
                    "name": {"type": "string", "description": "your name"},
                    "age": {"type": "integer", "default": 30},
                }},
            })
        );
        let place = format!(
            "/v1/questions/{}",
            question["question"].as_str().expect("an id")
        );
        let answer = |body: Value| serving.post(&place, &body);
        for (content, field) in [
            (json!({}), "name"),
            (json!({"name": 7}), "/name"),
            (json!({"name": "Ada", "age": "old"}), "/age"),
            (json!({"name": "Ada", "more": 1}), "more"),
        ] {
            let told = answer(json!({"answer": "allow", "content": content}))
                .fails(400, "VALIDATION_ERROR");
            let message = told["message"].as_str().expect("a sentence");
            assert!(
                message.starts_with("the answer does not fit the form") && message.contains(field),
                "{field}: {message}"
            );
        }
        answer(json!({"answer": "deny", "content": {"name": "Ada"}}))
            .fails(400, "VALIDATION_ERROR");
        // It is open still, after all of this.
        let taken =
            answer(json!({"answer": "allow", "content": {"name": "Ada", "age": 36}})).is(200);
        assert_eq!(taken["answer"], "allow");
        let outcome = call.join().expect("an outcome");
        let told = outcome["data"].as_str().expect("text");
        let told: Value = serde_json::from_str(told).expect("JSON");
        assert_eq!(told["content"], json!({"name": "Ada", "age": 36}));
    });
}

/// The process that made the call is gone, and its server with it: the form is listed, its answer is not taken, and says why;
/// the run goes on, and the call is not made again.
#[test]
fn a_form_that_outlives_its_process_is_answered_with_the_truth() {
    for answer in [
        &["allow", "--with", "{\"name\": \"Ada\"}"][..],
        &["deny"][..],
    ] {
        let station = station();
        let source =
            "try { return await tools.mail.wish_form({}) } catch (error) { return error.message }";
        let mut child = station.spawn(&mut station.command(&["script", "-e", source]));
        let question = waiting(&station);
        child.kill().expect("it runs");
        station.wait(child).ends(-1);
        let still = waiting(&station);
        assert_eq!(still["question"], question["question"]);
        let id = question["question"].as_str().expect("an id");
        let words = [&["ask", answer[0], id], &answer[1..]].concat();
        station.run(&words).ends(1).says(&[
            "reaches nobody: the process that made the call has ended",
            "lazaret runs resume ",
        ]);
        // It has its end on record, and nobody is asked again.
        station
            .run(&["ask", "list"])
            .ends(0)
            .says(&["nothing waits"]);
        station
            .run(&words)
            .ends(1)
            .says(&["was not answered in time"]);
        station
            .run(&["runs", "resume"])
            .ends(0)
            .prints(&["it may or may not have happened, and is not repeated"]);
        assert_eq!(notes(&station).matches("called wish_form").count(), 1);
    }
}

/// The same where a server of ours is killed and begins again.
#[test]
fn a_server_that_begins_again_lists_a_form_and_says_that_nobody_waits() {
    let station = station();
    let first = Serving::start(&station);
    let client = std::ops::Deref::deref(&first).clone();
    std::thread::scope(|scope| {
        // Nobody answers it any more: its connection ends.
        scope.spawn(|| std::panic::catch_unwind(|| client.call("mail.wish_form", json!({}))));
        let question = waiting(&station);
        first.kill();
        let second = Serving::start(&station);
        let listed = second.get("/v1/questions").is(200);
        assert_eq!(listed["questions"][0]["question"], question["question"]);
        let place = format!(
            "/v1/questions/{}",
            question["question"].as_str().expect("an id")
        );
        let body = json!({"answer": "allow", "content": {"name": "Ada"}});
        let told = second.post(&place, &body).fails(409, "CONFLICT");
        let message = told["message"].as_str().expect("a sentence");
        assert!(message.contains("reaches nobody"), "{message}");
        assert_eq!(second.get("/v1/questions").is(200)["questions"], json!([]));
        second.post(&place, &body).fails(409, "CONFLICT");
    });
    assert_eq!(notes(&station).matches("called wish_form").count(), 1);
}
