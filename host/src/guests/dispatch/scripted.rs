//! What a model is told of a script that has come to know something of a secret: by its clock, since how long a call takes
//! tells of what it was given, or by what went well. The script spells what it knows in whatever it returns, in the words, the
//! kind and the place of its failure. So what it returns is held, whole, and of a failure it is said that it is one; either is
//! paid for in bits. Where these would not do for a failure, not even that is said which of both it was.

use serde_json::Value;

use super::leaves::leave;
use super::told::{fault, named, succeeded};
use crate::guests::station::Station;
use crate::rules::call::Call;
use crate::rules::caller::{Caller, Origin};
use crate::rules::flow::apart::{fault_bits, fault_card, fault_in};
use crate::rules::flow::handles::{self, Given, Handles, Made, told_label};
use crate::rules::flow::records::Touched;
use crate::rules::script::TOOL;
use crate::words::error::{Code, Error, Result};
use crate::words::label::Label;

/// What its model is told with the card of what a script has returned.
const HELD: &str = "the script knew something of a secret, so what it returned is held, also where that was a handle: hand this \
                    handle on to a tool as it is, wherever that takes a value";
/// What its model is told where a script has failed.
const FAILED: &str = "it failed; it knew something of a secret, so neither how nor where is said";
/// What its model is told where too few bits are left.
const ENDED: &str =
    "the script knew something of a secret, and too few bits are left to say whether it went well";

/// What is told of a script that knew something of a secret, in place of what came of it.
pub(crate) struct Scripted {
    /// What stands on record of that.
    pub(crate) told: Value,
    /// All that is behind what is held.
    pub(crate) behind: Label,
}

impl Scripted {
    /// What the script has come to, as its model sees it, and under whose influence that is.
    pub(crate) fn seen(told: &Value, behind: &Label, caller: &Caller) -> (Result<Value>, Label) {
        let result = match fault_in(told) {
            Some(_) => Err(fault(&unsaid(), told)),
            None => Ok(told.clone()),
        };
        let label = caller.label.join(&told_label(TOOL, told, behind));
        (result, label)
    }
}

/// Of whatever went wrong in a script that knew something of a secret.
fn unsaid() -> Error {
    Error::new(Code::ScriptFailed, "").unsaid()
}

/// What a model is told of its script; nothing where it is told what came of that, or that ends its run. Who else runs one is
/// there, and is told as of any other.
pub(crate) fn tell_script(
    station: &Station,
    (caller, call): (&Caller, &Call),
    (result, label): (&Result<Value>, &Label),
) -> Option<Scripted> {
    let flows = &station.gate.policy().flows;
    let is_told = match result {
        Ok(_) => true,
        Err(error) => error.code().told_to_model(),
    };
    if caller.origin != Origin::Model || !is_told || !flows.classes.is_secret(label) {
        return None;
    }
    let mut held = caller.known.handles();
    let told = held_by(station, (caller, call), (result, label), &mut held);
    Some(told.unwrap_or_else(|| {
        held.skip();
        let (told, behind) = (handles::ended(ENDED), label.clone());
        Scripted { told, behind }
    }))
}

/// The card of what came of it; nothing where there is no room, or too few bits are left to say that it failed, whether it
/// did or not.
fn held_by(
    station: &Station,
    (caller, call): (&Caller, &Call),
    (result, label): (&Result<Value>, &Label),
    held: &mut Handles,
) -> Option<Scripted> {
    let flows = &station.gate.policy().flows;
    let bits = fault_bits(&call.tool);
    if held.bits().saturating_add(bits) > flows.bits {
        return None;
    }
    let given = match result {
        // What only looks like a handle is a value like any other.
        Ok(value) => Given::resolve(value, held).unwrap_or_else(|_| Given::plain(value.clone())),
        Err(_) => Given::plain(unsaid().message().into()),
    };
    let behind = label.join(&given.label);
    let name = held.hold_beyond(&given.value, &behind).ok()?;
    let knows = named(caller, call, held, &behind);
    let label = (&behind, &knows, &Touched::new());
    let what = (&given.value, Made::OfHandles);
    let card = handles::card(flows, (&call.tool, &name), what, label);
    held.show(&name, &card);
    let told = match result {
        Ok(_) => {
            let card = handles::to_use(card, HELD);
            match flows.classes.is_tainted(&caller.label) {
                true => handles::charged(card, succeeded(station, caller, held)),
                false => handles::telling(card),
            }
        }
        Err(_) => {
            leave(station, caller, held, bits).ok()?;
            held.failed();
            fault_card(card, FAILED)
        }
    };
    Some(Scripted { told, behind })
}
