//! What a waiting script needs from one host to the next: its engine, its mark, and to be alone.

use lazaret::guests::plugin::script_engine;
use lazaret::guests::script::ScriptEngine;
use lazaret::words::event::{Answer as Say, Event};
use lazaret::words::id::{Digest, RunId};
use lazaret_tests::prelude::*;
use lazaret_tests::rig;

const POLICY: &str = "ask = [\"text.count\"]";
const SOURCE: &str = "return (await tools.text.count({text: 'a b'})).words";

async fn left(rig: &Rigged) -> RunId {
    let called = rig.script(SOURCE).await;
    assert_eq!(rig::error(&called.outcome).code(), Code::Asked);
    called.run
}

/// The engines that the lives of a run's script had.
async fn engines(rig: &Rigged, run: &RunId) -> Vec<Digest> {
    let records = rig.records(run).await;
    let engines = records.iter().filter_map(|record| match &record.event {
        Event::Scripted(scripted) => Some(scripted.engine),
        _ => None,
    });
    engines.collect()
}

/// The bundled engine, as a release that does the same would have it: its bytes are others.
fn newer() -> Vec<u8> {
    let bundled = script_engine();
    let digest = bundled.digest().expect("a digest");
    let mut bytes = bundled.read(digest).expect("the engine").to_vec();
    let (name, text) = (b"note", b"another build");
    let size = u8::try_from(1 + name.len() + text.len()).expect("a short section");
    bytes.extend([0, size, 4]);
    bytes.extend(name);
    bytes.extend(text);
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_engine_imports_nothing() {
    let rig = Rig::of("").open().await;
    let engine = ScriptEngine::new(script_engine()).expect("the bundled engine");
    let imports = engine.imports(rig.host.quarantine()).await;
    assert_eq!(imports.expect("it loads"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_imports_anything_is_no_engine() {
    let echo = std::fs::read(target().join("guests/echo.wasm")).expect("a component");
    let rig = Rig::of("").engine(&echo).open().await;
    let called = rig.script("return 1").await;
    let error = rig::error(&called.outcome);
    assert_eq!(error.code(), Code::BadPlugin, "{error:?}");
    assert!(
        error.message().contains("no engine of scripts"),
        "{error:?}"
    );
    rig.assert_alive().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_script_keeps_its_engine_when_a_newer_one_comes() {
    let rig = Rig::of(POLICY).kept().await.open().await;
    let run = left(&rig).await;
    let old = engines(&rig, &run).await[0];
    let newer = newer();
    let rig = rig.close().engine(&newer).open().await;
    let other = left(&rig).await;
    assert_eq!(engines(&rig, &other).await, [Digest::of(&newer)]);
    let waiting = rig.host.questions().await.expect("questions");
    let ours = waiting
        .iter()
        .find(|waiting| waiting.run == run)
        .expect("it waits");
    rig.host
        .answer(ours.question.id.as_str(), Say::Allow)
        .await
        .expect("it is open");
    let called = rig.resume(&run).await.expect("it goes on");
    assert_eq!(*rig::value(&called.outcome), 2);
    assert_eq!(engines(&rig, &run).await, [old, old]);
    // The one that is left needs the newer one.
    let rig = rig.restart().await;
    rig.answer(Say::Allow).await;
    assert_eq!(
        *rig::value(&rig.resume(&other).await.expect("it goes on").outcome),
        2
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_is_gone_or_was_changed_is_told() {
    for change in [
        (|path| std::fs::remove_file(path)) as fn(&std::path::Path) -> std::io::Result<()>,
        |path| std::fs::write(path, b"\0asm not this one"),
    ] {
        let rig = Rig::of(POLICY).kept().await.open().await;
        let run = left(&rig).await;
        let old = engines(&rig, &run).await[0];
        let rig = rig.close().engine(&newer()).open().await;
        rig.answer(Say::Allow).await;
        change(&rig.path("state/engines").join(old.to_string())).expect("the engine was kept");
        let called = rig.resume(&run).await.expect("the run is known");
        let error = rig::error(&called.outcome);
        assert_eq!(error.code(), Code::NotFound, "{error:?}");
        assert!(error.message().contains(&old.short()), "{error:?}");
        assert!(error.hints().join(" ").contains("run it anew"), "{error:?}");
        let counted = rig.records(&run).await;
        let counted = counted.iter().filter(|record| {
            matches!(&record.event, Event::Judged(judged) if judged.subject == "text.count")
        });
        assert_eq!(counted.count(), 1, "it was asked about, and that is all");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn engines_that_nobody_waits_for_are_not_kept() {
    let rig = Rig::of(POLICY).kept().await.open().await;
    let run = left(&rig).await;
    let old = engines(&rig, &run).await[0].to_string();
    rig.host.abandon(&run).await.expect("it is left");
    let rig = rig.close().engine(&newer()).open().await;
    left(&rig).await;
    let kept: Vec<String> = std::fs::read_dir(rig.path("state/engines"))
        .expect("engines")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert!(!kept.contains(&old) && kept.len() == 1, "{kept:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_goes_on_with_a_run_that_goes_on_already() {
    let server = Server::start().await;
    server.say(vec![Answer {
        path: "/".into(),
        stall: true,
        ..Answer::default()
    }]);
    let url = format!("http://127.0.0.1:{}/", server.port());
    let policy = format!(
        "ask = [\"text.count\"]\n[grants.\"hostile.fetch_each\"]\nfetch = [{{ url = \"{url}\", private = true }}]"
    );
    let rig = Rig::of(&policy).guest("hostile").kept().await.open().await;
    let source = format!(
        "await tools.text.count({{text: 'a'}}); await tools.hostile.fetch_each({{urls: ['{url}']}})"
    );
    let called = rig.script(&source).await;
    assert_eq!(rig::error(&called.outcome).code(), Code::Asked);
    rig.answer(Say::Allow).await;
    let (run, tasks) = (called.run, Tasks::new());
    let second = async {
        server.arrived(1).await;
        let busy = rig.resume(&run).await.expect_err("it goes on already");
        assert_eq!(busy.code(), Code::Busy, "{busy:?}");
        let busy = rig
            .host
            .abandon(&run)
            .await
            .expect_err("it goes on already");
        assert_eq!(busy.code(), Code::Busy, "{busy:?}");
        tasks.cancel();
    };
    let (first, ()) = tokio::join!(rig.host.resume(&run, &tasks), second);
    match first.expect("it was going on") {
        lazaret::runs::left::Resumed::Called(called) => {
            assert_eq!(rig::error(&called.outcome).code(), Code::Cancelled);
        }
        lazaret::runs::left::Resumed::Answer(_) => panic!("no agent"),
    }
    assert_eq!(server.seen().len(), 1);
    // Cut off, it is left, and can be taken up or ended.
    rig.host.abandon(&run).await.expect("nobody holds it");
    assert_eq!(rig.words(&run).await.last(), Some(&"stopped"));
    assert_eq!(
        rig.resume(&run).await.expect_err("it has ended").code(),
        Code::Conflict
    );
    assert_eq!(
        rig.host
            .abandon(&run)
            .await
            .expect_err("it has ended")
            .code(),
        Code::Conflict
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_ended_asks_nothing_any_more() {
    let rig = Rig::of(POLICY).kept().await.open().await;
    let run = left(&rig).await;
    let question = rig.host.questions().await.expect("questions")[0]
        .question
        .id
        .clone();
    rig.host.abandon(&run).await.expect("it is left");
    assert!(rig.host.questions().await.expect("questions").is_empty());
    let late = rig
        .host
        .answer(question.as_str(), Say::Allow)
        .await
        .expect_err("nobody asks");
    assert_eq!(late.code(), Code::NotFound);
    assert_eq!(
        std::fs::read_dir(rig.path("state/begun"))
            .expect("marks")
            .count(),
        0
    );
    let missing = rig
        .resume(&RunId::known("20260101-000000-00000000"))
        .await
        .expect_err("no such run");
    assert_eq!(missing.code(), Code::NotFound);
    assert_eq!(
        std::fs::read_dir(rig.path("state/begun"))
            .expect("marks")
            .count(),
        0,
        "looking leaves no mark"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_label_of_a_script_survives_it() {
    let policy = "ask = [\"text.count\"]\n[mounts.docs]\npath = \"docs\"\n[grants.\"files.read\"]\nmounts = { docs = \"read\" }";
    let rig = Rig::of(policy)
        .file("docs/a.txt", "a")
        .kept()
        .await
        .open()
        .await;
    let source = "await tools.files.read({path: 'docs/a.txt'}); return (await tools.text.count({text: 'a'})).words";
    let called = rig.script(source).await;
    let before = called.outcome.label.clone();
    rig.answer(Say::Allow).await;
    let rig = rig.restart().await;
    let called = rig.resume(&called.run).await.expect("it goes on");
    let after = serde_json::to_string(&called.outcome.label).expect("a label");
    assert!(after.contains("docs"), "{after}");
    assert_eq!(
        before.join(&called.outcome.label),
        called.outcome.label,
        "nothing is forgotten"
    );
    let records = rig.records(&called.run).await;
    let counted = records.iter().rev().find_map(|record| match &record.event {
        Event::Judged(judged) if judged.subject == "text.count" => {
            Some(serde_json::to_string(&judged.label))
        }
        _ => None,
    });
    assert!(counted.expect("a call").expect("a label").contains("docs"));
}
