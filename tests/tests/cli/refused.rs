//! A model's server that refuses, and the key that it is shown: told to the operator, never repeated.

use lazaret_tests::nobody::Nobody;

use crate::provider::{says, station, station_at};
use crate::server::{Answer, Server, plain};
use crate::station::{Ended, Station, holds_nothing};

const KEY: &str = "sk-canary-77121-never-shown";

fn refusing(status: u16, body: &str) -> Answer {
    Answer::Bytes(plain(status, "application/json", body))
}

/// An agent whose model is at the server and wants a key.
fn with_key(server: &Server) -> Station {
    let station = station(server);
    let config = station.read("lazaret.toml");
    station.write(
        "lazaret.toml",
        format!("{config}key_env = \"STATION_KEY\"\n"),
    );
    station.trust();
    station
}

fn run_with_key(station: &Station) -> Ended {
    let mut command = station.command(&["run", "how long?"]);
    station.finish(command.env("STATION_KEY", KEY))
}

#[test]
fn a_key_that_the_server_echoes_is_neither_shown_nor_kept() {
    let server = Server::start(vec![says(&format!("your key is {KEY}, isn't it"))]);
    let station = with_key(&server);
    let ended = run_with_key(&station).ends(0).never(KEY);
    assert_eq!(ended.out, "your key is [REDACTED], isn't it\n");
    holds_nothing(&station.workspace(), KEY);
}

#[test]
fn the_key_is_sent_and_kept_nowhere() {
    let server = Server::start(vec![says("forty")]);
    let station = with_key(&server);
    run_with_key(&station).ends(0).never(KEY);
    let request = &server.requests()[0];
    assert!(
        request
            .lines()
            .any(|line| line.eq_ignore_ascii_case(&format!("authorization: Bearer {KEY}"))),
        "{request}"
    );
    holds_nothing(&station.workspace(), KEY);
    holds_nothing(&station.state(), KEY);
}

#[test]
fn a_key_that_is_not_set_is_asked_for() {
    let server = Server::start(vec![]);
    with_key(&server).run(&["run", "how long?"]).ends(2).says(&[
        "error: the variable `STATION_KEY`, which has the key, is not set",
        "hint: set the environment variable `STATION_KEY`",
    ]);
    assert_eq!(server.requests().len(), 0, "nothing is sent without it");
}

#[test]
fn a_key_that_is_not_accepted_is_hinted_at() {
    let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#);
    // It is read once more, since somebody may have changed it meanwhile.
    let server = Server::start(vec![refusing(401, &body), refusing(401, &body)]);
    let station = with_key(&server);
    run_with_key(&station).ends(5).never(KEY).says(&[
        "error: the model provider did not accept the key: status 401",
        "hint: check the provider's key and what it may use",
    ]);
    holds_nothing(&station.workspace(), KEY);
}

/// What is cut would be half of a key, which nobody recognises; and this one has no form that is known.
#[test]
fn no_half_of_a_key_is_shown_or_kept() {
    let key = "canary-77121-Zq9x7f3a9cTm";
    for before in [100, 108, 112] {
        let kind = format!("{} {key}", "x".repeat(before));
        let body = format!(r#"{{"error":{{"message":"{kind}","type":"{kind}"}}}}"#);
        let server = Server::start(vec![refusing(401, &body), refusing(401, &body)]);
        let station = with_key(&server);
        let mut command = station.command(&["run", "how long?"]);
        let ended = station.finish(command.env("STATION_KEY", key));
        ended.ends(5).never("canary").says(&[
            "error: the model provider did not accept the key: status 401 of a kind that is not told",
        ]);
        holds_nothing(&station.workspace(), "canary");
    }
}

/// A part of an answer is refused where guests may read it; what a provider says is read by the host alone.
#[test]
fn a_part_of_a_reply_is_none() {
    let server = Server::start(vec![refusing(206, "{}")]);
    let station = with_key(&server);
    run_with_key(&station)
        .ends(5)
        .says(&["error: the model provider sent no reply: status 206"]);
}

#[test]
fn each_status_has_its_words() {
    for (status, words) in [
        (404, "knows no such address or model"),
        (429, "wants fewer requests"),
        (500, "failed or is overloaded"),
        (503, "failed or is overloaded"),
        (302, "points elsewhere, and is not followed"),
        (204, "sent no reply"),
    ] {
        let server = Server::start(vec![refusing(status, "{}")]);
        let station = station(&server);
        station.run(&["run", "hi"]).ends(5).says(&[&format!(
            "error: the model provider {words}: status {status}"
        )]);
        assert_eq!(station.records().last().unwrap()["code"], "provider_failed");
    }
}

#[test]
fn a_page_in_the_place_of_a_reply_is_refused() {
    let page = plain(
        200,
        "text/html",
        "<html><body>Sign in, canary</body></html>",
    );
    let server = Server::start(vec![Answer::Bytes(page)]);
    station(&server)
        .run(&["run", "hi"])
        .ends(5)
        .says(&["error: the model provider"])
        .never("canary");
}

#[test]
fn a_server_that_is_not_there_is_hinted_at() {
    let nobody = Nobody::new();
    let station = station_at(&nobody.url());
    station.run(&["run", "hi"]).ends(5).says(&[
        "error: the model's server: ",
        "hint: is it running, and is `url` of the model right?",
    ]);
}

#[test]
fn loopback_must_be_said_to_be_private() {
    let server = Server::start(vec![]);
    let station = station(&server);
    let config = station.read("lazaret.toml").replace("private = true\n", "");
    station.write("lazaret.toml", config);
    station.trust();
    station
        .run(&["run", "hi"])
        .ends(3)
        .says(&["127.0.0.1 is not on the public internet", "private = true"]);
    assert_eq!(server.requests().len(), 0);
}

/// Two models at two servers; the second answers if it is asked.
fn chain(first: Answer) -> (Ended, usize) {
    let (first, second) = (
        Server::start(vec![first]),
        Server::start(vec![says("from the second")]),
    );
    let station = station(&first);
    let config = station
        .read("lazaret.toml")
        .replace("[\"m\"]", "[\"m\", \"n\"]");
    let more = format!(
        "[models.n]\nprovider = \"openai\"\nurl = \"{}\"\nmodel = \"other\"\nprivate = true\n",
        second.url()
    );
    station.write("lazaret.toml", config + &more);
    station.trust();
    let ended = station.run(&["run", "hi"]);
    (ended, second.requests().len())
}

#[test]
fn the_next_model_answers_when_the_first_cannot() {
    for status in [500, 429] {
        let (ended, asked) = chain(refusing(status, "{}"));
        assert_eq!(asked, 1);
        ended
            .ends(0)
            .prints(&["from the second"])
            .says(&["[1/8] m", "[1/8] n"]);
    }
}

#[test]
fn the_next_model_is_not_asked_when_the_first_refuses_for_good() {
    let (ended, asked) = chain(refusing(401, "{}"));
    assert_eq!(asked, 0);
    ended.ends(5);
}

#[test]
fn the_next_model_is_not_asked_after_the_first_has_begun() {
    let begun = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"forty \"}}]}\n\n";
    let (ended, asked) = chain(Answer::Bytes(plain(200, "text/event-stream", begun)));
    assert_eq!(asked, 0);
    ended.ends(5).never("from the second");
}
