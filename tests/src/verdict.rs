//! What must come of an attack, and of every run: each thing that is not so, in a sentence.

use lazaret::rules::plan::path_of;
use lazaret::rules::rendered::rendered;
use std::path::Path;

use lazaret::words::error::{Code, Error, Result};
use lazaret::words::event::{End, Event, Record, Verdict};
use lazaret::words::inert::visible;
use serde_json::Value;

use crate::attack::{CANARY, Expect};
use crate::rig::Rigged;
use crate::server::Server;
use crate::spell::found;

/// Everything that an error says.
pub(crate) fn said(error: &Error) -> String {
    let mut said = error.message().to_owned();
    for issue in error.issue_list() {
        said.push_str(&format!("\n{}: {}", issue.path, issue.message));
    }
    for hint in error.hints() {
        said.push_str(&format!("\n{hint}"));
    }
    said
}

pub(crate) fn check_answer(expect: &Expect, code: Option<Code>, answer: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if !expect.may_be(code) {
        let start: String = answer.chars().take(400).collect();
        wrong.push(format!(
            "the code is {code:?}, and must be `{}`: {start}",
            expect.code
        ));
    }
    for text in expect.says.iter().filter(|text| !answer.contains(*text)) {
        let start: String = answer.chars().take(400).collect();
        wrong.push(format!("the answer does not say `{text}`: {start}"));
    }
    wrong
}

pub(crate) fn check_every(expect: &Expect, result: &Result<Value>) -> Vec<String> {
    if expect.every.is_empty() {
        return Vec::new();
    }
    let lines = result.as_ref().ok().and_then(Value::as_array);
    let Some(lines) = lines.filter(|lines| !lines.is_empty()) else {
        return vec!["the outcome is no list of lines".to_owned()];
    };
    let bad = lines.iter().filter(|line| {
        let line = line.as_str().unwrap_or_default();
        !expect.every.iter().any(|text| line.contains(text))
    });
    bad.map(|line| format!("a line holds none of {:?}: {line}", expect.every))
        .collect()
}

/// What a person is shown of an answer.
pub(crate) fn check_rendered(expect: &Expect, result: &Result<Value>) -> Vec<String> {
    let Some(wanted) = &expect.shown else {
        return Vec::new();
    };
    let answer = result.as_ref().ok().and_then(Value::as_str);
    let shown = answer.map(|answer| rendered(&visible(answer)));
    match shown {
        Some(shown) if shown == *wanted => Vec::new(),
        shown => vec![format!("a person is shown {shown:?}, and not {wanted:?}")],
    }
}

/// What models read.
pub(crate) fn observed(records: &[Record]) -> String {
    let texts = records.iter().filter_map(|record| match &record.event {
        Event::Observed { observation, .. } => Some(observation.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Nothing that somebody reads holds what it must not: the attack's own texts, the canary, or a path
/// of the host. Only a person learns where the policy is, since that is whom it is written for.
pub(crate) fn check_shown(expect: &Expect, shown: &str, host: &Rigged) -> Vec<String> {
    let for_people = format!(" {}/lazaret.toml", host.folder());
    let shown = shown.replace(&for_people, " POLICY");
    let hidden = [CANARY, host.folder()];
    let banned = expect.not.iter().map(String::as_str).chain(hidden);
    let found = banned.filter_map(|text| Some((text, shown.find(text)?)));
    found
        .map(|(text, at)| {
            let before = shown.floor_char_boundary(at.saturating_sub(80));
            let around: String = shown[before..].chars().take(240).collect();
            format!("`{text}` stands where it must not: …{around}…")
        })
        .collect()
}

/// A secret is nowhere but in the vault, and there it is sealed.
pub(crate) fn check_nowhere(expect: &Expect, all: &str, host: &Rigged) -> Vec<String> {
    let mut wrong = Vec::new();
    for secret in &expect.nowhere {
        if let Some(spelling) = found(secret, all.as_bytes()) {
            wrong.push(format!(
                "the secret stands in what is shown or kept, as `{spelling}`:\n{all}"
            ));
        }
        wrong.extend(files_with(secret, Path::new(host.folder())));
    }
    wrong
}

/// Files below a folder that hold a secret, in their names or bytes.
#[must_use]
pub fn files_with(secret: &str, folder: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let kind = entry.file_type().expect("an entry has a type");
        if let Some(spelling) = found(secret, name.as_encoded_bytes()) {
            wrong.push(format!(
                "{} is named by the secret: {spelling}",
                path.display()
            ));
        }
        if kind.is_dir() {
            wrong.extend(files_with(secret, &path));
        } else if kind.is_file()
            && let Some(spelling) = found(secret, &std::fs::read(&path).unwrap_or_default())
        {
            wrong.push(format!(
                "{} holds the secret as `{spelling}`",
                path.display()
            ));
        }
    }
    wrong
}

pub(crate) fn check_wire(expect: &Expect, server: &Server) -> Vec<String> {
    let sent = server.sent().join("\n");
    let missing = expect.wire.iter().filter(|text| !sent.contains(*text));
    missing
        .map(|text| format!("`{text}` did not reach the server:\n{sent}"))
        .collect()
}

/// What models were told first: none of what must not stand there, and the same from the beginning on.
pub(crate) fn check_system(expect: &Expect, server: &Server) -> Vec<String> {
    if expect.not_system.is_empty() {
        return Vec::new();
    }
    let (mut wrong, mut before) = (Vec::new(), String::new());
    for sent in server.sent() {
        let body = sent.split_once("\r\n\r\n").map(|(_, body)| body);
        let body: Value = serde_json::from_str(body.unwrap_or_default()).unwrap_or_default();
        let first = &body["messages"][0];
        let told = first["content"].as_str().unwrap_or_default();
        if first["role"] != "system" || !told.starts_with(&before) {
            wrong.push(format!("the system says {first}, and said `{before}`"));
        }
        let found = expect.not_system.iter().filter(|text| told.contains(*text));
        wrong.extend(found.map(|text| format!("the system says `{text}`: {told}")));
        before = told.to_owned();
    }
    wrong
}

pub(crate) fn check_journal(expect: &Expect, journal: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if journal.contains(CANARY) {
        wrong.push(format!("the journal holds the canary:\n{journal}"));
    }
    let mut rest = journal;
    for text in &expect.journal {
        match rest.split_once(text.as_str()) {
            Some((_, after)) => rest = after,
            None => {
                wrong.push(format!(
                    "the journal does not say `{text}` there:\n{journal}"
                ));
                break;
            }
        }
    }
    wrong
}

/// What holds of every run: each allowance has its end, each end its allowance, and the last record
/// says how it ended, or that it waits for a person. Only a script's call has an end where it was turned down as well.
#[must_use]
pub fn check_records(records: &[Record]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut open = std::collections::BTreeSet::new();
    for record in records {
        match &record.event {
            Event::Judged(judged) if matches!(judged.verdict, Verdict::Allow { .. }) => {
                open.insert(record.seq);
            }
            Event::Judged(judged)
                if judged.origin == "script" && matches!(judged.verdict, Verdict::Deny(_)) =>
            {
                open.insert(record.seq);
            }
            Event::Finished(finished) if !open.remove(&finished.of) => {
                wrong.push(format!("record {} ends what was not allowed", record.seq));
            }
            Event::Finished(finished)
                if matches!(
                    finished.end,
                    End::Failed {
                        code: Code::Bug,
                        ..
                    }
                ) =>
            {
                wrong.push(format!("record {} calls it a bug", record.seq));
            }
            _ => {}
        }
    }
    let stops = records
        .iter()
        .filter(|record| matches!(record.event, Event::Stopped(_)));
    if stops.count() > 1 {
        wrong.push("the run ended more than once".to_owned());
    }
    let of_agent = |record: &Record| matches!(&record.event, Event::Started(started) if !started.subject.contains('.'));
    if records.first().is_some_and(of_agent) {
        wrong.extend(path_of(records).err());
    }
    wrong.extend(
        open.iter()
            .map(|seq| format!("what record {seq} allows has no end")),
    );
    let ends = match records.last().map(|record| &record.event) {
        Some(Event::Stopped(_)) => true,
        Some(Event::Paused { questions }) => !questions.is_empty(),
        _ => false,
    };
    if !ends {
        wrong.push("the last record does not end the run".to_owned());
    }
    wrong
}

pub(crate) fn check_outside(expect: &Expect, host: &Rigged, server: &Server) -> Vec<String> {
    let mut wrong = Vec::new();
    let seen = server.seen();
    if seen.len() != expect.requests {
        wrong.push(format!("{} requests arrived: {seen:?}", seen.len()));
    }
    for (path, text) in &expect.files {
        let found = std::fs::read_to_string(host.path(path)).unwrap_or_default();
        if found != *text {
            wrong.push(format!("{path} holds `{found}`"));
        }
    }
    wrong
}
