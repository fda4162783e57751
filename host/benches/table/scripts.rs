//! Scripts: what a fresh one costs, and what each of its calls does.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use lazaret::edges::egress::Names;
use lazaret::guests::dispatch::Request;
use lazaret::guests::tasks::Tasks;
use lazaret::runs::host::{Host, Places, Records};
use lazaret::runs::left::Resumed;
use lazaret::surfaces::config;
use lazaret::words::clock::Clock;
use lazaret::words::event::{Answer, Surface};
use lazaret::words::id::RunId;
use lazaret::words::message::WishedArgs;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::bare::{Bare, BareScript};
use crate::rows::{goal, median, ratio_goal, row};
use crate::{SAMPLES, Scene, WARM_UP, on_worker};

const SUM: &str = "return 1+1";
const FIB: &str = "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) } return fib(27)";
/// Calls of one script where a call is measured.
const CALLS: u32 = 200;
/// How long a tool waits that is called beside others.
const WAIT: Duration = Duration::from_millis(50);

/// All rows about scripts that need no process of their own.
pub(crate) fn all(scene: &'static Scene, runtime: &tokio::runtime::Runtime) {
    let micros = Duration::from_micros;
    let millis = Duration::from_millis;
    let (bare, gated) = on_worker(runtime, beside(scene, SUM, WARM_UP + SAMPLES));
    row("script: fresh `return 1+1` on the bare engine", &bare, "");
    let verdict = ratio_goal((&bare, &gated), 2.0, Some(micros(35)));
    row(
        "script: the same through all gates, journal batched",
        &gated,
        &verdict,
    );
    let (bare, gated) = on_worker(runtime, beside(scene, FIB, 15));
    row("script: fib(27) on the bare engine", &bare, "");
    let verdict = ratio_goal((&bare, &gated), 1.3, None);
    row("script: the same through all gates", &gated, &verdict);
    let unmetered = on_worker(runtime, unmetered());
    row(
        "script: the same on an engine that counts nothing",
        &unmetered,
        "",
    );
    calls(scene, runtime);
    let thousand = on_worker(runtime, thousand(scene));
    row(
        "script: with 1,000 calls of a pure tool",
        &thousand,
        &goal(median(&thousand), millis(40)),
    );
    let together = on_worker(runtime, together(scene));
    row(
        "script: `Promise.all` of 8 tools that wait 50 ms each",
        &together,
        &goal(median(&together), millis(70)),
    );
    let resumed = on_worker(runtime, resumed(scene));
    row(
        "script: resumed with 1,000 finished calls behind it",
        &resumed,
        &goal(median(&resumed), millis(60)),
    );
}

/// A host with this configuration, whose journal is in the folder of that name.
pub(crate) async fn host(scene: &Scene, name: &str, text: &str) -> Host {
    let folder = scene.folder.path().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(config::NAME);
    let (echo, hostile) = (&scene.echo, scene.echo.with_file_name("hostile.wasm"));
    let (echo, hostile) = (echo.display(), hostile.display());
    let text = format!(
        "{text}\n[plugins]\necho = \"{echo}\"\nhostile = \"{hostile}\"\n[limits]\nscript_calls = 2000\n"
    );
    std::fs::write(&path, text).unwrap();
    let places = Places {
        state: scene.folder.path().join("state"),
        records: Records::Folder(folder.join("records")),
        program: scene.program.clone(),
        names: Names::Table(
            BTreeMap::new()
                .into_iter()
                .collect::<std::collections::HashMap<_, _>>()
                .into(),
        ),
        clock: Clock::system(),
        collector: None,
    };
    Host::open(config::setup_of(&path, places).unwrap())
        .await
        .unwrap()
}

/// One script on the bare engine and through all gates, in turns.
async fn beside(scene: &Scene, source: &str, samples: usize) -> (Vec<Duration>, Vec<Duration>) {
    let host = host(scene, "sum", "").await;
    let bare = BareScript::new(&lazaret::guests::engine::best().unwrap().0);
    let (run, tasks) = (RunId::known("script"), Tasks::new());
    let (mut alone, mut gated) = (Vec::new(), Vec::new());
    for sample in 0..samples {
        let began = Instant::now();
        let text = bare.run(source, None).await;
        let first = began.elapsed();
        let began = Instant::now();
        let outcome = host.script_batched(&run, source, &tasks).await;
        let second = began.elapsed();
        assert_eq!(outcome.result.unwrap().to_string(), text);
        if sample >= samples / 10 {
            alone.push(first);
            gated.push(second);
        }
    }
    (alone, gated)
}

/// The engine of scripts on an engine that counts neither work nor time.
async fn unmetered() -> Vec<Duration> {
    let mut config = wasmtime::Config::new();
    config.cranelift_opt_level(wasmtime::OptLevel::Speed);
    let bare = BareScript::new(&wasmtime::Engine::new(&config).unwrap());
    let mut samples = Vec::new();
    for _ in 0..15 {
        let began = Instant::now();
        bare.run(FIB, None).await;
        samples.push(began.elapsed());
    }
    samples
}

/// What a call of a script costs, beside what the engine alone takes for the same.
fn calls(scene: &'static Scene, runtime: &tokio::runtime::Runtime) {
    let echo = ("echo.echo", json!({"text": "a b"}));
    let pure = on_worker(runtime, crossing(scene, echo));
    let verdict = |beyond: &[Duration], us| goal(median(beyond), Duration::from_micros(us));
    row(
        "script: a call on the bare engine, answered at once",
        &pure.step,
        "",
    );
    row(
        "script: a call on the bare engine, with its tool's guest",
        &pure.bare,
        "",
    );
    row(
        "script: the same through all gates, journal batched",
        &pure.gated,
        "",
    );
    let beyond = Crossing::beyond(&pure.gated, &pure.bare);
    row("      of that, beyond the bare engine", &beyond, "");
    let beyond = Crossing::beyond(&pure.gated, &pure.direct);
    row(
        "      of that, beyond the same call made directly",
        &beyond,
        &verdict(&beyond, 10),
    );
    let write = ("hostile.write_here", json!({}));
    let committed = on_worker(runtime, crossing(scene, write));
    let beyond = Crossing::beyond(&committed.gated, &committed.direct);
    row(
        "script: a committed call, beyond the same made directly",
        &beyond,
        &verdict(&beyond, 30),
    );
}

/// Calls of one tool: by a script on the bare engine, by one through all gates, and without a script.
#[derive(Default)]
struct Crossing {
    /// Without any tool: what the interpreter takes for a call and its answer.
    step: Vec<Duration>,
    bare: Vec<Duration>,
    gated: Vec<Duration>,
    direct: Vec<Duration>,
}

impl Crossing {
    fn beyond(whole: &[Duration], part: &[Duration]) -> Vec<Duration> {
        let pairs = whole.iter().zip(part);
        pairs
            .map(|(whole, part)| whole.saturating_sub(*part))
            .collect()
    }
}

async fn crossing(scene: &Scene, (tool, args): (&str, Value)) -> Crossing {
    let (run, tasks) = (RunId::known("crossing"), Tasks::new());
    let (plugin, short) = tool.split_once('.').unwrap();
    let host = host(
        scene,
        short,
        "flow.mode = \"off\"\n[grants.\"hostile.write_here\"]",
    )
    .await;
    let echo = Bare::new(&std::fs::read(&scene.echo).unwrap());
    let bare = BareScript::new(echo.engine());
    let source = |calls: u32| {
        format!("for (let i = 0; i < {calls}; i++) await tools.{plugin}.{short}({args}); return 1")
    };
    let mut crossing = Crossing::default();
    for sample in 0..30 {
        let [mut step, mut alone, mut gated] = [[Duration::ZERO; 2]; 3];
        for (at, calls) in [0, CALLS].into_iter().enumerate() {
            let began = Instant::now();
            bare.run(&source(calls), None).await;
            step[at] = began.elapsed();
            let began = Instant::now();
            bare.run(&source(calls), Some(&echo)).await;
            alone[at] = began.elapsed();
            let began = Instant::now();
            let outcome = host.script_batched(&run, &source(calls), &tasks).await;
            gated[at] = began.elapsed();
            outcome.result.unwrap();
        }
        let began = Instant::now();
        for _ in 0..CALLS {
            let request = Request {
                tool: tool.to_owned(),
                args: WishedArgs::Json(args.clone()),
            };
            let outcome = host.call_batched(&run, request, &tasks).await;
            outcome.result.unwrap();
        }
        // The first ones load what they need.
        if sample >= 3 {
            crossing.direct.push(began.elapsed() / CALLS);
            let each = |[none, all]: [Duration; 2]| all.saturating_sub(none) / CALLS;
            crossing.step.push(each(step));
            crossing.bare.push(each(alone));
            crossing.gated.push(each(gated));
        }
    }
    crossing
}

fn thousand_calls(then: &str) -> String {
    format!("for (let i = 0; i < 1000; i++) await tools.echo.echo({{ text: \"a b\" }}); {then}")
}

async fn thousand(scene: &Scene) -> Vec<Duration> {
    let host = host(scene, "thousand", "").await;
    let (run, tasks) = (RunId::known("thousand"), Tasks::new());
    let source = thousand_calls("return 1");
    let mut samples = Vec::new();
    for _ in 0..20 {
        let began = Instant::now();
        let outcome = host.script_batched(&run, &source, &tasks).await;
        samples.push(began.elapsed());
        outcome.result.unwrap();
    }
    samples
}

/// Eight requests to a server on loopback that lets each wait.
async fn together(scene: &Scene) -> Vec<Duration> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!(
        "http://127.0.0.1:{}/",
        listener.local_addr().unwrap().port()
    );
    let serving = tokio::spawn(serve(listener));
    let grant =
        format!("[grants.\"web.get_json\"]\nfetch = [{{ url = \"{url}\", private = true }}]");
    let host = host(scene, "together", &grant).await;
    let (run, tasks) = (RunId::known("together"), Tasks::new());
    let source = format!(
        "const all = await Promise.all([...Array(8)].map(() => tools.web.get_json({{ url: \"{url}\" }}))); \
         return all.length"
    );
    let mut samples = Vec::new();
    for sample in 0..21 {
        let began = Instant::now();
        let outcome = host.script_batched(&run, &source, &tasks).await;
        let took = began.elapsed();
        assert_eq!(outcome.result.unwrap(), 8);
        // The first loads the plugin.
        if sample > 0 {
            samples.push(took);
        }
    }
    serving.abort();
    samples
}

async fn serve(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            tokio::time::sleep(WAIT).await;
            let said = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1\r\nconnection: close\r\n\r\n1";
            stream.write_all(said.as_bytes()).await.unwrap();
        });
    }
}

/// A script with a thousand calls behind it waits for a person, and goes on.
async fn resumed(scene: &Scene) -> Vec<Duration> {
    let host = host(scene, "resumed", "ask = [\"text.count\"]").await;
    let source = thousand_calls("return await tools.text.count({ text: \"a b\" })");
    let mut samples = Vec::new();
    for _ in 0..9 {
        let (run, tasks) = (host.new_run(), Tasks::new());
        let left = host.script(run.clone(), Surface::Cli, source.clone(), &tasks);
        assert!(left.await.unwrap().outcome.result.is_err());
        let question = host.questions().await.unwrap().remove(0).question.id;
        host.answer(question.as_str(), Answer::Allow).await.unwrap();
        let began = Instant::now();
        let resumed = host.resume(&run, &Tasks::new()).await.unwrap();
        samples.push(began.elapsed());
        let Resumed::Called(called) = resumed else {
            panic!("a script is no agent");
        };
        called.outcome.result.unwrap();
    }
    samples
}
