//! `lazaret demo`: two denials with their reasons, and a report whose figures come from the files.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use serde_json::Value;

use crate::station::Station;

/// A file of the example.
fn example(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    std::fs::read_to_string(root.join("examples/quickstart").join(path)).unwrap()
}

/// The example's table, read without any of the program's help.
fn cargo() -> Vec<(String, f64, u64, u64)> {
    let text = example("data/cargo.csv");
    let lines = text.lines().skip(1);
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let number = |place: usize| cells[place].parse::<u64>().unwrap();
            (
                cells[0].to_owned(),
                cells[3].parse().unwrap(),
                number(4),
                number(5),
            )
        })
        .collect()
}

/// The report that the files make inevitable, up to the log and the page.
fn wanted() -> Vec<String> {
    let rows = cargo();
    let all: u64 = rows.iter().map(|row| row.3).sum();
    let longest = rows.iter().map(|row| row.2).max().unwrap();
    let mut ships: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    for (ship, tonnes, _, fee) in &rows {
        let sum = ships.entry(ship).or_default();
        sum.0 += fee;
        sum.1 += tonnes;
    }
    let mut ships: Vec<_> = ships.into_iter().collect();
    ships.sort_by_key(|(_, (fees, _))| std::cmp::Reverse(*fees));
    let first = format!(
        "{all} lire in all, from {} lots; the longest wait was {longest} days.",
        rows.len()
    );
    let ships = ships.iter().take(3);
    let ships = ships.map(|(ship, (fees, tonnes))| format!("| {ship} | {fees} | {tonnes} |"));
    std::iter::once(first).chain(ships).collect()
}

#[test]
fn the_report_comes_from_the_files() {
    let station = Station::new();
    station.run(&["demo", "--folder", "station"]).ends(0);
    let report = station.read("station/out/report.md");
    for line in wanted() {
        assert!(
            report.lines().any(|known| known == line),
            "{line}:\n{report}"
        );
    }
    let log = example("docs/log.md");
    let named = log.lines().filter(|line| line.contains("Fortuna")).count();
    assert!(
        report.contains(&format!("The log names the Fortuna {named} times.")),
        "{report}"
    );
    assert!(report.contains("06:40"), "the page was read:\n{report}");
}

#[test]
fn the_denials_are_told_with_their_reasons() {
    let station = Station::new();
    let ended = station.run(&["demo"]).ends(0);
    let denials = ended.err.matches("denied ").count();
    assert_eq!(denials, 2, "{ended}");
    ended
        .says(&[
            "denied the path `../lazaret.toml` leads out of the mounts with `..`",
            "may not send GET to https://example.com (host_not_granted)",
            "lazaret runs show last",
            "lazaret policy explain web.get_page",
        ])
        .prints(&["Fortuna owes 2400 of "]);
}

#[test]
fn what_it_says_to_type_next_works() {
    let station = Station::new();
    station.run(&["demo", "--folder", "station"]).ends(0);
    station
        .run_in("station", &["runs", "show", "last"])
        .ends(0)
        .prints(&["run clerk", "denied", "done"])
        .says_only("");
    station
        .run_in("station", &["policy", "explain", "web.get_page"])
        .ends(0)
        .prints(&["fetch"]);
}

#[test]
fn for_programs_it_is_one_event_a_line() {
    let ended = Station::new()
        .run(&["demo", "--json"])
        .ends(0)
        .says_only("");
    let events = ended.lines();
    let words: Vec<&str> = events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect();
    assert_eq!(
        (words.first(), words.last()),
        (Some(&"started"), Some(&"stopped"))
    );
    let denied = |event: &&Value| event["verdict"]["verdict"] == "deny";
    assert_eq!(events.iter().filter(denied).count(), 2);
}

/// The demo's own port, once no other test's demo has it.
fn taken() -> TcpListener {
    let own = ("127.0.0.1", 8377);
    loop {
        if let Ok(listener) = TcpListener::bind(own) {
            return listener;
        }
        // The end of the visit is waited for; it comes with the other demo's own end, or before.
        if let Ok(mut visit) = TcpStream::connect(own) {
            let _ = visit.write_all(b"GET / HTTP/1.1\r\n\r\n");
            let _ = visit.read_to_end(&mut Vec::new());
        }
    }
}

#[test]
fn another_port_does_when_its_own_is_taken() {
    let _taken = taken();
    let station = Station::new();
    station.run(&["demo", "--folder", "station"]).ends(0);
    assert!(station.read("station/out/report.md").contains("06:40"));
    assert!(!station.read("station/lazaret.toml").contains(":8377"));
}

#[test]
fn a_second_time_it_works_again() {
    let station = Station::new();
    station.run(&["demo"]).ends(0);
    station.run(&["demo", "--quiet"]).ends(0).says_only("");
}

#[test]
fn a_folder_that_cannot_be_made_is_said() {
    let station = Station::new();
    station.write("file", "");
    station
        .run(&["demo", "--folder", "file"])
        .ends(1)
        .says(&["error: `[HERE]/file/docs` cannot be written: a part of the path is no folder"]);
}
