//! Handles: outcomes that are held back from whoever wished them, and handed on without being read (design §5).
//!
//! The holder sees what a handle is of, how large it is, its label and its trusted fields; who had influence on what it
//! holds has none on the holder. Who may read it does count, once something was done with it: that went well, or not. A tool takes a handle wherever it takes a value: it is replaced before the call is judged, and the call is
//! judged with the handle's label. A handle belongs to one run, and its name stands in the record of its call.

mod most;
mod naming;
mod parts;
mod said;
mod unseen;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use most::over;
pub use naming::{asked, is_foreseen_in, named, readable};
pub use parts::with_parts;
pub use said::{are_named, in_the_clear};

use super::apart::fault_in;
use super::leaves::{at, texts_at};
use super::ledger::is_foreign;
use super::lines::{Flows, Holding, Records};
use super::plain;
use super::records::{Tainted, Touched};
use crate::rules::sanitise::Caps;
use crate::words::error::{Code, Error, Issue, Result};
use crate::words::id::{ToolName, shown};
use crate::words::label::Label;
use crate::words::length::json_bytes;
use crate::words::limits::{HANDLE_BYTES, HANDLE_RECORDS, HANDLE_VALUES, HANDLES};

/// The key by which a handle is told from a value.
pub const KEY: &str = "$handle";
/// The bundled plugin whose tools work with handles.
pub const PLUGIN: &str = "handle";
/// The tool that shows what is held.
pub const READ: &str = "handle.read";
/// The tool by which a person makes a text their own words.
pub const ADOPT: &str = "handle.adopt";
/// The key of how many bits it has told that there is something to hold.
const BITS: &str = "bits";
/// The key of whether bits were taken for it that the holder is told of a success at all.
const CHARGED: &str = "charged";
/// The key of that a success tells something of what its call has read.
const TELLS: &str = "tells";
/// What is taken each time that a row of successes has twice as many.
const ROW_BITS: u32 = 2;
/// The key of that a script has ended, and no more.
const ENDED: &str = "ended";
/// The key of what whoever has a card can do with it.
const USE: &str = "use";
/// The key of why nobody is told of an outcome.
const WITHHELD: &str = "withheld";
/// Tools whose outcome is a scalar that may leave a handle.
const SCALARS: [&str; 2] = ["handle.count", "handle.scalar"];

/// The handles of one run.
#[derive(Clone, Debug)]
pub struct Handles {
    held: BTreeMap<String, Held>,
    /// What had influence on what is no longer there, by its name.
    gone: BTreeMap<String, Label>,
    /// What the model of its run was not told of, by name.
    unseen: BTreeSet<String>,
    /// Everything that had influence on anything which it has held.
    all: Label,
    /// So many there may be before another one is made.
    most: usize,
    /// The number of the last one.
    given: u64,
    /// That, or the last number that is kept for one.
    last: u64,
    bytes: usize,
    bits: u32,
    /// Successes that told something of what is held, since something failed that did.
    row: u32,
}

/// How a new handle is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// By the number after that of the last one.
    #[default]
    Next,
    /// By this number, which was kept for it: of calls that are made at once, nobody is told by it which has ended first,
    /// since that may say what one of them was given.
    Kept(u64),
}

/// What a handle holds.
#[derive(Clone, Debug)]
pub struct Held {
    /// The value.
    pub value: Arc<Value>,
    /// What influenced it.
    pub label: Label,
    /// What of that whoever has the handle knows: what its card names.
    pub named: Label,
    /// Whether it is a file that the user has attached: what it holds stands in no record.
    pub attached: bool,
}

impl Handles {
    /// Holds a value, and names its handle. [`Handles::show`] says what whoever is told of it knows.
    ///
    /// # Errors
    /// `OverBudget` past what a run may hold.
    pub fn hold(&mut self, naming: Naming, value: &Value, label: &Label) -> Result<String> {
        if self.held.len() >= self.most {
            return Err(over(self.most));
        }
        let number = match naming {
            Naming::Next => self.last.saturating_add(1),
            Naming::Kept(number) => number,
        };
        let name = format!("h{number}");
        self.hold_as(&name, value, label)?;
        Ok(name)
    }

    /// This card is what whoever wished has seen of what they hold.
    pub fn show(&mut self, name: &str, card: &Value) {
        if let Some(held) = self.held.get_mut(name) {
            held.named = naming::on(card);
        }
    }

    /// Everything that had influence on anything which it has held: how full it is says something of all of it.
    #[must_use]
    pub fn all(&self) -> &Label {
        &self.all
    }

    /// Keeps a number each for so many calls that are made at once, and says the first. When all have ended,
    /// [`Handles::let_go`].
    pub fn keep_for(&mut self, calls: usize) -> u64 {
        let first = self.last.saturating_add(1);
        let calls = u64::try_from(calls).unwrap_or(u64::MAX);
        self.last = self.last.saturating_add(calls);
        first
    }

    /// Keeps no number any more that none of those calls needed: what comes next has the one after the last of theirs.
    pub fn let_go(&mut self) {
        self.last = self.given;
    }

    /// Holds a value under a name: of an earlier life, or of the user's choice.
    ///
    /// # Errors
    /// As [`Handles::hold`].
    pub fn hold_as(&mut self, name: &str, value: &Value, label: &Label) -> Result<()> {
        self.keep(name, value, label, false)
    }

    /// Holds a file that the user has attached, under its name.
    ///
    /// # Errors
    /// As [`Handles::hold`].
    pub fn attach(&mut self, name: &str, value: &Value, label: &Label) -> Result<()> {
        self.keep(name, value, label, true)
    }

    fn keep(&mut self, name: &str, value: &Value, label: &Label, attached: bool) -> Result<()> {
        self.count(name);
        if self.held.contains_key(name) {
            // It stands for one value, whoever was told of it, and whoever has said yes to it.
            let what = format!(
                "the handle `{}` of this run holds something already",
                shown(name)
            );
            return Err(Error::new(Code::Conflict, what));
        }
        let bytes = self.bytes.saturating_add(json_bytes(value));
        if self.held.len() >= HANDLES || bytes > HANDLE_BYTES {
            return Err(over(HANDLES));
        }
        self.bytes = bytes;
        self.all = self.all.join(label);
        let held = Held {
            value: Arc::new(value.clone()),
            label: label.clone(),
            named: label.clone(),
            attached,
        };
        self.held.insert(name.to_owned(), held);
        Ok(())
    }

    /// Holds again what an earlier life of the run held, or charges again what left.
    ///
    /// # Errors
    /// As [`Handles::hold`].
    pub fn again(
        &mut self,
        tool: &ToolName,
        (outcome, given): (&Value, &Given),
        (told, label): (&Value, &Label),
    ) -> Result<()> {
        if let Some(name) = handle_in(told) {
            self.hold_as(name, outcome, label)?;
            self.show(name, told);
            return Ok(());
        }
        let given = (&given.value, given.places.as_slice());
        let bits = bits(tool, outcome, given).unwrap_or_default();
        self.bits = self.bits.saturating_add(bits);
        Ok(())
    }

    /// What a handle of this run holds.
    ///
    /// # Errors
    /// `NotFound`, in the same words for one that was made up and one of another run.
    pub fn get(&self, name: &str) -> Result<&Held> {
        self.held.get(name).ok_or_else(|| self.no_such(name))
    }

    /// Whether a handle is called so, or was, though what it held is no longer there: the name stands for that one.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.label_of(name).is_some()
    }

    /// What the handles that stand in these arguments hold, or held, is under the influence of all this.
    #[must_use]
    pub fn label_in(&self, args: &Value) -> Label {
        gather(args, &|name| self.label_of(name).cloned())
    }

    /// The same at the worst: a name of which nothing is known may stand for anything that was ever held.
    #[must_use]
    pub fn worst_in(&self, args: &Value) -> Label {
        gather(args, &|name| {
            Some(self.label_of(name).unwrap_or(&self.all).clone())
        })
    }

    fn label_of(&self, name: &str) -> Option<&Label> {
        let held = self.held.get(name).map(|held| &held.label);
        held.or_else(|| self.gone.get(name))
    }

    /// What the cards of the handles that stand in these arguments name.
    #[must_use]
    pub fn named_in(&self, args: &Value) -> Label {
        gather(args, &|name| {
            self.held.get(name).map(|held| held.named.clone())
        })
    }

    /// The bits that have left so far.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Whether nothing is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Lets go of what was held first, until there is room for as much again. No name is given twice.
    pub fn shed(&mut self) {
        let mut oldest: Vec<(u64, String)> = Vec::new();
        for name in self.held.keys() {
            // A name of the user's choice says nothing of its age, and was chosen.
            oldest.push((numbered(name).unwrap_or(u64::MAX), name.clone()));
        }
        oldest.sort();
        for (_, name) in oldest {
            if self.held.len() <= self.most / 2 && self.bytes <= HANDLE_BYTES / 2 {
                break;
            }
            if let Some(held) = self.held.remove(&name) {
                self.bytes = self.bytes.saturating_sub(json_bytes(&*held.value));
                self.gone.insert(name, held.label);
            }
        }
    }

    /// Keeps a name from being given again, with what had influence on what it stood for, whether that can be held again or
    /// stands in no record: a call over it is under that influence as it was.
    pub fn reserve(&mut self, name: &str, label: &Label) {
        self.count(name);
        self.all = self.all.join(label);
        let gone = self.gone.entry(name.to_owned()).or_default();
        *gone = gone.join(label);
    }

    fn count(&mut self, name: &str) {
        self.given = self.given.max(numbered(name).unwrap_or_default());
        self.last = self.last.max(self.given);
    }

    /// Takes bits out of what may leave handles in this run; how many are left.
    ///
    /// # Errors
    /// `OverBudget` where there are not so many.
    pub fn charge(&mut self, bits: u32, most: u32) -> Result<u32> {
        let spent = self.bits.saturating_add(bits);
        if spent > most {
            let what = format!(
                "{bits} bits would leave a handle, and {} of the run's {most} are left",
                most.saturating_sub(self.bits)
            );
            return Err(Error::new(Code::OverBudget, what)
                .hint(format!("more may be granted: [flow]\nbits = {spent}")));
        }
        self.bits = spent;
        Ok(most - spent)
    }

    /// The bits that one more success takes which tells something of what is held. A failure tells more, and costs more;
    /// but whoever tries one value after the other would learn by each success, for nothing, that it is not this one. So a
    /// row of successes costs what it takes to write down how long it is (Elias's gamma code), which is little: whatever is
    /// asked, no more is told by what fails, and when, than has been paid for.
    #[must_use]
    pub fn bits_of_success(&self) -> u32 {
        match self.row.saturating_add(2).is_power_of_two() {
            true => ROW_BITS,
            false => 0,
        }
    }

    /// Such a success was paid for.
    pub fn succeeded(&mut self) {
        self.row = self.row.saturating_add(1);
    }

    /// Something failed that told of what is held, and was paid for: another row begins.
    pub fn failed(&mut self) {
        self.row = 0;
    }

    /// Takes again what was taken for a success of an earlier life, by the card that is on record.
    pub fn pay_again(&mut self, told: &Value) {
        if was_charged(told) == Some(true) {
            self.bits = self.bits.saturating_add(self.bits_of_success());
            self.succeeded();
        }
    }
}

/// Arguments in which each handle is replaced by what it holds.
#[derive(Clone, Debug)]
pub struct Given {
    /// The arguments.
    pub value: Value,
    /// What the handles bring along.
    pub label: Label,
    /// Where they stood, as pointers; none where there were no handles.
    pub places: Vec<String>,
    /// Those of them where a file stood that the user has attached.
    pub attached: Vec<String>,
}

impl Given {
    /// Arguments without handles.
    #[must_use]
    pub fn plain(value: Value) -> Self {
        Self {
            value,
            label: Label::default(),
            places: Vec::new(),
            attached: Vec::new(),
        }
    }

    /// Replaces every handle. What a handle holds is not looked through for others.
    ///
    /// # Errors
    /// `NotFound`; `TooBig` where all together is more than a run may hold.
    pub fn resolve(value: &Value, handles: &Handles) -> Result<Self> {
        if !has_handle(value) {
            return Ok(Self::plain(value.clone()));
        }
        let mut given = Self::plain(Value::Null);
        let mut bytes = 0;
        given.value = given.replace(value, handles, &mut (String::new(), &mut bytes))?;
        Ok(given)
    }

    fn replace(
        &mut self,
        value: &Value,
        handles: &Handles,
        (place, bytes): &mut (String, &mut usize),
    ) -> Result<Value> {
        if let Some(name) = handle_in(value) {
            let held = handles.get(name)?;
            **bytes = bytes.saturating_add(json_bytes(&*held.value));
            if **bytes > HANDLE_BYTES {
                // How much it is would be as much as anybody wants to know.
                let what = format!("what the handles hold is more than {HANDLE_BYTES} bytes");
                return Err(Error::new(Code::TooBig, what));
            }
            self.label = self.label.join(&held.label);
            self.places.push(place.clone());
            if held.attached {
                self.attached.push(place.clone());
            }
            return Ok(Value::clone(&held.value));
        }
        match value {
            Value::Array(items) => {
                let mut all = Vec::with_capacity(items.len());
                for (number, item) in items.iter().enumerate() {
                    let mut below = (format!("{place}/{number}"), &mut **bytes);
                    all.push(self.replace(item, handles, &mut below)?);
                }
                Ok(Value::Array(all))
            }
            Value::Object(map) => {
                let mut all = Map::new();
                for (key, item) in map {
                    let name = key.replace('~', "~0").replace('/', "~1");
                    let mut below = (format!("{place}/{name}"), &mut **bytes);
                    all.insert(key.clone(), self.replace(item, handles, &mut below)?);
                }
                Ok(Value::Object(all))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(value.clone()),
        }
    }

    /// Issues without what they would tell of the inside of a handle.
    #[must_use]
    pub fn veil(&self, issues: Vec<Issue>) -> Vec<Issue> {
        let mut veiled: Vec<Issue> = Vec::new();
        for issue in issues {
            let inside = |place: &&String| {
                let rest = issue.path.strip_prefix(place.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let issue = match self.places.iter().find(inside) {
                Some(place) => Issue {
                    path: place.clone(),
                    message:
                        "what the handle holds does not fit here: `handle.field` takes a part of it"
                            .to_owned(),
                },
                None => issue,
            };
            if !veiled.contains(&issue) {
                veiled.push(issue);
            }
        }
        veiled
    }
}

/// The number of a handle that the host has named. No run gets as far as ten digits, and none begins there.
#[must_use]
pub fn numbered(name: &str) -> Option<u64> {
    let digits = name.strip_prefix('h')?;
    let plain = digits.bytes().all(|digit| digit.is_ascii_digit());
    let fits = (1..=9).contains(&digits.len()) && !digits.starts_with('0');
    digits.parse().ok().filter(|_| plain && fits)
}

/// What is known of the handles that stand in these arguments, all together.
fn gather(args: &Value, of: &dyn Fn(&str) -> Option<Label>) -> Label {
    if let Some(name) = handle_in(args) {
        return of(name).unwrap_or_default();
    }
    let inside: Vec<&Value> = match args {
        Value::Array(items) => items.iter().collect(),
        Value::Object(map) => map.values().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    let labels = inside.into_iter().map(|value| gather(value, of));
    labels.fold(Label::default(), |all, label| all.join(&label))
}

/// The name of a handle, where a value is one.
#[must_use]
pub fn handle_in(value: &Value) -> Option<&str> {
    value.as_object()?.get(KEY)?.as_str()
}

/// Whether there is a handle anywhere in a value.
#[must_use]
pub fn has_handle(value: &Value) -> bool {
    handle_in(value).is_some()
        || match value {
            Value::Array(items) => items.iter().any(has_handle),
            Value::Object(map) => map.values().any(has_handle),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
}

/// What becomes of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is shown, and raises the label of whoever sees it.
    Shown,
    /// It is held.
    Held,
    /// A person has made it their own words.
    Adopted,
    /// It is a scalar that leaves its handle for so many bits, and raises no label.
    Leaves(u32),
}

/// What becomes of an outcome of `tool` for a caller of this label, in a run that holds so; large is what would be cut for
/// its length.
#[must_use]
pub fn fate(
    flows: &Flows,
    (hold, caps): (Holding, &Caps),
    tool: &ToolName,
    (outcome, given): (&Value, (&Value, &[String])),
    (label, caller): (&Label, &Label),
) -> Fate {
    // No model reads it, so that it cannot be sent to whoever runs the model.
    if flows.classes.is_secret(label) {
        return Fate::Held;
    }
    if tool.as_str() == READ {
        return Fate::Shown;
    }
    if tool.as_str() == ADOPT {
        return Fate::Adopted;
    }
    let own = flows.about(tool).map_or(Holding::Auto, |said| said.hold);
    let holding = if own == Holding::Auto { hold } else { own };
    let (untrusted, large) = match holding {
        Holding::Untrusted => (true, false),
        Holding::Large => (true, true),
        Holding::Auto | Holding::Never => (false, false),
    };
    if untrusted && flows.classes.is_tainted(&label.without(caller)) {
        return match bits(tool, outcome, given) {
            Some(bits) => Fate::Leaves(bits),
            None => Fate::Held,
        };
    }
    let is_whole = || match outcome.as_str() {
        Some(text) => caps.fit(text),
        None => caps.fit(&outcome.to_string()),
    };
    if large && !is_whole() {
        return Fate::Held;
    }
    Fate::Shown
}

/// What whoever is told `told` in place of an outcome is under the influence of by that: of a handle nothing, since
/// it has not read what that holds; of a scalar, of the kind of a failure, of a success that tells something of what
/// was given or read, of a script's end, or of a text that a person has made their own words, nothing but who may read it. That there was no room for an
/// outcome says how large that is, and all others; and a success for which no bits were left is not free of anything.
#[must_use]
pub fn told_label(tool: &str, told: &Value, label: &Label) -> Label {
    if is_withheld(told) || was_charged(told) == Some(false) {
        return label.clone();
    }
    let leaves = told.get(ENDED).is_some()
        || match handle_in(told) {
            Some(_) => [BITS, TELLS, CHARGED]
                .iter()
                .any(|key| told.get(key).is_some()),
            None => tool == ADOPT || SCALARS.contains(&tool),
        };
    if leaves || fault_in(told).is_some() {
        label.of_scalar()
    } else {
        Label::default()
    }
}

/// Whether it is that there was no room.
#[must_use]
pub fn is_withheld(told: &Value) -> bool {
    told.get(WITHHELD).is_some() && handle_in(told).is_none()
}

/// A card of what was found, if so many bits were paid for that it was.
#[must_use]
pub fn paid(mut card: Value, bits: u32) -> Value {
    if bits > 0
        && let Some(card) = card.as_object_mut()
    {
        card.insert(BITS.to_owned(), json!(bits));
    }
    card
}

/// What it tells that a call does not fail, or how long it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Success {
    /// Nothing, or nobody who would have asked.
    Silent,
    /// Something of what it has read that is kept from others.
    OfRead,
    /// Something of what handles hold that it was given.
    OfHandles,
}

impl Success {
    /// Of a call that was given handles at these places, and has `read` for itself. It tells something to whoever is under a
    /// stranger's influence, who may have chosen the call for that. A plan that nobody else had a hand in asks nothing; but its
    /// model is somebody outside, and reads clocks as its scripts do: of what is secret it is told something.
    #[must_use]
    pub fn of(flows: &Flows, (places, read): (&[String], &Label), caller: &Label) -> Self {
        let classes = &flows.classes;
        let kept = || classes.kept_from_others(&read.without(caller));
        if !classes.is_tainted(caller) {
            match classes.is_secret(read) {
                true => Self::OfRead,
                false => Self::Silent,
            }
        } else if !places.is_empty() {
            Self::OfHandles
        } else if kept() != Label::default() {
            Self::OfRead
        } else {
            Self::Silent
        }
    }
}

/// A card that says by itself that a call did not fail, which tells something of what it has read.
#[must_use]
pub fn telling(card: Value) -> Value {
    with_mark(card, TELLS, true)
}

/// A card that says by itself that a call did not fail: whether bits were taken for that.
#[must_use]
pub fn charged(card: Value, charged: bool) -> Value {
    with_mark(card, CHARGED, charged)
}

/// A card that says what whoever has it can do with it.
#[must_use]
pub fn to_use(card: Value, how: &str) -> Value {
    with_mark(card, USE, how)
}

/// What is told of a script of which not even that it went well is told.
#[must_use]
pub fn ended(why: &str) -> Value {
    with_mark(json!({}), ENDED, why)
}

fn with_mark(mut card: Value, key: &str, mark: impl Into<Value>) -> Value {
    if let Some(card) = card.as_object_mut() {
        card.insert(key.to_owned(), mark.into());
    }
    card
}

fn was_charged(told: &Value) -> Option<bool> {
    handle_in(told)?;
    told.get(CHARGED)?.as_bool()
}

/// What is told in place of the outcome of an effect for which there is no room: it has happened, and must not look as if it
/// had not.
#[must_use]
pub fn withheld(error: &Error) -> Value {
    json!({"done": true, WITHHELD: error.message()})
}

/// The bits that a scalar carries; nothing for what is none.
fn bits(tool: &ToolName, outcome: &Value, (args, places): (&Value, &[String])) -> Option<u32> {
    let of_value = |place: &String| place == "/value" || place.starts_with("/value/");
    // What there is to choose from is plain, or the choice would be the whole of what is held.
    if !SCALARS.contains(&tool.as_str()) || !places.iter().all(of_value) {
        return None;
    }
    let choices = |key: &str| {
        let count = args.get(key).and_then(Value::as_array).map_or(0, Vec::len);
        usize::BITS - count.leading_zeros()
    };
    match (outcome, args.get("type").and_then(Value::as_str)) {
        (Value::Bool(_), _) => Some(1),
        (Value::Number(_), Some("index")) => Some(choices("value").max(1)),
        (Value::Number(_), Some("number") | None) => Some(NUMBER_BITS),
        (Value::String(_), Some("enum")) => Some(choices("options").max(1)),
        (Value::String(_), Some("date")) => Some(DATE_BITS),
        _ => None,
    }
}

const NUMBER_BITS: u32 = 64;
/// All days of ten thousand years.
const DATE_BITS: u32 = 22;

/// What the holder sees. Of what was made of other handles, neither kind nor size: whoever wishes chooses what is
/// made of them, and could have as much of what they hold spelled out by either, call by call. Nor of what is secret, to
/// anybody, or a stranger may have told them to look for, nor where somebody whom it does not name had a hand in it: that may
/// have been a handle.
#[must_use]
pub fn card(
    flows: &Flows,
    (tool, name): (&ToolName, &str),
    (outcome, made): (&Value, Made),
    (label, named, touched): (&Label, &Label, &Touched),
) -> Value {
    let mut card = Map::new();
    card.insert(KEY.to_owned(), json!(name));
    card.insert("of".to_owned(), json!(tool.as_str()));
    let told = flows.classes.nameable(named, label);
    card.insert("label".to_owned(), json!(plain::sources(&told)));
    if made != Made::Anew {
        return Value::Object(card);
    }
    if named.covers(label) {
        card.insert("type".to_owned(), json!(type_of(outcome)));
        card.insert("bytes".to_owned(), json!(size_of(outcome)));
    }
    let records = flows.about(tool).map(|said| &said.records);
    if let Some(fields) = records.and_then(|records| trusted(flows, (records, touched), outcome)) {
        card.insert("fields".to_owned(), fields);
    }
    Value::Object(card)
}

/// What an outcome was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// Of what its wisher wrote.
    Anew,
    /// Of what other handles hold.
    OfHandles,
    /// Of what nobody outside may read, whoever wished it: its model is somebody outside.
    OfSecrets,
    /// Of what somebody wished under a stranger's influence, and of what they may not tell that one.
    ForStrangers,
}

impl Made {
    /// Of arguments in which handles stood at these places, for whoever is under the influence of `caller`.
    #[must_use]
    pub fn of(flows: &Flows, places: &[String], (label, caller): (&Label, &Label)) -> Self {
        let classes = &flows.classes;
        let is_new = classes.is_private(&label.without(caller));
        match places.is_empty() {
            false => Self::OfHandles,
            true if classes.is_secret(label) => Self::OfSecrets,
            true if is_new && classes.is_tainted(caller) => Self::ForStrangers,
            true => Self::Anew,
        }
    }
}

/// How large a value is at most: a length to the byte would be a way out.
#[must_use]
pub fn size_of(value: &Value) -> usize {
    json_bytes(value).next_power_of_two()
}

/// What a value is, in a word.
#[must_use]
pub fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The trusted fields of each record, in order. What is not named stays behind, and what is not of its kind's form.
fn trusted(
    flows: &Flows,
    (records, touched): (&Records, &Touched),
    outcome: &Value,
) -> Option<Value> {
    if records.trusted.is_empty() {
        return None;
    }
    let tainted = Tainted::of(flows, touched);
    let fields = |record: &&Value| -> Value {
        let own = !is_foreign(flows, records, record);
        // What was written under a stranger's influence may have been written of a handle.
        let touched = tainted.has(records, record);
        let known = records.trusted.iter().map(|(field, kind)| {
            let texts = texts_at(record, field).into_iter().filter(|_| !touched);
            let texts = texts.filter_map(|text| plain::value(*kind, &text, own));
            let texts: Vec<String> = texts.take(HANDLE_VALUES).collect();
            (field.clone(), json!(texts))
        });
        Value::Object(known.collect())
    };
    let found = at(outcome, &records.at);
    Some(found.iter().take(HANDLE_RECORDS).map(fields).collect())
}

#[cfg(test)]
mod tests;
