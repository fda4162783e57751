//! Components that are made to be hard to compile: the process that tries is ended at its limit, and says so.

use lazaret::guests::compile::{CompileBounds, Compiler};
use lazaret::words::error::{Error, Result};
use lazaret::words::event::{Event, Glimpse, Sight};
use lazaret_tests::forge;
use lazaret_tests::prelude::*;
use lazaret_tests::rig::make_state;

/// Little time and memory for one component.
const LITTLE: CompileBounds = CompileBounds {
    memory_bytes: 1 << 30,
    cpu_seconds: 1,
    timeout_ms: 60_000,
};

async fn compile(component: &[u8], bounds: CompileBounds) -> Result<usize> {
    let compiler = Compiler::new(&target().join("debug/lazaret")).within(bounds);
    Ok(compiler.compile(component).await?.len())
}

/// A function of so many locals, in which every branch of a table ends somewhere else and changes some of them: all
/// of them have to be joined at every end.
fn tangled(locals: usize, branches: usize, body_bytes: usize) -> Vec<u8> {
    let targets: String = (0..branches).map(|at| format!(" {at}")).collect();
    let mut body = "(block ".repeat(branches);
    body.push_str(&format!("(br_table{targets} (local.get 0)))"));
    let step = |at: usize| {
        let (one, other) = (at * 7_919 % locals, at * 104_729 % locals);
        format!(" (local.set {one} (i32.add (local.get {other}) (i32.const {at})))")
    };
    let steps = body_bytes / 12 / branches.max(1);
    for branch in 1..branches {
        (0..steps).for_each(|at| body.push_str(&step(branch * steps + at)));
        body.push(')');
    }
    (0..steps).for_each(|at| body.push_str(&step(at)));
    let locals = " i32".repeat(locals);
    forge::plugin(
        forge::MANIFEST,
        &format!("(func (param i32) (result i32) (local{locals}) {body} (local.get 1))"),
    )
}

fn stopped(compiled: Result<usize>, says: &str) -> Error {
    let error = compiled.expect_err("it takes more than it may");
    assert!(
        matches!(error.code(), Code::TooSlow | Code::OutOfMemory),
        "{error:?}"
    );
    assert!(error.message().contains(says), "{error:?}");
    error
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_of_megabytes_with_fifty_thousand_locals_is_given_up_at_the_limit() {
    let component = tangled(49_000, 2_000, 6_000_000);
    assert!(component.len() > 4_000_000, "{}", component.len());
    let error = stopped(
        compile(&component, LITTLE).await,
        "compiling took more than 1",
    );
    assert_eq!(error.code(), Code::TooSlow);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_of_a_million_branches_is_not_even_tried() {
    let targets = " 0".repeat(1_000_000);
    let body = format!("(block (br_table{targets} (local.get 0)))");
    let component = forge::plugin(forge::MANIFEST, &format!("(func (param i32) {body})"));
    let error = compile(&component, LITTLE).await.expect_err("too many");
    assert_eq!(error.code(), Code::BadPlugin);
    assert!(
        error.message().contains("`br_table` has 999999"),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_has_a_limit_as_well() {
    let component = tangled(49_000, 2_000, 6_000_000);
    let bounds = CompileBounds {
        memory_bytes: 200 << 20,
        cpu_seconds: 30,
        ..LITTLE
    };
    let error = stopped(compile(&component, bounds).await, "more than 200 MiB");
    assert_eq!(error.code(), Code::OutOfMemory);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_easy_is_compiled_within_little() {
    let component = tangled(8, 8, 100);
    assert!(compile(&component, LITTLE).await.expect("it is easy") > 1_000);
}

/// How far whoever watches is told that a call is, or a script.
async fn told(rig: &Rigged, tool: Option<&str>) -> Vec<String> {
    let (run, tasks) = (rig.host.new_run(), Tasks::new());
    let mut watcher = rig.host.watch(&run);
    let called = match tool {
        Some(tool) => rig.call_in(run, &tasks, (tool, r#"{"text": "a"}"#)).await,
        None => rig.script_in(run, &tasks, "return 1").await,
    };
    assert!(called.outcome.result.is_ok(), "{:?}", called.outcome.result);
    let mut told = Vec::new();
    loop {
        match watcher.next().await {
            Sight::Glimpse {
                glimpse: Glimpse::Progress { message, .. },
                ..
            } => told.push(message),
            Sight::Record(record) if matches!(record.event, Event::Stopped(_)) => return told,
            Sight::Glimpse { .. } | Sight::Record(_) => {}
        }
    }
}

/// That something is compiled is said where it is, and that it runs once nothing keeps it waiting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_is_compiled_is_said_to_be_compiled() {
    let state = tempfile::tempdir().expect("a folder for the test");
    make_state(state.path()).await;
    let open = async || Rig::of("").state(state.path()).open().await;
    let rig = open().await;
    assert_eq!(told(&rig, Some("text.count")).await, ["running"]);
    assert_eq!(told(&rig, None).await, ["running"]);
    // What is there already is waited for by nobody.
    for tool in [Some("text.count"), None] {
        assert_eq!(told(&rig, tool).await, Vec::<String>::new());
    }
    drop(rig);
    let rig = open().await;
    for entry in std::fs::read_dir(state.path().join("cache")).expect("a cache") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|ends| ends == "code") {
            std::fs::remove_file(path).expect("it can be removed");
        }
    }
    assert_eq!(
        told(&rig, Some("text.count")).await,
        ["compiling (once, then cached)", "running"]
    );
}
