//! The example's runs: watched, answered, gone on with, stopped.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lazaret::runs::host::Host;
use lazaret::words::error::{Code, Error};
use lazaret::words::event::Answer;
use lazaret_example_library::{open, stopped, talk, work};

async fn scene() -> (tempfile::TempDir, Arc<Host>) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["lazaret.toml", "replies.jsonl", "told.jsonl"] {
        fs::copy(root.join(name), folder.path().join(name)).expect("a file of the example");
    }
    fs::create_dir(folder.path().join("out")).expect("a folder");
    let target = target();
    let program = target.join("debug/lazaret");
    assert!(
        program.is_file(),
        "{} is missing: `cargo build -p lazaret`",
        program.display()
    );
    let host = open(folder.path(), &program, &target.join("test-state"))
        .await
        .expect("a host");
    (folder, host)
}

fn target() -> PathBuf {
    let own = std::env::current_exe().expect("this program has a path");
    let folder = own.ancestors().find(|folder| folder.ends_with("target"));
    folder
        .map(Path::to_owned)
        .expect("tests run from the target folder")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_watched_answered_and_gone_on_with() {
    let (folder, host) = scene().await;
    let (answer, seen) = work(&host, Answer::Allow).await.expect("an answer");
    assert_eq!(answer, "Five words; the figure is in out/figure.txt.");
    let text = fs::read_to_string(folder.path().join("out/figure.txt")).expect("the file");
    assert_eq!(text, "5 words\n");
    let asked = "May this model call `files.write`";
    let expected = [
        "turn 1: asking rehearsed",
        "allow text.count",
        "turn 2: asking rehearsed",
        "ask files.write",
        asked,
        "allow files.write",
        "turn 3: asking rehearsed",
        "cost 0.005895",
    ];
    let mut rest = seen.iter();
    for line in expected {
        assert!(
            rest.any(|seen| seen.contains(line)),
            "{line} is missing in {seen:#?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_in_a_session_is_known_there() {
    let (_folder, host) = scene().await;
    let answer = talk(&host, &["The ship is the Ark.", "Which ship is it?"]).await;
    assert_eq!(answer.expect("an answer"), "The Ark.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_refuses_is_not_done() {
    let (folder, host) = scene().await;
    work(&host, Answer::Deny)
        .await
        .expect("the model is told, and goes on");
    assert!(!folder.path().join("out/figure.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_stopped_says_so() {
    let (_folder, host) = scene().await;
    let error = stopped(&host).await.expect_err("it was stopped");
    let code = error.downcast_ref::<Error>().map(Error::code);
    assert_eq!(code, Some(Code::Cancelled), "{error:?}");
}
