//! Where the script stands once it has nothing left to do by itself.

use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Promise, Value, qjs};

use crate::meter::Meter;
use crate::state::{Open, State};
use crate::{Failure, Progress, Reason, Wish, engine, failure, value};

/// Runs all jobs until none is left, and says where the script stands then.
pub fn settle<'js>(state: &State, meter: &Meter, ctx: &Ctx<'js>, main: &Promise<'js>) -> Progress {
    let progress = match run_jobs(state, meter, ctx) {
        Err(failure) => Progress::Failed(failure),
        Ok(()) => standing(state, ctx, main),
    };
    // The meter may also fire while the value is written.
    if meter.fired() {
        let known = match progress {
            Progress::Failed(failure) => Some(failure),
            _ => None,
        };
        return Progress::Failed(failure::out_of_work(known));
    }
    if matches!(progress, Progress::Done(_)) {
        note_unmade_calls(state);
    }
    progress
}

/// An exception that the script did not catch: of a timer's callback, of a microtask, or while starting.
pub fn uncaught(state: &State, meter: &Meter, ctx: &Ctx<'_>) -> Failure {
    let thrown = ctx.catch();
    engine::let_speak(state);
    let failure = failure::thrown(ctx, &thrown, state);
    if meter.fired() {
        return failure::out_of_work(Some(failure));
    }
    failure
}

fn run_jobs(state: &State, meter: &Meter, ctx: &Ctx<'_>) -> Result<(), Failure> {
    // SAFETY: a live context has a live runtime.
    let runtime = unsafe { qjs::JS_GetRuntime(ctx.as_raw().as_ptr()) };
    loop {
        // SAFETY: the runtime of a live context; the place for the job's context may hold anything afterwards.
        if !unsafe { qjs::JS_IsJobPending(runtime) } {
            return Ok(());
        }
        if !meter.job() {
            return Err(failure::out_of_work(None));
        }
        let mut job_ctx = std::ptr::null_mut();
        // SAFETY: as above.
        let ran = unsafe { qjs::JS_ExecutePendingJob(runtime, &raw mut job_ctx) };
        if ran < 0 {
            return Err(uncaught(state, meter, ctx));
        }
    }
}

fn standing<'js>(state: &State, ctx: &Ctx<'js>, main: &Promise<'js>) -> Progress {
    if main.state() == PromiseState::Rejected {
        return Progress::Failed(rejected(state, ctx, main));
    }
    match state.first_unhandled(ctx) {
        Ok(None) => {}
        Ok(Some(promise)) => return Progress::Failed(rejected(state, ctx, &promise)),
        Err(_) => return Progress::Failed(failure::out_of_memory("")),
    }
    if main.state() == PromiseState::Resolved {
        return match value::json(ctx, &result(ctx, main), state) {
            Ok(json) => Progress::Done(json),
            Err(failure) => Progress::Failed(failure),
        };
    }
    if state.waits() {
        return Progress::Waiting(state.take_fresh());
    }
    let message =
        "the script awaits something that nothing will ever resolve: no call and no timer is open";
    Progress::Failed(failure::placeless(Reason::Stalled, message))
}

fn rejected<'js>(state: &State, ctx: &Ctx<'js>, promise: &Promise<'js>) -> Failure {
    engine::let_speak(state);
    failure::thrown(ctx, &result(ctx, promise), state)
}

/// What a promise was settled with. No script sees that it was asked.
fn result<'js>(ctx: &Ctx<'js>, promise: &Promise<'js>) -> Value<'js> {
    // SAFETY: a live context and a promise of it; the result is owned by the new value.
    unsafe {
        let raw = qjs::JS_PromiseResult(ctx.as_raw().as_ptr(), promise.as_value().as_raw());
        Value::from_raw(ctx.clone(), raw)
    }
}

/// A script that ends is not waited for, so calls of its last step are not made; forgetting `await` would go unseen.
fn note_unmade_calls(state: &State) {
    let names: Vec<String> = state
        .take_fresh()
        .into_iter()
        .filter(|request| {
            matches!(
                state.open.borrow().get(&request.position),
                Some(Open::Call(_))
            )
        })
        .filter_map(|request| match request.wish {
            Wish::Call(call) => Some(call.tool),
            Wish::Rest(_) => None,
        })
        .collect();
    let Some(first) = names.first() else {
        return;
    };
    let more = match names.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    state.log.borrow_mut().note(format!(
        "the script ended without awaiting `{first}`{more}, so that was never called; write `await` before the call"
    ));
}
