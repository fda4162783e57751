//! The open batch: records that have their place and are not yet written, and what is known of the runs they are of.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use crate::words::error::{Code, Error, Result};
use crate::words::event::{Content, Event, Record};
use crate::words::id::{Digest, RunId, Seq};
use crate::words::limits::{BATCH_RECORDS, BATCH_RECORDS_MAX, RECORD_INLINE_BYTES};

/// Ended runs that are remembered: as many as could still have work under way.
const ENDED_RUNS: usize = 1_024;
/// Bytes of large contents in the open batch before the writer is woken, and before an append is
/// refused.
const BATCH_BYTES: usize = 4 << 20;
const BATCH_BYTES_MAX: usize = 256 << 20;
/// What is written on the spot takes a worker of the runtime for no longer than the change to another thread would.
const COMMIT_NOW_RECORDS: usize = 32;
const COMMIT_NOW_BYTES: usize = 64 << 10;

/// A large content, which stands once, by its digest, beside the records that name it.
pub(super) type Aside = (Digest, String);
/// Records, and the large contents that they name.
pub(super) type Taken = (Vec<Record>, Vec<Aside>);
/// Why nothing is written any more.
pub(super) type Broken = (Code, String);
/// What is done before the first record of a run is written.
pub type Ahead = Box<dyn Fn() -> Result<()> + Send>;

#[derive(Default)]
pub(super) struct Batch {
    pub(super) records: Vec<Record>,
    contents: Vec<Aside>,
    bytes: usize,
    /// The runs under way.
    open: HashMap<RunId, Open>,
    ended: Ended,
    /// Runs that were read, and that were imported: nothing is appended to them.
    imported: Ended,
    pub(super) broken: Option<Broken>,
    /// Of runs of which nothing is written yet: what is done before.
    ahead: HashMap<RunId, Ahead>,
    /// Of a replay: the run, and how many records it may have.
    pub(super) cut: Option<(RunId, Seq)>,
    /// Likewise: from which of its records on it begins nothing more, and why.
    pub(super) spent: Option<(RunId, Seq, Broken)>,
    /// How often the disk was waited for.
    pub(super) syncs: u64,
}

/// A run under way.
#[derive(Default)]
struct Open {
    /// The next place.
    next: Seq,
    /// The time of the last record.
    at: u64,
    /// The last record that is on the disk.
    safe: Option<Seq>,
    /// About how many bytes all its records take.
    kept: u64,
}

/// Runs that have ended, the newest of them: nothing may come after a run's last record.
#[derive(Default)]
struct Ended {
    runs: HashSet<RunId>,
    order: VecDeque<RunId>,
}

impl Ended {
    fn add(&mut self, run: &RunId) {
        if self.runs.insert(run.clone()) {
            self.order.push_back(run.clone());
        }
        if self.order.len() > ENDED_RUNS
            && let Some(oldest) = self.order.pop_front()
        {
            self.runs.remove(&oldest);
        }
    }

    fn remove(&mut self, run: &RunId) {
        if self.runs.remove(run) {
            self.order.retain(|ended| ended != run);
        }
    }
}

impl Batch {
    /// The next place in a run.
    pub(super) fn take_seq(&mut self, run: &RunId, event: &Event) -> Result<Seq> {
        let next = self.placed(run);
        let cut = self.cut.as_ref();
        let is_cut = cut.is_some_and(|(cut, records)| cut == run && next >= *records);
        if is_cut || self.ended.runs.contains(run) {
            return Err(Error::new(Code::Cancelled, "the run has ended"));
        }
        match self.open.get_mut(run) {
            Some(open) => open.next += 1,
            None => {
                let open = Open {
                    next: 1,
                    ..Open::default()
                };
                self.open.insert(run.clone(), open);
            }
        }
        if matches!(event, Event::Stopped(_)) {
            // Where nothing of it is written yet, all of it is written at once.
            self.ahead.remove(run);
            self.let_go(run);
        }
        Ok(next)
    }

    /// How many records a run has that goes on here.
    pub(super) fn placed(&self, run: &RunId) -> Seq {
        self.open.get(run).map_or(0, |open| open.next)
    }

    /// A record came in a run at that time, and takes so much.
    pub(super) fn came(&mut self, run: &RunId, at: u64, bytes: u64) {
        // Not after its end.
        if let Some(open) = self.open.get_mut(run) {
            open.at = at;
            open.kept = open.kept.saturating_add(bytes);
        }
    }

    /// About how many bytes the records of a run take that goes on here.
    ///
    /// # Errors
    /// Of a replay: why it begins nothing more where it is.
    pub(super) fn kept(&self, run: &RunId) -> Result<u64> {
        match &self.spent {
            Some((spent, from, (code, why))) if spent == run && self.placed(run) >= *from => {
                Err(Error::new(*code, why.clone()))
            }
            Some(_) | None => Ok(self.open.get(run).map_or(0, |open| open.kept)),
        }
    }

    /// The time of the record that came last in a run.
    pub(super) fn stamped(&self, run: &RunId) -> u64 {
        self.open.get(run).map_or(0, |open| open.at)
    }

    /// A run goes on after the last of its records, which take `kept` bytes together.
    ///
    /// # Errors
    /// `BadInput` where it was imported.
    pub(super) fn take_up(&mut self, run: &RunId, last: Seq, kept: u64) -> Result<()> {
        if self.imported.runs.contains(run) {
            let what = format!("the run `{run}` was imported, so nothing in it goes on");
            return Err(Error::bad_input(what).hint("only a run that began here does; begin anew"));
        }
        self.ended.remove(run);
        let open = self.open.entry(run.clone()).or_default();
        open.next = last + 1;
        open.kept = kept;
        Ok(())
    }

    /// Nothing more is appended to a run here.
    pub(super) fn let_go(&mut self, run: &RunId) {
        self.open.remove(run);
        self.ended.add(run);
    }

    /// A run was read that was imported.
    pub(super) fn saw_imported(&mut self, run: &RunId) {
        self.imported.add(run);
    }

    /// Whether the writer should be woken for this batch alone.
    pub(super) fn is_full(&self) -> bool {
        self.records.len() == BATCH_RECORDS || self.bytes > BATCH_BYTES
    }

    /// Whether it is small, and holds records of one run alone.
    pub(super) fn is_of_one_run(&self) -> bool {
        let mut records = self.records.iter();
        let first = records.next().map(|first| &first.run);
        let one = records.all(|record| Some(&record.run) == first);
        one && self.records.len() <= COMMIT_NOW_RECORDS && self.bytes <= COMMIT_NOW_BYTES
    }

    /// Before the first record of this run is written, this is done.
    pub(super) fn goes_ahead(&mut self, run: &RunId, ahead: Ahead) {
        self.ahead.insert(run.clone(), ahead);
    }

    /// What is to be done before the batch may be written.
    pub(super) fn due(&mut self) -> Vec<(RunId, Ahead)> {
        let mut due = Vec::new();
        if self.ahead.is_empty() {
            return due;
        }
        for record in &self.records {
            due.extend(self.ahead.remove_entry(&record.run));
        }
        due
    }

    /// Whether there is any of that.
    pub(super) fn is_due(&self) -> bool {
        let awaited = |record: &Record| self.ahead.contains_key(&record.run);
        !self.ahead.is_empty() && self.records.iter().any(awaited)
    }

    /// What there is to write.
    pub(super) fn take(&mut self) -> Taken {
        self.bytes = 0;
        (
            std::mem::take(&mut self.records),
            std::mem::take(&mut self.contents),
        )
    }

    /// Whether a record is on the disk, as far as is known.
    pub(super) fn is_safe(&self, run: &RunId, seq: Seq) -> bool {
        let safe = self.open.get(run).and_then(|open| open.safe);
        safe.is_some_and(|safe| safe >= seq)
    }

    /// These are the last records on the disk, of each run.
    pub(super) fn now_safe(&mut self, synced: HashMap<RunId, Seq>) {
        for (run, seq) in synced {
            if let Some(open) = self.open.get_mut(&run) {
                open.safe = Some(seq);
            }
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        if let Some((code, why)) = &self.broken {
            return Err(Error::new(*code, why.clone()));
        }
        if self.records.len() >= BATCH_RECORDS_MAX || self.bytes > BATCH_BYTES_MAX {
            return Err(Error::new(
                Code::Busy,
                "the journal cannot keep up with this many records",
            ));
        }
        Ok(())
    }

    /// A record that has its place, and what was set aside of it.
    pub(super) fn push(&mut self, record: Record, aside: Option<Aside>) {
        if let Some((digest, text)) = aside {
            self.bytes += text.len();
            self.contents.push((digest, text));
        }
        self.records.push(record);
    }
}

/// Takes what is large out of an event, and leaves its digest there. It is written down and digested for that, so whoever
/// does this keeps nobody waiting.
pub(super) fn set_aside(event: &mut Event) -> Option<Aside> {
    let content = event.content_mut()?;
    let Content::Inline(value) = content else {
        return None;
    };
    let mut left = RECORD_INLINE_BYTES;
    if !is_larger(value, &mut left) {
        return None;
    }
    let text = value.to_string();
    let digest = Digest::of(text.as_bytes());
    *content = Content::Stored {
        digest,
        bytes: text.len(),
    };
    Some((digest, text))
}

/// Whether a value is larger than `left` bytes, without writing it down.
fn is_larger(value: &Value, left: &mut usize) -> bool {
    let own = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(items) => {
            if items.iter().any(|item| is_larger(item, left)) {
                return true;
            }
            2
        }
        Value::Object(map) => {
            if map
                .iter()
                .any(|(key, item)| key.len() > *left || is_larger(item, left))
            {
                return true;
            }
            2 + map.keys().map(String::len).sum::<usize>()
        }
    };
    match left.checked_sub(own) {
        Some(rest) => {
            *left = rest;
            false
        }
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::words::event::Brought;
    use crate::words::id::ToolName;
    use crate::words::label::Label;

    fn brought(text: &str) -> Event {
        Event::Brought(Brought {
            name: "h1".to_owned(),
            from: RunId::known("other"),
            handle: "h1".to_owned(),
            tool: ToolName::parse("mail.read").unwrap(),
            content: Content::Inline(json!(text)),
            label: Label::default(),
        })
    }

    #[test]
    fn what_is_large_is_set_aside_and_counts_once_it_is_pushed() {
        let mut small = brought(&"x".repeat(RECORD_INLINE_BYTES));
        let as_it_was = small.clone();
        assert_eq!(set_aside(&mut small), None);
        assert_eq!(small, as_it_was);

        let text = "x".repeat(BATCH_BYTES);
        let mut large = brought(&text);
        let aside = set_aside(&mut large);
        let text = json!(text).to_string();
        let (digest, bytes) = (Digest::of(text.as_bytes()), text.len());
        let mut stored = Content::Stored { digest, bytes };
        assert_eq!(large.content_mut(), Some(&mut stored));
        assert_eq!(aside, Some((digest, text)));

        let mut batch = Batch::default();
        let record = Record {
            run: RunId::known("run"),
            seq: 0,
            at: 0,
            parent: 0,
            event: large,
        };
        batch.push(record.clone(), None);
        assert!(!batch.is_full());
        batch.push(record.clone(), aside.clone());
        assert!(batch.is_full());
        let all: Taken = (vec![record.clone(), record], aside.into_iter().collect());
        assert_eq!(batch.take(), all);
        assert!(!batch.is_full());
    }
}
