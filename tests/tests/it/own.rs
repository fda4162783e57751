//! The host's own folders are no tool's: not below a mount, not through a link, and not by a move in either direction.

use lazaret_tests::prelude::*;
use lazaret_tests::rig;

/// A mount in which the host's own folders lie, under names that say nothing.
const POLICY: &str = r#"
    [mounts.all]
    path = "."
    access = "write"
    [grants."hostile.file_each"]
    mounts = { all = "write" }
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_opened_or_moved_in_the_hosts_own_folders() {
    let rig = Rig::of(POLICY).guest("hostile").file("a.txt", "a");
    let rig = rig.kept().await.open().await;
    std::os::unix::fs::symlink("state", rig.path("link")).expect("a link");
    let key = std::fs::read(rig.path("state/key")).expect("a key");
    let wishes = json!([
        {"op": "list", "path": "all/state"},
        {"op": "stat", "path": "all/records/journal.db"},
        {"op": "read", "path": "all/state/key"},
        {"op": "read", "path": "all/link/key"},
        {"op": "replace", "path": "all/state/key", "with": "x"},
        {"op": "remove", "path": "all/state/key"},
        {"op": "move", "path": "all/state/key", "with": "all/key"},
        {"op": "move", "path": "all/a.txt", "with": "all/state/a.txt"},
        {"op": "move", "path": "all/a.txt", "with": "all/link/b.txt"},
        {"op": "replace", "path": "all/.lazaret-1-ThreadId(1)", "with": "x"},
        {"op": "move", "path": "all/a.txt", "with": "all/.Lazaret-a"},
    ]);
    let called = rig
        .call("hostile.file_each", json!({ "wishes": wishes }))
        .await;
    let said = rig::value(&called.outcome).as_array().expect("lines");
    for line in said {
        assert!(
            line.as_str().is_some_and(|line| line.contains("-> denied")),
            "{line}"
        );
    }
    assert_eq!(said.len(), 11);
    assert_eq!(std::fs::read(rig.path("state/key")).expect("a key"), key);
    assert!(rig.path("a.txt").exists() && !rig.path("key").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_takes_nobodys_place() {
    let rig = Rig::of(POLICY).guest("hostile");
    let rig = rig.file("a.txt", "a").file("b.txt", "b").open().await;
    let wishes = json!([{"op": "move", "path": "all/a.txt", "with": "all/b.txt"}]);
    let called = rig
        .call("hostile.file_each", json!({ "wishes": wishes }))
        .await;
    let said = rig::value(&called.outcome).to_string();
    assert!(!said.contains("-> ok"), "{said}");
    let text = |path: &str| std::fs::read_to_string(rig.path(path)).expect("a file");
    assert_eq!(
        (text("a.txt"), text("b.txt")),
        ("a".to_owned(), "b".to_owned())
    );
}
