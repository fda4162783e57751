//! The README is true: its commands are run as they stand there, and its outputs compared.
//!
//! In an output, `…` stands for anything within a line, and a line of `…` alone for any lines. Standard
//! error follows standard output as it comes; `[exit N]` is the status of a command that fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const README: &str = include_str!("../../../README.md");
const INBOX: &str = include_str!("../../../examples/inbox/lazaret.toml");
const EXAMPLE: &str = include_str!("../../../examples/tool/src/lib.rs");

#[test]
fn every_console_block_does_what_it_shows() {
    let scene = Scene::new();
    let mut commands = 0;
    for block in blocks("console") {
        for (command, expected) in steps(&block) {
            let got = scene.run(&command);
            assert!(
                matches(&expected, &got),
                "$ {command}\n--- README says\n{expected}\n--- it does\n{got}"
            );
            commands += 1;
        }
    }
    assert!(commands >= 10, "only {commands} commands were found");
}

#[test]
fn the_tool_in_twenty_lines_is_the_example() {
    assert!(
        blocks("rust").contains(&EXAMPLE.to_owned()),
        "README and examples/tool differ"
    );
    assert!(EXAMPLE.lines().count() <= 20);
}

/// What a mail agent's policy says of flows is what the inbox runs with, and each line that is only shown may be written.
#[test]
fn the_flows_of_a_mail_agent_are_those_of_the_inbox() {
    let blocks = blocks("toml");
    let mut about_mail = blocks
        .iter()
        .filter(|block| block.contains("trust = [\"mail\"]"));
    let (block, others) = (about_mail.next().unwrap(), about_mail.next());
    assert_eq!(others, None);
    let inbox: toml::Table = INBOX.parse().unwrap();
    assert_eq!(block.parse::<toml::Table>().unwrap()["flow"], inbox["flow"]);

    let scene = Scene::new();
    let shown = block.replace("\n# ", "\n");
    assert_ne!(*block, shown);
    let others = INBOX.replace("\n[flow", "\n[not.flow");
    let others: toml::Table = others.parse().unwrap();
    let kept = others.into_iter().filter(|(name, _)| name != "not");
    let config = format!("{}\n{shown}", kept.collect::<toml::Table>());
    let folder = scene.folder();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::copy(
        root.join("target/guests/mail.wasm"),
        folder.join("mail.wasm"),
    )
    .unwrap();
    fs::write(folder.join("replies.jsonl"), "").unwrap();
    for name in ["mail", "contacts", "outbox"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    fs::write(folder.join("lazaret.toml"), config).unwrap();
    scene.run("lazaret policy trust --quiet");
    let checked = scene.run("lazaret policy check --strict");
    assert!(
        checked.starts_with("ok ") && !checked.contains("warning"),
        "{checked}"
    );
}

#[test]
fn a_comparison_can_fail() {
    assert!(matches("a…c\n…\nz", "a b c\nx\ny\nz"));
    assert!(matches("a\n…", "a"));
    assert!(!matches("a…c", "a b d"));
    assert!(!matches("a", "a\nb"));
}

struct Scene(tempfile::TempDir);

impl Scene {
    /// The files of the quickstart, the greeting plugin, and the README's own policy.
    fn new() -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = scene.folder();
        fs::create_dir_all(folder.join("docs")).unwrap();
        for name in ["docs/rules.md", "docs/log.md"] {
            fs::copy(
                root.join("examples/quickstart").join(name),
                folder.join(name),
            )
            .unwrap();
        }
        fs::copy(
            root.join("target/guests/tool.wasm"),
            folder.join("greet.wasm"),
        )
        .unwrap();
        fs::copy(
            root.join("examples/ferry/server.sh"),
            folder.join("server.sh"),
        )
        .unwrap();
        fs::write(folder.join("policy.toml"), blocks("toml").remove(0)).unwrap();
        fs::write(folder.join("words.ts"), blocks("typescript").remove(0)).unwrap();
        // Compiling for the first time says so, which is not what the README shows.
        scene.run("lazaret tools --quiet");
        scene.run("lazaret plugin check greet.wasm --quiet");
        scene.run("lazaret script words.ts --quiet");
        scene
    }

    fn folder(&self) -> PathBuf {
        let folder = self.0.path().join("work");
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn run(&self, command: &str) -> String {
        let exe = std::env::current_exe().unwrap();
        let programs = exe.parent().and_then(Path::parent).unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let output = Command::new("bash")
            .args(["-c", &format!("exec 2>&1; {command}")])
            .current_dir(self.folder())
            // Whatever the developer has set for their own programs says nothing here.
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.0.path())
            .env(
                "LAZARET_SYSTEM_CONFIG",
                self.0.path().join("etc/lazaret.toml"),
            )
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout)
            .unwrap()
            .trim_end()
            .to_owned();
        match output.status.code() {
            Some(0) => text,
            code => format!("{text}\n[exit {}]", code.unwrap()),
        }
    }
}

fn blocks(language: &str) -> Vec<String> {
    let open = format!("```{language}\n");
    let blocks = README.split(open.as_str()).skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect()
}

/// Commands and what they print; a command goes on in lines that begin with `> `.
fn steps(block: &str) -> Vec<(String, String)> {
    let mut steps: Vec<(String, Vec<&str>)> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push((command.to_owned(), Vec::new()));
            continue;
        }
        let (command, output) = steps.last_mut().expect("a block begins with a command");
        match line.strip_prefix("> ") {
            Some(more) if output.is_empty() => {
                command.push('\n');
                command.push_str(more);
            }
            _ => output.push(line),
        }
    }
    steps
        .into_iter()
        .map(|(command, output)| (command, output.join("\n").trim_end().to_owned()))
        .collect()
}

fn matches(expected: &str, got: &str) -> bool {
    let (expected, got): (Vec<&str>, Vec<&str>) =
        (expected.lines().collect(), got.lines().collect());
    lines_match(&expected, &got)
}

fn lines_match(expected: &[&str], got: &[&str]) -> bool {
    match (expected, got) {
        ([], []) => true,
        (["…", rest @ ..], _) => {
            (0..=got.len()).any(|skipped| lines_match(rest, &got[skipped..]))
        }
        ([line, rest @ ..], [first, others @ ..]) => {
            line_matches(line, first) && lines_match(rest, others)
        }
        _ => false,
    }
}

fn line_matches(expected: &str, got: &str) -> bool {
    let mut parts = expected.split('…');
    let Some(mut left) = parts.next().and_then(|first| got.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return left.is_empty();
    };
    for part in middle {
        let Some((_, rest)) = left.split_once(part) else {
            return false;
        };
        left = rest;
    }
    left.ends_with(last)
}
