//! Components that somebody has to have signed (row 95): another file's signature, an older version, another key, a
//! damaged signature and none at all are refused, and nothing of the component has been compiled by then.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use lazaret_tests::forge;

use crate::station::{Ended, Station};

/// A maker's plugin `name` of this version.
fn component(name: &str, version: &str) -> Vec<u8> {
    let named = forge::MANIFEST.replace("\"forged\"", &format!("{name:?}"));
    let manifest = named.replace("\"version\":\"1\"", &format!("\"version\":{version:?}"));
    assert!(manifest.contains(name) && manifest.contains(version));
    forge::plugin(&manifest, "")
}

/// Who keeps a key of theirs beside the workspace; its public half.
fn maker(station: &Station, key: &str) -> String {
    let made = station.run(&["plugin", "keygen", key, "--quiet"]).ends(0);
    made.out.trim().to_owned()
}

/// Writes a component and signs it.
fn make(station: &Station, file: &str, bytes: &[u8], key: &str) {
    station.write(file, bytes);
    station.run(&["plugin", "sign", file, "--key", key]).ends(0);
}

/// A workspace with the plugin `mail` 1.2.0, which its maker has signed, in the user's own file: so no other trust
/// stands behind it.
fn with_mail() -> (Station, String) {
    let station = Station::new();
    let by = maker(&station, "mine.key");
    make(
        &station,
        "mail.wasm",
        &component("mail", "1.2.0"),
        "mine.key",
    );
    let path = station.workspace().join("mail.wasm");
    station.write_user_file(&format!(
        "[plugins]\nmail = {{ path = {path:?}, signed_by = {by:?} }}\n"
    ));
    (station, by)
}

/// Puts another file and another signature in the place of what is there.
fn swap(station: &Station, from: &str) {
    for ending in ["wasm", "wasm.sig"] {
        let bytes = fs::read(station.workspace().join(format!("{from}.{ending}"))).unwrap();
        station.write(&format!("mail.{ending}"), bytes);
    }
}

fn compiled(station: &Station) -> usize {
    fs::read_dir(station.state().join("cache")).unwrap().count()
}

#[track_caller]
fn refused(station: &Station, says: &[&str]) -> Ended {
    let before = compiled(station);
    let ended = station.run(&["tools"]).ends(3);
    assert_eq!(compiled(station), before, "something of it was compiled");
    assert!(ended.err.starts_with("error: plugin `mail`: "), "{ended}");
    assert!(
        ended.err.contains("hint: ") || says[0].contains("damaged"),
        "{ended}"
    );
    ended.says(says)
}

#[test]
fn a_signed_plugin_is_one_as_any_other() {
    let (station, by) = with_mail();
    station.run(&["tools"]).ends(0).prints(&["mail.run"]);
    let verified = station.run(&["plugin", "verify", "mail.wasm", "--by", &by]);
    verified
        .ends(0)
        .prints(&["`mail.wasm` is mail 1.2.0, signed by ed25519:"]);
    let json = station
        .run(&["plugin", "verify", "mail.wasm", "--json"])
        .ends(0)
        .json();
    assert_eq!(json["plugin"], "mail");
    assert_eq!(json["signer"], by.as_str());
}

#[test]
fn the_signature_of_another_file_is_refused() {
    let (station, _) = with_mail();
    station.write("mail.wasm", component("mail", "1.3.0"));
    refused(&station, &["the signature beside it is of another file"]);
    let ended = station.run(&["plugin", "verify", "mail.wasm"]).ends(3);
    ended.says(&["`mail.wasm`: the signature beside it is of another file"]);
}

#[test]
fn another_plugin_of_the_same_signer_takes_no_place() {
    let (station, _) = with_mail();
    make(
        &station,
        "web.wasm",
        &component("bank", "9.0.0"),
        "mine.key",
    );
    swap(&station, "web");
    refused(
        &station,
        &["the signature is of plugin `bank`, and not of `mail`"],
    );
}

#[test]
fn an_older_version_does_not_come_back() {
    let (station, by) = with_mail();
    make(
        &station,
        "new.wasm",
        &component("mail", "1.10.0"),
        "mine.key",
    );
    let old: Vec<Vec<u8>> = ["mail.wasm", "mail.wasm.sig"]
        .map(|name| fs::read(station.workspace().join(name)).unwrap())
        .into();
    swap(&station, "new");
    station.run(&["tools"]).ends(0).prints(&["mail.run"]);
    station.write("mail.wasm", &old[0]);
    station.write("mail.wasm.sig", &old[1]);
    let says = "it is version 1.2.0, which is older than 1.10.0, which was here before";
    let ended = refused(
        &station,
        &[says, "to go back on purpose, remove `[ROOT]/state"],
    );
    assert!(!ended.err.contains("panicked"));
    station
        .run(&["plugin", "verify", "mail.wasm", "--by", &by])
        .ends(3)
        .says(&[says]);
    // Whoever wants the older one says so where only they can.
    let kept: Vec<_> = fs::read_dir(station.state().join("signed"))
        .unwrap()
        .collect();
    assert_eq!(kept.len(), 1);
    let kept = kept.into_iter().next().unwrap().unwrap();
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    fs::remove_file(kept.path()).unwrap();
    station.run(&["tools"]).ends(0).prints(&["mail.run"]);
}

#[test]
fn another_key_is_refused() {
    let (station, by) = with_mail();
    let other = maker(&station, "theirs.key");
    assert_ne!(by, other);
    make(
        &station,
        "mail.wasm",
        &component("mail", "2.0.0"),
        "theirs.key",
    );
    let said = format!("it is signed by {other}, and `signed_by` names {by}");
    refused(&station, &[&said]);
    // It names the key that is wanted, and is still nobody's but the other one's.
    let text = station.read("mail.wasm.sig").replace(&other, &by);
    station.write("mail.wasm.sig", text);
    refused(
        &station,
        &["the signature is damaged, or somebody else made it"],
    );
}

#[test]
fn a_damaged_signature_is_none() {
    let (station, _) = with_mail();
    let text = station.read("mail.wasm.sig");
    let newer = text.replace("version 1.2.0", "version 9.9.9");
    let cut = &text[..text.len() - 10];
    let with_ends = text.replace('\n', "\r\n");
    for damaged in [newer.as_str(), cut, &with_ends, "", "\0\0\0"] {
        station.write("mail.wasm.sig", damaged);
        refused(
            &station,
            &["the signature is damaged, or somebody else made it"],
        );
    }
    station.write("mail.wasm.sig", "x".repeat(1 << 20));
    station
        .run(&["tools"])
        .ends(2)
        .says(&["mail.wasm.sig", "2048"]);
    station.write("mail.wasm.sig", text);
    station.run(&["tools"]).ends(0);
}

#[test]
fn a_signature_is_not_written_where_a_link_leads() {
    let station = Station::new();
    maker(&station, "mine.key");
    fs::write(
        station.workspace().join("mail.wasm"),
        component("mail", "1.2.0"),
    )
    .unwrap();
    station.write("dear.txt", "mine");
    let link = station.workspace().join("mail.wasm.sig");
    std::os::unix::fs::symlink("dear.txt", link).unwrap();
    station
        .run(&["plugin", "sign", "mail.wasm", "--key", "mine.key"])
        .ends(3)
        .says(&["is a link"]);
    let dear = fs::read_to_string(station.workspace().join("dear.txt")).unwrap();
    assert_eq!(dear, "mine");
}

#[test]
fn to_take_the_signature_away_is_no_way_around_it() {
    let (station, _) = with_mail();
    fs::remove_file(station.workspace().join("mail.wasm.sig")).unwrap();
    refused(
        &station,
        &["it is not signed: there is no `mail.wasm.sig` beside it"],
    );
}

#[test]
fn a_version_that_cannot_be_compared_is_not_signed() {
    let (station, _) = with_mail();
    station.write("odd.wasm", component("mail", "one"));
    let ended = station
        .run(&["plugin", "sign", "odd.wasm", "--key", "mine.key"])
        .ends(1);
    ended.says(&["the plugin's version is `one`", "such as `1.2.0`"]);
    assert!(!station.workspace().join("odd.wasm.sig").exists());
}

#[test]
fn a_key_is_its_owners_alone_and_is_never_shown() {
    let station = Station::new();
    maker(&station, "mine.key");
    let path = station.workspace().join("mine.key");
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let text = station.read("mine.key");
    let secret = text.lines().nth(1).unwrap();
    station.write("mail.wasm", component("mail", "1.2.0"));
    let sign = ["plugin", "sign", "mail.wasm", "--key", "mine.key", "--json"];
    let signed = station.run(&sign).ends(0).never(secret).json();
    assert_eq!(signed["version"], "1.2.0");
    assert!(!station.read("mail.wasm.sig").contains(secret));
    // What is there already is not written over.
    station
        .run(&["plugin", "keygen", "mine.key"])
        .ends(1)
        .says(&["cannot be written"]);
    assert_eq!(station.read("mine.key"), text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let ended = station.run(&sign).ends(3).never(secret);
    assert!(
        ended.out.contains("may be read by others") || ended.err.contains("may be read by others")
    );
    station.write("no.key", "lazaret-signing-key 1\nx\n");
    fs::set_permissions(
        station.workspace().join("no.key"),
        fs::Permissions::from_mode(0o600),
    )
    .unwrap();
    let ended = station
        .run(&["plugin", "sign", "mail.wasm", "--key", "no.key"])
        .ends(2);
    ended.says(&["`no.key`: this is no file with a key that signs"]);
}

#[test]
fn a_policy_names_a_key_that_is_one() {
    let station = Station::new();
    station.write_user_file("[plugins]\nmail = { path = \"mail.wasm\", signed_by = \"me\" }\n");
    station
        .run(&["tools"])
        .ends(2)
        .says(&["a plugin is a path, or a table with `path` and `signed_by`"]);
}

#[test]
fn whoever_trusts_a_policy_reads_who_signs() {
    let station = Station::new();
    let by = maker(&station, "mine.key");
    make(
        &station,
        "mail.wasm",
        &component("mail", "1.2.0"),
        "mine.key",
    );
    let table = format!("[plugins]\nmail = {{ path = \"mail.wasm\", signed_by = {by:?} }}\n");
    station.write("lazaret.toml", table);
    let trusted = station.run(&["policy", "trust"]).ends(0);
    trusted.prints(&[
        "plugin mail is the component `mail.wasm` (",
        &format!(", signed by {by}"),
    ]);
    station.run(&["tools"]).ends(0).prints(&["mail.run"]);
}
