//! `lazaret policy check`: lines about flows that wait for something that cannot come.

use crate::station::Station;

const UNMET: &str = r#"
[flow]
release = ["text.*", "web.get_page", "files.write"]
common = ["mail"]
vouch = ["out/a.md"]
[flow.classes]
"note:nope/x" = { integrity = "untrusted", secrecy = "private" }
"web:https://a.test" = { integrity = "untrusted", secrecy = "public" }
"web:https://nowhere.test" = { integrity = "untrusted", secrecy = "private" }
"tool:text.count" = { integrity = "trusted", secrecy = "public" }
"tool:text.diff" = { integrity = "untrusted", secrecy = "public" }
[flow.tools."notes.put"]
reply = "key"
vouch = ["out/b.md", "out/a.md"]
"#;

const UNMET_SAYS: &[&str] = &[
    "[flow] `release = [\"text.*\"]` is about no tool that changes anything or is granted a request",
    "[flow] `release = [\"web.get_page\"]` is about no tool that changes anything or is granted a request",
    "[flow] `common` has `mail`, and no records vouch for that kind",
    "[flow.classes] `note:nope/x` is about no plugin's note that there is",
    "[flow.classes] `tool:text.count` says what holds without it\nhint: leave it out",
    "[flow.classes] `web:https://a.test` says what holds without it\nhint: leave it out",
    "[flow.classes] `web:https://nowhere.test` is about no origin that a line grants\nhint: write `fetch = [\"https://nowhere.test/\"]` at a grant; or leave the line out, unless ",
    "[flow.tools.\"notes.put\"] `vouch`: `out/a.md` is in [flow] `vouch` already, which is for all tools\nhint: leave it out",
    "[flow.tools.\"notes.put\"] `reply` makes nobody a witness: no records of `notes` have `id` and `people`",
];

#[test]
fn lines_about_flows_that_meet_nothing_are_pointed_at() {
    let station = Station::with(UNMET);
    let told = station.run(&["policy", "check", "--strict", "--quiet"]);
    told.ends(1).says(UNMET_SAYS);
    let told = station.run(&["policy", "check", "--quiet", "--json"]);
    let told = told.ends(0).json();
    let found = told["findings"].as_array().unwrap();
    assert_eq!(found.len(), UNMET_SAYS.len(), "{found:#?}");
    // In a file that another one follows, what a source has anyway cannot be said otherwise by that one.
    station.write_user_file(UNMET);
    station.write("lazaret.toml", "");
    let told = station.run(&["policy", "check", "--quiet"]).ends(0);
    told.never("says what holds without it");
}

/// The same keys, and those of `policy.rs`, where they count are worth no word.
#[test]
fn lines_that_do_something_are_not_pointed_at() {
    let station = Station::with(
        r#"
[mounts.out]
path = "out"
access = "write"
workspace = true
quota_mib = 4
max_file_mib = 3
[grants."files.*"]
mounts = { out = "write" }
[grants."web.get_json"]
fetch = ["https://a.test/", "https://*.b.test/x", { url = "http://127.0.0.1:8080/", private = true }]
[flow]
common = ["name"]
vouch = ["out/c.md"]
release = ["web.get_json", "notes.put"]
[flow.classes]
"web:https://a.test" = { integrity = "untrusted", secrecy = "private" }
"web:https://c.b.test" = { integrity = "untrusted", secrecy = "private" }
"web:http://127.0.0.1:8080" = { integrity = "untrusted", secrecy = "private" }
"note:notes/a" = { integrity = "trusted", secrecy = "private" }
[flow.tools."web.get_json"]
accepts = "private"
[flow.tools."notes.get".records]
own = true
id = "key"
people = { text = "mail" }
vouches = { text = "name" }
[flow.tools."notes.put"]
reply = "key"
records = { changes = "key" }
[flow.tools."notes.delete"]
steering = { key = "id" }
[flow.tools."web.post"]
vouch = ["out/d.md"]
steering = { url = "url" }
accepts = "private"
[agents.a]
models = ["m"]
[agents.b]
models = ["balanced"]
[tiers]
balanced = ["m"]
[models.m]
provider = "scripted"
script = "said.jsonl"
"#,
    );
    station.write("out/keep", "");
    station.write("said.jsonl", "");
    station.run(&["policy", "check"]).ends(0).says_only("");
    // An agent that names none asks those of the tier.
    let config = station.read("lazaret.toml");
    let config = config.replace("models = [\"balanced\"]", "");
    station.write("lazaret.toml", config);
    station.trust();
    station.run(&["policy", "check"]).ends(0).says_only("");
}

/// Where no line grants anything and every page may be asked for, a class of any of them counts.
#[test]
fn a_class_of_an_origin_counts_where_every_page_may_be_read() {
    let class = "[flow.classes]\n\"web:https://a.test\" = { integrity = \"untrusted\", secrecy = \"private\" }\n";
    for (browse, says) in [("granted", true), ("free", false)] {
        let station = Station::with(&format!("[flow]\nbrowse = \"{browse}\"\n{class}"));
        let told = station.run(&["policy", "check"]).ends(0);
        assert_eq!(told.err.contains("that a line grants"), says, "{told}");
    }
}
