//! What a person gives another name outside of Lazaret keeps its label, whatever comes to its old one.

use std::fs;

use lazaret::words::label::{Label, Sort, Source};
use lazaret_tests::prelude::*;
use lazaret_tests::rig;

const POLICY: &str = r#"
    confirmed = ["files.remove"]
    [flow]
    mode = "off"
    [mounts.inbox]
    path = "inbox"
    [mounts.docs]
    path = "docs"
    access = "write"
    own = true
    [grants."files.*"]
    mounts = { inbox = "read", docs = "write" }
    [grants."files.remove"]
    mounts = { docs = "write" }
    [grants."hostile.carry"]
    mounts = { docs = "write" }
"#;

const LETTER: &str = "await tools.files.read({path: 'inbox/letter.txt'});";

/// What a person does outside of Lazaret.
type Person = fn(&Rigged);

/// A file and a folder that were written as a letter says.
async fn open() -> Rigged {
    let rig = Rig::of(POLICY)
        .guest("hostile")
        .file("inbox/letter.txt", "Dear reader")
        .file("docs/own.txt", "own");
    let rig = rig.kept().await.open().await;
    let write = "await tools.files.write({path: 'docs/a.txt', content: 'EVIL'});
        await tools.files.write({path: 'docs/fresh/x.txt', content: 'EVIL'});";
    label(&rig, &format!("{LETTER} {write}")).await;
    rig
}

/// Runs a script to its end, and says what influenced what it returned.
async fn label(rig: &Rigged, source: &str) -> Label {
    let called = rig.script(source).await;
    let _ = rig::value(&called.outcome);
    called.outcome.label.clone()
}

async fn read(rig: &Rigged, path: &str) -> Label {
    label(rig, &format!("await tools.files.read({{path: '{path}'}})")).await
}

fn write(path: &str, mode: &str) -> String {
    format!("await tools.files.write({{path: '{path}', content: 'clean', mode: '{mode}'}})")
}

fn rename(rig: &Rigged, from: &str, to: &str) {
    fs::rename(rig.path(from), rig.path(to)).expect("a rename");
}

fn renames(rig: &Rigged) {
    rename(rig, "docs/a.txt", "docs/c.txt");
}

fn renames_the_folder(rig: &Rigged) {
    rename(rig, "docs/fresh", "docs/monday");
}

fn renames_and_is_in_the_way(rig: &Rigged) {
    renames(rig);
    fs::create_dir(rig.path("docs/a.txt")).expect("a folder");
}

fn links(rig: &Rigged) {
    fs::hard_link(rig.path("docs/a.txt"), rig.path("docs/c.txt")).expect("a link");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_done_at_its_old_name_what_a_person_renamed_keeps_its_label() {
    let inbox = Label::of(Source::new(Sort::File, "inbox"));
    let refused = format!("{}.catch(() => null)", write("docs/a.txt", "replace"));
    let moved = "await tools.files.move({source: 'docs/own.txt', target: 'docs/a.txt'})";
    let removed = "await tools.files.remove({path: 'docs/a.txt'})";
    let cases: [(Person, String, &str); 7] = [
        (renames, write("docs/a.txt", "replace"), "docs/c.txt"),
        (renames, write("docs/a.txt", "create"), "docs/c.txt"),
        (renames, moved.to_owned(), "docs/c.txt"),
        (renames_and_is_in_the_way, refused.clone(), "docs/c.txt"),
        (links, removed.to_owned(), "docs/c.txt"),
        (links, refused, "docs/c.txt"),
        (
            renames_the_folder,
            write("docs/fresh/x.txt", "replace"),
            "docs/monday/x.txt",
        ),
    ];
    for (person, then, path) in cases {
        let rig = open().await;
        person(&rig);
        assert!(read(&rig, path).await.covers(&inbox), "before: {then}");
        label(&rig, &then).await;
        assert!(read(&rig, path).await.covers(&inbox), "{then}");
        let rig = rig.restart().await;
        assert!(read(&rig, path).await.covers(&inbox), "later: {then}");
    }
}

/// The name of a folder is written by whoever made it, whoever makes another one of its old name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_a_person_renamed_keeps_its_label() {
    let inbox = Label::of(Source::new(Sort::File, "inbox"));
    let rig = open().await;
    renames_the_folder(&rig);
    label(&rig, &write("docs/fresh/new.txt", "create")).await;
    let listed = label(&rig, "await tools.files.list({path: 'docs/monday'})").await;
    assert!(listed.covers(&inbox), "{listed}");
}

/// What the host itself has replaced or removed is no more, and nor is its label.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_replaced_after_it_was_renamed_has_the_label_of_whoever_replaced_it() {
    let inbox = Label::of(Source::new(Sort::File, "inbox"));
    let rig = open().await;
    renames(&rig);
    for path in ["docs/a.txt", "docs/c.txt"] {
        label(&rig, &write(path, "replace")).await;
        let found = read(&rig, path).await;
        assert!(!found.covers(&inbox), "{path}: {found}");
    }
    // Nor has what is made where a person has removed it, and gets its number.
    let rig = open().await;
    fs::remove_file(rig.path("docs/a.txt")).expect("a removal");
    label(&rig, &write("docs/a.txt", "create")).await;
    let found = read(&rig, "docs/a.txt").await;
    assert!(!found.covers(&inbox), "{found}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_secret_stays_so_under_another_name() {
    let secret = Label::of(Source::new(Sort::Secret, "hostile.carry"));
    let rig = open().await;
    let wishes = json!([{"op": "write", "path": "docs/s.txt", "with": "canary"}]);
    let called = rig.call("hostile.carry", json!({"wishes": wishes})).await;
    let _ = rig::value(&called.outcome);
    rename(&rig, "docs/s.txt", "docs/t.txt");
    label(&rig, &write("docs/s.txt", "replace")).await;
    let called = rig.call("files.read", json!({"path": "docs/t.txt"})).await;
    let found = &called.outcome.label;
    assert!(found.covers(&secret), "{found}");
}
