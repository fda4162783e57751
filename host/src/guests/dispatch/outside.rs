//! A call of a tool that an MCP server performs: sent where a guest would have run.
//!
//! Everything around it is as for any call: what was judged, what is on record, what becomes of the outcome. The
//! server's own words, of a value or of a failure, are under its influence.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::apart::{Done, Telling};
use super::super::catalog::{Served, Tool};
use super::super::guest::{Artifact, Trail};
use super::super::station::Station;
use super::{Permitted, Within, inside, late, of_outcome, wanted};
use crate::edges::mcp::{Ask, Progress};
use crate::gate::{Performed, Permit};
use crate::rules::call::Call;
use crate::rules::caller::Caller;
use crate::rules::server::lent::Lent;
use crate::rules::server::said::{self, Attached, Said};
use crate::words::clock::Clock;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Glimpse, Read, Spent};
use crate::words::id::shown;
use crate::words::label::Label;

/// Asks the server of a tool, in the time that the call has.
pub(super) async fn visit(
    permitted: Permitted<'_>,
    served: &Served,
    (call, within): (&Call, Within),
) -> Done {
    let Permitted {
        station,
        caller,
        seq,
        tool,
        ..
    } = permitted;
    let deadline = late::deadline(caller, call, tool, station.gate.policy());
    let inner = inside(caller, call, (seq, within), station.gate.policy());
    let done = perform(permitted, inner, served, call).await;
    let result = done.result.map_err(|error| {
        // What came too late before the server was asked did not happen.
        let is_open = error.is_in_doubt() || error.code() == Code::Cancelled;
        let error = late::told(error, &deadline);
        late::doubted(error, (call, station.gate.policy()), is_open)
    });
    Done { result, ..done }
}

/// Has a server perform a call. `inner` is the call as a caller: its deadline is the call's.
async fn perform(permitted: Permitted<'_>, inner: Caller, served: &Served, call: &Call) -> Done {
    let Permitted {
        station,
        tasks,
        tool,
        ..
    } = permitted;
    let began = Clock::instant();
    let mut trail = Trail {
        read: Read::at(served.server.terms().label()),
        ..Trail::default()
    };
    let ask = Ask {
        tool: &served.definition.remote,
        act: served.definition.act,
        read: served.digest,
        args: call.args.value(),
        deadline: inner.deadline,
        repeatable: call.declared.is_repeatable(),
        progress: progress(station, (&inner, &trail.read.label), tool),
        wants: wanted::wants((station, tasks), &inner, (tool, served)),
    };
    let answer = tasks.unless_cancelled(asked((station, &inner), (tool, served), ask));
    let answer = answer.await;
    let said = answer.and_then(|mut answer| {
        let bounds = &station.gate.policy().bounds;
        said::check_size(&answer, bounds)?;
        // Before anything is cut: half a secret is not recognised.
        station.scrub.clean_value(&mut answer);
        let promised = served.definition.output.is_some();
        let output = if promised { Some(tool.output()?) } else { None };
        said::read(&answer, (output, bounds))
    });
    let result = said.map(|Said { value, files }| {
        trail.artifacts = artifacts(station, files);
        value
    });
    Done {
        result,
        telling: Telling::Whole,
        trail,
        remade: None,
        spent: Spent::since(began),
    }
}

/// What a server is told has left: no secret's value is, wherever its wisher had it from.
fn check_told(station: &Station, tool: &Tool, args: &Value) -> Result<()> {
    let known = station.scrub.known();
    if known.is_empty() || !known.finds_in(args.to_string().as_bytes()) {
        return Ok(());
    }
    let what = format!(
        "the arguments of `{}` hold the value of a secret in the clear, and are told to no server",
        tool.name
    );
    Err(Error::new(Code::Denied, what))
}

/// Asks the server. Which secrets it has for that is on record before.
async fn asked(
    (station, inner): (&Station, &Caller),
    (tool, served): (&Tool, &Served),
    ask: Ask<'_>,
) -> Result<Value> {
    check_told(station, tool, ask.args)?;
    let terms = served.server.terms();
    let uses = served.server.uses()?;
    if uses.is_empty() {
        return served.server.call(ask).await;
    }
    let lent = Lent {
        server: terms.name.clone(),
        uses,
    };
    // As of whatever is asked outside: what came of it is the server's, and what was known before is no reading of the call's own.
    let label = terms.label();
    let began = Clock::instant();
    let call = async |permit: Permit<Lent>| {
        let (_, ()) = permit.redeem();
        Performed::of(served.server.call(ask).await, label, Spent::since(began))
    };
    let passed = station.gate.pass(inner, lent, call).await;
    passed.map_err(|not| not.error)?.performed.result
}

/// What a server says on the way is its own word: whoever watches is told whose, and no model is.
fn progress(station: &Arc<Station>, (inner, server): (&Caller, &Label), tool: &Tool) -> Progress {
    let label = of_outcome(tool, inner.label.join(server));
    let (station, run) = (station.clone(), inner.run.clone());
    let (of, tool) = (inner.parent, tool.name.to_string());
    Arc::new(move |message, percent| {
        let glimpse = Glimpse::Progress {
            of,
            tool: tool.clone(),
            message: station.scrub.clean(&message),
            percent: percent.map(f32::from),
            label: label.clone(),
        };
        station.gate.glimpse(&run, glimpse);
    })
}

/// Files of a server for whoever called: without secrets, and with names that hide nothing.
fn artifacts(station: &Station, files: Vec<Attached>) -> Vec<Artifact> {
    let kept = files.into_iter().enumerate().map(|(place, file)| Artifact {
        id: format!("artifact-{}", place + 1),
        name: shown(&station.scrub.clean(&file.name)),
        media_type: shown(&station.scrub.clean(&file.media_type)),
        metadata: json!({}),
        bytes: station
            .scrub
            .known()
            .clean_bytes(&file.bytes)
            .unwrap_or(file.bytes),
    });
    kept.collect()
}
