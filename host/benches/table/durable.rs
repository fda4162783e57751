//! What is kept: how often the disk is waited for, a store of many runs, and a run of many records.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use lazaret::gate::journal::Journal;
use lazaret::guests::dispatch::Request;
use lazaret::runs::host::{Goal, Records};
use lazaret::words::clock::Clock;
use lazaret::words::event::{
    Answer, Content, End, Event, Narrowed, Sight, Started, Stopped, Surface,
};
use lazaret::words::id::RunId;
use lazaret::words::key::HostKey;
use lazaret::words::label::{Label, Source};
use lazaret::words::message::{Usage, WishedArgs};
use serde_json::json;

use crate::Scene;
use crate::rows::{goal, median, row};
use crate::turns::opened;

/// Runs in the store.
const RUNS: usize = 100_000;
/// Records of the run that goes on, and calls in each of its turns.
const RECORDS: usize = 10_000;
const CALLS_EACH: usize = 60;
const SAMPLES: usize = 20;
/// Calls of which the waits are counted.
const CALLS: u64 = 50;

pub(crate) fn all(scene: &Scene, runtime: &tokio::runtime::Runtime) {
    runtime.block_on(syncs(scene));
    let folder = scene.folder.path().join("durable");
    fs::create_dir_all(&folder).unwrap();
    runtime.block_on(many_runs(scene, &folder.join("many")));
    runtime.block_on(long_run(scene, &folder.join("long")));
}

fn open(path: &Path) -> Journal {
    Journal::open(path, Clock::system(), HostKey::new(&[7; 32])).unwrap()
}

fn started() -> Event {
    Event::Started(Started {
        surface: Surface::Cli,
        subject: "agent".to_owned(),
        goal: "work".to_owned(),
        label: Label::of(Source::user()),
        narrowed: Narrowed::default(),
        ask_expires_ms: None,
        session: None,
        forked: None,
        attached: Vec::new(),
        traced: Vec::new(),
    })
}

fn stopped() -> Event {
    Event::Stopped(Stopped {
        end: End::Done {
            content: Content::Empty,
        },
        turns: 1,
        usage: Usage::default(),
        limit: None,
    })
}

/// How often a whole run of one call waits for the disk, and how long that takes.
async fn syncs(scene: &Scene) {
    let folder = scene.folder.path().join("synced");
    fs::create_dir_all(folder.join("here")).unwrap();
    let policy = "[mounts.here]\npath = \"here\"\naccess = \"write\"\nown = true\n[grants.\"files.*\"]\nmounts = { here = \"write\" }\n";
    let records = Records::Folder(folder.join("records"));
    let host = opened(scene, records, &folder, policy).await;
    for (what, tool, args) in [
        (
            "one that looks (`text.count`)",
            "text.count",
            json!({"text": "a b"}),
        ),
        (
            "one that appends (`files.write`)",
            "files.write",
            json!({"path": "here/log", "content": "x", "mode": "append"}),
        ),
    ] {
        let before = host.journal().syncs();
        let mut samples = Vec::new();
        for _ in 0..CALLS {
            let request = Request {
                tool: tool.to_owned(),
                args: WishedArgs::Json(args.clone()),
            };
            let began = Instant::now();
            let (run, tasks) = (host.new_run(), host.tasks());
            let called = host.call(run, Surface::Cli, request, &tasks).await;
            called.unwrap().outcome.result.unwrap();
            samples.push(began.elapsed());
        }
        row(&format!("durable: a run of one call, {what}"), &samples, "");
        let each = (host.journal().syncs() - before) as f64 / CALLS as f64;
        let verdict = if each <= 2.0 { "met" } else { "MISSED" };
        println!(
            "{:<58} {each:>10.2} {:>10}  ≤ 2: {verdict}",
            "      waits for the disk, each", ""
        );
    }
}

/// A store of many runs: how long until another one begins, and what is asked about all of them.
async fn many_runs(scene: &Scene, folder: &Path) {
    fs::create_dir_all(folder.join("records")).unwrap();
    let path = &folder.join("records/journal.db");
    let journal = open(path);
    for n in 0..RUNS {
        let run = RunId::known(&format!("20260101-000000-{n:08x}"));
        journal.append(&run, 0, started()).unwrap();
        journal.append(&run, 0, stopped()).unwrap();
        if n % 1_000 == 0 {
            journal.commit().await.unwrap();
        }
    }
    drop(journal);
    let mut called = Vec::new();
    for _ in 0..SAMPLES {
        let records = Records::Folder(folder.join("records"));
        let began = Instant::now();
        let host = opened(scene, records, folder, "").await;
        let request = Request {
            tool: "text.count".to_owned(),
            args: WishedArgs::Json(json!({"text": "a b"})),
        };
        let (run, tasks) = (host.new_run(), host.tasks());
        let made = host.call(run, Surface::Cli, request, &tasks).await;
        made.unwrap().outcome.result.unwrap();
        called.push(began.elapsed());
    }
    let mut begun = Vec::new();
    let (mut asking, mut newest) = (Vec::new(), Vec::new());
    for n in 0..SAMPLES {
        let began = Instant::now();
        let journal = open(path);
        let run = RunId::known(&format!("20260102-000000-{n:08x}"));
        journal.append(&run, 0, started()).unwrap();
        journal.commit().await.unwrap();
        begun.push(began.elapsed());
        let began = Instant::now();
        assert!(journal.asking().await.unwrap().is_empty());
        asking.push(began.elapsed());
        let began = Instant::now();
        assert_eq!(journal.listed(20).await.unwrap().len(), 20);
        journal.find("20260102-000000-00000000").await.unwrap();
        newest.push(began.elapsed());
        journal.append(&run, 0, stopped()).unwrap();
    }
    let most = Duration::from_millis(50);
    row(
        &format!("durable: host opened, a run of one call, {RUNS} before it"),
        &called,
        &goal(median(&called), most),
    );
    row(
        "      the journal alone: opened, a run begun",
        &begun,
        &goal(median(&begun), most),
    );
    row(
        "      what waits for an answer there",
        &asking,
        &goal(median(&asking), most),
    );
    row(
        "      the newest 20, and one by its name",
        &newest,
        &goal(median(&newest), most),
    );
}

/// A long run that was left: how long until it has gone on and ended, by a host that knows nothing of it.
async fn long_run(scene: &Scene, folder: &Path) {
    let calls = |turn: usize| {
        let call = |n| json!({"tool": "echo.echo", "args": {"text": format!("{turn} {n}")}});
        json!({"calls": (0..CALLS_EACH).map(call).collect::<Vec<_>>()}).to_string()
    };
    let asking = json!({"calls": [{"tool": "text.count", "args": {"text": "a b"}}]}).to_string();
    let mut lines: Vec<String> = (0..RECORDS / (3 * CALLS_EACH)).map(calls).collect();
    lines.extend([asking, json!({"text": "Done."}).to_string()]);
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("replies.jsonl"), lines.join("\n")).unwrap();
    let policy = format!(
        "ask = [\"text.count\"]\n[plugins]\necho = {:?}\n[agents.agent]\ntools = [\"echo.*\", \"text.*\"]\n\
         models = [\"m\"]\nturns = 100\n[models.m]\nprovider = \"scripted\"\nscript = \"replies.jsonl\"\n",
        scene.echo
    );
    let records = Records::Folder(folder.join("records"));
    let (mut called, mut ended, mut counted) = (Vec::new(), Vec::new(), 0);
    for _ in 0..SAMPLES / 2 {
        let host = opened(scene, records.clone(), folder, &policy).await;
        let goal = Goal::new(host.new_run(), Surface::Cli, "agent", "work");
        let run = goal.run.clone();
        host.pursue(goal, &host.tasks()).await.unwrap_err();
        let waiting = host.questions().await.unwrap();
        let question = waiting[0].question.id.as_str();
        host.answer(question, Answer::Allow).await.unwrap();
        counted = host.journal().records(&run).await.unwrap().len();
        drop(host);
        let host = opened(scene, records.clone(), folder, &policy).await;
        let (mut watcher, tasks) = (host.watch(&run), host.tasks());
        let began = Instant::now();
        let call = async {
            while !is_call_made(&watcher.next().await) {}
            began.elapsed()
        };
        let (resumed, call) = tokio::join!(host.resume(&run, &tasks), call);
        ended.push(began.elapsed());
        called.push(call);
        resumed.unwrap();
    }
    row(
        &format!("durable: a run of {counted} records goes on, next call made"),
        &called,
        &goal(median(&called), Duration::from_millis(100)),
    );
    row("      and its next turn taken, its last", &ended, "");
}

fn is_call_made(sight: &Sight) -> bool {
    matches!(sight, Sight::Record(record) if matches!(record.event, Event::Finished(_)))
}
