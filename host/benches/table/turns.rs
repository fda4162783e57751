//! Turns of an agent: what the loop takes beside its model, in memory and on the disk, a thousand runs at once, and a
//! reply that streams.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lazaret::edges::egress::Names;
use lazaret::runs::host::{Goal, Host, Places, Records};
use lazaret::runs::running::Reached;
use lazaret::surfaces::config;
use lazaret::words::clock::Clock;
use lazaret::words::event::{Event, Record, Surface};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::rows::{goal, median, quantile, row, shown};
use crate::{SAMPLES, Scene, WARM_UP, on_worker};

/// Turns with a call, of the run that is measured.
const TURNS: u32 = 8;
/// Runs at once, and turns of each.
const RUNS: usize = 1_000;
const TURNS_EACH: usize = 5;
/// Pieces of the reply that streams.
const DELTAS: u32 = 5_000;

pub(crate) fn all(scene: &'static Scene, runtime: &tokio::runtime::Runtime) {
    let in_memory = on_worker(runtime, turns(scene, Records::InMemory));
    row(
        "turn: one call of a pure tool, journal in memory",
        &in_memory.each,
        &goal(median(&in_memory.each), Duration::from_micros(150)),
    );
    let folder = scene.folder.path().join("turns");
    let durable = on_worker(runtime, turns(scene, Records::Folder(folder)));
    row("turn: the same, durable", &durable.each, "");
    println!(
        "{:<58} {:>10.2}",
        "      waits for the disk, each", durable.waits
    );
    row("      one wait for the disk", &durable.wait, "");
    let waited = median(&durable.wait).mul_f64(durable.waits);
    let beyond = median(&durable.each).saturating_sub(waited);
    println!(
        "{:<58} {:>10} {:>10}  {}",
        "      of the turn, beyond its waits",
        shown(beyond),
        "",
        goal(beyond, Duration::from_millis(1))
    );
    let deltas = runtime.block_on(streamed(scene));
    row(
        "a reply that streams: each delta",
        &deltas,
        &goal(median(&deltas), Duration::from_micros(20)),
    );
}

/// What was measured of turns.
struct Measured {
    each: Vec<Duration>,
    /// For the disk, in each turn.
    waits: f64,
    wait: Vec<Duration>,
}

/// A host with one agent, whose model says what stands in the file of its name.
async fn host(scene: &Scene, records: Records, name: &str, lines: &str) -> Host {
    let folder = scene.folder.path().join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("replies.jsonl"), lines).unwrap();
    let echo = scene.echo.display();
    let policy = format!(
        "[plugins]\necho = \"{echo}\"\n[agents.agent]\ntools = [\"echo.*\"]\nmodels = [\"m\"]\nturns = 50\n\
         [models.m]\nprovider = \"scripted\"\nscript = \"replies.jsonl\"\n"
    );
    opened(scene, records, &folder, &policy).await
}

/// A host of this policy, in a folder of its own.
pub(crate) async fn opened(scene: &Scene, records: Records, folder: &Path, policy: &str) -> Host {
    let path = folder.join(config::NAME);
    fs::write(&path, policy).unwrap();
    let places = Places {
        state: scene.folder.path().join("state"),
        records,
        program: scene.program.clone(),
        names: Names::System,
        clock: Clock::system(),
        collector: None,
    };
    Host::open(config::setup_of(&path, places).unwrap())
        .await
        .unwrap()
}

/// A reply with a call for each turn, and an answer.
fn lines(turns: usize) -> String {
    let call = |turn| {
        format!("{{\"calls\":[{{\"tool\":\"echo.echo\",\"args\":{{\"text\":\"{turn}\"}}}}]}}\n")
    };
    let calls: String = (0..turns).map(call).collect();
    calls + "{\"text\":\"Done.\"}\n"
}

async fn pursue(host: &Host) -> Duration {
    let (wished, tasks) = (
        Goal::new(host.new_run(), Surface::Cli, "agent", "work"),
        host.tasks(),
    );
    let began = Instant::now();
    assert_eq!(host.pursue(wished, &tasks).await.unwrap(), "Done.");
    began.elapsed()
}

/// A run of so many turns, less one that only answers.
async fn turns(scene: &Scene, records: Records) -> Measured {
    let below = |records: &Records, name: &str| match records {
        Records::Folder(folder) => Records::Folder(folder.join(name)),
        Records::InMemory => Records::InMemory,
    };
    let short = host(scene, below(&records, "short"), "short", &lines(0)).await;
    let long = lines(TURNS as usize);
    let long = host(scene, below(&records, "long"), "long", &long).await;
    let samples = SAMPLES / 25;
    let (mut each, mut syncs) = (Vec::new(), 0);
    for sample in 0..WARM_UP / 10 + samples {
        let few = pursue(&short).await;
        let before = long.journal().syncs();
        let many = pursue(&long).await;
        if sample >= WARM_UP / 10 {
            each.push(many.saturating_sub(few) / TURNS);
            syncs += long.journal().syncs() - before;
        }
    }
    // What the shorter run waits for, the longer one does as well.
    let own = pursue_syncs(&short).await;
    let all = syncs as f64 / samples as f64;
    Measured {
        each,
        waits: (all - own) / f64::from(TURNS),
        wait: waits(scene, &records).await,
    }
}

async fn pursue_syncs(host: &Host) -> f64 {
    let before = host.journal().syncs();
    pursue(host).await;
    (host.journal().syncs() - before) as f64
}

/// What one wait for the disk takes: a record, and until it is there.
async fn waits(scene: &Scene, records: &Records) -> Vec<Duration> {
    if matches!(records, Records::InMemory) {
        return vec![Duration::ZERO];
    }
    let records = Records::Folder(scene.folder.path().join("waits"));
    let host = host(scene, records, "waits", &lines(0)).await;
    let mut samples = Vec::new();
    for _ in 0..200 {
        let run = host.new_run();
        host.journal()
            .append(&run, 0, Event::Resumed { traced: Vec::new() })
            .unwrap();
        let began = Instant::now();
        host.journal().sync().await.unwrap();
        samples.push(began.elapsed());
    }
    samples
}

/// Runs the child, and prints what it has measured.
pub(crate) fn crowd_row(scene: &Scene) {
    let output = Command::new(std::env::current_exe().unwrap())
        .arg("--crowd")
        .arg(scene.folder.path())
        .stderr(std::process::Stdio::inherit())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<f64> = text
        .split_whitespace()
        .map(|number| number.parse().unwrap())
        .collect();
    let [median_ms, p99_ms, peak_mib, seconds] = numbers[..] else {
        panic!("{text}");
    };
    println!(
        "{:<58} {median_ms:>7.1} ms {p99_ms:>7.1} ms",
        format!("{RUNS} durable runs at once, of {TURNS_EACH} turns: each turn")
    );
    println!("{:<58} {seconds:>8.1} s", "      all of them");
    println!("{:<58} {peak_mib:>7.0} MB", "      most memory meanwhile");
}

/// A thousand runs at once: how long their turns take, and how much memory they all.
pub(crate) fn crowd(folder: &Path) {
    let mut scene = Scene::new();
    scene.folder = tempfile::tempdir_in(folder).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let records = Records::Folder(scene.folder.path().join("records"));
        let host = host(&scene, records, "crowd", &lines(TURNS_EACH - 1)).await;
        let host = Arc::new(host);
        pursue(&host).await;
        let began = Instant::now();
        let mut runs = JoinSet::new();
        for _ in 0..RUNS {
            let host = host.clone();
            let goal = Goal::new(host.new_run(), Surface::Cli, "agent", "work");
            runs.spawn(async move {
                let run = goal.run.clone();
                let answer = host.pursue(goal, &host.tasks()).await;
                assert_eq!(answer.unwrap(), "Done.");
                run
            });
        }
        let runs = runs.join_all().await;
        let seconds = began.elapsed().as_secs_f64();
        let mut each = Vec::new();
        for run in &runs {
            each.extend(of_turns(&host.journal().records(run).await.unwrap()));
        }
        assert_eq!(each.len(), RUNS * TURNS_EACH);
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let (median, p99) = (median(&each), quantile(&each, 99));
        println!("{} {} {} {seconds}", ms(median), ms(p99), peak_mib());
    });
}

/// How long each turn of a run took, by its records: from its prompt to the next one, or to the end.
fn of_turns(records: &[Record]) -> Vec<Duration> {
    let turns = records
        .iter()
        .filter(|record| matches!(record.event, Event::Prompted { .. } | Event::Stopped(_)));
    let at: Vec<u64> = turns.map(|record| record.at).collect();
    at.windows(2)
        .map(|pair| Duration::from_millis(pair[1] - pair[0]))
        .collect()
}

fn peak_mib() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<f64>().unwrap() / 1_024.0
}

/// A reply in many pieces, less one in a single piece: read, decoded, scrubbed and seen by a watcher.
async fn streamed(scene: &Scene) -> Vec<Duration> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(serve(listener));
    let folder = scene.folder.path().join("streamed");
    fs::create_dir_all(&folder).unwrap();
    let model = |name: &str| {
        format!(
            "[models.{name}]\nprovider = \"openai\"\nurl = \"http://127.0.0.1:{port}/{name}\"\nmodel = \"m\"\nprivate = true\n\
             [agents.{name}]\nmodels = [\"{name}\"]\n"
        )
    };
    let policy = model("many") + &model("one");
    let host = opened(scene, Records::InMemory, &folder, &policy).await;
    let host = Arc::new(host);
    let mut samples = Vec::new();
    for _ in 0..20 {
        let mut took = [Duration::ZERO; 2];
        for (agent, took) in ["one", "many"].into_iter().zip(&mut took) {
            let goal = Goal::new(host.new_run(), Surface::Cli, agent, "work");
            let began = Instant::now();
            let mut running = host.start(goal);
            while running.next().await.is_some() {}
            let Reached::Answer(_) = running.end().await.unwrap() else {
                panic!("it has no answer");
            };
            *took = began.elapsed();
        }
        samples.push(took[1].saturating_sub(took[0]) / (DELTAS - 1));
    }
    samples
}

/// Answers every request with as many pieces as its path says.
async fn serve(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut head = vec![0; 64 << 10];
            let read = stream.read(&mut head).await.unwrap();
            let pieces = if head[..read].starts_with(b"POST /many") {
                DELTAS
            } else {
                1
            };
            let piece = |n| {
                format!(
                    "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"word{n} \"}}}}]}}\n\n"
                )
            };
            let pieces: String = (0..pieces).map(piece).collect();
            let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{pieces}{end}"
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
    }
}
