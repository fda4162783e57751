//! A configuration that changes while a host is open: the host goes on with what it read, whoever keeps it open can
//! see that something has changed, and what is broken by then never holds.

use std::collections::BTreeSet;
use std::fs;

use lazaret::edges::state::StateFolder;
use lazaret::surfaces::config::file::ConfigFile;
use lazaret::surfaces::config::trust::Pins;
use lazaret::surfaces::config::{Config, NAME, Surroundings};
use lazaret::words::error::Code;
use lazaret_tests::rig::Rig;
use serde_json::json;

#[tokio::test]
async fn a_host_goes_on_with_what_it_read() {
    let rig = Rig::of("").open().await;
    let args = || json!({"text": "a b"});
    rig.call("text.count", args()).await.outcome.result.unwrap();
    let path = rig.path(NAME);
    assert!(path.exists());
    for text in ["block = [\"text.count\"]\n", "frob = \n", ""] {
        fs::write(&path, text).unwrap();
        rig.call("text.count", args()).await.outcome.result.unwrap();
    }
    fs::remove_file(&path).unwrap();
    rig.call("text.count", args()).await.outcome.result.unwrap();
}

#[test]
fn what_changes_is_seen_and_what_is_broken_does_not_hold() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.toml");
    let around = Surroundings {
        folder: folder.path().to_owned(),
        user_file: path.clone(),
        system_file: folder.path().join("system.toml"),
        variables: Vec::new(),
        flags: Vec::new(),
        home: None,
        state: folder.path().join("state"),
        program: folder.path().join("none"),
    };
    let calls = |config: &Config| config.setup.policy.scripts.calls;
    fs::write(&path, "[limits]\nscript_calls = 5\n").unwrap();
    let good = Config::read(&around, None).unwrap();
    assert!(good.again(&around, None).unwrap().is_none());
    // The same bytes written anew are no change.
    fs::write(&path, "[limits]\nscript_calls = 5\n").unwrap();
    assert!(!good.has_changed(&around, None));

    fs::write(&path, "[limits]\nscript_calls = much\n").unwrap();
    let error = good.again(&around, None).unwrap_err();
    assert_eq!(error.code(), Code::BadInput);
    assert!(error.message().contains("own.toml`, line 2"), "{error}");
    assert_eq!(calls(&good), 5);

    fs::write(&path, "[limits]\nscript_calls = 6\n").unwrap();
    let newer = good.again(&around, None).unwrap().unwrap();
    assert_eq!((calls(&good), calls(&newer)), (5, 6));
    assert!(!newer.has_changed(&around, None) && good.has_changed(&around, None));

    // A file that was not there is a change as well, and so is one that goes.
    fs::write(&around.system_file, "[limits]\nscript_calls = 4\n").unwrap();
    assert!(newer.has_changed(&around, None));
    fs::remove_file(&around.system_file).unwrap();
    assert!(!newer.has_changed(&around, None));
    fs::remove_file(&path).unwrap();
    let none = newer.again(&around, None).unwrap().unwrap();
    assert_eq!(calls(&none), 64);

    // A workspace's file that appears is a change, and counts for nothing until it is trusted; then it counts as long as
    // that is so.
    let workspace = folder.path().join(NAME);
    fs::write(&workspace, "[limits]\nscript_calls = 1\n").unwrap();
    let new = none.again(&around, None).unwrap().unwrap();
    assert_eq!(calls(&new), 64);
    let state = StateFolder::open(&around.state).unwrap();
    let pins = || Pins::read(&state).unwrap();
    let file = ConfigFile::read(&workspace).unwrap();
    let gives = BTreeSet::new();
    pins().pin(&state, (&workspace, &file), gives).unwrap();
    let trusted = new.again(&around, None).unwrap().unwrap();
    assert_eq!(calls(&trusted), 1);
    assert!(pins().unpin(&state, &workspace).unwrap());
    let revoked = trusted.again(&around, None).unwrap().unwrap();
    assert_eq!(calls(&revoked), 64);
}
