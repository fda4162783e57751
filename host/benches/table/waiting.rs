//! Many scripts that wait for a person, in a process of their own: what they hold in memory.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use lazaret::guests::tasks::Tasks;
use lazaret::words::error::Code;
use lazaret::words::event::Surface;

use crate::rows::resident_kib;
use crate::{Scene, scripts};

const SCRIPTS: usize = 10_000;
/// Before the growth is measured.
const FIRST: usize = 100;
/// How many are begun at once.
const TOGETHER: usize = 16;
const SOURCE: &str = "return await tools.echo.echo({ text: \"a b\" })";

/// Runs the child, and prints what it has measured.
pub(crate) fn row(scene: &Scene) {
    let output = Command::new(std::env::current_exe().unwrap())
        .arg("--waiting")
        .arg(scene.folder.path())
        .stderr(std::process::Stdio::inherit())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut numbers = text
        .split_whitespace()
        .map(|number| number.parse::<f64>().unwrap());
    let (mib, seconds) = (numbers.next().unwrap(), numbers.next().unwrap());
    let verdict = if mib <= 50.0 { "met" } else { "MISSED" };
    println!(
        "{:<58} {mib:>7.1} MB {:>10}  ≤ 50 MB: {verdict}",
        format!("script: {SCRIPTS} that wait for a person, memory growth"),
        ""
    );
    println!("{:<58} {seconds:>8.1} s", "      begun and left in");
}

/// Leaves scripts, and says by how many MiB that has grown the process, and in how many seconds.
pub(crate) fn child(folder: &Path) {
    let mut scene = Scene::new();
    let folder = tempfile::tempdir_in(folder).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        scene.folder = folder;
        let host =
            std::sync::Arc::new(scripts::host(&scene, "waiting", "ask = [\"echo.echo\"]").await);
        let began = Instant::now();
        let mut before = 0;
        for begun in (0..SCRIPTS).step_by(TOGETHER) {
            if begun <= FIRST {
                before = resident_kib();
            }
            let mut some = tokio::task::JoinSet::new();
            for _ in begun..SCRIPTS.min(begun + TOGETHER) {
                let host = host.clone();
                some.spawn(async move {
                    let (run, tasks) = (host.new_run(), Tasks::new());
                    let left = host.script(run, Surface::Cli, SOURCE.to_owned(), &tasks);
                    left.await.unwrap().outcome.result.unwrap_err().code()
                });
            }
            for code in some.join_all().await {
                assert_eq!(code, Code::Asked);
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        let grown = resident_kib().saturating_sub(before) as f64 / 1_024.0;
        println!("{grown} {seconds}");
    });
}
