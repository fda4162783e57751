//! Dispatch: the one path of a call, whoever wished it (U-09, design §4).
//!
//! Resolve → surface → arguments → gate → guest → outcome. Each step's failure prevents the steps
//! after it, and leaves a record.

mod around;
mod before;
mod late;
mod leaves;
mod outside;
mod records;
mod said;
mod scripted;
mod told;
mod wanted;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;

use self::around::Around;
use self::before::Before;
use self::leaves::leave;
use self::said::read_outcome;
pub(crate) use self::scripted::{Scripted, tell_script};
use self::told::{fault, hear, tell, tell_fault};
use super::apart::{self, Done, Telling};
use super::catalog::{By, Tool};
use super::guest::{Ending, Linked, Trail, Visit};
use super::heard::Heard;
use super::plugin::Plugin;
use super::repeats;
use super::station::Station;
use super::tasks::Tasks;
use crate::gate::{NotPassed, Passed, Performed, Permit, denied, unfit};
use crate::rules::bounds::GuestBounds;
use crate::rules::call::{self, Call, Within, confirm};
use crate::rules::caller::{Caller, Origin};
use crate::rules::flow::apart::{Apart, misfit_bits};
use crate::rules::flow::handles::{self, Given, Naming, in_the_clear, is_withheld, told_label};
use crate::rules::flow::part;
use crate::rules::json;
use crate::rules::manifest::SurfaceWord;
use crate::rules::policy::Policy;
use crate::rules::schema::Args;
use crate::words::clock::Deadline;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Content, Denial, EffectKind, Glimpse, Spent};
use crate::words::id::{Place, Seq, ToolName, shown};
use crate::words::label::{Label, Sort, Source};
use crate::words::length::json_bytes;
use crate::words::limits::{CALL_FUEL, FETCHES_AT_ONCE};
use crate::words::message::WishedArgs;

/// An unchecked wish to call a tool.
#[derive(Clone, Debug)]
pub struct Request {
    /// The tool's full name, as it was written.
    pub tool: String,
    /// The arguments, as they were written.
    pub args: WishedArgs,
}

/// What became of a call.
#[derive(Debug)]
pub struct Outcome {
    /// The tool's name as it was asked for; of a call that was not made, without what is a secret.
    pub tool: String,
    /// The record of its judgement.
    pub seq: Seq,
    /// When its end was recorded, in milliseconds since 1970.
    pub at: u64,
    /// What the tool returned, or why it did not.
    pub result: Result<Value>,
    /// Everything that influenced the outcome, as its caller is told of it.
    pub label: Label,
    /// Everything that had a hand in it, also where its caller is told of less: how long it took tells of all that.
    pub behind: Label,
    /// Logs and artifacts.
    pub trail: Trail,
    /// What it took.
    pub spent: Spent,
}

/// Calls a tool, again where that may help (U-17): each attempt is judged and recorded like any call, and the last one
/// is what came of it. Boxed, since a tool may call a tool.
pub fn dispatch(
    station: Arc<Station>,
    tasks: Tasks,
    caller: Caller,
    request: Request,
) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
    Box::pin(async move {
        let mut before = Before::default();
        loop {
            let (outcome, was_made) = attempt(&station, &tasks, &caller, &request).await;
            let wait_ms = match &outcome.result {
                Err(error) if was_made => before.wait_ms((&station, &caller), &request, error),
                Ok(_) | Err(_) => None,
            };
            let Some(wait_ms) = wait_ms else {
                return before.joined(outcome);
            };
            let mut outcome = before.failed((&station, &caller), outcome, wait_ms);
            if let Err(cancelled) = tasks.pass(Duration::from_millis(wait_ms)).await {
                outcome.result = Err(cancelled);
                return outcome;
            }
        }
    })
}

/// Reads the arguments of a guest's wish for a call. Longer ones than may be written are turned down unread: in the host they
/// take many times the room that they take in the guest.
pub(super) fn read_args(
    station: &Station,
    caller: &Caller,
    (tool, args): (&str, &str),
) -> Result<WishedArgs> {
    let Err(error) = station.gate.policy().bounds.check_written(args.len()) else {
        return Ok(json::wished(args));
    };
    let content = Content::Size { bytes: args.len() };
    let what = (shown(&named(station, tool)), content);
    let why = (unfit(&error), error);
    let not = station.gate.turn_down(caller, EffectKind::Call, what, why);
    Err(not.error)
}

/// The name of a tool as it was asked for, without what is a secret.
pub(crate) fn named(station: &Station, name: &str) -> String {
    ToolName::none_of(name).unwrap_or_else(|| station.scrub.clean(name))
}

/// One attempt, and whether the call was made.
async fn attempt(
    station: &Arc<Station>,
    tasks: &Tasks,
    caller: &Caller,
    request: &Request,
) -> (Outcome, bool) {
    let mut trail = Trail::default();
    let name = request.tool.clone();
    match pass(station, tasks, caller, request, &mut trail).await {
        Ok(passed) => {
            let Passed { seq, at, performed } = passed;
            let behind = performed.label.clone();
            // Whoever was told of a handle has read nothing of what it holds.
            let (result, label) = match performed.told {
                Some(told) => {
                    let of_told = told_label(&name, &told, &performed.label);
                    (
                        performed.result.map_err(|error| fault(&error, &told)),
                        caller.label.join(&of_told),
                    )
                }
                None if caller.origin == Origin::Script => {
                    (performed.result.map(in_the_clear), performed.label)
                }
                None => (performed.result, performed.label),
            };
            let outcome = Outcome {
                tool: name,
                seq,
                at,
                result,
                label,
                behind,
                trail,
                spent: performed.spent,
            };
            (outcome, true)
        }
        Err(Unmade { not, label }) => {
            let caller = Caller {
                label,
                ..caller.clone()
            };
            let (at, error) = turned_down(station, &caller, not);
            let outcome = Outcome {
                tool: named(station, &name),
                seq: caller.parent,
                at,
                result: Err(error),
                behind: caller.label.clone(),
                label: caller.label,
                trail,
                spent: Spent::default(),
            };
            (outcome, false)
        }
    }
}

/// Asks about a call that may not be made yet, if it is one that a person is asked about. Whatever is wrong with
/// it is said when its turn comes.
///
/// # Errors
/// The journal's own failure.
pub(crate) fn ask_ahead(
    station: &Station,
    caller: &Caller,
    request: &Request,
) -> Result<Option<Error>> {
    let Ok((tool, given, args)) = check(station, caller, request) else {
        return Ok(None);
    };
    let asked = station
        .gate
        .ask_ahead(caller, &call_of(tool, (given, args), request))?;
    Ok(asked.map(|error| clean_error(station, &error)))
}

/// A call that was not made, and what its caller is under the influence of when it is told why.
struct Unmade {
    not: NotPassed,
    label: Label,
}

/// What a caller is told of a call that did not happen, and when that was recorded. A script may be told it
/// again in a later life, under another policy: so the very words are on record.
fn turned_down(station: &Station, caller: &Caller, not: NotPassed) -> (u64, Error) {
    let Some(judged) = not.judged else {
        return (0, not.error);
    };
    if caller.origin != Origin::Script || not.error.code() == Code::Asked {
        return (judged.at, clean_error(station, &not.error));
    }
    let policy = station.gate.policy();
    let message = policy.without_origin(not.error.message());
    let plain = Error::new(not.error.code(), message)
        .issues(not.error.issue_list().to_vec())
        .retry(not.error.is_retryable());
    let told = clean_error(station, &plain);
    match station.gate.record_failed(caller, judged.seq, &told) {
        Ok(at) => (at, told),
        Err(lost) => (0, lost),
    }
}

async fn pass(
    station: &Arc<Station>,
    tasks: &Tasks,
    caller: &Caller,
    request: &Request,
    trail: &mut Trail,
) -> Result<Passed<Value>, Unmade> {
    let (tool, given, args) = match check(station, caller, request) {
        Ok(checked) => checked,
        Err(refused) => {
            let policy = station.gate.policy();
            let (classes, asker) = (&policy.flows.classes, (caller, &**policy));
            let mut label = caller.label.clone();
            let (denial, error) = match refused {
                Refused::Unfit(error) => {
                    // It quotes a schema, or names that are near: words of whoever wrote a plugin.
                    let tools = station.catalog.spoken_of(&request.tool, asker);
                    label = label.join(&classes.of_words(tools));
                    let error = with_near_names(error, caller);
                    (unfit(&error), error)
                }
                Refused::Misfit(error, held) => {
                    let tools = station.catalog.spoken_of(&request.tool, asker);
                    label = label.join(&classes.of_words(tools));
                    label = label.join(&of_told(station, caller, &request.args, &held));
                    let error = misfit_told(error, classes.is_secret(&held));
                    (unfit(&error), error)
                }
                Refused::Denied(denial) => {
                    let error = denied(&denial, station.gate.policy());
                    (denial, error)
                }
            };
            let name = named(station, &request.tool);
            let what = (shown(&name), call::wished(&request.args));
            let caller = Caller {
                label: label.clone(),
                ..caller.clone()
            };
            let why = (denial, error);
            let not = station.gate.turn_down(&caller, EffectKind::Call, what, why);
            return Err(Unmade { not, label });
        }
    };
    let held = given.label.clone();
    let call = call_of(tool, (given, args), request);
    let waits = repeats::waits((station, tasks), caller, &call).await;
    if let Some(error) = waits.unwrap_or_else(Some) {
        let what = (shown(&request.tool), call::wished(&request.args));
        let why = (unfit(&error), error);
        let not = station.gate.turn_down(caller, EffectKind::Call, what, why);
        let label = caller.label.join(&held);
        return Err(Unmade { not, label });
    }
    station
        .gate
        .pass(caller, call, async |permit| {
            if caller.known.beside != Naming::Next {
                // Their starts are up front, and in their order (U-14).
                tokio::task::yield_now().await;
            }
            perform(station, tasks, caller, tool, permit, trail).await
        })
        .await
        .map_err(|not| {
            let held = of_refusal((station, caller), request, (&held, &not.error));
            let label = caller.label.join(&held);
            Unmade { not, label }
        })
}

fn call_of(tool: &Tool, (given, args): (Given, Args), request: &Request) -> Call {
    Call {
        tool: tool.name.clone(),
        component: tool.digest(),
        declared: tool.declared.clone(),
        grant: tool.grant.clone(),
        args,
        held: given.label,
        wish: part::wish(&tool.name, &request.args, &given.places),
        places: given.places,
        attached: given.attached,
    }
}

/// A script reads no hints, but what it may have meant helps whoever wrote it; it stands in the record, so
/// that it is the same when the script is run again.
fn with_near_names(error: Error, caller: &Caller) -> Error {
    match (error.meant(), &caller.origin) {
        (Some(near), Origin::Script) => {
            Error::new(error.code(), format!("{}; {near}", error.message()))
        }
        _ => error,
    }
}

/// Why there is no call to judge.
enum Refused {
    /// The wish is malformed.
    Unfit(Error),
    /// What a handle holds does not fit. To be told so is to learn of it, as often as one asks: each time some bits leave.
    Misfit(Error, Label),
    /// The tool is not for this caller, whatever the arguments.
    Denied(Denial),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Unfit(error)
    }
}

/// Takes what is told of handles that do not fit, or of secret ones that were turned down, out of what may leave them.
fn misfit_leaves(station: &Station, caller: &Caller, args: &WishedArgs) -> Result<()> {
    let WishedArgs::Json(args) = args else {
        return Ok(());
    };
    let mut held = caller.known.handles();
    leave(station, caller, &mut held, misfit_bits(args))?;
    held.failed();
    Ok(())
}

/// What handles bring to whoever is told that: who may read what they hold, and without bits all that is behind it.
fn of_told(station: &Station, caller: &Caller, args: &WishedArgs, held: &Label) -> Label {
    match misfit_leaves(station, caller, args) {
        Ok(()) => held.of_scalar(),
        Err(_) => held.clone(),
    }
}

/// What handles bring to whoever is told why a call was refused. What they hold was weighed as well, so that is to learn of
/// it. Of what is secret no model may learn, so its words hold none of it, and that it was refused is paid for.
fn of_refusal(
    (station, caller): (&Station, &Caller),
    request: &Request,
    (held, error): (&Label, &Error),
) -> Label {
    let is_secret = station.gate.policy().flows.classes.is_secret(held);
    // Whoever waits for a person is told nothing yet.
    if !is_secret || error.code() == Code::Asked {
        return held.clone();
    }
    of_told(station, caller, &request.args, held)
}

/// What is said of handles that do not fit. Where they hold what is secret, it is neither what is wrong nor where: whatever
/// makes them would choose that.
fn misfit_told(error: Error, is_secret: bool) -> Error {
    if !is_secret {
        return error;
    }
    let what = "Invalid action input: it does not fit the tool's schema or a limit. Where is not said, since a handle in \
                it holds a secret";
    Error::new(Code::BadArgs, what)
}

/// What is checked before there is a call to judge. A tool that is not for this caller says nothing of
/// its arguments.
fn check<'a>(
    station: &'a Station,
    caller: &Caller,
    request: &Request,
) -> Result<(&'a Arc<Tool>, Given, Args), Refused> {
    // Whatever is called may say what has become a secret since the last call.
    station.egress.learn()?;
    let policy = station.gate.policy();
    let asker = (caller, &**policy);
    let tool = station.catalog.resolve_for(&request.tool, asker)?;
    let offered = &tool.declared.offer.surfaces;
    // What policy puts around calls is called by the host, on every surface.
    if caller.origin != Origin::Host && !offered.contains(&SurfaceWord(caller.surface)) {
        let what = format!("`{}` is not offered on this surface", tool.name);
        return Err(Error::new(Code::BadSurface, what).into());
    }
    call::admits(&tool.name, &tool.declared, caller, policy).map_err(Refused::Denied)?;
    let value = match &request.args {
        WishedArgs::Json(value) => value.clone(),
        WishedArgs::Broken(text) => {
            let why = json::parse(text).err().unwrap_or_default();
            let what = format!(
                "Invalid action input: the arguments are not JSON: {}",
                shown(&why)
            );
            return Err(Error::new(Code::BadArgs, what).into());
        }
    };
    let mut given = match handles::are_named((&caller.origin, &tool.name)) {
        true => {
            let handles = caller.known.handles();
            let told = (caller.origin == Origin::Model).then(|| handles.check_told(&value));
            let given = told.unwrap_or(Ok(()));
            let given = given.and_then(|()| Given::resolve(&value, &handles));
            given.map_err(|error| misfit(error, handles.label_in(&value)))?
        }
        false => Given::plain(value),
    };
    if let Some(way) = Apart::of(&tool.name) {
        let fits = way.check(&given);
        fits.map_err(|error| misfit(error, given.label.clone()))?;
    }
    let reads = (&policy.inbound.caps, caller.origin == Origin::Model);
    given.value = part::bounded(&tool.name, given.value, reads);
    let args = if caller.origin == Origin::Host {
        told(tool, &given.value)
    } else {
        Args::given(&given, tool.input()?).and_then(|args| policy.bounds.fitting(args, &given))
    };
    let args = args.map_err(|error| misfit(error, given.label.clone()))?;
    if let Some(error) = confirm::unconfirmed(&tool.name, &tool.declared, caller) {
        return Err(error.into());
    }
    Ok((tool, given, args))
}

/// What a ward is told: it may be as long as outcomes are.
fn told(tool: &Tool, value: &Value) -> Result<Args> {
    let issues = tool.input()?.issues(value);
    if issues.is_empty() {
        return Ok(Args::own(value.clone()));
    }
    let what = "what this ward is told does not fit its input schema";
    Err(Error::new(Code::BadArgs, what).issues(issues))
}

/// Arguments that do not fit, with what handles brought into them. Which handles there are is no secret.
fn misfit(error: Error, held: Label) -> Refused {
    if held == Label::default() || error.code() == Code::NotFound {
        return Refused::Unfit(error);
    }
    Refused::Misfit(error, held)
}

async fn perform(
    station: &Arc<Station>,
    tasks: &Tasks,
    caller: &Caller,
    tool: &Arc<Tool>,
    permit: Permit<Call>,
    trail: &mut Trail,
) -> Performed<Value> {
    let seq = permit.seq();
    let (call, within) = permit.redeem();
    let own = caller.label.join(&call.held).with(tool.source());
    let permitted = Permitted {
        station,
        tasks,
        caller,
        seq,
        tool,
    };
    let done = made(permitted, (&call, within), &own).await;
    let done = match done {
        Ok(done) => done,
        Err(error) => return Performed::of(Err(error), own, Spent::default()),
    };
    if let (Err(error), Telling::Free) = (&done.result, &done.telling) {
        let error = clean_error(station, error);
        return Performed::of(Err(error), caller.label.clone(), done.spent);
    }
    let label = own.join(&done.trail.label());
    let label = of_outcome(tool, label);
    *trail = done.trail;
    let result = unsaid((station, caller), clean(station, done.result), &label);
    hear(station, caller, &label, &result);
    let content = recorded(station, &result, &label);
    let told = match &result {
        Ok(value) => tell(
            station,
            caller,
            &call,
            (value, &label, done.spent.altered),
            trail,
        ),
        Err(error) => tell_fault(station, caller, &call, (error, &done.telling), &label),
    };
    let label = match &told {
        Err(untold) => label.join(&untold.label),
        Ok(Some(told)) if is_withheld(told) => label.join(caller.known.handles().all()),
        Ok(_) => label,
    };
    let (result, told) = match told {
        Ok(None) => (result, None),
        Ok(Some(told)) => (result.map(|_| told.clone()), Some(told)),
        Err(untold) => (Err(untold.error), None),
    };
    Performed {
        result,
        content,
        touched: records::kept(station, trail, &label),
        read: Some(trail.read.clone()),
        wrote: None,
        label,
        told,
        remade: done.remade,
        // Whoever wished is told no more than stands there.
        unsaid: false,
        spent: done.spent,
    }
}

/// The label of a tool's outcome: what it is under the influence of, and whether the tool says that it is secret.
fn of_outcome(tool: &Tool, label: Label) -> Label {
    match tool.secret() {
        Some(secret) => label.with(secret),
        None => label,
    }
}

/// A call whose permit was redeemed: where it is made, for whom, and by which tool. What is called, and under which terms,
/// goes beside it, since steps may change that.
#[derive(Clone, Copy)]
struct Permitted<'a> {
    station: &'a Arc<Station>,
    tasks: &'a Tasks,
    caller: &'a Caller,
    /// The record of its judgement.
    seq: Seq,
    tool: &'a Arc<Tool>,
}

/// Makes a call that was allowed: if its checker agrees, apart or in a guest, or as what came of it before.
async fn made(
    permitted: Permitted<'_>,
    (call, within): (&Call, Within),
    own: &Label,
) -> Result<Done> {
    let Permitted {
        station,
        tasks,
        caller,
        seq,
        tool,
    } = permitted;
    let around = Around::of(permitted, own);
    if let Some(refused) = around.refused(call).await {
        return Ok(refused);
    }
    let Some(way) = Apart::of(&call.tool) else {
        let visit = async || {
            let _among = tool.crowd.join(&tool.name)?;
            around.run(call, within).await
        };
        return repeats::made((station, tasks), caller, call, visit).await;
    };
    let wish = apart::Wish {
        station,
        tasks,
        caller: &Caller {
            parent: seq,
            ..caller.clone()
        },
        args: call.args.value(),
        label: own,
    };
    Ok(match apart::admit(way, (station, caller, tool)) {
        Ok(_among) => apart::perform(way, wish).await,
        Err(error) => Done::free(error),
    })
}

/// Of what is secret a failure says that it is one: the words of whoever failed are as secret as their outcome. To a model or
/// a script all failures that it is told of are of one kind.
fn unsaid(
    (station, caller): (&Station, &Caller),
    result: Result<Value>,
    label: &Label,
) -> Result<Value> {
    match result {
        Err(error) if station.gate.policy().flows.classes.is_secret(label) => {
            Err(match (&caller.origin, error.code().told_to_model()) {
                (Origin::Model | Origin::Script, true) => {
                    error.unsaid_as(Code::GuestFailed).retry(false)
                }
                (Origin::Model | Origin::Script, false)
                | (Origin::Client | Origin::Host | Origin::Tool(_), _) => error.unsaid(),
            })
        }
        result @ (Ok(_) | Err(_)) => result,
    }
}

/// An outcome as it stands on record: of what is secret, how much it is (G-32).
pub(crate) fn recorded(station: &Station, result: &Result<Value>, label: &Label) -> Content {
    match result {
        Ok(value) if station.gate.policy().flows.classes.is_secret(label) => Content::Size {
            bytes: json_bytes(value),
        },
        Ok(value) => Content::Inline(value.clone()),
        Err(_) => Content::Empty,
    }
}

/// Runs the tool in a guest of its own component.
async fn visit(permitted: Permitted<'_>, (call, within): (&Call, Within)) -> Result<Done> {
    let Permitted {
        station,
        caller,
        seq,
        tool,
        ..
    } = permitted;
    if let Some(recorded) = &station.recorded {
        return Ok(recorded.done(&caller.place).await);
    }
    let plugin = match &tool.by {
        By::Component(plugin) => plugin,
        By::Server(served) => {
            // The largest of all that a call may come to: each call would be as large, and is moved.
            let done = outside::visit(permitted, served, (call, within));
            return Ok(Box::pin(done).await);
        }
    };
    // A component that has to be compiled does not use up the call's own time, which begins after it.
    let linked = load(permitted, plugin).await?;
    let deadline = late::deadline(caller, call, tool, station.gate.policy());
    let inner = inside(caller, call, (seq, within), station.gate.policy());
    let ending = run(permitted, inner, linked, call.args.text()).await?;
    let refused = ending.trail.refused.clone();
    // What it asked for last may have happened, and it gave up not knowing.
    let unknown = refused.as_ref().is_some_and(|refused| refused.in_doubt);
    let (is_cut_off, result) = match ending.said {
        Ok(said) => (false, read_outcome((station, tool), said, refused)),
        Err(error) => (late::is_cut_off(&error), Err(late::told(error, &deadline))),
    };
    let policy = station.gate.policy();
    Ok(Done {
        result: result.map_err(|error| late::doubted(error, (call, policy), unknown || is_cut_off)),
        telling: Telling::Whole,
        trail: ending.trail,
        remade: None,
        spent: ending.spent,
    })
}

/// What a guest's own wishes are under the influence of: its caller, what it was given, and its own code, unless
/// that is trusted not to make things up.
fn influence(caller: &Caller, call: &Call, policy: &Policy) -> Label {
    let label = caller.label.join(&call.held);
    if policy
        .flows
        .classes
        .trusted_plugins
        .contains(call.tool.plugin())
    {
        label
    } else {
        label.with(Source::new(Sort::Tool, call.tool.as_str()))
    }
}

/// The guest as a caller: what it may reach is its tool's grant, within the call's own bounds.
fn inside(caller: &Caller, call: &Call, (seq, within): (Seq, Within), policy: &Policy) -> Caller {
    let bounds = policy.bounds;
    // Who calls comes before the manifest, and nobody past policy (U-08).
    let asked = caller.known.asked.timeout_ms;
    let timeout_ms = bounds.deadline_ms(asked.or(call.declared.conduct.timeout_ms));
    let label = influence(caller, call, policy);
    let bearing = within.bearing(&call.declared);
    Caller {
        run: caller.run.clone(),
        parent: seq,
        surface: caller.surface,
        place: Place::default(),
        // Nobody was asked about what it calls in turn.
        known: caller.known.inside(bearing),
        origin: Origin::Tool(call.tool.clone()),
        reach: call.grant.calls.clone().into(),
        grant: within.narrow(&call.grant),
        label,
        depth: caller.depth,
        deadline: caller.deadline.earlier(Deadline::after_ms(timeout_ms)),
        budget: caller.budget.clone(),
    }
}

async fn load<'a>(permitted: Permitted<'_>, plugin: &'a Plugin) -> Result<&'a Linked> {
    let station = permitted.station;
    let tell = |message: &str| {
        let glimpse = Glimpse::Progress {
            of: permitted.seq,
            tool: permitted.tool.name.to_string(),
            message: message.to_owned(),
            percent: None,
            label: permitted.caller.label.clone(),
        };
        let run = &permitted.caller.run;
        station.gate.journal().glimpse(run, glimpse);
    };
    let is_ready = plugin.is_ready();
    if !plugin.is_compiled(&station.quarantine) {
        tell("compiling (once, then cached)");
    }
    let linked = permitted
        .tasks
        .unless_cancelled(plugin.linked(&station.quarantine))
        .await?;
    if !is_ready {
        tell("running");
    }
    Ok(linked)
}

/// Calls the guest, once there is room for it. `inner` is the guest as a caller.
async fn run(
    permitted: Permitted<'_>,
    inner: Caller,
    linked: &Linked,
    args: &str,
) -> Result<Ending> {
    let Permitted {
        station,
        tasks,
        tool,
        ..
    } = permitted;
    let quarantine = &station.quarantine;
    let slot = quarantine.slots().take(inner.depth, inner.deadline);
    let _slot = tasks.unless_cancelled(slot).await?;
    let bounds = station.gate.policy().bounds.guest;
    let bounds = GuestBounds {
        fuel: bounds.fuel.min(CALL_FUEL),
        ..bounds
    };
    let (station, tasks) = (station.clone(), tasks.clone());
    let visit = Visit {
        station,
        tasks,
        caller: inner,
        heard: Heard::of(tool.secret()),
        requests: Arc::new(Semaphore::new(FETCHES_AT_ONCE)),
        trail: Trail::default(),
    };
    Ok(linked
        .call(quarantine, visit, bounds, (tool.name.short(), args))
        .await)
}

/// Takes host paths and secrets out of everything that leaves.
pub(crate) fn clean(station: &Station, result: Result<Value>) -> Result<Value> {
    match result {
        Ok(mut value) => {
            station.scrub.clean_value(&mut value);
            Ok(value)
        }
        Err(error) => Err(clean_error(station, &error)),
    }
}

fn clean_error(station: &Station, error: &Error) -> Error {
    let scrub = &station.scrub;
    // Paths of the host are what a hint is about; it is read by whoever may act on it.
    let hint = |line: &str| scrub.known().clean(line).unwrap_or_else(|| line.to_owned());
    error.with_words(|text| scrub.clean(text), hint)
}
