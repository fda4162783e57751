//! What the program says of itself: help, manual, and what every command has in common.

use lazaret_tests::golden::assert_golden;

use crate::station::Station;

/// Every command that is shown, by its words: what stands below `Commands:`, command by command.
pub fn all(station: &Station) -> Vec<Vec<String>> {
    let (mut found, mut next) = (Vec::new(), vec![Vec::<String>::new()]);
    while let Some(words) = next.pop() {
        let help = help(station, &words);
        let listed = help.split("Commands:\n").nth(1).unwrap_or_default();
        let lines = listed.lines().take_while(|line| !line.is_empty());
        // A line that goes on begins further right.
        let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        for name in names.filter_map(|line| line.split_whitespace().next()) {
            if name != "help" {
                next.push([&words[..], &[name.to_owned()]].concat());
            }
        }
        found.push(words);
    }
    found.sort();
    found
}

fn help(station: &Station, words: &[String]) -> String {
    let mut arguments: Vec<&str> = words.iter().map(String::as_str).collect();
    arguments.push("--help");
    let ended = station.run(&arguments).ends(0).says_only("");
    assert!(
        ended.out.contains("Examples:\n"),
        "{words:?} shows no examples"
    );
    ended.out
}

#[test]
fn help_is_as_it_was_and_every_command_shows_examples() {
    let station = Station::new();
    let mut text = String::new();
    for words in all(&station) {
        text.push_str(&format!(
            "== lazaret {}\n{}\n",
            words.join(" "),
            help(&station, &words)
        ));
    }
    assert!(text.matches("== lazaret").count() > 35, "{text}");
    assert_golden("help", &text);
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let station = Station::new();
    station
        .run(&["man"])
        .ends(0)
        .prints(&[".TH lazaret 1", "Examples:"]);
    station.run(&["man", "pages"]).ends(0).says_only("");
    for words in all(&station) {
        let name = [&["lazaret".to_owned()][..], &words].concat().join("-");
        let page = station.read(&format!("pages/{name}.1"));
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
    let pages = std::fs::read_dir(station.workspace().join("pages"))
        .unwrap()
        .count();
    assert_eq!(pages, all(&station).len(), "nothing hidden has a page");
}

#[test]
fn completions_know_every_command_in_every_shell() {
    let station = Station::new();
    let commands = all(&station);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = station.run(&["completions", shell]).ends(0).says_only("");
        for name in commands.iter().filter_map(|words| words.last()) {
            assert!(ended.out.contains(name.as_str()), "{shell}: {name}");
        }
    }
}

/// Commands that look and end, as each of them is called.
pub const LOOKING: [&[&str]; 17] = [
    &["call", "text.count", r#"{"text":"a"}"#],
    &["json", r#"{"action":"text.count","input":{"text":"a"}}"#],
    &["script", "-e", "return 1"],
    &["tools"],
    &["plugin", "list"],
    &["plugin", "inspect", "web"],
    &["plugin", "manifest", "web"],
    &["plugin", "diff", "web", "web"],
    &["runs", "list"],
    &["runs", "show", "last"],
    &["sessions", "list"],
    &["ask", "list"],
    &["secret", "list"],
    &["policy", "check"],
    &["policy", "explain", "text.count"],
    &["config", "show"],
    &["doctor"],
];

#[test]
fn json_is_json_quiet_is_quiet_and_no_colour_is_none() {
    let station = Station::new();
    for arguments in LOOKING {
        let json = station.run(&[arguments, &["--json"]].concat());
        for line in json.out.lines() {
            let parsed = serde_json::from_str::<serde_json::Value>(line);
            assert!(parsed.is_ok(), "{arguments:?}: {line}");
        }
        json.ends(0).says_only("");
        station
            .run(&[arguments, &["--quiet"]].concat())
            .ends(0)
            .says_only("");
        for variables in [[("NO_COLOR", "1")], [("TERM", "dumb")]] {
            station
                .run_told(&variables, arguments)
                .ends(0)
                .never("\u{1b}");
        }
    }
}

#[test]
fn a_diff_fails_where_it_is_told_to() {
    let station = Station::new();
    let manifest = |more: &str| {
        format!(
            r#"{{"plugin":"p","version":"1","description":"d","tools":[{{"name":"t","description":"d",
            "input":{{"type":"object"}},"output":{{}},"effect":"pure"{more}}}]}}"#
        )
    };
    station.write("old.json", manifest(""));
    station.write("new.json", manifest(r#","needs_approval":true"#));
    station.write("later.json", manifest(r#","timeout_ms":5"#));
    let diff = |new: &str, more: &[&str]| {
        station.run(&[&["plugin", "diff", "old.json", new][..], more].concat())
    };
    diff("new.json", &[])
        .ends(0)
        .prints(&["breaks", "approval-added", "a person is asked"]);
    diff("new.json", &["--fail-on", "breaking"]).ends(1);
    diff("later.json", &["--fail-on", "breaking"])
        .ends(0)
        .prints(&["fine", "timeout-changed"]);
    diff("later.json", &["--fail-on", "any"]).ends(1);
    diff("old.json", &["--fail-on", "any"])
        .ends(0)
        .prints(&["nothing has changed"]);
    let told = diff("new.json", &["--json"]).ends(0).json();
    assert_eq!(told["breaking"], true);
    assert_eq!(told["changes"][0]["place"], "t");
    diff("none.json", &[]).ends(4);
    station.write("odd.json", "{}");
    diff("odd.json", &[]).ends(1).says(&["odd.json"]);
    let all = station
        .run(&["plugin", "manifest", "--json"])
        .ends(0)
        .json();
    assert!(all["plugins"].as_array().unwrap().len() > 5);
}

/// Whatever is asked for in JSON is answered in JSON, words that are no command too.
#[test]
fn words_that_are_no_command_are_told_as_json_as_well() {
    let station = Station::new();
    for (words, says) in [
        (&["--json", "cal"][..], "unrecognized subcommand `cal`"),
        (&["call", "--json"], "<TOOL>"),
        (&["--json"], "`lazaret` requires a subcommand"),
        (&["runs", "list", "--limit", "x", "--json"], "--limit"),
    ] {
        let envelope = station.run(words).ends(2).says_only("").json();
        let error = &envelope["error"];
        assert_eq!(error["code"], "VALIDATION_ERROR", "{envelope}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(says), "{message}");
        assert!(!error["hints"].as_array().unwrap().is_empty(), "{envelope}");
    }
    station
        .run(&["call"])
        .ends(2)
        .says(&["error: ", "hint: usage: lazaret call <TOOL>"]);
}
