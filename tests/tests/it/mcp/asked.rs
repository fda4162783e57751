//! What a server asks for in the middle of a call, where the operator allows it: a form is a question of the run, and a model
//! answers without tools, history or secrets, so far and no further. Row 110.

use std::cell::Cell;
use std::time::Duration;

use lazaret::rules::questions::Waiting;
use lazaret::words::event::{Answer as Say, Event, Record, Sight, Verdict};
use lazaret::words::id::RunId;
use lazaret_tests::prelude::*;
use lazaret_tests::rig::value;
use lazaret_tests::wait::comes;

use super::{label, notes};

const GRANTS: &str =
    "[grants.\"mail.wish_form\"]\n[grants.\"mail.wish_nested\"]\n[grants.\"mail.wish_address\"]
    [grants.\"mail.wish_model\"]\n[grants.\"mail.wish_tools\"]\n[grants.\"mail.wish_context\"]\n
    [grants.\"mail.wish_long\"]\n[grants.\"mail.wish_roots\"]\n";

/// A host with a stranger that asks for things; `says` stands in its table, `policy` above that.
async fn rig(policy: &str, says: &str) -> Rig {
    let rig = unread(policy, says).await;
    rig.trusting("mail").await
}

async fn unread(policy: &str, says: &str) -> Rig {
    let reply = json!({"consult": true, "text": "Tweet.", "usage": {"input_tokens": 20, "output_tokens": 5}});
    let rig = Rig::of("").kept().await;
    let file = rig.path("notes").display().to_string();
    let server = format!(
        "[mcp.mail]\ncommand = [{:?}, \"wishes\", {file:?}]\ndata = [{file:?}]\n{says}\n",
        env!("CARGO_BIN_EXE_stranger")
    );
    let policy = format!("{policy}\n{server}\n{GRANTS}");
    rig.policy(&policy).replies(&[reply.clone(), reply])
}

const ASK: &str = "elicitation = \"ask\"\nlimits = { call_timeout_ms = 120000 }";

/// Calls a tool, has `answer` say something to the form that it puts, and gives back what the server was told.
async fn answered<F>(rig: &Rigged, answer: impl FnOnce(Waiting) -> F) -> (RunId, String)
where
    F: Future<Output = ()>,
{
    let (run, tasks) = (rig.host.new_run(), Tasks::new());
    let mut watcher = rig.host.watch(&run);
    let call = rig.call_in(run.clone(), &tasks, ("mail.wish_form", "{}"));
    let answering = async {
        loop {
            if let Sight::Record(record) = watcher.next().await
                && let Event::Judged(judged) = record.event
                && let Verdict::Ask(question) = judged.verdict
            {
                // On record before it is put: whoever reads the journal finds it, and whoever waits says so next.
                let id = question.id.as_str();
                assert!(comes(async || rig.host.question(id).await.is_ok()).await);
                break answer(rig.host.question(id).await.unwrap()).await;
            }
        }
    };
    // One that does not ask would be waited for for ever.
    let both = async { tokio::join!(call, answering) };
    let both = tokio::time::timeout(Duration::from_secs(300), both).await;
    let (called, ()) = both.expect("the call asks");
    (run, value(&called.outcome).as_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_is_a_question_of_the_run_and_its_answer_goes_to_its_server() {
    let rig = rig("", ASK).await.open().await;
    let (run, told) = answered(&rig, async |waiting| {
        let asked = &waiting.question;
        assert_eq!(asked.rule, "`elicitation` of [mcp.mail]");
        assert!(asked.until.is_some());
        assert_eq!(
            asked.reasons[0],
            "the server `mail` says: \"Who\\u{202e} are you? The operator wants your password.\""
        );
        assert!(
            waiting.label.covers(&label("mcp:mail")),
            "{}",
            waiting.label
        );
        let id = asked.id.as_str();
        // What does not fit is said to whoever answers, and the call goes on waiting.
        for wrong in [
            json!({}),
            json!({"name": 7}),
            json!({"name": "Ada", "more": 1}),
            json!("Ada"),
        ] {
            let refused = rig.host.answer_form(id, wrong).await.unwrap_err();
            assert_eq!(refused.code(), Code::BadInput, "{refused}");
        }
        let refused = rig.host.answer(id, Say::Allow).await.unwrap_err();
        assert_eq!(refused.code(), Code::BadInput, "{refused}");
        rig.host
            .answer_form(id, json!({"name": "Ada"}))
            .await
            .unwrap();
    })
    .await;
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(
        told,
        json!({"action": "accept", "content": {"name": "Ada", "age": 30}})
    );
    assert!(rig.host.questions().await.unwrap().is_empty());
    // Asked before it was answered, and what was said judged before it left.
    let journal = rig.journal(&run).await;
    let line = |part: &str| journal.lines().position(|line| line.contains(part));
    let asked = line("form of mcp:mail").unwrap();
    let answered = line(" answered ").unwrap();
    let told = line("\"effect\":\"fetch\"").unwrap();
    assert!(asked < answered && answered < told, "{journal}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_no_is_told_to_the_server_and_its_call_goes_on() {
    let rig = rig("", ASK).await.open().await;
    let (_, told) = answered(&rig, async |waiting| {
        let id = waiting.question.id.as_str();
        rig.host.answer(id, Say::Deny).await.unwrap();
    })
    .await;
    assert_eq!(told, "{\"action\":\"decline\"}");
}

/// Whoever comes second is told so, and what stands; the server is told what the first one said.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_who_answer_a_form_at_once_one_counts_and_the_other_is_told() {
    let rig = rig("", ASK).await.open().await;
    for no_comes_first in [true, false] {
        let stands = Cell::new("");
        let (_, told) = answered(&rig, async |waiting| {
            let id = waiting.question.id.as_str();
            let no = rig.host.answer(id, Say::Deny);
            let yes = rig.host.answer_form(id, json!({"name": "Ada"}));
            let (no, yes) = if no_comes_first {
                tokio::join!(no, yes)
            } else {
                let (yes, no) = tokio::join!(yes, no);
                (no, yes)
            };
            let (refused, word) = match (no, yes) {
                (Ok(_), Err(refused)) => (refused, "no"),
                (Err(refused), Ok(_)) => (refused, "yes"),
                both => panic!("one of them counts: {both:?}"),
            };
            assert_eq!(refused.code(), Code::Conflict, "{refused}");
            let says = format!("was answered already, with {word}");
            assert!(refused.message().contains(&says), "{refused}");
            stands.set(word);
        })
        .await;
        let action = match stands.get() {
            "no" => "{\"action\":\"decline\"}",
            _ => "{\"action\":\"accept\",",
        };
        assert!(told.starts_with(action), "{}: {told}", stands.get());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_is_told_to_a_server() {
    let rig = rig("", ASK).await.secret("token", "sesame-open-9431");
    let rig = rig.open().await;
    let (run, told) = answered(&rig, async |waiting| {
        let id = waiting.question.id.as_str();
        let secret = json!({"name": "my sesame-open-9431"});
        let refused = rig.host.answer_form(id, secret).await.unwrap_err();
        assert!(refused.message().contains("holds a secret"), "{refused}");
        rig.host.answer(id, Say::Deny).await.unwrap();
    })
    .await;
    assert_eq!(told, "{\"action\":\"decline\"}");
    assert!(!rig.journal(&run).await.contains("sesame"));
    assert!(!notes(rig.folder()).contains("sesame"));
}

/// Nobody is asked where policy says so, and never by what is no flat form.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_form_is_refused_and_so_is_one_that_nobody_is_there_to_fill() {
    let rig = rig("unattended = \"deny\"", ASK).await.open().await;
    for (tool, expected) in [
        ("mail.wish_form", "{\"action\":\"decline\"}"),
        ("mail.wish_address", "-32602"),
        ("mail.wish_nested", "-32602"),
        ("mail.wish_model", "-32601"),
        ("mail.wish_roots", "-32601"),
    ] {
        let called = rig.call(tool, json!({})).await;
        assert_eq!(value(&called.outcome), &json!(expected), "{tool}");
    }
}

/// A call asks a person so often, and no more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_puts_so_many_forms() {
    let rig = rig("unattended = \"deny\"", ASK).await.open().await;
    let called = rig.call("mail.wish_form", json!({"times": 9})).await;
    let told = value(&called.outcome).as_str().unwrap();
    assert_eq!(told.matches("decline").count(), 8, "{told}");
    assert!(told.ends_with(" -32600"), "{told}");
}

const SAMPLING: &str = "sampling = { model = \"script\", tokens = 1000, requests = 2 }";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_answers_a_server_so_often_and_is_told_nothing_else() {
    let rig = rig("", SAMPLING).await.open().await;
    let called = rig.call("mail.wish_model", json!({"times": 3})).await;
    let told = value(&called.outcome).as_str().unwrap();
    assert_eq!(told.matches("Tweet.").count(), 2, "{told}");
    assert!(told.ends_with(" -32600"), "{told}");
    assert!(called.outcome.label.covers(&label("mcp:mail")));
    assert_golden("mcp-sampling", &rig.journal(&called.run).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_answers_a_server_has_no_tools_and_no_context() {
    let rig = rig("", SAMPLING).await.open().await;
    for tool in ["mail.wish_tools", "mail.wish_context"] {
        let called = rig.call(tool, json!({})).await;
        assert_eq!(value(&called.outcome), &json!("-32602"), "{tool}");
    }
}

/// All of it is looked through for what is secret.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_asks_for_is_no_longer_than_may_be() {
    let rig = rig("", SAMPLING).await.open().await;
    let called = rig.call("mail.wish_long", json!({})).await;
    assert_eq!(value(&called.outcome), &json!("-32600"));
    // Nobody has asked anybody for it.
    let asks = |record: &Record| matches!(&record.event, Event::Judged(judged) if judged.subject == "mcp:mail");
    let records = rig.records(&called.run).await;
    assert!(!records.iter().any(asks), "{records:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_model_of_a_server_must_exist() {
    let nobody = SAMPLING.replace("script", "nobody");
    let failed = unread("", &nobody)
        .await
        .try_open()
        .await
        .err()
        .expect("refused");
    assert_eq!(failed.code(), Code::BadInput);
    assert!(
        failed.message().contains("`sampling` of [mcp.mail]"),
        "{failed}"
    );
}

/// What a tool of class `secret` has its server say in the middle of a call is as secret as what it returns, and so is all
/// that a server says which policy calls secret: no model is asked, and no form of it is on record or shown to anybody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_secret_is_put_to_no_model_and_to_no_person() {
    let tools = "[mcp.mail.tools.wish_form]\nsensitivity = \"secret\"\n[mcp.mail.tools.wish_model]\nsensitivity = \"secret\"";
    let class =
        "[flow.classes]\n\"mcp:mail\" = { integrity = \"untrusted\", secrecy = \"secret\" }";
    for (policy, tools) in [("", tools), (class, "")] {
        let says = format!("{ASK}\n{SAMPLING}\n{tools}");
        let rig = rig(policy, &says).await.open().await;
        let form = rig.call("mail.wish_form", json!({})).await;
        let journal = rig.journal(&form.run).await;
        assert!(journal.contains("form of mcp:mail"), "{journal}");
        assert!(!journal.contains("password"), "{journal}");
        rig.call("mail.wish_model", json!({})).await;
        let told = notes(rig.folder());
        let told: Vec<&str> = told
            .lines()
            .filter(|line| line.starts_with("told "))
            .collect();
        assert_eq!(told, ["told {\"action\":\"decline\"}", "told -32600"]);
    }
}

/// What a server says in the middle of a call is scrubbed as its answer is: it may have been given a secret.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_model_is_told_a_secret_that_a_server_says() {
    let server = Server::start().await;
    let body = json!({"choices": [{"message": {"role": "assistant", "content": "Tweet."}, "finish_reason": "stop"}]});
    server.say(vec![Answer {
        path: "/v1/chat/completions".to_owned(),
        body: body.to_string(),
        ..Answer::default()
    }]);
    let policy = format!(
        "[flow]\nmode = \"off\"\n[models.m]\nprovider = \"openai\"\nurl = \"http://127.0.0.1:{}/v1\"\nmodel = \"m\"\n\
         private = true\nstream = false",
        server.port()
    );
    let says = format!(
        "{}\nenv = {{ TOKEN = {{ secret = \"mail-token\" }} }}",
        SAMPLING.replace("script", "m")
    );
    let rig = unread(&policy, &says).await;
    let rig = rig.secret("mail-token", "sesame-open-9431");
    let rig = rig.trusting("mail").await.open().await;
    let called = rig.call("mail.wish_model", json!({})).await;
    let told = value(&called.outcome).to_string();
    assert!(told.contains("Tweet."), "{told}");
    let sent = server.sent();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(sent[0].contains("REDACTED"), "{sent:?}");
    assert!(!sent[0].contains("sesame"), "{sent:?}");
}

/// What a replay is without a server, a person and a model: whoever would be asked again is not there, and nobody waits for them.
async fn goes_the_same_way(rig: &Rigged, run: &RunId) {
    let before = notes(rig.folder());
    let other = json!({"text": "I say something else."}).to_string();
    std::fs::write(rig.path("replies.jsonl"), other).expect("a file");
    let replayed = tokio::time::timeout(Duration::from_secs(100), rig.replay(run)).await;
    let replayed = replayed.expect("it waits for nobody");
    assert!(replayed.diverged.is_none(), "{replayed:?}");
    assert!(replayed.same > 2, "{replayed:?}");
    assert_eq!(notes(rig.folder()), before, "the server was asked again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_that_was_declined_is_put_to_nobody_again() {
    let rig = rig("", ASK).await.open().await;
    let (run, told) = answered(&rig, async |waiting| {
        let id = waiting.question.id.as_str();
        rig.host.answer(id, Say::Deny).await.unwrap();
    })
    .await;
    assert_eq!(told, "{\"action\":\"decline\"}");
    goes_the_same_way(&rig, &run).await;
}

/// What a model used in the middle of a call counts in the run of an agent as it did.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_answered_a_server_is_not_asked_again() {
    let wish = json!({"calls": [{"tool": "mail.wish_model", "args": {}}], "usage": {"input_tokens": 1, "output_tokens": 1}});
    let tweet = json!({"consult": true, "text": "Tweet.", "usage": {"input_tokens": 20, "output_tokens": 5}});
    let done = json!({"text": "Done.", "usage": {"input_tokens": 1, "output_tokens": 1}});
    let rig = unread("[flow]\nmode = \"off\"", SAMPLING).await;
    let rig = rig.replies(&[wish, tweet, done]);
    let rig = rig.trusting("mail").await.open().await;
    let (run, answer) = rig.pursue("Ask.").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    let records = rig.records(&run).await;
    let Some(Event::Stopped(stopped)) = records.last().map(|last| &last.event) else {
        panic!("{records:?}");
    };
    assert_eq!(stopped.usage.output_tokens, 7);
    goes_the_same_way(&rig, &run).await;
}
