//! What a shell relies on: help, completions, plain bytes, data alone on standard output.

use std::io::{BufRead, BufReader};

use lazaret_tests::typescript::{self, Reading};

use crate::station::{Station, rest};

const COMMANDS: [&[&str]; 14] = [
    &[],
    &["demo"],
    &["run"],
    &["call"],
    &["tools"],
    &["plugin", "list"],
    &["plugin", "inspect"],
    &["plugin", "check"],
    &["runs", "list"],
    &["runs", "show"],
    &["policy", "explain"],
    &["policy", "test"],
    &["policy", "suggest"],
    &["completions"],
];

#[test]
fn every_command_has_help() {
    let station = Station::new();
    for command in COMMANDS {
        let ended = station.run(&[command, &["--help"]].concat());
        ended.ends(0).prints(&["Usage: lazaret"]).says_only("");
    }
}

#[test]
fn help_shows_examples() {
    let station = Station::new();
    for command in [
        "",
        "demo",
        "run",
        "call",
        "tools",
        "plugin",
        "runs",
        "policy",
        "doctor",
        "completions",
    ] {
        let arguments: Vec<&str> = [command, "--help"]
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect();
        station
            .run(&arguments)
            .ends(0)
            .prints(&["Examples:", &format!("lazaret {command}")]);
    }
}

#[test]
fn help_says_what_the_exit_status_means() {
    Station::new().run(&["--help"]).prints(&[
        "Exit status: 0 done, 2 wrong input, 3 not allowed, 4 not found, 5 the outside failed",
        "124 too slow, 130 cancelled, 1 anything else",
    ]);
}

#[test]
fn an_unknown_command_is_refused() {
    let station = Station::new();
    station
        .run(&["frob"])
        .ends(2)
        .says(&["error: unrecognized subcommand `frob`", "--help"]);
    station
        .run(&["cal"])
        .ends(2)
        .says(&["a similar subcommand exists: `call`"]);
    station
        .run(&["call"])
        .ends(2)
        .says(&["<TOOL>", "usage: lazaret call <TOOL>"]);
    station
        .run(&["call", "a", "{}", "--frob"])
        .ends(2)
        .says(&["unexpected argument `--frob`"]);
    station.run(&[]).ends(2).says(&["Usage: lazaret"]);
}

#[test]
fn completions_are_printed_for_each_shell() {
    let station = Station::new();
    for (shell, part) in [
        ("bash", "complete -F _lazaret"),
        ("zsh", "#compdef lazaret"),
        ("fish", "complete -c lazaret"),
    ] {
        station.run(&["completions", shell]).ends(0).prints(&[part]);
    }
    station
        .run(&["completions", "cmd"])
        .ends(2)
        .says(&["possible values: bash"]);
}

#[test]
fn without_a_terminal_there_are_no_colours() {
    let station = Station::new();
    for arguments in [
        &["doctor"][..],
        &["tools"],
        &["call", "text.count", "{}"],
        &["call", "files.write", r#"{"path":"a","content":"b"}"#],
        &["runs", "list"],
        &["runs", "show"],
        &["policy", "check"],
        &["policy", "explain", "files.remove"],
        &["plugin", "inspect", "web"],
        &["demo"],
        &["--help"],
        &["frob"],
    ] {
        station.run(arguments).never("\u{1b}");
        let mut command = station.command(arguments);
        station
            .finish(command.env("NO_COLOR", "1").env("TERM", "xterm-256color"))
            .never("\u{1b}");
    }
}

#[test]
fn colours_can_be_forced_and_no_color_wins() {
    let station = Station::new();
    let mut forced = station.command(&["doctor"]);
    let ended = station.finish(forced.env("CLICOLOR_FORCE", "1"));
    assert!(ended.out.contains("\u{1b}["), "{ended}");
    let mut plain = station.command(&["doctor"]);
    let plain = plain.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1");
    station.finish(plain).never("\u{1b}");
}

#[test]
fn standard_output_is_data_alone() {
    let station = Station::new();
    station.write("lazaret.toml", "");
    for arguments in [
        &["call", "text.count", r#"{"text":"a"}"#, "--json"][..],
        &["call", "text.count", "{}", "--json"],
        &["call", "text.count", "{nope", "--json"],
        &["call", "text.count", "@none", "--json"],
        &["tools", "--json"],
        &["tools", "--format", "openai"],
        &["plugin", "list", "--json"],
        &["plugin", "inspect", "web", "--json"],
        &["plugin", "check", "none.wasm", "--json"],
        &["policy", "check", "--json"],
        &["policy", "explain", "files.remove", "--json"],
        &["doctor", "--json"],
        &["run", "hi", "--json"],
        &["run", "hi", "--agent", "none", "--json"],
        &["runs", "show", "none", "--json"],
    ] {
        let ended = station.run(arguments);
        assert!(!ended.json().is_null(), "{ended}");
    }
}

#[test]
fn a_failure_of_the_command_itself_is_json_too() {
    let ended = Station::new().run(&["run", "hi", "--agent", "none", "--json"]);
    let told = ended.json();
    assert_eq!(told["ok"], false);
    assert_eq!(told["error"]["message"], "there is no agent `none`");
    ended.ends(4).says_only("");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let station = Station::new();
    for arguments in [
        &["tools"][..],
        &["tools", "--json"],
        &["call", "text.count", r#"{"text":"a"}"#],
        &["completions", "bash"],
        &["--help"],
    ] {
        let mut child = station.spawn(&mut station.command(arguments));
        drop(child.stdout.take());
        let ended = station.wait(child);
        assert_eq!(ended.status, 0, "{arguments:?}: {ended}");
        ended.never("panicked");
    }
}

#[test]
fn a_reader_that_has_seen_enough_may_leave() {
    let station = Station::new();
    let mut child = station.spawn(&mut station.command(&["tools", "--format", "json"]));
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    assert_eq!(first, "[\n");
    drop(out);
    let said = rest(child.stderr.as_mut().unwrap());
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

#[test]
fn tools_are_found_by_words() {
    let station = Station::new();
    let all = station.run(&["tools", "--json"]).json();
    assert!(all.as_array().unwrap().len() >= 20);
    station
        .run(&["tools", "web", "page"])
        .ends(0)
        .prints(&["web.get_page"])
        .never("text.count");
    station
        .run(&["tools", "zebra"])
        .ends(0)
        .says_only("no tool has all these words");
}

#[test]
fn tools_are_declared_in_typescript() {
    let station = Station::new();
    let ended = station
        .run(&["tools", "page", "web", "--format", "ts"])
        .ends(0)
        .says_only("")
        .prints(&[
            "     * @param url The address, with `https://`.\n",
            "    get_page(args: { url: string; length?: number; links?: boolean; start?: number }): Promise<{ url: string; ",
        ])
        .never("files");
    let (before, declared) = ended.out.split_at(ended.out.find("interface").unwrap());
    assert_eq!(
        before,
        "declare class ToolError extends Error {\n  code: string;\n  retryable: boolean;\n}\n\n"
    );
    let (declared, handles) = declared.split_at(declared.find("\n/**\n * What is held").unwrap());
    let functions = typescript::functions(handles).unwrap();
    let names: Vec<_> = functions.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["handle", "reveal", "isolate", "consult"]);
    let methods = typescript::declaration(declared, Reading::Closed).unwrap();
    let names: Vec<_> = methods.iter().map(|method| method.name.as_str()).collect();
    assert!(names.contains(&"get_page"), "{names:?}");
    station
        .run(&["tools", "zebra", "--format", "ts"])
        .ends(0)
        .says_only("no tool has all these words")
        .prints(&["interface Tools {\n}\ndeclare const tools: Tools;\n"]);
    // Where the tools for them are blocked, there is nothing to do with handles.
    let station = Station::with("block = [\"handle.*\"]");
    station
        .run(&["tools", "web", "--format", "ts"])
        .ends(0)
        .never("Handle");
}

#[test]
fn data_that_cannot_be_written_is_a_failure() {
    let station = Station::new();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = station.command(&["call", "text.count", r#"{"text":"a"}"#]);
    station.finish(command.stdout(full)).ends(1).says_only(
        "error: standard output cannot be written\nhint: is the disk full that it leads to?",
    );
}
