//! `lazaret serve` under load: `make load`. Calls of a tool that only looks, by `wrk` over connections that are kept, beside
//! the same calls without a surface; and a script with two hundred clients who watch it beside the same script without.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lazaret::edges::egress::Names;
use lazaret::guests::dispatch::Request;
use lazaret::runs::host::{Host, Places, Records};
use lazaret::surfaces::config;
use lazaret::words::clock::Clock;
use lazaret::words::event::Surface;
use lazaret::words::message::WishedArgs;
use lazaret_tests::client::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Calls of the script that is watched, once all are there who watch it.
const CALLS: usize = 200;
const WATCHERS: usize = 200;
/// Runs with and without them, by turns.
const ROUNDS: usize = 7;
/// Calls without a surface.
const DIRECT: usize = 2_000;
const TOOL: &str = "text.count";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program] = arguments.as_slice() else {
        eprintln!("load: which program? `make load` says it");
        return ExitCode::from(2);
    };
    if Command::new("wrk").arg("--version").output().is_err() {
        eprintln!("load: there is no `wrk`; it comes as a package of that name");
        return ExitCode::from(2);
    }
    let scene = Scene::start(Path::new(program));
    let direct = scene.direct();
    scene.calls(direct);
    scene.watched();
    ExitCode::SUCCESS
}

/// How long a call takes without a surface.
#[derive(Clone, Copy)]
struct Direct {
    /// One right behind the other, so that the processor has everything at hand.
    without_pause: Duration,
    /// Each when a byte has arrived that somebody else sent, as those over HTTP are made: the thread was asleep before.
    on_demand: Duration,
}

fn median(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    took[took.len() / 2]
}

/// Makes the call; how long that took.
async fn call(host: &Host) -> Duration {
    let (run, tasks) = (host.new_run(), host.tasks());
    let request = Request {
        tool: TOOL.to_owned(),
        args: WishedArgs::Json(input()),
    };
    let began = Instant::now();
    let called = host.call(run, Surface::Http, request, &tasks).await;
    let took = began.elapsed();
    called.expect("a journal").outcome.result.expect("a count");
    took
}

/// One end of a connection, and a client at the other one, which sends the next byte when it has had one.
async fn awaited() -> (TcpStream, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let client = std::thread::spawn(move || {
        let mut stream = std::net::TcpStream::connect(address).expect("a listener");
        stream.set_nodelay(true).expect("a stream");
        for _ in 0..DIRECT {
            stream.write_all(&[1]).expect("a reader");
            stream.read_exact(&mut [0]).expect("an answer");
        }
    });
    let (stream, _) = listener.accept().await.expect("a client");
    stream.set_nodelay(true).expect("a stream");
    (stream, client)
}

/// A server of its own, in a folder of its own.
struct Scene {
    program: PathBuf,
    folder: tempfile::TempDir,
    child: Child,
    client: Client,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(program: &Path, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder.join("work"))
        .env("HOME", folder)
        .env("XDG_STATE_HOME", folder.join("state"))
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .env("LAZARET_SYSTEM_CONFIG", folder.join("none"));
    command
}

impl Scene {
    fn start(program: &Path) -> Self {
        let program: PathBuf = program.canonicalize().expect("a program");
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("work")).expect("a folder");
        let limits = format!("[limits]\nscript_calls = {}\n", CALLS + 1);
        let place = folder.path().join("work/lazaret.toml");
        std::fs::write(place, limits).expect("a file");
        let run = |arguments: &[&str]| {
            let output = command(&program, folder.path(), arguments).output();
            let output = output.expect("a program");
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).expect("text")
        };
        run(&["policy", "trust"]);
        let token = run(&["serve", "--show-token"]).trim().to_owned();
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--json"];
        let mut child = command(&program, folder.path(), &arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("a server");
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("its output"));
        out.read_line(&mut line).expect("a line");
        let ready: Value = serde_json::from_str(&line).expect("JSON");
        let client = Client {
            address: ready["address"].as_str().expect("an address").to_owned(),
            token,
            heard: Arc::default(),
        };
        Self {
            program,
            folder,
            child,
            client,
        }
    }

    /// The same call by a host in this process, as a whole run that is committed to the disk: dispatch without a surface.
    fn direct(&self) -> Direct {
        let folder = self.folder.path().join("direct");
        std::fs::create_dir(&folder).expect("a folder");
        let path = folder.join(config::NAME);
        std::fs::write(&path, "").expect("a file");
        let places = Places {
            state: folder.join("state"),
            records: Records::Folder(folder.join("records")),
            program: self.program.clone(),
            names: Names::System,
            clock: Clock::system(),
            collector: None,
        };
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let calling = runtime.spawn(async move {
            let setup = config::setup_of(&path, places).expect("a configuration");
            let host = Host::open(setup).await.expect("a host");
            let mut took = Vec::with_capacity(DIRECT);
            for _ in 0..DIRECT {
                took.push(call(&host).await);
            }
            let without_pause = median(took);
            let (mut stream, client) = awaited().await;
            let mut took = Vec::with_capacity(DIRECT);
            while stream.read_u8().await.is_ok() {
                took.push(call(&host).await);
                stream.write_u8(1).await.expect("a client");
            }
            client.join().expect("a client");
            Direct {
                without_pause,
                on_demand: median(took),
            }
        });
        runtime.block_on(calling).expect("medians")
    }

    /// Calls of a tool that only looks.
    fn calls(&self, direct: Direct) {
        let said = |what: &str, took: Duration| println!("{what:<55}{:>9} us", took.as_micros());
        let what = format!("call of {TOOL} without a surface, median");
        said(&what, direct.without_pause);
        said("the same, made when a byte has arrived", direct.on_demand);
        let script = self.folder.path().join("call.lua");
        let text = format!(
            "wrk.method = \"POST\"\nwrk.headers[\"authorization\"] = \"Bearer {}\"\n\
             wrk.headers[\"content-type\"] = \"application/json\"\nwrk.body = '{}'\n",
            self.client.token,
            json!({"input": input()})
        );
        std::fs::write(&script, text).expect("a file");
        for connections in [1, 8, 64] {
            let url = format!("http://{}/v1/tools/{TOOL}/call", self.client.address);
            let output = Command::new("wrk")
                .args(["-t1", "-d5s", "--latency"])
                .arg(format!("-c{connections}"))
                .arg("-s")
                .arg(&script)
                .arg(url)
                .output()
                .expect("wrk");
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let said = |name: &str| {
                let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
                line.map(|rest| rest.trim().to_owned())
                    .unwrap_or_else(|| panic!("{text}"))
            };
            assert!(!text.contains("Non-2xx"), "{text}");
            println!(
                "calls over HTTP, {connections:>2} connections: {:>10} a second, median {:>8}, 99 of 100 {:>8}",
                said("Requests/sec:"),
                said("50%"),
                said("99%")
            );
            if connections == 1 {
                let beyond = |direct: Duration| micros(&said("50%")) - direct.as_secs_f64() * 1e6;
                println!(
                    "      of that, beyond the same without a surface {:>6.0} us when a byte has arrived, {:.0} us without a pause",
                    beyond(direct.on_demand),
                    beyond(direct.without_pause)
                );
            }
        }
    }

    /// A script with those who watch it, and without.
    fn watched(&self) {
        let (mut alone, mut seen) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            alone.push(self.run(0));
            seen.push(self.run(WATCHERS));
        }
        let middle = |times: &mut Vec<u64>| {
            times.sort_unstable();
            times[times.len() / 2]
        };
        let (alone, seen) = (middle(&mut alone), middle(&mut seen));
        println!("{CALLS} calls of a script, nobody watches, median        {alone:>9} ms");
        println!("the same with {WATCHERS} who watch it, median            {seen:>9} ms");
    }

    /// How long the calls of a script take, in milliseconds of its own records.
    fn run(&self, watchers: usize) -> u64 {
        let newest = || self.client.get("/v1/runs?limit=1").is(200)["runs"][0]["run"].clone();
        let before = newest();
        // It waits until they are there.
        let source = format!(
            "await new Promise(done => setTimeout(done, 3000));
             for (let i = 0; i < {CALLS}; i++) await tools.text.count({{text: 'a b '.repeat(10000) + i}});"
        );
        let script = std::thread::spawn({
            let client = self.client.clone();
            move || {
                client
                    .post("/v1/scripts", &json!({"source": source}))
                    .is(200)
            }
        });
        let run = loop {
            let run = newest();
            if run != before {
                break run.as_str().expect("a name").to_owned();
            }
        };
        let watching = std::thread::spawn({
            let (client, run) = (self.client.clone(), run.clone());
            move || watch(&client, &run, watchers)
        });
        script.join().expect("a script");
        let told = self.client.get(&format!("/v1/runs/{run}")).is(200);
        let records = told["records"].as_array().expect("records");
        for seen in watching.join().expect("the watchers") {
            assert_eq!(seen, records.len(), "somebody missed a record");
        }
        let at = |word: &str| {
            let mut of = records.iter().filter(|record| record["event"] == word);
            let at = |record: &Value| record["at"].as_u64().expect("a time");
            (of.next().map(at), of.next_back().map(at))
        };
        let (began, ended) = (at("rested").0, at("finished").1);
        ended
            .zip(began)
            .map(|(ended, began)| ended - began)
            .expect("calls")
    }
}

fn input() -> Value {
    json!({"text": "a b"})
}

/// A time as `wrk` writes it, in microseconds.
fn micros(text: &str) -> f64 {
    let number = |unit: &str| text.strip_suffix(unit)?.parse::<f64>().ok();
    let long = || Some(number("ms")? * 1e3);
    number("us")
        .or_else(long)
        .expect("a time of less than a second")
}

/// So many who watch a run to its end, on one thread, so that they take as little as they can from the cores that the
/// server has; how many records each has seen.
fn watch(client: &Client, run: &str, watchers: usize) -> Vec<usize> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let request = format!(
        "GET /v1/runs/{run}/events HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n",
        client.address, client.token
    );
    runtime.block_on(async {
        let seen = (0..watchers).map(|_| seen(&client.address, &request));
        futures_util::future::join_all(seen).await
    })
}

/// How many records one of them sees.
async fn seen(address: &str, request: &str) -> usize {
    const RECORD: &[u8] = b"event: record";
    let mut stream = tokio::net::TcpStream::connect(address)
        .await
        .expect("a server");
    stream
        .write_all(request.as_bytes())
        .await
        .expect("it reads");
    let (mut count, mut piece) = (0, Vec::new());
    let mut bytes = vec![0; 64 << 10];
    loop {
        let read = stream.read(&mut bytes).await.expect("it writes");
        if read == 0 {
            return count;
        }
        piece.extend_from_slice(&bytes[..read]);
        count += piece
            .windows(RECORD.len())
            .filter(|window| *window == RECORD)
            .count();
        // What may be the beginning of the next.
        let rest = piece.len().saturating_sub(RECORD.len() - 1);
        piece.drain(..rest);
    }
}
