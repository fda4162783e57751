//! An exported run: JSON lines that another journal can take in.
//!
//! The first line says which run it is, the last one what all lines before it come to, with an
//! authentication by the host that wrote them. Whoever reads it learns whether it is whole; only the
//! host that wrote it learns that it is true. To everybody else it is a text from outside, and its
//! labels say so. The first line also says what its sources were worth in the workspace that wrote it: in another one of the
//! same host they are worth no more (`flow/home.rs`).

use serde::{Deserialize, Serialize};

use crate::rules::flow::home::{Home, Stamp};
use crate::rules::flow::kind::Kind;
use crate::words::error::{Error, Result};
use crate::words::event::{Content, Event, Record};
use crate::words::id::{Digest, RunId};
use crate::words::inert::inert_json;
use crate::words::key::HostKey;
use crate::words::label::{Label, Source};
use crate::words::limits::{EXPORT_BYTES, EXPORT_RECORDS};

/// Version of the lines.
const VERSION: u32 = 1;
/// What the key is used for here.
const PURPOSE: &str = "export";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    /// Always `run`: tells the file from any other.
    lazaret: String,
    version: u32,
    run: RunId,
    records: usize,
    /// Name of the host's key.
    host: String,
    /// What its sources were worth in the workspace that wrote it; nothing where the host does not vouch for the records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stamp: Option<Stamp>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tail {
    end: RunId,
    records: usize,
    /// Digest of all lines before, one after the other.
    chain: Digest,
    /// By the host's key; none where the host does not vouch for the records itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mac: Option<Digest>,
}

/// A run that was read back.
#[derive(Debug)]
pub struct Exported {
    /// Its records, in order.
    pub records: Vec<Record>,
    /// Whether this host wrote them, and they are as they were.
    pub authentic: bool,
    /// Whether it wrote them in another workspace.
    pub moved: bool,
}

/// Writes a run of this workspace as lines. `vouched` says whether this host vouches for its records.
///
/// # Errors
/// `BadInput` for a run without records.
pub fn write(records: &[Record], (key, home): (&HostKey, &Home), vouched: bool) -> Result<String> {
    let Some(first) = records.first() else {
        return Err(Error::bad_input("the run has no records"));
    };
    let head = Head {
        lazaret: "run".to_owned(),
        version: VERSION,
        run: first.run.clone(),
        records: records.len(),
        host: key.name(),
        stamp: vouched.then(|| home.veiled(key).stamp_all(labels(records).iter())),
    };
    let mut lines = Lines::default();
    lines.add(&head);
    for record in records {
        lines.add(record);
    }
    let mac = vouched.then(|| key.mac(PURPOSE, &parts(&first.run, &lines.chain)));
    let chain = lines.chain;
    lines.add(&Tail {
        end: first.run.clone(),
        records: records.len(),
        chain,
        mac,
    });
    Ok(lines.text)
}

/// All labels of these records.
fn labels(records: &[Record]) -> Vec<Label> {
    let mut labels = Vec::new();
    for record in records {
        let mut event = record.event.clone();
        event.each_label(|label| {
            // Most are the one before.
            if labels.last() != Some(label) {
                labels.push(label.clone());
            }
        });
    }
    labels
}

/// Lines that are written, and what they come to.
struct Lines {
    text: String,
    chain: Digest,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            text: String::new(),
            chain: Digest::from([0; 32]),
        }
    }
}

impl Lines {
    fn add(&mut self, line: &impl Serialize) {
        // Text and JSON values with text as keys always have a JSON form.
        let line = inert_json(serde_json::to_string(line).unwrap_or_default());
        self.chain = after(&self.chain, &line);
        self.text.push_str(&line);
        self.text.push('\n');
    }
}

fn after(chain: &Digest, line: &str) -> Digest {
    let mut all = chain.bytes().to_vec();
    all.extend_from_slice(line.as_bytes());
    Digest::of(&all)
}

/// The digest is of the head as well, and so of the number of records.
fn parts<'a>(run: &'a RunId, chain: &'a Digest) -> [&'a [u8]; 2] {
    [run.as_str().as_bytes(), chain.bytes()]
}

/// Reads the lines of an exported run in this workspace. Records that this host does not vouch for carry the source of
/// what was imported from then on, beside all that they carried, and those that another workspace wrote what stands for what they
/// were worth there.
///
/// # Errors
/// `BadInput` for what is no exported run, or one that was changed or cut short, `TooBig`.
pub fn read(bytes: &[u8], (key, home): (&HostKey, &Home)) -> Result<Exported> {
    if bytes.len() > EXPORT_BYTES {
        return Err(Error::too_big(
            "the exported run",
            EXPORT_BYTES,
            bytes.len(),
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| foreign("it is no UTF-8 text"))?;
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    let mut chain = after(&Digest::from([0; 32]), head);
    let head = read_head(head)?;
    let mut records = Vec::new();
    for at in 0..head.records {
        let line = lines.next().unwrap_or_default();
        records.push(read_record(line, at, &head)?);
        chain = after(&chain, line);
    }
    let tail: Tail = serde_json::from_str(lines.next().unwrap_or_default())
        .map_err(|_| changed("its last line is missing, so it was cut short or added to"))?;
    if tail.end != head.run || tail.records != head.records || tail.chain != chain {
        return Err(changed("its last line does not fit the lines before it"));
    }
    if lines.next().is_some() {
        return Err(changed("there are lines after its last one"));
    }
    let own = head.host == key.name();
    let authentic = match &tail.mac {
        Some(mac) if own => {
            if !key.made(mac, PURPOSE, &parts(&head.run, &chain)) {
                return Err(changed("it says that this host wrote it, and it did not"));
            }
            true
        }
        Some(_) | None => false,
    };
    let home = home.veiled(key);
    // Written before there were stamps, names count as they are called here.
    let moved = head.stamp.filter(|stamp| authentic && !home.made(stamp));
    if let Some(stamp) = &moved {
        elsewhere(&mut records, (stamp, &home));
    }
    if !authentic {
        records.iter_mut().for_each(mark);
    }
    Ok(Exported {
        records,
        authentic,
        moved: moved.is_some(),
    })
}

fn read_head(line: &str) -> Result<Head> {
    #[derive(Deserialize)]
    struct Version {
        lazaret: String,
        version: u32,
    }
    let version: Option<Version> = serde_json::from_str(line).ok();
    match version {
        Some(Version { lazaret, version }) if lazaret == "run" && version > VERSION => {
            let what = format!(
                "the exported run was written by a newer lazaret: it has version {version}, and this one reads up to {VERSION}"
            );
            return Err(Error::bad_input(what).hint("use the newer lazaret"));
        }
        Some(Version { lazaret, .. }) if lazaret == "run" => {}
        Some(_) | None => return Err(foreign("its first line is none of ours")),
    }
    let head: Head =
        serde_json::from_str(line).map_err(|_| foreign("its first line is none of ours"))?;
    if head.run.as_str().is_empty() || RunId::known(head.run.as_str()) != head.run {
        return Err(foreign("the name of its run is none of ours"));
    }
    if head.records == 0 || head.records > EXPORT_RECORDS {
        let what = format!("it has {} records, and 1 to {EXPORT_RECORDS}", head.records);
        return Err(foreign(&format!("{what} may be")));
    }
    Ok(head)
}

/// A record in its place: what no journal of ours could have written does not get in.
fn read_record(line: &str, at: usize, head: &Head) -> Result<Record> {
    let number = at + 2;
    let wrong = |why: &str| changed(&format!("line {number}: {why}"));
    if line.is_empty() {
        return Err(wrong("a record is missing, so it was cut short"));
    }
    let mut record: Record = serde_json::from_str(line)
        .map_err(|_| wrong("this is no record, or one of a newer lazaret"))?;
    let seq = u64::try_from(at).unwrap_or(u64::MAX);
    if record.run != head.run || record.seq != seq || record.parent > seq {
        return Err(wrong("this record does not belong there"));
    }
    if i64::try_from(record.at).is_err() {
        return Err(wrong("its time is none"));
    }
    let starts = matches!(record.event, Event::Started(_));
    let stops = matches!(record.event, Event::Stopped(_));
    if starts != (at == 0) || (stops && at + 1 != head.records) {
        return Err(wrong("this record does not belong there"));
    }
    if !has_names(&record.event) {
        return Err(wrong("it names a run or kind as no host would"));
    }
    // By its digest it could bring in what another run has read, and nobody has measured its length.
    if refers(&mut record.event) {
        return Err(wrong(
            "this record refers to a content that is not in the file",
        ));
    }
    Ok(record)
}

/// Whether it has the digest of a content in place of that. Of what steps have made of a call no journal keeps one.
fn refers(event: &mut Event) -> bool {
    let is_stored = |content: &Content| matches!(content, Content::Stored { .. });
    if let Event::Finished(finished) = &*event
        && let Some(remade) = &finished.remade
        && is_stored(&remade.content)
    {
        return true;
    }
    event
        .content_mut()
        .is_some_and(|content| is_stored(content))
}

/// Whether what it says of a run or a kind of value is the name of one.
#[must_use]
pub fn has_names(event: &Event) -> bool {
    if let Event::Brought(brought) = event {
        return RunId::known(brought.from.as_str()) == brought.from;
    }
    let Event::Judged(judged) = event else {
        return true;
    };
    let mut weighed = judged.weighed.iter();
    weighed.all(|value| Kind::of_word(&value.kind).is_some())
}

/// Records of another workspace as they count here.
fn elsewhere(records: &mut [Record], (stamp, home): (&Stamp, &Home)) {
    let seen = |label: &Label| home.seen(label, &stamp.about(label));
    records.iter_mut().for_each(|record| relabel(record, seen));
}

/// Adds the source of what was imported to everything that the record says of influence: a host that did not write it
/// vouches for none of that.
pub fn mark(record: &mut Record) {
    relabel(record, |label| label.with(Source::imported()));
}

fn relabel(record: &mut Record, more: impl Fn(&Label) -> Label) {
    record.event.each_label(|label| *label = more(label));
    // Under more influence it is told between marks what was told without.
    if let Event::Prompted { digest, .. } = &mut record.event {
        *digest = None;
    }
}

fn foreign(why: &str) -> Error {
    Error::bad_input(format!("this is no exported run: {why}"))
        .hint("`lazaret runs export RUN --output FILE` writes one")
}

/// Whoever brings it can bring another.
fn changed(why: &str) -> Error {
    Error::bad_input(format!("the exported run was changed: {why}"))
        .hint("nothing of it was taken in; export it anew")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::rules::flow::class::{Class, Classes, Integrity, Secrecy};
    use crate::words::error::Code;
    use crate::words::event::{
        Brought, EffectKind, End, Judged, Narrowed, Started, Stopped, Surface, Verdict, Weighed,
    };
    use crate::words::id::{Place, ToolName};
    use crate::words::label::Sort;
    use crate::words::message::Usage;

    fn key(byte: u8) -> HostKey {
        HostKey::new(&[byte; 32])
    }

    fn record(seq: u64, event: Event) -> Record {
        Record {
            run: RunId::known("20260101-000000-0000abcd"),
            seq,
            at: 5,
            parent: 0,
            event,
        }
    }

    fn run() -> Vec<Record> {
        let started = Started {
            surface: Surface::Cli,
            subject: "agent".to_owned(),
            goal: "a\u{202e}b".to_owned(),
            label: Label::of(Source::user()),
            narrowed: Narrowed::default(),
            ask_expires_ms: None,
            session: None,
            forked: None,
            attached: Vec::new(),
            traced: Vec::new(),
        };
        let stopped = Stopped {
            end: End::Done {
                content: Content::Inline("x".into()),
            },
            turns: 1,
            usage: Usage::default(),
            limit: None,
        };
        vec![
            record(0, Event::Started(started)),
            record(1, Event::Resumed { traced: Vec::new() }),
            record(2, Event::Stopped(stopped)),
        ]
    }

    #[test]
    fn what_this_host_wrote_comes_back_as_it_was() {
        let text = write(&run(), (&key(1), &Home::default()), true).unwrap();
        assert_eq!(text.lines().count(), 5);
        assert!(!text.contains('\u{202e}'));
        let back = read(text.as_bytes(), (&key(1), &Home::default())).unwrap();
        assert!(back.authentic);
        assert_eq!(back.records, run());
    }

    /// Whoever exports and imports in one workspace has the very same; in another one names are worth no more than they were.
    #[test]
    fn what_another_workspace_wrote_is_worth_no_more_here() {
        let docs = Label::of(Source::new(Sort::File, "docs"));
        let mut records = run();
        if let Event::Started(started) = &mut records[0].event {
            started.label = docs.clone();
        }
        let prompted = json!({
            "event": "prompted", "turn": 1, "turns_max": 1, "model": "m", "tools": [], "digest": "0".repeat(64),
        });
        records[1].event = serde_json::from_value(prompted).unwrap();
        let classes = |integrity, secrecy| Classes {
            said: [("file:docs".to_owned(), Class { integrity, secrecy })].into(),
            ..Classes::default()
        };
        let strangers = classes(Integrity::Untrusted, Secrecy::Private);
        let own = classes(Integrity::Trusted, Secrecy::Private);
        let key = key(1);
        let there = Home::new("/there", strangers);
        let text = write(&records, (&key, &there), true).unwrap();
        assert!(!text.contains("/there"), "{text}");
        // Also where its policy is another one by now.
        let same = Home::new("/there", own.clone());
        let back = read(text.as_bytes(), (&key, &same)).unwrap();
        assert_eq!((&back.records, back.moved), (&records, false));
        let here = Home::new("/here", own);
        let back = read(text.as_bytes(), (&key, &here)).unwrap();
        assert!(back.authentic && back.moved);
        let Event::Started(started) = &back.records[0].event else {
            unreachable!("the first record begins the run")
        };
        assert_eq!(started.label, docs.with(Source::of_another_workspace()));
        let Event::Prompted { digest, .. } = &back.records[1].event else {
            unreachable!("the second one is the prompt")
        };
        assert_eq!(*digest, None);
        // Nobody takes it out again.
        let mut lines: Vec<&str> = text.lines().collect();
        let (before, after) = lines[0].split_once(",\"stamp\"").unwrap();
        assert!(after.ends_with("}}"), "{after}");
        let head = format!("{before}}}");
        lines[0] = &head;
        let error = read(lines.join("\n").as_bytes(), (&key, &here)).unwrap_err();
        assert_eq!(error.code(), Code::BadInput);
    }

    #[test]
    fn what_nobody_here_vouches_for_is_marked() {
        let ours = write(&run(), (&key(1), &Home::default()), false).unwrap();
        let theirs = write(&run(), (&key(2), &Home::default()), true).unwrap();
        for text in [ours, theirs] {
            let back = read(text.as_bytes(), (&key(1), &Home::default())).unwrap();
            assert!(!back.authentic);
            let json = serde_json::to_string(&back.records[0]).unwrap();
            assert!(json.contains(r#"["user","file:/import"]"#), "{json}");
        }
    }

    fn check(change: impl FnOnce(&mut Vec<String>), code: Code, says: &str) {
        let text = write(&run(), (&key(1), &Home::default()), true).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        change(&mut lines);
        let error = read(lines.join("\n").as_bytes(), (&key(1), &Home::default())).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(says), "{says}: {error}");
    }

    fn replace(lines: &mut [String], line: usize, from: &str, to: &str) {
        assert!(lines[line].contains(from), "{}", lines[line]);
        lines[line] = lines[line].replace(from, to);
    }

    #[test]
    fn changed_files_are_refused() {
        use Code::BadInput;
        check(Vec::clear, BadInput, "first line");
        check(|lines| lines.truncate(1), BadInput, "line 2");
        check(|lines| lines.truncate(3), BadInput, "line 4");
        check(|lines| lines.truncate(4), BadInput, "last line is missing");
        check(|lines| lines.push("{}".into()), BadInput, "after its last");
        check(|lines| lines.swap(1, 2), BadInput, "does not belong");
        check(|lines| drop(lines.remove(2)), BadInput, "does not belong");
        check(
            |lines| replace(lines, 1, "\"at\":5", "\"at\":6"),
            BadInput,
            "does not fit",
        );
        check(
            |lines| replace(lines, 0, "run\"", "song\""),
            BadInput,
            "first line",
        );
        check(
            |lines| replace(lines, 0, "\"version\":1", "\"version\":2"),
            BadInput,
            "newer",
        );
        check(
            |lines| replace(lines, 0, "\"records\":3", "\"records\":0"),
            BadInput,
            "0 records",
        );
        check(
            |lines| replace(lines, 0, "20260101-", "../../x"),
            BadInput,
            "the name of its run",
        );
        check(
            |lines| replace(lines, 2, "resumed", "danced"),
            BadInput,
            "no record",
        );
        check(
            |lines| replace(lines, 2, "\"seq\":1", "\"seq\":7"),
            BadInput,
            "does not belong",
        );
        check(
            |lines| replace(lines, 1, "\"at\":5", "\"at\":18446744073709551615"),
            BadInput,
            "time",
        );
        check(
            |lines| {
                let stored = format!(
                    r#"{{"stored":{{"digest":"{}","bytes":9}}}}"#,
                    "0".repeat(64)
                );
                replace(lines, 3, r#"{"inline":"x"}"#, &stored);
            },
            BadInput,
            "a content that is not in the file",
        );
    }

    /// Whoever counts its length would count with what nobody has measured.
    #[test]
    fn what_steps_have_made_of_a_call_refers_to_no_content() {
        let taken = |content: serde_json::Value| {
            let finished = json!({"of": 0, "end": "done", "content": "empty", "label": ["user"],
                "remade": {"content": content, "label": ["user"],
                    "verdict": {"verdict": "allow", "rule": "a line"}},
                "spent": {"us": 0}});
            let mut records = run();
            records[1].event = Event::Finished(serde_json::from_value(finished).unwrap());
            let text = write(&records, (&key(2), &Home::default()), true).unwrap();
            read(text.as_bytes(), (&key(1), &Home::default())).map(drop)
        };
        for content in [json!({"inline": {}}), json!({"size": {"bytes": u64::MAX}})] {
            taken(content).unwrap();
        }
        let stored = json!({"stored": {"digest": "0".repeat(64), "bytes": u64::MAX}});
        let error = taken(stored).unwrap_err();
        assert!(error.message().contains("line 3"), "{error}");
        assert!(error.message().contains("not in the file"), "{error}");
    }

    #[test]
    fn what_names_a_run_or_a_kind_as_no_host_would_is_refused() {
        let taken = |event: Event| {
            let mut records = run();
            records[1].event = event;
            let text = write(&records, (&key(2), &Home::default()), true).unwrap();
            read(text.as_bytes(), (&key(1), &Home::default())).map(drop)
        };
        let brought = |from: &str| {
            Event::Brought(Brought {
                name: "h1".to_owned(),
                from: RunId::from(from.to_owned()),
                handle: "h1".to_owned(),
                tool: ToolName::parse("files.read").unwrap(),
                content: Content::Empty,
                label: Label::default(),
            })
        };
        let weighed = |kind: &str| {
            Event::Judged(Judged {
                effect: EffectKind::Call,
                subject: "files.write".to_owned(),
                component: None,
                origin: "model".to_owned(),
                place: Place::default(),
                content: Content::Empty,
                label: Label::default(),
                weighed: vec![Weighed {
                    argument: "path".to_owned(),
                    value: "a".to_owned(),
                    kind: kind.to_owned(),
                    witness: String::new(),
                }],
                given: BTreeMap::new(),
                verdict: Verdict::Allow {
                    rule: "a line".to_owned(),
                },
            })
        };
        taken(brought("20260101-000000-0000abcd")).unwrap();
        taken(weighed("file")).unwrap();
        for event in [brought("x\u{1b}[2J"), weighed("file\u{1b}[2J")] {
            let error = taken(event).unwrap_err();
            assert!(error.message().contains("line 3: it names"), "{error}");
        }
    }

    #[test]
    fn a_forged_file_does_not_pass_for_ours() {
        // Everything fits but the authentication.
        let text = write(&run(), (&key(2), &Home::default()), true).unwrap();
        let text = text.replace(&key(2).name(), &key(1).name());
        let mut lines: Vec<&str> = text.lines().collect();
        let mut chain = Digest::from([0; 32]);
        for line in &lines[..4] {
            chain = after(&chain, line);
        }
        let mut tail: Tail = serde_json::from_str(lines[4]).unwrap();
        tail.chain = chain;
        let tail = serde_json::to_string(&tail).unwrap();
        lines[4] = &tail;
        let error = read(lines.join("\n").as_bytes(), (&key(1), &Home::default())).unwrap_err();
        assert!(error.message().contains("it did not"), "{error}");
    }

    #[test]
    fn what_is_imported_is_marked_wherever_it_says_who_had_influence() {
        let finished = json!({"of": 0, "end": "done", "content": "empty", "label": ["user"],
            "touched": {"e7": ["user"]}, "spent": {"us": 0}});
        let mut record = record(
            1,
            Event::Finished(serde_json::from_value(finished).unwrap()),
        );
        mark(&mut record);
        let Event::Finished(finished) = record.event else {
            panic!("it stays what it is");
        };
        let imported = Label::of(Source::imported());
        assert!(finished.label.covers(&imported));
        assert!(
            finished
                .touched
                .values()
                .all(|label| label.covers(&imported))
        );
    }
}
