//! Repeats: outcomes that are given again in place of a second call (U-18).
//!
//! Two kinds of calls ask here, after their judgement and before their guest. A model's call that only looks, for as
//! long as its turn lasts and nothing was changed; and a client's write that came before under the same key. Whoever
//! asks while the first is under way waits for it; of a key, what other processes have recorded counts as well. Only successes are kept, and only for calls with the same
//! arguments under the same influence: a cached value is never what a call under another label would not have got.

mod recorded;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::sync::{Mutex as Slot, OwnedMutexGuard};

use super::apart::{Done, Telling};
use super::guest::Trail;
use super::station::Station;
use super::tasks::Tasks;
use crate::rules::call::Call;
use crate::rules::caller::{Caller, Origin};
use crate::rules::flow::records::Seen;
use crate::rules::json;
use crate::rules::manifest::Sensitivity;
use crate::words::error::{Error, Result};
use crate::words::event::{Read, Spent};
use crate::words::id::Digest;
use crate::words::label::Label;
use crate::words::length::json_bytes;
use crate::words::limits::REPEATS_BYTES;
use crate::words::lock::lock;

/// Outcomes of some calls, for some time.
pub struct Repeats {
    entries: usize,
    ttl_ms: u64,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    slots: HashMap<Digest, Arc<Slot<Option<Whole>>>>,
    /// The oldest first, each with the bytes that it holds.
    order: VecDeque<(Digest, usize)>,
}

/// What came of a call.
#[derive(Clone, Debug)]
struct Whole {
    value: Value,
    /// What the guest has read.
    read: Read,
    /// What was known of the records that it has shown.
    records: Seen,
    /// What stands behind what was said around it.
    around: Label,
    /// Whether a step of policy had a hand in it.
    altered: bool,
    at: u64,
}

/// One call's place among the repeats, held until it is clear what came of it.
type Held = OwnedMutexGuard<Option<Whole>>;

impl Repeats {
    /// Keeps so many outcomes for so long.
    #[must_use]
    pub fn new((entries, ttl_ms): (usize, u64)) -> Self {
        Self {
            entries,
            ttl_ms,
            kept: Mutex::default(),
        }
    }

    /// Forgets all of them; what is under way now is kept for nobody.
    pub fn clear(&self) {
        *lock(&self.kept) = Kept::default();
    }

    /// The place of a call; it becomes the youngest.
    fn slot(&self, key: Digest) -> Arc<Slot<Option<Whole>>> {
        let mut kept = lock(&self.kept);
        let bytes = kept.take(key);
        kept.order.push_back((key, bytes));
        let slot = kept.slots.entry(key).or_default().clone();
        kept.shrink(self.entries);
        slot
    }

    /// The place at `key` holds so many bytes from now on.
    fn grown(&self, key: Digest, bytes: usize) {
        let mut kept = lock(&self.kept);
        if let Some(entry) = kept.order.iter_mut().find(|(known, _)| *known == key) {
            entry.1 = bytes;
        }
        kept.shrink(self.entries);
    }
}

impl Kept {
    /// Takes an entry out of the order, and says what it held.
    fn take(&mut self, key: Digest) -> usize {
        let at = self.order.iter().position(|(known, _)| *known == key);
        at.and_then(|at| self.order.remove(at))
            .map_or(0, |(_, bytes)| bytes)
    }

    /// The oldest go first.
    fn shrink(&mut self, entries: usize) {
        let bytes =
            |order: &VecDeque<(Digest, usize)>| order.iter().map(|(_, bytes)| bytes).sum::<usize>();
        while self.order.len() > entries || bytes(&self.order) > REPEATS_BYTES {
            let Some((oldest, _)) = self.order.pop_front() else {
                return;
            };
            self.slots.remove(&oldest);
        }
    }
}

impl fmt::Debug for Repeats {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Repeats({} at most)", self.entries)
    }
}

/// Makes a call that was allowed, or gives what came of the same one before.
///
/// # Errors
/// What `visit` says; `Cancelled` or `TooSlow` where the first is still under way.
pub(super) async fn made(
    (station, tasks): (&Station, &Tasks),
    caller: &Caller,
    call: &Call,
    visit: impl AsyncFnOnce() -> Result<Done>,
) -> Result<Done> {
    if !call.declared.effect.leaves_no_trace() {
        // What was looked at before may look otherwise from now on.
        tasks.repeats().clear();
    }
    let Some((repeats, key)) = place_of((station, tasks), caller, call) else {
        return visit().await;
    };
    let slot = repeats.slot(key);
    let mut held = wait(tasks, caller, slot).await?;
    let now = station.gate.journal().clock().now_ms();
    if let Some(whole) = held.as_ref()
        && now.saturating_sub(whole.at) < repeats.ttl_ms
    {
        return Ok(whole.done());
    }
    *held = None;
    if let (Origin::Client, Some(key)) = (&caller.origin, &caller.known.asked.key) {
        let named = (&**key, repeats.ttl_ms);
        *held = recorded::before(station, (caller, call), named).await?;
        if let Some(whole) = held.as_ref() {
            return Ok(whole.done());
        }
    }
    let done = visit().await?;
    // Files for whoever called are theirs; another call has none.
    if let Ok(value) = &done.result
        && done.trail.artifacts.is_empty()
    {
        *held = Some(Whole {
            value: value.clone(),
            read: done.trail.read.clone(),
            records: done.trail.records.clone(),
            around: done.trail.around.clone(),
            altered: done.spent.altered,
            at: now,
        });
        repeats.grown(key, json_bytes(value));
    }
    Ok(done)
}

impl Whole {
    fn done(&self) -> Done {
        Done {
            result: Ok(self.value.clone()),
            telling: Telling::Whole,
            trail: Trail {
                read: self.read.clone(),
                records: self.records.clone(),
                around: self.around.clone(),
                ..Trail::default()
            },
            remade: None,
            spent: Spent {
                repeated: true,
                altered: self.altered,
                ..Spent::default()
            },
        }
    }
}

/// Why a client's call is not looked at: the same one under its key waits for a person, who is asked once.
///
/// # Errors
/// What reading the journal says.
pub(super) async fn waits(
    (station, tasks): (&Station, &Tasks),
    caller: &Caller,
    call: &Call,
) -> Result<Option<Error>> {
    let (Origin::Client, Some(key)) = (&caller.origin, &caller.known.asked.key) else {
        return Ok(None);
    };
    let Some((repeats, _)) = among((station, tasks), caller, call) else {
        return Ok(None);
    };
    recorded::waits(station, (caller, call), (key, repeats.ttl_ms)).await
}

/// Waits for whoever makes the same call now.
async fn wait(tasks: &Tasks, caller: &Caller, slot: Arc<Slot<Option<Whole>>>) -> Result<Held> {
    let rest = caller.deadline.rest();
    let waiting = async {
        let held = tokio::time::timeout(rest, slot.lock_owned()).await;
        let ms = u64::try_from(rest.as_millis()).unwrap_or(u64::MAX);
        held.map_err(|_| Error::too_slow("the same call, which is under way,", ms))
    };
    tasks.unless_cancelled(waiting).await
}

/// Among which repeats a call stands, and whose they are; nothing for one that is always made.
fn among<'a>(
    (station, tasks): (&'a Station, &'a Tasks),
    caller: &Caller,
    call: &Call,
) -> Option<(&'a Repeats, String)> {
    let looks = call.declared.effect.leaves_no_trace();
    let (repeats, name) = match (&caller.origin, &caller.known.asked.key) {
        (Origin::Model, _) if looks => (tasks.repeats(), caller.run.to_string()),
        (Origin::Client, Some(key)) if !looks => {
            let client = &caller.known.asked.client;
            (
                &station.past.keyed,
                format!("{} {client} {key}", client.len()),
            )
        }
        (Origin::Model | Origin::Client | Origin::Host | Origin::Script | Origin::Tool(_), _) => {
            return None;
        }
    };
    let is_secret = call.declared.offer.sensitivity == Sensitivity::Secret;
    let is_made = repeats.entries == 0 || caller.depth > 0 || is_secret;
    (!is_made).then_some((repeats, name))
}

/// Where a call stands among them.
fn place_of<'a>(
    from: (&'a Station, &'a Tasks),
    caller: &Caller,
    call: &Call,
) -> Option<(&'a Repeats, Digest)> {
    let (repeats, name) = among(from, caller, call)?;
    // Whatever could make another outcome of it is part of its name.
    let parts = [
        name,
        call.component.to_string(),
        call.tool.to_string(),
        json::canonical(call.args.value()),
        format!("{:?} {:?}", caller.surface, caller.known.asked.timeout_ms),
        words_of(&caller.label)?,
        words_of(&call.held)?,
    ];
    let mut all = String::new();
    for part in parts {
        all.push_str(&format!("{} {part}\n", part.len()));
    }
    Some((repeats, Digest::of(all.as_bytes())))
}

/// A label as a text that no other label has.
fn words_of(label: &Label) -> Option<String> {
    serde_json::to_string(label).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Digest {
        Digest::of(number.to_string().as_bytes())
    }

    fn knows(repeats: &Repeats, number: usize) -> bool {
        lock(&repeats.kept).slots.contains_key(&key(number))
    }

    #[test]
    fn the_oldest_goes_first_and_what_is_used_is_young() {
        let repeats = Repeats::new((3, 1_000));
        for number in [0, 1, 2, 0, 3] {
            let _slot = repeats.slot(key(number));
        }
        let known: Vec<bool> = (0..4).map(|number| knows(&repeats, number)).collect();
        assert_eq!(known, [true, false, true, true]);
        repeats.clear();
        assert!(!knows(&repeats, 3));
    }

    #[test]
    fn all_together_hold_so_many_bytes() {
        let repeats = Repeats::new((10, 1_000));
        for number in 0..3 {
            let _slot = repeats.slot(key(number));
            repeats.grown(key(number), REPEATS_BYTES / 2);
        }
        let known: Vec<bool> = (0..3).map(|number| knows(&repeats, number)).collect();
        assert_eq!(known, [false, true, true]);
    }
}
