//! Handles: outcomes that the model and the script hand on without reading them.

use lazaret::guests::tasks::Tasks;
use lazaret::words::error::Code;
use lazaret::words::event::{Answer as Say, Glimpse, Sight};
use lazaret::words::label::{Label, Sort, Source};
use lazaret_tests::rig::{self, Rig, Rigged};
use lazaret_tests::saying;
use lazaret_tests::server::{Answer, Server};
use serde_json::{Value, json};

use crate::page::{PAGE, observed, page, url, web};

fn policy(server: &Server, more: &str) -> String {
    let url = url(server, "/");
    format!(
        "{more}
        [mounts.out]
        path = \"out\"
        access = \"write\"
        own = true
        [grants.\"files.*\"]
        mounts = {{ out = \"write\" }}
        [grants.\"web.get_page\"]
        fetch = [{{ url = \"{url}\", private = true }}]
        [grants.\"hostile.*\"]
        calls = [\"*\"]"
    )
}

fn call(tool: &str, args: Value) -> Value {
    json!({"tool": tool, "args": args})
}

/// The page says these words.
fn says(server: &Server, words: &str) {
    server.say(vec![Answer {
        path: "/page".into(),
        body: format!("<p>{words}</p>"),
        ..Answer::default()
    }]);
}

/// A turn in which the page is got: it is `h1`.
fn get(server: &Server) -> Value {
    json!({"calls": [call("web.get_page", json!({"url": url(server, "/page")}))]})
}

/// A turn in which its text is taken out of it: that is `h2`.
fn text() -> Value {
    let args = json!({"value": {"$handle": "h1"}, "pointer": "/markdown"});
    json!({"calls": [call("handle.field", args)]})
}

async fn written(rig: &Rigged, path: &str) -> String {
    std::fs::read_to_string(rig.path(path)).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_handed_on_unread() {
    let server = page().await;
    let replies = [
        get(&server),
        text(),
        json!({"calls": [call("files.write", json!({"path": "out/page.txt", "content": {"$handle": "h2"}}))]}),
        json!({"text": "Done."}),
    ];
    let rig = Rig::of(&policy(&server, "")).replies(&replies).open().await;
    let (run, answer) = rig.pursue("Keep the page in out/page.txt, please.").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    assert!(written(&rig, "out/page.txt").await.contains(PAGE));
    let seen = observed(&rig.records(&run).await);
    for (text, label) in &seen {
        assert!(!text.contains("canary"), "{text}");
        assert!(!label.covers(&web(&server)), "{label}");
    }
    assert!(seen[0].0.contains("\"$handle\":\"h1\""), "{}", seen[0].0);
    assert!(seen[0].0.contains("web:http://127.0.0.1"), "{}", seen[0].0);
    // What was written remembers: whoever reads it is under the influence of the page.
    let read = rig
        .call("files.read", json!({"path": "out/page.txt"}))
        .await;
    assert!(
        read.outcome.label.covers(&web(&server)),
        "{}",
        read.outcome.label
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_a_handle_raises_the_reader() {
    let server = page().await;
    let replies = [
        json!({"calls": [call("web.get_page", json!({"url": url(&server, "/page")}))]}),
        json!({"calls": [call("handle.read", json!({"value": {"$handle": "h1"}}))]}),
        json!({"calls": [call("files.write", json!({"path": "out/evil.txt", "content": "x"}))]}),
        json!({"text": "Done."}),
    ];
    let rig = Rig::of(&policy(&server, ""))
        .replies(&replies)
        .kept()
        .await
        .open()
        .await;
    let (run, answer) = rig.pursue("Read the page.").await;
    let error = answer.expect_err("nobody said where to");
    assert_eq!(error.code(), Code::Asked);
    assert!(error.message().contains("out/evil.txt"), "{error}");
    assert!(error.message().contains("web:http://127.0.0.1"), "{error}");
    let seen = observed(&rig.records(&run).await);
    assert!(seen[1].0.contains("canary"), "{}", seen[1].0);
    assert!(seen[1].1.covers(&web(&server)), "{}", seen[1].1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handle_belongs_to_its_run() {
    let server = page().await;
    let replies = [
        json!({"calls": [call("web.get_page", json!({"url": url(&server, "/page")}))]}),
        json!({"calls": [
            call("text.count", json!({"text": {"$handle": "h2"}})),
            call("text.count", json!({"text": {"$handle": "h1 "}})),
            call("text.count", json!({"text": {"$handle": "h1"}})),
        ]}),
        json!({"text": "Done."}),
    ];
    let rig = Rig::of(&policy(&server, "")).replies(&replies).open().await;
    let (run, _) = rig.pursue("Count.").await;
    let seen = observed(&rig.records(&run).await);
    for (text, _) in &seen[1..3] {
        assert!(text.contains("there is no handle"), "{text}");
    }
    // It is an object, and not a text; what is in it is not told.
    assert!(
        seen[3]
            .0
            .contains("/text: what the handle holds does not fit here"),
        "{}",
        seen[3].0
    );
    let called = rig
        .call("text.count", json!({"text": {"$handle": "h1"}}))
        .await;
    assert_eq!(rig::error(&called.outcome).code(), Code::BadArgs);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_hold_too_and_may_reveal() {
    let server = page().await;
    let source = |then: &str| {
        format!(
            "const page = await tools.web.get_page({{url: '{}'}});\n{then}",
            url(&server, "/page")
        )
    };
    let rig = Rig::of(&policy(&server, "[flow]\nhold = \"untrusted\""))
        .open()
        .await;
    let held = rig
        .script(&source("return [page.$handle, 'markdown' in page]"))
        .await;
    assert_eq!(rig::value(&held.outcome), &json!(["h1", false]));
    assert!(
        !held.outcome.label.covers(&web(&server)),
        "{}",
        held.outcome.label
    );
    let revealed = rig
        .script(&source("return (await reveal(page)).markdown.length > 5"))
        .await;
    assert_eq!(rig::value(&revealed.outcome), &json!(true));
    assert!(revealed.outcome.label.covers(&web(&server)));
    // The run's own user sees what its script returns.
    let returned = rig
        .script(&source(
            "return tools.handle.field({value: page, pointer: '/markdown'})",
        ))
        .await;
    assert!(rig::value(&returned.outcome).to_string().contains("canary"));
    assert!(returned.outcome.label.covers(&web(&server)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scalars_leave_within_the_bits_of_the_run() {
    let server = page().await;
    let count = call(
        "handle.count",
        json!({"value": {"$handle": "h1"}, "unit": "chars"}),
    );
    let replies = [
        json!({"calls": [call("web.get_page", json!({"url": url(&server, "/page")}))]}),
        json!({"calls": [count]}),
        json!({"calls": [count]}),
        json!({"text": "Done."}),
    ];
    let rig = Rig::of(&policy(&server, "[flow]\nbits = 100"))
        .replies(&replies)
        .open()
        .await;
    let (run, _) = rig.pursue("Count.").await;
    let seen = observed(&rig.records(&run).await);
    assert!(seen[1].0.parse::<u64>().is_ok(), "{}", seen[1].0);
    assert!(!seen[1].1.covers(&web(&server)), "{}", seen[1].1);
    assert!(
        seen[2].0.contains("64 bits would leave a handle, and 36"),
        "{}",
        seen[2].0
    );
}

/// A URL that is one whole value of what is held is followed where policy grants its place and nobody has read the page; where
/// the user's own words are wanted for it, it is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clean_plan_follows_the_one_url_of_what_is_held() {
    for (browse, requests) in [("granted", 2), ("witness", 1)] {
        let server = Server::start().await;
        let next = url(&server, "/next");
        server.say(vec![
            Answer {
                path: "/page".to_owned(),
                body: format!("See {next} for more."),
                ..Answer::default()
            },
            Answer {
                path: "/next".to_owned(),
                body: "More.".to_owned(),
                ..Answer::default()
            },
        ]);
        let text = json!({"value": {"$handle": "h1"}, "pointer": "/markdown"});
        let find = json!({"value": {"$handle": "h2"}, "what": "url"});
        let replies = [
            json!({"calls": [call("web.get_page", json!({"url": url(&server, "/page")}))]}),
            json!({"calls": [call("handle.field", text)]}),
            json!({"calls": [call("handle.find", find)]}),
            json!({"calls": [call("web.get_page", json!({"url": {"$handle": "h3"}}))]}),
            json!({"text": "Done."}),
        ];
        let more = format!("[flow]\nbrowse = \"{browse}\"");
        let rig = Rig::of(&policy(&server, &more))
            .replies(&replies)
            .open()
            .await;
        let (run, answer) = rig.pursue("Read it, and what it leads to.").await;
        assert_eq!(answer.expect("an answer"), "Done.");
        let seen = observed(&rig.records(&run).await);
        assert_eq!(server.seen().len(), requests, "{browse}: {seen:?}");
        let unread =
            |(_, label): &(String, _)| !lazaret::words::label::Label::covers(label, &web(&server));
        assert!(seen.iter().take(3).all(unread));
        assert!(seen[2].0.contains("\"$handle\":\"h3\""), "{}", seen[2].0);
        let said = &seen[3].0;
        assert!(said.contains("\"$handle\":\"h4\""), "{said}");
        assert_eq!(said.contains("it failed (denied)"), requests == 1, "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handles_are_there_after_a_restart() {
    let server = page().await;
    let replies = [
        json!({"calls": [call("web.get_page", json!({"url": url(&server, "/page")}))]}),
        json!({"calls": [call("files.write", json!({"path": "out/a.txt", "content": "asked"}))]}),
        json!({"calls": [
            call("handle.field", json!({"value": {"$handle": "h1"}, "pointer": "/markdown"})),
            call("files.write", json!({"path": "out/b.txt", "content": {"$handle": "h2"}})),
        ]}),
        json!({"text": "Done."}),
    ];
    let policy = policy(&server, "");
    let rig = Rig::of(&policy).replies(&replies).kept().await.open().await;
    let (run, answer) = rig.pursue("Into out/b.txt.").await;
    assert_eq!(answer.expect_err("asked").code(), Code::Asked);
    rig.answer(Say::Allow).await;
    let rig = rig.restart().await;
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Done.");
    assert!(written(&rig, "out/b.txt").await.contains(PAGE));
    assert_eq!(server.seen().len(), 1, "nothing is fetched twice");
}

/// Of what is secret nothing is kept: another host has the name of its handle, and the label. What a script wishes while a
/// call over it is under way is there under the influence of the secret as it was in the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_secret_is_behind_the_wishes_of_a_script_after_a_restart_too() {
    let server = page().await;
    let source = format!(
        "await reveal(await tools.web.get_page({{url: '{}'}}));
        const key = await tools.safe.run({{}});
        const code = '(key) => {{ let sum = 0; for (let i = 0; i < 400000; i++) sum += i; return sum + key.length }}';
        void tools.handle.isolate({{code, of: [key]}}).catch(() => {{}});
        await new Promise((go) => setTimeout(go, 0));
        void tools.files.write({{path: 'out/x.txt', content: 'y'}}).catch(() => {{}});
        return await tools.web.get_page({{url: '{}'}}).then(() => 'sent', () => 'refused')",
        url(&server, "/page"),
        url(&server, "/page")
    );
    let replies = [
        json!({"calls": [call("run_script", json!({"source": source}))]}),
        json!({"text": "Done."}),
    ];
    let more =
        "ask = [\"files.write\"]\n[flow]\ntrust = [\"safe\"]\n[agents.agent]\ncalling = \"both\"";
    let secret = json!({"sensitivity": "secret"});
    let safe = saying::component("safe", &secret, "\"7391\"");
    let rig = Rig::of(&policy(&server, more))
        .component("safe", &safe)
        .replies(&replies)
        .kept()
        .await
        .open()
        .await;
    let (run, answer) = rig.pursue("Go on.").await;
    assert_eq!(answer.expect_err("asked").code(), Code::Asked);
    rig.answer(Say::Deny).await;
    let rig = rig.restart().await;
    let _ = rig.resume_agent(&run).await;
    let records = rig.records(&run).await;
    let asked: Vec<String> = rig::judged(&records, "web.get_page")
        .into_iter()
        .map(|judged| judged.label.to_string())
        .collect();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(!asked[0].contains("secret:safe.run"), "{asked:?}");
    assert!(asked[1].contains("secret:safe.run"), "{asked:?}");
    assert_eq!(server.seen().len(), 1, "nothing secret leaves");
}

/// A mount that is secret, and so many bits.
fn of_keys(bits: u32) -> String {
    format!(
        "ask = [\"text.count\"]
        [flow]
        bits = {bits}
        classes = {{ \"file:keys\" = {{ integrity = \"trusted\", secrecy = \"secret\" }} }}
        [mounts.keys]
        path = \"keys\"
        [grants.\"files.*\"]
        mounts = {{ keys = \"read\" }}"
    )
}

fn key(path: &str) -> Value {
    call("files.read", json!({"path": path}))
}

/// It would leave to whoever runs the model, and is refused for that.
fn consult(handle: &str) -> Value {
    let args = json!({"of": [{"$handle": handle}], "question": "Which?"});
    call("handle.consult", args)
}

/// Neither how nor where, and for bits. Without them it is told of the secret for nothing, and its model is asked no more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_something_failed_or_was_refused_over_a_secret_is_told_for_bits_and_no_more() {
    let given = json!([{"$handle": "h1"}]);
    let isolate = |code: &str| call("handle.isolate", json!({"code": code, "of": given}));
    let misfit = call("text.count", json!({"text": {"$handle": "h1"}}));
    let failed = "it failed; what it said is held: {\"$handle\":\"h2\"}";
    let mut told_of_failures = Vec::new();
    for (wish, bits, says) in [
        (key("keys/none.txt"), 6, failed),
        (isolate("(key) => { throw new Error() }"), 19, failed),
        (isolate("() => new Promise(() => {})"), 19, failed),
        (misfit, 2, "Where is not said"),
        (consult("h1"), 2, "nothing secret leaves, ever"),
    ] {
        let replies = [
            json!({"calls": [key("keys/k.txt")]}),
            json!({"calls": [wish]}),
            json!({"text": "Done."}),
        ];
        for (bits, is_enough) in [(bits, true), (bits - 1, false)] {
            let rig = Rig::of(&of_keys(bits))
                .file("keys/k.txt", "7391")
                .replies(&replies)
                .open()
                .await;
            let (run, answer) = rig.pursue("Look.").await;
            if !is_enough {
                assert_eq!(answer.expect_err("no model").code(), Code::Denied, "{wish}");
                continue;
            }
            assert_eq!(answer.expect("an answer"), "Done.", "{wish}");
            let seen = observed(&rig.records(&run).await);
            // Nobody needs to be a stranger for that.
            assert!(!seen[0].0.contains("bytes"), "{}", seen[0].0);
            let (text, label) = seen[1].clone();
            assert!(text.contains(says), "{text}");
            let keys = Label::of(Source::new(Sort::File, "keys"));
            assert!(
                label.covers(&keys.of_scalar()) && !label.covers(&keys),
                "{label}"
            );
            if says == failed {
                told_of_failures.push(text);
            }
        }
    }
    told_of_failures.dedup();
    assert_eq!(told_of_failures.len(), 1, "{told_of_failures:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_paid_for_a_refusal_over_a_secret_is_paid_in_a_later_life_too() {
    for (bits, is_enough) in [(3, false), (4, true)] {
        let replies = [
            json!({"calls": [key("keys/k.txt")]}),
            json!({"calls": [consult("h1")]}),
            json!({"calls": [call("text.count", json!({"text": "a"}))]}),
            json!({"calls": [key("keys/k.txt")]}),
            json!({"calls": [consult("h3")]}),
            json!({"text": "Done."}),
        ];
        let rig = Rig::of(&of_keys(bits))
            .file("keys/k.txt", "7391")
            .replies(&replies);
        let rig = rig.kept().await.open().await;
        let (run, answer) = rig.pursue("Look.").await;
        assert_eq!(answer.expect_err("asked").code(), Code::Asked);
        rig.answer(Say::Allow).await;
        let rig = rig.restart().await;
        let answer = rig.resume_agent(&run).await;
        assert_eq!(answer.is_ok(), is_enough, "{bits}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nothing_is_judged_nothing_is_held() {
    let server = page().await;
    let replies = [
        json!({"calls": [call("web.get_page", json!({"url": url(&server, "/page")}))]}),
        json!({"text": "Done."}),
    ];
    for more in ["[flow]\nmode = \"off\"", "[flow]\nhold = \"never\""] {
        let rig = Rig::of(&policy(&server, more))
            .replies(&replies)
            .open()
            .await;
        let (run, _) = rig.pursue("Read.").await;
        let seen = observed(&rig.records(&run).await);
        assert!(seen[0].0.contains("canary"), "{more}: {}", seen[0].0);
    }
}

/// By default what is untrusted is held where harm can be done with it, for a model; a person's own script reads what it asks for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_untrusted_is_held_by_default_where_a_sink_is_granted() {
    let server = page().await;
    let sinks = policy(&server, "");
    let (_, reads) = sinks
        .split_once("[grants.\"web.get_page\"]")
        .expect("a line");
    let (reads, _) = reads.split_once("[grants.").expect("a line");
    let reads = format!("[grants.\"web.get_page\"]{reads}");
    let replies = [
        json!({"calls": [call("web.get_page", json!({"url": url(&server, "/page")}))]}),
        json!({"text": "Done."}),
    ];
    for (policy, held) in [(&reads, false), (&sinks, true)] {
        let rig = Rig::of(policy).replies(&replies).open().await;
        let (run, _) = rig.pursue("Read.").await;
        let seen = observed(&rig.records(&run).await);
        assert_eq!(!seen[0].0.contains("canary"), held, "{}", seen[0].0);
        assert_eq!(seen[0].0.contains("$handle"), held, "{}", seen[0].0);
        let page = url(&server, "/page");
        let script = format!("return (await tools.web.get_page({{url: '{page}'}})).markdown");
        let called = rig.script(&script).await;
        assert!(rig::value(&called.outcome).to_string().contains("canary"));
    }
}

/// What is made of two is under the influence of both, and of nobody else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_joined_of_two_is_behind_both() {
    let server = page().await;
    let letter = "[mounts.inbox]\npath = \"inbox\"";
    let policy =
        policy(&server, letter).replace("mounts = { out", "mounts = { inbox = \"read\", out");
    let write = |path: &str, from: &str| {
        call(
            "files.write",
            json!({"path": path, "content": {"$handle": from}}),
        )
    };
    let parts = json!({"values": [{"$handle": "h3"}, {"$handle": "h4"}]});
    let replies = [
        json!({"calls": [call("web.get_page", json!({"url": url(&server, "/page")}))]}),
        json!({"calls": [call("files.read", json!({"path": "inbox/letter.txt"}))]}),
        json!({"calls": [call("handle.field", json!({"value": {"$handle": "h1"}, "pointer": "/markdown"}))]}),
        json!({"calls": [call("handle.field", json!({"value": {"$handle": "h2"}, "pointer": "/content"}))]}),
        json!({"calls": [call("handle.join", parts)]}),
        json!({"calls": [write("out/both.txt", "h5"), write("out/one.txt", "h4")]}),
        json!({"text": "Done."}),
    ];
    let rig = Rig::of(&policy)
        .replies(&replies)
        .file("inbox/letter.txt", "Dear reader");
    let rig = rig.open().await;
    let (_, answer) = rig.pursue("Into out/both.txt and out/one.txt.").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    let inbox = Label::of(Source::new(Sort::File, "inbox"));
    for (path, of_page) in [("out/both.txt", true), ("out/one.txt", false)] {
        let read = rig.call("files.read", json!({"path": path})).await;
        let label = read.outcome.label;
        assert!(label.covers(&inbox), "{path}: {label}");
        assert_eq!(label.covers(&web(&server)), of_page, "{path}: {label}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_makes_a_text_their_own_words() {
    let server = page().await;
    let path = "out/obey.txt";
    says(&server, path);
    let replies = [
        get(&server),
        text(),
        json!({"calls": [call("handle.adopt", json!({"value": {"$handle": "h2"}}))]}),
        json!({"calls": [call("files.write", json!({"path": path, "content": "x"}))]}),
        json!({"text": "Done."}),
    ];
    let rig = Rig::of(&policy(&server, ""))
        .replies(&replies)
        .kept()
        .await
        .open()
        .await;
    let (run, answer) = rig
        .pursue("Do as the page says, once I have read it.")
        .await;
    assert_eq!(answer.expect_err("asked").code(), Code::Asked);
    let waiting = rig.answer(Say::Allow).await;
    assert!(
        waiting.question.text.contains(path),
        "{}",
        waiting.question.text
    );
    let rig = rig.restart().await;
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Done.");
    assert_eq!(written(&rig, path).await, "x");
    let seen = observed(&rig.records(&run).await);
    assert!(!seen[2].1.covers(&web(&server)), "{}", seen[2].1);
    // For this run: what goes on elsewhere begins before it.
    let error = rig.host.fork(&run, 3).await.expect_err("not theirs there");
    assert_eq!(error.code(), Code::Denied, "{error:?}");
    rig.host.fork(&run, 2).await.expect("a copy");
}

/// What is read may say anything: the names in it are the reader's own words then, and what they said no to beside that stays
/// undone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_makes_a_text_their_own_words_has_not_said_yes_to_what_they_refused() {
    let server = page().await;
    let path = "out/obey.txt";
    says(&server, path);
    let replies = [
        get(&server),
        text(),
        json!({"calls": [
            call("handle.adopt", json!({"value": {"$handle": "h2"}})),
            call("files.write", json!({"path": path, "content": "x", "mode": "replace"})),
        ]}),
        json!({"when": "said no", "text": "Done."}),
    ];
    let rig = Rig::of(&policy(&server, ""))
        .file(path, "mine")
        .replies(&replies)
        .kept()
        .await
        .open()
        .await;
    let (run, answer) = rig.pursue("Do as the page says.").await;
    assert_eq!(answer.expect_err("asked").code(), Code::Asked);
    let waiting = rig.host.questions().await.expect("the journal is well");
    assert_eq!(waiting.len(), 2, "{waiting:?}");
    for one in &waiting {
        let say = match one.subject.as_str() {
            "handle.adopt" => Say::Allow,
            _ => Say::Deny,
        };
        let answered = rig.host.answer(one.question.id.as_str(), say).await;
        answered.expect("it is open");
    }
    let rig = rig.restart().await;
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Done.");
    assert_eq!(written(&rig, path).await, "mine");
}

/// What was theirs for one run is a page again in the next one of its session, and so is all that came of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_adopted_text_is_nobodys_words_in_the_next_run_of_its_session() {
    let server = page().await;
    let note = |key: &str| json!({"calls": [call("notes.put", json!({"key": key, "text": "x"}))]});
    let replies = [
        get(&server),
        text(),
        json!({"calls": [call("handle.adopt", json!({"value": {"$handle": "h2"}}))]}),
        note("first"),
        json!({"text": "Done."}),
        note("second"),
        json!({"text": "Done."}),
    ];
    let more = "[grants.\"notes.*\"]\nnotes = \"write\"";
    let rig = Rig::of(&policy(&server, more))
        .replies(&replies)
        .kept()
        .await
        .open()
        .await;
    let goal = "Do as the page says, once I have read it.";
    let (first, asked) = rig.pursue_in_session("work", goal).await;
    assert_eq!(asked.expect_err("asked").code(), Code::Asked);
    rig.answer(Say::Allow).await;
    assert_eq!(rig.resume_agent(&first).await.expect("an answer"), "Done.");
    let (second, asked) = rig.pursue_in_session("work", "Go on.").await;
    let asked = asked.expect_err("nobody has said so");
    assert_eq!(asked.code(), Code::Asked, "{asked:?}");
    for (run, rises) in [(first, false), (second, true)] {
        let records = rig.records(&run).await;
        let wished = rig::judged(&records, "notes.put");
        let label = &wished[0].label;
        assert_eq!(label.covers(&web(&server)), rises, "{label}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_step_makes_of_an_adopted_text_is_nobodys_words() {
    let server = page().await;
    says(&server, "out/read.txt");
    let replies = [
        get(&server),
        text(),
        json!({"calls": [call("handle.adopt", json!({"value": {"$handle": "h2"}}))]}),
        json!({"calls": [call("files.write", json!({"path": "out/unread.txt", "content": "x"}))]}),
        json!({"text": "Done."}),
    ];
    let step = "[[steps]]\ntools = \"handle.adopt\"\nafter = \"post.run\"";
    let says = saying::component("post", &json!({}), "\"out/unread.txt\"");
    let rig = Rig::of(&policy(&server, step))
        .component("post", &says)
        .replies(&replies)
        .kept()
        .await
        .open()
        .await;
    let goal = "Do as the page says, once I have read it.";
    let (run, answer) = rig.pursue(goal).await;
    assert_eq!(answer.expect_err("asked").code(), Code::Asked);
    let read = rig.answer(Say::Allow).await;
    assert!(
        read.question.text.contains("out/read.txt"),
        "{}",
        read.question.text
    );
    let asked = rig
        .resume_agent(&run)
        .await
        .expect_err("nobody has read it");
    assert_eq!(asked.code(), Code::Asked, "{asked:?}");
    // Nor is it theirs for whoever reads the records.
    let rig = rig.restart().await;
    let asked = rig
        .resume_agent(&run)
        .await
        .expect_err("nobody has read it");
    assert_eq!(asked.code(), Code::Asked, "{asked:?}");
    assert_eq!(written(&rig, "out/unread.txt").await, "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whether_it_fits_is_not_told_for_nothing() {
    let server = page().await;
    let misfit = call("text.count", json!({"text": {"$handle": "h1"}}));
    let chosen = json!({"value": "a", "type": "enum", "options": [{"$handle": "h2"}]});
    let replies = [
        get(&server),
        text(),
        json!({"calls": [call("handle.scalar", chosen)]}),
        json!({"calls": [misfit]}),
        json!({"text": "Done."}),
    ];
    // Of a failure six bits leave; of a misfit two, for its handle, and for whether all of them fit together.
    for (bits, rises) in [(8, false), (7, true)] {
        let policy = policy(&server, &format!("[flow]\nbits = {bits}"));
        let rig = Rig::of(&policy).replies(&replies).open().await;
        let (run, _) = rig.pursue("Count.").await;
        let seen = observed(&rig.records(&run).await);
        assert!(!seen[2].0.contains("canary"), "{}", seen[2].0);
        assert!(seen[3].0.contains("does not fit"), "{}", seen[3].0);
        assert_eq!(seen[3].1.covers(&web(&server)), rises, "{}", seen[3].1);
    }
}

/// Letters as a list, of which a model that has read none of them takes what belongs to a word.
const LETTERS: &str = r#"[{"from": "ada@x.test", "id": "m-1"}, {"from": "eve@evil.test", "id": "m-2"}, {"from": "bo@x.test", "id": "m-3"}]"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_identifier_is_picked_by_the_users_own_word_for_nothing_and_by_another_for_a_bit() {
    let pick = |is: Value, place: Value| {
        let value = json!({"$handle": "h2"});
        call(
            "handle.pick",
            json!({"value": value, "where": place, "is": is, "field": "/id"}),
        )
    };
    let plain = |word: &str| pick(word.into(), "/from".into());
    let list = json!({"code": "(file) => JSON.parse(file.content)", "of": [{"$handle": "h1"}]});
    let policy = "
        [flow]
        mode = \"enforce\"
        bits = 2
        [mounts.inbox]
        path = \"inbox\"
        [mounts.out]
        path = \"out\"
        access = \"write\"
        own = true
        [grants.\"files.*\"]
        mounts = { inbox = \"read\", out = \"write\" }";
    // What is picked with, what comes of it, and how many bits have left by then.
    for (picked, expected, bits) in [
        (plain("ada@x.test"), Some("m-1"), 0),
        (plain("bo@x.test"), Some("m-3"), 1),
        // Nobody has typed where to look; what is held itself is nobody's word either.
        (pick("m-2".into(), "/id".into()), Some("m-2"), 1),
        (plain("ada"), None, 0),
    ] {
        let replies = [
            json!({"calls": [call("files.read", json!({"path": "inbox/letters.json"}))]}),
            json!({"calls": [call("handle.isolate", list.clone())]}),
            json!({"calls": [picked]}),
            json!({"calls": [call("files.write", json!({"path": "out/id.txt", "content": {"$handle": "h3"}}))]}),
            json!({"text": "Done."}),
        ];
        let rig = Rig::of(policy)
            .file("inbox/letters.json", LETTERS)
            .replies(&replies)
            .open()
            .await;
        let (run, answer) = rig
            .pursue("Keep the id of the letter from ada@x.test in out/id.txt.")
            .await;
        assert_eq!(answer.expect("an answer"), "Done.");
        let records = rig.records(&run).await;
        let kept = written(&rig, "out/id.txt").await;
        assert_eq!(kept, expected.unwrap_or_default(), "{picked}");
        let flows = &rig.host.policy().flows;
        let gone = lazaret::runs::brought::bits_gone(flows, &records);
        assert_eq!(gone, bits, "{picked}");
        let inbox = Label::of(Source::new(Sort::File, "inbox"));
        let seen = observed(&records);
        // That there is none was read, and nothing else.
        let has_read = seen[2].1.covers(&inbox);
        assert_eq!(has_read, expected.is_none(), "{picked}: {}", seen[2].1);
        assert!(!seen[2].0.contains("m-"), "{}", seen[2].0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_watches_is_shown_what_leaves_of_how_much_may() {
    let server = page().await;
    let count = json!({"value": {"$handle": "h1"}, "unit": "chars"});
    let replies = [
        json!({"calls": [call("web.get_page", json!({"url": url(&server, "/page")}))]}),
        json!({"calls": [call("handle.count", count)]}),
        json!({"text": "Done."}),
    ];
    let rig = Rig::of(&policy(&server, "[flow]\nbits = 100"))
        .replies(&replies)
        .open()
        .await;
    let goal = rig.goal("Count.");
    let (run, mut watcher) = (goal.run.clone(), rig.host.watch(&goal.run));
    let answer = rig.host.pursue(goal, &Tasks::new()).await;
    assert_eq!(answer.expect("an answer"), "Done.");
    let mut shown = Vec::new();
    loop {
        match watcher.next().await {
            Sight::Record(record) if record.event.word() == "stopped" => break,
            Sight::Glimpse {
                glimpse: Glimpse::Said { message, .. },
                ..
            } => shown.push(message),
            _ => {}
        }
    }
    assert_eq!(shown, ["64 bits left a handle; 36 of 100 may still"]);
    let records = rig.records(&run).await;
    let gone = lazaret::runs::brought::bits_gone(&rig.host.policy().flows, &records);
    assert_eq!(gone, 64);
}
