//! Names of plugins: what the user's own are called no workspace changes, and what a workspace's are called stands in its
//! file.

use std::fs;
use std::path::Path;

use lazaret::guests::plugin::PluginBytes;
use lazaret::runs::host::Host;
use lazaret::surfaces::config::{Config, NAME, Surroundings};
use lazaret::words::error::Result;
use lazaret_tests::rig::target;
use lazaret_tests::saying;
use serde_json::json;

/// A file that names the component so often, under these keys.
fn plugins(keys: &str, component: &Path) -> String {
    let lines = keys
        .split_whitespace()
        .map(|key| format!("{key} = {component:?}\n"));
    format!("[plugins]\n{}", lines.collect::<String>())
}

/// What plugins are called where the user's own file and a workspace's have these keys, each for one that calls itself
/// `mail`.
async fn named(own: &str, workspace: &str) -> Result<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let component = place("mail.wasm");
    fs::write(&component, saying::component("mail", &json!({}), "1")).unwrap();
    fs::write(place("own.toml"), plugins(own, &component)).unwrap();
    fs::write(place(NAME), plugins(workspace, &component)).unwrap();
    let around = Surroundings {
        folder: folder.path().to_owned(),
        user_file: place("own.toml"),
        system_file: place("system.toml"),
        variables: Vec::new(),
        flags: Vec::new(),
        home: None,
        state: target().join("test-state"),
        program: target().join("debug/lazaret"),
    };
    let config = Config::preview(&around, None)?;
    let host = Host::open(config.setup).await?;
    let plugins = host.catalog().plugins().iter();
    let configured = plugins.filter(|plugin| matches!(plugin.origin, PluginBytes::File(_)));
    Ok(configured.map(|plugin| plugin.name.clone()).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workspace_names_its_own_plugins_and_nobody_elses() {
    for (own, workspace, expected) in [
        ("post", "", "mail"),
        ("post", "other", "mail other"),
        ("post", "other third", "mail other third"),
        ("", "post", "post"),
        // Of one thing that both define, the user's counts.
        ("post", "post", "mail"),
        // Two of the user's own have neither the name.
        ("one two", "third", "one two third"),
    ] {
        let names = named(own, workspace).await.unwrap();
        assert_eq!(names.join(" "), expected, "{own}, {workspace}");
    }
    let error = named("post", "mail").await.unwrap_err();
    let message = error.message();
    assert!(message.contains("two plugins are named `mail`"), "{error}");
}
