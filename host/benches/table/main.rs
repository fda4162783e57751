//! The bench table: what the gates cost, beside the bare engine in the same run.
//!
//! Machines are noisy, so the ratios count; absolute figures are for orientation. `make bench` runs
//! this and prints one table. A number of design §12 that is missed says so.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::as_conversions,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement opens its own doors, and fails loudly"
)]

mod bare;
mod beside;
mod context;
mod durable;
mod flow;
mod rows;
mod scripts;
mod turns;
mod waiting;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use lazaret::edges::egress::Names;
use lazaret::edges::vault::{Backend, Secret, Vault};
use lazaret::guests::catalog::Collisions;
use lazaret::guests::dispatch::Request;
use lazaret::guests::plugin::{self, Installed, Whose};
use lazaret::guests::tasks::Tasks;
use lazaret::rules::policy::Policy;
use lazaret::rules::running::RunRules;
use lazaret::rules::tier::Chains;
use lazaret::runs::host::{Host, Places, Records, Setup};
use lazaret::words::clock::Clock;
use lazaret::words::event::Surface;
use lazaret::words::id::RunId;
use lazaret::words::message::WishedArgs;
use rows::{goal, median, ratio_goal, row};

const WARM_UP: usize = 500;
const SAMPLES: usize = 5_000;
const CALLERS: usize = 64;
/// Parts of the table that can be asked for alone.
const ONLY: [&str; 4] = ["durable", "turns", "scripts", "beside"];

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("--resident") => resident_child(Path::new(&arguments.next().unwrap())),
        Some("--waiting") => waiting::child(Path::new(&arguments.next().unwrap())),
        Some("--crowd") => turns::crowd(Path::new(&arguments.next().unwrap())),
        _ => table(),
    }
}

fn table() {
    // For whoever looks where the time goes: `--bench table -- scripts`, `-- durable`, `-- turns`, `-- beside`, or `-- flow`, which needs
    // no guests.
    if std::env::args().any(|argument| argument == "flow") {
        return without_guests();
    }
    let only = std::env::args().find(|argument| ONLY.contains(&argument.as_str()));
    let scene: &'static Scene = Box::leak(Box::new(Scene::new()));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    println!("machine: {}", machine());
    println!("{:<58} {:>10} {:>10}  goal", "work", "p50", "p99");
    if let Some(only) = only {
        match only.as_str() {
            "durable" => durable::all(scene, &runtime),
            "turns" => turned(scene, &runtime),
            "beside" => beside::all(scene, &runtime),
            _ => scripts::all(scene, &runtime),
        }
        return fs::remove_dir_all(scene.folder.path()).unwrap();
    }
    let cache = on_worker(&runtime, compile(scene));
    let (bare, gated) = on_worker(&runtime, echo(scene));
    row("echo: fresh guest on the bare engine", &bare, "");
    row(
        "echo: the same through all gates, journal batched",
        &gated,
        &ratio_goal((&bare, &gated), 2.2, Some(Duration::from_micros(30))),
    );
    let committed = on_worker(&runtime, committed(scene));
    row(
        "echo: as a whole run, records committed to disk",
        &committed,
        "",
    );
    let (busy, rate) = on_worker(&runtime, concurrent(scene));
    row(
        &format!("echo: each of {CALLERS} callers at once"),
        &busy,
        "",
    );
    println!(
        "{:<58} {:>10.0}",
        "      calls a second, all together", rate
    );
    beside::all(scene, &runtime);
    let inner = on_worker(&runtime, inner(scene));
    row(
        "an inner call beyond the tool's own guest (`call`)",
        &inner,
        "",
    );
    row(
        "component from nothing: compiled in a child process",
        &cache.0,
        "",
    );
    row("component from the compile cache", &cache.1, "");
    let process = process(scene);
    row(
        "`lazaret call text.count`, whole process",
        &process,
        &goal(median(&process), Duration::from_millis(30)),
    );
    resident(scene);
    secrets(scene, &runtime);
    without_guests();
    turned(scene, &runtime);
    durable::all(scene, &runtime);
    scripts::all(scene, &runtime);
    waiting::row(scene);
    fs::remove_dir_all(scene.folder.path()).unwrap();
}

fn turned(scene: &'static Scene, runtime: &tokio::runtime::Runtime) {
    turns::all(scene, runtime);
    turns::crowd_row(scene);
}

/// What is measured of rules alone.
fn without_guests() {
    flow::all();
    context::all();
}

/// As in a server: on a worker of the runtime, where a task that is spawned needs no other thread.
fn on_worker<T: Send + 'static>(
    runtime: &tokio::runtime::Runtime,
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    runtime.block_on(runtime.spawn(work)).unwrap()
}

/// A state folder of its own, the echo guest, and this build's program.
struct Scene {
    folder: tempfile::TempDir,
    echo: PathBuf,
    program: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let target = target();
        let scene = Self {
            folder: tempfile::tempdir().unwrap(),
            echo: target.join("guests/echo.wasm"),
            program: target.join("debug/lazaret"),
        };
        assert!(
            scene.echo.exists() && scene.program.exists(),
            "run `make bench`, which builds what is measured"
        );
        scene
    }

    fn setup(&self, plugins: BTreeMap<String, PathBuf>, records: Records) -> Setup {
        Setup {
            policy: Policy::nothing("bench"),
            mounts: BTreeMap::new(),
            plugins: plugins
                .into_iter()
                .map(|(name, path)| {
                    (
                        name,
                        Installed {
                            path,
                            signed_by: None,
                            whose: Whose::User,
                        },
                    )
                })
                .collect(),
            servers: Vec::new(),
            collisions: Collisions::default(),
            agents: BTreeMap::new(),
            models: BTreeMap::new(),
            counsel: Vec::new(),
            chains: Chains::default(),
            rules: RunRules::default(),
            engine: plugin::script_engine(),
            vault: Vault::default(),
            places: Places {
                state: self.folder.path().join("state"),
                records,
                program: self.program.clone(),
                names: Names::System,
                clock: Clock::system(),
                collector: None,
            },
        }
    }

    async fn host(&self, records: Records) -> Host {
        let plugins = BTreeMap::from([("echo".to_owned(), self.echo.clone())]);
        Host::open(self.setup(plugins, records)).await.unwrap()
    }
}

fn target() -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    exe.ancestors()
        .find(|folder| folder.ends_with("target"))
        .unwrap()
        .to_owned()
}

fn request() -> Request {
    Request {
        tool: "echo.echo".to_owned(),
        args: lazaret::rules::json::wished(r#"{"text":"a b"}"#),
    }
}

/// The bare engine and the gated path take turns, so that both see the same machine.
async fn echo(scene: &Scene) -> (Vec<Duration>, Vec<Duration>) {
    let host = scene
        .host(Records::Folder(scene.folder.path().join("records")))
        .await;
    let bare = bare::Bare::new(&std::fs::read(&scene.echo).unwrap());
    let (run, tasks) = (RunId::known("bench"), Tasks::new());
    let (mut alone, mut gated) = (Vec::new(), Vec::new());
    for sample in 0..WARM_UP + SAMPLES {
        let began = Instant::now();
        bare.echo().await;
        let first = began.elapsed();
        let began = Instant::now();
        let outcome = host.call_batched(&run, request(), &tasks).await;
        let second = began.elapsed();
        assert_eq!(outcome.result.unwrap(), "a b");
        if sample >= WARM_UP {
            alone.push(first);
            gated.push(second);
        }
    }
    (alone, gated)
}

async fn committed(scene: &Scene) -> Vec<Duration> {
    let host = scene
        .host(Records::Folder(scene.folder.path().join("committed")))
        .await;
    let mut samples = Vec::new();
    for _ in 0..SAMPLES / 10 {
        let began = Instant::now();
        let called = host
            .call(host.new_run(), Surface::Cli, request(), &Tasks::new())
            .await
            .unwrap();
        samples.push(began.elapsed());
        assert!(called.outcome.result.is_ok());
    }
    samples
}

/// Latency from the moment a call is wished, and calls a second of all callers together.
async fn concurrent(scene: &Scene) -> (Vec<Duration>, f64) {
    let host = scene
        .host(Records::Folder(scene.folder.path().join("busy")))
        .await;
    let host = std::sync::Arc::new(host);
    let mut samples = Vec::new();
    let all = Instant::now();
    for _ in 0..SAMPLES / CALLERS {
        let callers = (0..CALLERS).map(|_| {
            let (host, wished) = (host.clone(), Instant::now());
            tokio::spawn(async move {
                let outcome = host
                    .call_batched(&RunId::known("busy"), request(), &Tasks::new())
                    .await;
                assert!(outcome.result.is_ok());
                wished.elapsed()
            })
        });
        samples.extend(join_all(callers).await.into_iter().map(Result::unwrap));
    }
    let rate = samples.len() as f64 / all.elapsed().as_secs_f64();
    (samples, rate)
}

/// A tool that calls `echo` a hundred times, less the same tool calling it not at all.
async fn inner(scene: &Scene) -> Vec<Duration> {
    const CALLS: u32 = 100;
    let mut setup = scene.setup(
        BTreeMap::from([("echo".to_owned(), scene.echo.clone())]),
        Records::InMemory,
    );
    let pattern = |text: &str| lazaret::rules::grant::Pattern::try_from(text.to_owned()).unwrap();
    let grant = lazaret::rules::grant::Grant {
        calls: vec![pattern("echo.*")],
        ..Default::default()
    };
    setup.policy.lines.push(lazaret::rules::policy::Line {
        tools: pattern("echo.repeat"),
        grant,
    });
    let host = Host::open(setup).await.unwrap();
    let mut samples = Vec::new();
    for _ in 0..50 {
        let repeat = |times: u32| Request {
            tool: "echo.repeat".to_owned(),
            args: WishedArgs::Json(serde_json::json!({"tool": "echo.echo", "times": times})),
        };
        let tasks = Tasks::new();
        let mut took = [Duration::ZERO; 2];
        for (times, took) in [0, CALLS].into_iter().zip(&mut took) {
            let began = Instant::now();
            let outcome = host
                .call_batched(&RunId::known("inner"), repeat(times), &tasks)
                .await;
            *took = began.elapsed();
            outcome.result.unwrap();
        }
        samples.push(took[1].saturating_sub(took[0]) / CALLS);
    }
    let own = median(&bare_of(scene).await);
    samples
        .into_iter()
        .map(|sample| sample.saturating_sub(own))
        .collect()
}

async fn bare_of(scene: &Scene) -> Vec<Duration> {
    let bare = bare::Bare::new(&std::fs::read(&scene.echo).unwrap());
    let mut samples = Vec::new();
    for _ in 0..WARM_UP {
        let began = Instant::now();
        bare.echo().await;
        samples.push(began.elapsed());
    }
    samples
}

/// Host and first call with an empty cache, and with a full one.
async fn compile(scene: &Scene) -> (Vec<Duration>, Vec<Duration>) {
    // The bundled plugins are not what is measured.
    drop(
        Host::open(scene.setup(BTreeMap::new(), Records::InMemory))
            .await
            .unwrap(),
    );
    let (mut miss, mut hit) = (Vec::new(), Vec::new());
    for sample in 0..5_u8 {
        let path = scene.folder.path().join(format!("fresh-{sample}.wasm"));
        std::fs::write(
            &path,
            with_section(&std::fs::read(&scene.echo).unwrap(), sample),
        )
        .unwrap();
        for samples in [&mut miss, &mut hit] {
            let plugins = BTreeMap::from([("fresh".to_owned(), path.clone())]);
            let began = Instant::now();
            let host = Host::open(scene.setup(plugins, Records::InMemory))
                .await
                .unwrap();
            let outcome = host
                .call_batched(&RunId::known("compile"), request(), &Tasks::new())
                .await;
            samples.push(began.elapsed());
            assert!(outcome.result.is_ok());
        }
    }
    (miss, hit)
}

/// The same component under another digest: a custom section more.
fn with_section(component: &[u8], mark: u8) -> Vec<u8> {
    let mut bytes = component.to_vec();
    bytes.extend_from_slice(&[0, 6, 4, b'm', b'a', b'r', b'k', mark]);
    bytes
}

fn process(scene: &Scene) -> Vec<Duration> {
    let call = || {
        let home = scene.folder.path().join("home");
        let status = Command::new(&scene.program)
            .args(["call", "text.count", r#"{"text":"a b"}"#, "--quiet"])
            .current_dir(scene.folder.path())
            .env_clear()
            .env("HOME", &home)
            .env("LAZARET_SYSTEM_CONFIG", home.join("none.toml"))
            .stdout(std::process::Stdio::null())
            .status();
        assert!(status.unwrap().success());
    };
    call();
    let timed = |_| {
        let began = Instant::now();
        call();
        began.elapsed()
    };
    (0..40).map(timed).collect()
}

/// A process of its own with twenty plugins, none of them called: how long until ready, and how large.
fn resident(scene: &Scene) {
    let measure = || {
        let output = Command::new(std::env::current_exe().unwrap())
            .arg("--resident")
            .arg(scene.folder.path())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut numbers = text
            .split_whitespace()
            .map(|number| number.parse::<u64>().unwrap());
        (
            Duration::from_micros(numbers.next().unwrap()),
            numbers.next().unwrap(),
        )
    };
    // The first fills the cache.
    measure();
    let samples: Vec<_> = (0..7).map(|_| measure()).collect();
    let ready: Vec<Duration> = samples.iter().map(|(ready, _)| *ready).collect();
    let goal_ready = goal(median(&ready), Duration::from_millis(50));
    row("host ready with 20 cached plugins", &ready, &goal_ready);
    let mib = samples.iter().map(|(_, kib)| kib / 1_024).max().unwrap();
    let verdict = if mib <= 60 {
        "≤ 60 MB: met"
    } else {
        "≤ 60 MB: MISSED"
    };
    println!(
        "{:<58} {:>7} MB {:>10}  {verdict}",
        "      resident memory then", mib, ""
    );
}

fn resident_child(folder: &Path) {
    let echo = std::fs::read(target().join("guests/echo.wasm")).unwrap();
    let mut plugins = BTreeMap::new();
    for mark in 0..14_u8 {
        let path = folder.join(format!("resident-{mark}.wasm"));
        std::fs::write(&path, with_section(&echo, 100 + mark)).unwrap();
        plugins.insert(format!("echo-{mark}"), path);
    }
    let scene = Scene::new();
    let mut setup = scene.setup(plugins, Records::InMemory);
    setup.places.state = folder.join("state");
    let began = Instant::now();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let host = runtime.block_on(Host::open(setup)).unwrap();
    let ready = began.elapsed();
    assert_eq!(host.catalog().plugins().len(), 20);
    println!("{} {}", ready.as_micros(), rows::resident_kib());
}

/// A vault that holds fifty secrets, each of which has to be known before anything is done.
fn secrets(scene: &'static Scene, runtime: &tokio::runtime::Runtime) {
    let ready = on_worker(runtime, with_secrets(scene));
    let goal_ready = goal(median(&ready), Duration::from_millis(50));
    row("host ready with 50 secrets in a file", &ready, &goal_ready);
}

async fn with_secrets(scene: &Scene) -> Vec<Duration> {
    const VALUE: &str = "x7Kq29LmTb4ZrW8sVn3cQ5dY6hJ1pF0g";
    let vault = Vault::new(Backend::File, &scene.folder.path().join("vault"));
    for number in 0..50 {
        let (head, tail) = VALUE.split_at(number % VALUE.len());
        let secret = Secret::new(format!("{tail}{number}{head}")).unwrap();
        vault.store(&format!("secret-{number}"), &secret).unwrap();
    }
    let mut samples = Vec::new();
    for _ in 0..20 {
        let mut setup = scene.setup(BTreeMap::new(), Records::InMemory);
        setup.vault = vault.clone();
        let began = Instant::now();
        let host = Host::open(setup).await.unwrap();
        samples.push(began.elapsed());
        drop(host);
    }
    samples
}

fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find(|line| line.starts_with("model name"))
        .and_then(|line| line.split(": ").nth(1));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{}, {cores} cores", model.unwrap_or("unknown"))
}
