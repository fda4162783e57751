//! What whoever wished is told in place of an outcome or a failure: all of it, the card of a handle that holds it, or a
//! scalar that leaves one. What has entered the run is noted on the way.

use serde_json::Value;

use super::leaves::leave;
use crate::guests::apart::Telling;
use crate::guests::guest::Trail;
use crate::guests::station::Station;
use crate::rules::call::Call;
use crate::rules::caller::{Caller, Origin};
use crate::rules::flow::apart::{Apart, fault_bits, fault_card, fault_in, fault_told};
use crate::rules::flow::handles::{self, Fate, Handles, Made, Naming, Success};
use crate::rules::flow::ledger::Behind;
use crate::rules::flow::lines::Flows;
use crate::rules::flow::pick;
use crate::rules::flow::records::Touched;
use crate::words::error::{Error, Result};
use crate::words::label::Label;

/// Said of a request that a model or a script wished for after it came to know something of a secret.
const CLOSED: &str = "it failed (no request leaves a run that knows something of a secret)";

/// Nothing could be told in place of an outcome: why, and under whose influence that is beside the call's own.
pub(super) struct Untold {
    pub(super) error: Error,
    pub(super) label: Label,
}

impl Untold {
    /// There is no room for another handle, which says how large all is that is held.
    fn crowded(error: Error, held: &Handles) -> Self {
        let label = held.all().clone();
        Self { error, label }
    }
}

/// How many bits have left, and how many may, whoever is told that knows.
impl From<Error> for Untold {
    fn from(error: Error) -> Self {
        let label = Label::default();
        Self { error, label }
    }
}

/// What whoever wished is told in place of the words of a failure, where these are held: that it failed, and where
/// they are; nothing where it is told the words. Of what is secret neither the kind nor the place of the failure is told: a
/// function chooses both, as it likes, by what it is given, and would spell that out.
pub(super) fn tell_fault(
    station: &Station,
    caller: &Caller,
    call: &Call,
    (error, telling): (&Error, &Telling),
    label: &Label,
) -> Result<Option<Value>, Untold> {
    let apart = Apart::of(&call.tool).is_some();
    let policy = station.gate.policy();
    let flows = &policy.flows;
    let is_secret = flows.classes.is_secret(label);
    let sentence = match telling {
        Telling::Sentence(sentence) if !is_secret => sentence.clone(),
        Telling::Sentence(_) => plainly(error, vaguely(flows, caller, call)),
        // In a replay there is a sentence on record, or it was told.
        Telling::Whole if apart || station.recorded.is_some() => return Ok(None),
        Telling::Whole if is_secret => plainly(error, vaguely(flows, caller, call)),
        Telling::Whole => plainly(error, &format!("it failed ({})", error.code().word())),
        Telling::Free => return Ok(None),
    };
    let said = Value::from(error.message());
    let given = (call.args.value(), call.places.as_slice());
    let fate = match caller.origin {
        Origin::Model | Origin::Script => {
            let labels = (label, &caller.label);
            let how = (caller.known.how.hold, &policy.inbound.caps);
            handles::fate(flows, how, &call.tool, (&said, given), labels)
        }
        Origin::Client | Origin::Host | Origin::Tool(_) => Fate::Shown,
    };
    if fate != Fate::Held {
        return Ok(None);
    }
    let mut held = caller.known.handles();
    let bits = fault_bits(&call.tool);
    // Without bits it is told, and the label rises; of what was done apart, nothing is.
    if !apart && leave(station, caller, &mut held, bits).is_err() {
        return Ok(None);
    }
    // What is charged is on record with the handle; where there is no room for one, whoever wished is under the influence of
    // all that is held.
    let name = held.hold(naming(caller), &said, label);
    let name = name.map_err(|error| Untold::crowded(error, &held))?;
    keep_from_model(flows, caller, (&mut held, &name));
    held.failed();
    if apart {
        held.charge(bits, flows.bits)?;
    }
    let what = (&said, Made::OfHandles);
    let named = named(caller, call, &held, label);
    let label = (label, &named, &Touched::new());
    let card = handles::card(flows, (&call.tool, &name), what, label);
    held.show(&name, &card);
    Ok(Some(fault_card(card, &sentence)))
}

/// That something failed over what is secret. Of a call that sends requests it is said that none leaves by then, whatever was
/// wrong with it: whoever wished it knew before both what it does and what they had learned of.
fn vaguely(flows: &Flows, caller: &Caller, call: &Call) -> &'static str {
    let sends = !call.grant.fetch.is_empty() || call.declared.outside;
    match sends && flows.classes.is_secret(&caller.label) {
        true => CLOSED,
        false => "it failed",
    }
}

/// A sentence about a failure, which says as well where nobody knows whether it has happened.
fn plainly(error: &Error, what: &str) -> String {
    let failed = Error::new(error.code(), what);
    let failed = match error.is_in_doubt() {
        true => failed.in_doubt("it"),
        false => failed,
    };
    failed.message().to_owned()
}

/// The names of fields are words of whoever wrote the tool: they are told to those who know its words.
fn with_parts(flows: &Flows, (caller, call): (&Caller, &Call), card: Value) -> Value {
    match caller.label.covers(&flows.classes.of_words([&call.tool])) {
        true => handles::with_parts(card, &call.declared.output),
        false => card,
    }
}

/// What a script makes once it knows something of a secret, its model is not told of.
fn keep_from_model(flows: &Flows, caller: &Caller, (held, name): (&mut Handles, &str)) {
    if caller.origin == Origin::Script && flows.classes.is_secret(&caller.label) {
        held.hide(name);
    }
}

/// What a card names of what came of a call.
pub(super) fn named(caller: &Caller, call: &Call, held: &Handles, label: &Label) -> Label {
    let given = call.wish.as_ref().map(|wish| held.named_in(wish));
    let known = caller.label.join(&given.unwrap_or_default());
    handles::named(call, &known, label)
}

/// A failure as whoever wished is told of it, where its words are held.
pub(super) fn fault(error: &Error, told: &Value) -> Error {
    let sentence = fault_in(told).unwrap_or("it failed");
    let told = Error::new(error.code(), fault_told(sentence, told)).retry(false);
    match error.is_in_doubt() {
        true => told.in_doubt("it"),
        false => told,
    }
}

/// Tells the older guards of what has entered the run: an outcome, or the words of a failure.
pub(super) fn hear(station: &Station, caller: &Caller, label: &Label, result: &Result<Value>) {
    let flows = &station.gate.policy().flows;
    let mut ledger = caller.known.ledger();
    match result {
        Ok(value) => ledger.heard(flows, label, value),
        Err(error) => {
            let said = Value::String(error.message().to_owned());
            ledger.heard(flows, label, &said);
        }
    }
}

/// Tells the ledger of an outcome, and of what its tool has read for it.
fn see(
    caller: &Caller,
    (flows, call): (&Flows, &Call),
    (value, label): (&Value, &Label),
    trail: &Trail,
) {
    let behind = Behind {
        read: &trail.read,
        held: &call.held,
        all: label,
        wished: &caller.label,
        touched: &trail.records.touched,
    };
    let mut ledger = caller.known.ledger();
    ledger.saw(flows, &call.tool, call.args.value(), (value, behind));
}

/// Takes the bits of a success out of the run's; whether there were so many.
pub(super) fn succeeded(station: &Station, caller: &Caller, held: &mut Handles) -> bool {
    let bits = held.bits_of_success();
    let paid = bits == 0 || leave(station, caller, held, bits).is_ok();
    if paid {
        held.succeeded();
    }
    paid
}

/// How a handle of what came of a wish is called. A script sees by its clock what has ended first.
fn naming(caller: &Caller) -> Naming {
    match caller.origin {
        Origin::Model => caller.known.beside,
        Origin::Script | Origin::Client | Origin::Host | Origin::Tool(_) => Naming::Next,
    }
}

/// What whoever wished is told in place of an outcome: a handle, or a scalar that leaves one; nothing where it is
/// told the outcome.
pub(super) fn tell(
    station: &Station,
    caller: &Caller,
    call: &Call,
    (value, label, altered): (&Value, &Label, bool),
    trail: &Trail,
) -> Result<Option<Value>, Untold> {
    let policy = station.gate.policy();
    let flows = &policy.flows;
    let args = call.args.value();
    if !altered {
        see(caller, (flows, call), (value, label), trail);
    }
    let given = (args, call.places.as_slice());
    let fate = match caller.origin {
        Origin::Model | Origin::Script => {
            let labels = (label, &caller.label);
            let how = (caller.known.how.hold, &policy.inbound.caps);
            handles::fate(flows, how, &call.tool, (value, given), labels)
        }
        Origin::Client | Origin::Host | Origin::Tool(_) => Fate::Shown,
    };
    let mut held = caller.known.handles();
    match fate {
        Fate::Shown => Ok(None),
        // Nobody has read what a step has made of it.
        Fate::Adopted if altered => Ok(None),
        Fate::Adopted => {
            caller
                .known
                .ledger()
                .typed(value.as_str().unwrap_or_default());
            Ok(Some(value.clone()))
        }
        Fate::Held => {
            let bits = pick::bits(&call.tool, given, caller.known.ledger().words());
            if bits > 0 {
                leave(station, caller, &mut held, bits)?;
            }
            let name = match held.hold(naming(caller), value, label) {
                Ok(name) => name,
                Err(error) if call.declared.is_sink() => {
                    return Ok(Some(handles::withheld(&error)));
                }
                Err(error) => return Err(Untold::crowded(error, &held)),
            };
            keep_from_model(flows, caller, (&mut held, &name));
            let made = match altered {
                true => Made::OfHandles,
                false => Made::of(flows, &call.places, (label, &caller.label)),
            };
            let named = named(caller, call, &held, label);
            let success = Success::of(flows, (&call.places, label), &caller.label);
            let label = (label, &named, &trail.records.touched);
            let card = handles::card(flows, (&call.tool, &name), (value, made), label);
            let card = with_parts(flows, (caller, call), card);
            held.show(&name, &card);
            let card = handles::paid(card, bits);
            Ok(Some(match success {
                Success::Silent => card,
                Success::OfRead => handles::telling(card),
                Success::OfHandles => handles::charged(card, succeeded(station, caller, &mut held)),
            }))
        }
        Fate::Leaves(bits) => {
            leave(station, caller, &mut held, bits)?;
            Ok(Some(value.clone()))
        }
    }
}
