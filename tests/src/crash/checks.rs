//! What must be true of a run that was stopped and has gone on, wherever that was.

use std::collections::BTreeMap;
use std::path::Path;

use lazaret::edges::vault::Vault;
use lazaret::rules::flow::class::Classes;
use lazaret::runs::audit::{Audit, State};
use lazaret::runs::labels::Labels;
use lazaret::words::error::Code;
use lazaret::words::event::{EffectKind, End, Event, Record, Verdict};
use lazaret::words::id::RunId;
use lazaret::words::label::{Label, Sort, Source};

use super::{Scene, Witness};

/// Tools whose calls must not be made twice.
const ONCE: [&str; 3] = ["web.post", "files.write", "files.remove"];

/// What was found of runs that went on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Runs that were looked at.
    pub runs: usize,
    /// Their records.
    pub records: usize,
    /// Effects that the witness and the files have seen.
    pub effects: usize,
    /// Calls that nobody saw the end of, and that were told to be so.
    pub in_doubt: usize,
    /// Times that a run was taken up.
    pub resumed: usize,
}

impl Tally {
    /// With another one.
    pub fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.records += other.records;
        self.effects += other.effects;
        self.in_doubt += other.in_doubt;
        self.resumed += other.resumed;
    }
}

/// Looks at a run that has ended.
///
/// # Panics
/// With all that is wrong.
pub async fn check(scene: &Scene, name: &str, run: &RunId, witness: &Witness) -> Tally {
    let (places, classes) = (scene.places(), Classes::default());
    let audit = Audit::open((&places, &classes), &Vault::default()).expect("the journal opens");
    let found = audit.verify(run).await.expect("the run is there");
    let records = audit.journal().records(run).await.expect("its records");
    drop(audit);
    let mut wrong = Vec::new();
    if found.state != State::Intact {
        wrong.push(found.state.reason());
    }
    let is_end = |record: &&Record| matches!(record.event, Event::Stopped(_));
    if records.iter().filter(is_end).count() != 1 || !records.last().iter().all(is_end) {
        wrong.push("it has not exactly one end, which is its last record".to_owned());
    }
    let happened = happened(scene, name, witness);
    for (what, count) in happened {
        if count > 1 {
            wrong.push(format!("`{what}` happened {count} times"));
        }
    }
    let calls = calls(&records);
    for (place, tries) in &calls {
        wrong.extend(wrong_of(place, tries, &records));
    }
    wrong.extend(unlabelled(scene, name, &records));
    let tries: Vec<&Try> = calls.values().flatten().collect();
    let in_doubt = tries
        .iter()
        .filter(|made| made.fate == Fate::Doubtful)
        .count();
    let done = tries.iter().filter(|made| made.fate == Fate::Done).count();
    let effects = happened.iter().map(|(_, count)| count).sum();
    // A model is not asked on after a call of its own that is in doubt: the run ends, and says so.
    let over = match records.last().map(|last| &last.event) {
        Some(Event::Stopped(stopped)) => match &stopped.end {
            End::Done { .. } => calls.len() == ONCE_PLACES,
            End::Failed { code, .. } => *code == Code::InDoubt && in_doubt > 0,
        },
        _ => false,
    };
    if done > effects || effects > done + in_doubt || !over {
        wrong.push(format!(
            "of {} calls {done} are said to be done and {in_doubt} to be in doubt, and {effects} have happened: {happened:?}",
            calls.len()
        ));
    }
    assert!(
        wrong.is_empty(),
        "{name}: {wrong:#?}\n{}",
        crate::golden::render(&records)
    );
    Tally {
        runs: 1,
        records: records.len(),
        effects,
        in_doubt,
        resumed: records
            .iter()
            .filter(|record| matches!(record.event, Event::Resumed { .. }))
            .count(),
    }
}

/// What must not happen twice, and how often it has, by those outside.
fn happened(scene: &Scene, name: &str, witness: &Witness) -> [(&'static str, usize); 6] {
    let log = std::fs::read_to_string(scene.path(&format!("here/{name}.log"))).unwrap_or_default();
    let lines = |text: &str| log.lines().filter(|line| *line == text).count();
    let sent = |n: u32| witness.count(&format!("/{name}/{n}"));
    let there = scene.path(&format!("here/{name}.old")).exists();
    [
        ("post 1", sent(1)),
        ("post 2", sent(2)),
        ("post 3", sent(3)),
        ("append turn", lines("turn")),
        ("append script", lines("script")),
        ("remove", usize::from(!there)),
    ]
}

/// Places of the run at which there is a call that must not be made twice.
const ONCE_PLACES: usize = 6;

/// One time that a call was allowed.
struct Try {
    record: u64,
    tool: String,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Done,
    Failed,
    Doubtful,
}

/// What is not under the influence of the stranger whose letter was read first: what was done since, and what was written.
fn unlabelled(scene: &Scene, name: &str, records: &[Record]) -> Vec<String> {
    let letter = Label::of(Source::new(Sort::File, "inbox"));
    let mut wrong = Vec::new();
    for record in records {
        if let Event::Judged(judged) = &record.event
            && ONCE.contains(&judged.subject.as_str())
            && !judged.label.covers(&letter)
        {
            let (seq, label) = (record.seq, judged.label.told());
            wrong.push(format!(
                "record {seq} (`{}`) is under {label}",
                judged.subject
            ));
        }
    }
    let file = scene.path(&format!("here/{name}.log"));
    let label = file_label(scene, &file);
    if file.exists() && !label.covers(&letter) {
        wrong.push(format!("what was written is under {}", label.told()));
    }
    wrong
}

/// As a run that reads the file later finds it.
fn file_label(scene: &Scene, file: &Path) -> Label {
    let (places, classes) = (scene.places(), Classes::default());
    let audit = Audit::open((&places, &classes), &Vault::default()).expect("the journal opens");
    let labels = Labels::open(&scene.places(), audit.journal(), &Classes::default())
        .expect("the labels open");
    labels.file(file).expect("its label is there")
}

/// Calls that must not be made twice, by their place.
fn calls(records: &[Record]) -> BTreeMap<String, Vec<Try>> {
    let mut calls: BTreeMap<String, Vec<Try>> = BTreeMap::new();
    for record in records {
        let Event::Judged(judged) = &record.event else {
            continue;
        };
        let allowed = matches!(judged.verdict, Verdict::Allow { .. });
        if allowed && judged.effect == EffectKind::Call && ONCE.contains(&judged.subject.as_str()) {
            let end = records.iter().find_map(|other| match &other.event {
                Event::Finished(finished) if finished.of == record.seq => Some(&finished.end),
                _ => None,
            });
            let fate = match end {
                Some(End::Done { .. }) => Fate::Done,
                Some(End::Failed {
                    code: Code::InDoubt | Code::Cancelled,
                    ..
                })
                | None => Fate::Doubtful,
                Some(End::Failed { .. }) => Fate::Failed,
            };
            calls
                .entry(judged.place.to_string())
                .or_default()
                .push(Try {
                    record: record.seq,
                    tool: judged.subject.clone(),
                    fate,
                });
        }
    }
    calls
}

/// What is wrong with the calls at one place.
fn wrong_of(place: &str, tries: &[Try], records: &[Record]) -> Vec<String> {
    let mut wrong = Vec::new();
    let [made] = tries else {
        let seqs: Vec<u64> = tries.iter().map(|made| made.record).collect();
        return vec![format!("the call at {place} was made again: {seqs:?}")];
    };
    if made.fate == Fate::Failed {
        wrong.push(format!("`{}` at {place} failed", made.tool));
    }
    // Whoever wished for it was told: a model reads it, and a script has returned it.
    let told = records.iter().any(|record| match &record.event {
        Event::Observed { observation, .. } => {
            let text = &observation.text;
            text.contains(&made.tool) && text.contains("may or may not have happened")
        }
        _ => false,
    });
    if made.fate == Fate::Doubtful && !told {
        wrong.push(format!(
            "nobody was told that `{}` at {place} is in doubt",
            made.tool
        ));
    }
    wrong
}
