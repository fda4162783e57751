//! What is kept: how often the disk is waited for, a store of many runs, and a run of many records.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use lazaret::edges::egress::Names;
use lazaret::gate::journal::Journal;
use lazaret::guests::dispatch::Request;
use lazaret::runs::host::{Host, Places, Records};
use lazaret::surfaces::config;
use lazaret::words::clock::Clock;
use lazaret::words::event::{
    Content, End, Event, Finished, Narrowed, Spent, Started, Stopped, Surface,
};
use lazaret::words::id::RunId;
use lazaret::words::key::HostKey;
use lazaret::words::label::{Label, Source};
use lazaret::words::message::{Usage, WishedArgs};
use serde_json::json;

use crate::Scene;
use crate::rows::{goal, median, row};

/// Runs in the store.
const RUNS: usize = 100_000;
/// Records of the run that is taken up.
const RECORDS: usize = 10_000;
const SAMPLES: usize = 20;
/// Calls of which the waits are counted.
const CALLS: u64 = 50;

pub(crate) fn all(scene: &Scene, runtime: &tokio::runtime::Runtime) {
    runtime.block_on(syncs(scene));
    let folder = scene.folder.path().join("durable");
    fs::create_dir_all(&folder).unwrap();
    runtime.block_on(many_runs(&folder.join("many.db")));
    runtime.block_on(long_run(&folder.join("long.db")));
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
    let path = folder.join(config::NAME);
    let policy = "[mounts.here]\npath = \"here\"\naccess = \"write\"\nown = true\n[grants.\"files.*\"]\nmounts = { here = \"write\" }\n";
    fs::write(&path, policy).unwrap();
    let places = Places {
        state: scene.folder.path().join("state"),
        records: Records::Folder(folder.join("records")),
        program: scene.program.clone(),
        names: Names::System,
        clock: Clock::system(),
        collector: None,
    };
    let host = Host::open(config::setup_of(&path, places).unwrap())
        .await
        .unwrap();
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
async fn many_runs(path: &Path) {
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
        &format!("durable: a run begins in a store of {RUNS}, opened for it"),
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

/// A long run that was cut off: how long until it can go on.
async fn long_run(path: &Path) {
    let journal = open(path);
    let run = RunId::known("long");
    journal.append(&run, 0, started()).unwrap();
    for n in 1..RECORDS {
        let done = Event::Finished(Finished {
            of: 0,
            end: End::Done {
                content: Content::Inline(
                    json!({"n": n, "text": "a page of an answer ".repeat(10)}),
                ),
            },
            label: Label::of(Source::user()),
            told: None,
            remade: None,
            spent: Spent::default(),
        });
        journal.append(&run, 0, done).unwrap();
    }
    journal.sync().await.unwrap();
    drop(journal);
    let mut samples = Vec::new();
    for _ in 0..SAMPLES {
        let began = Instant::now();
        let journal = open(path);
        let (records, verified) = journal.verified(&run).await.unwrap();
        verified.check().unwrap();
        journal.take_up(&run, &records).unwrap();
        samples.push(began.elapsed());
        assert_eq!(records.len(), RECORDS);
        journal.let_go(&run);
    }
    row(
        &format!("durable: a run of {RECORDS} records, verified and taken up"),
        &samples,
        &goal(median(&samples), Duration::from_millis(100)),
    );
}
