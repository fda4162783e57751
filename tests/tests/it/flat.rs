//! Fifty turns of a user, each with something to look at (O-29): what is held does not grow by what was attached.
//!
//! What is counted is what is kept: copies of attached bytes in requests, in records and on the disk, and how much longer
//! each request is than the one before it. The memory of the process says nothing of it that a busy machine would not.

use std::collections::BTreeSet;
use std::path::Path;

use lazaret::runs::host::{Goal, With};
use lazaret::runs::session::{Joining, Session};
use lazaret::words::session::LOCAL;
use lazaret_tests::prelude::*;
use lazaret_tests::server::{Answer, Server};

const TURNS: usize = 50;
/// What every picture begins with, and how that is sent: 27 bytes are whole groups of base64.
const BEGIN: &str = "GIF89a canary-of-the-pictur";
const SENT: &str = "R0lGODlhIGNhbmFyeS1vZi10aGUtcGljdHVy";
/// A picture is so much longer than what is said of it.
const PICTURE_BYTES: usize = 16 << 10;

fn picture(turn: usize) -> String {
    format!("{BEGIN}{}", format!("{turn:06}").repeat(PICTURE_BYTES / 6))
}

/// How often a text stands in the files below a folder.
fn on_disk(folder: &Path, text: &str) -> usize {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let counts = entries.flatten().map(|entry| match entry.path() {
        path if path.is_dir() => on_disk(&path, text),
        path => {
            let bytes = std::fs::read(path).expect("a file");
            let parts = bytes.windows(text.len());
            parts.filter(|part| *part == text.as_bytes()).count()
        }
    });
    counts.sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_held_does_not_grow_by_what_was_attached() {
    let server = Server::start().await;
    server.say(vec![Answer {
        path: "/v1/chat/completions".to_owned(),
        body: json!({"choices": [{"message": {"role": "assistant", "content": "Seen."}, "finish_reason": "stop"}]}).to_string(),
        ..Answer::default()
    }]);
    let policy = format!(
        "[models.m]\nprovider = \"openai\"\nurl = \"http://127.0.0.1:{}/v1\"\nmodel = \"m\"\nprivate = true\n\
         stream = false\n[agents.agent]\nmodels = [\"m\"]",
        server.port()
    );
    let rig = Rig::of(&policy).kept().await.open().await;
    let joining = Joining::now(Session::of(LOCAL, "work").expect("a name"));
    let file = rig.path("chart.gif");
    let mut records = Vec::new();
    for turn in 0..TURNS {
        std::fs::write(&file, picture(turn)).expect("a file");
        let files = vec![rig.host.attach(&file).expect("a picture")];
        // From here on nothing but the host has it.
        std::fs::remove_file(&file).expect("the file is there");
        let goal = Goal {
            with: With {
                files,
                ..With::default()
            },
            ..rig.goal("Which year?")
        };
        let run = goal.run.clone();
        let answer = rig.host.pursue_in(&joining, goal, &rig.host.tasks()).await;
        assert_eq!(answer.expect("an answer"), "Seen.");
        records.push(rig.journal(&run).await);
    }
    let sent = server.sent();
    assert_eq!(sent.len(), TURNS);
    // Each turn is told its own picture, and of those before it that they were there.
    let own: BTreeSet<&str> = sent
        .iter()
        .filter_map(|text| text.split_once(SENT))
        .map(|(_, rest)| &rest[..80])
        .collect();
    assert_eq!(own.len(), TURNS, "each has its own");
    for (turn, request) in sent.iter().enumerate() {
        assert_eq!(request.matches(SENT).count(), 1, "turn {turn}");
        let before = request
            .matches("[Shown before, and no more: chart.gif")
            .count();
        assert_eq!(before, turn);
    }
    let longer = sent
        .windows(2)
        .map(|pair| pair[1].len().saturating_sub(pair[0].len()));
    assert!(
        longer.max() < Some(PICTURE_BYTES / 16),
        "{:?}",
        sent.iter().map(String::len).collect::<Vec<_>>()
    );
    // And no record has one, nor anything else that is kept.
    for text in [BEGIN, SENT] {
        let in_records: usize = records
            .iter()
            .map(|journal| journal.matches(text).count())
            .sum();
        assert_eq!((in_records, on_disk(&rig.path(""), text)), (0, 0), "{text}");
    }
    let longest = records.iter().map(String::len).max();
    assert!(longest < Some(PICTURE_BYTES), "{longest:?}");
}
