//! `setTimeout` and `setInterval`: a request each time, answered on the host's clock.

use rquickjs::{Array, Ctx, Exception, Function, Persistent, Result};

use crate::Wish;
use crate::state::{Open, State, Timer};

/// The longest pause: ten years. Node's limit, 25 days, turns longer pauses into none.
const PAUSE_MS_MAX: f64 = 10.0 * 366.0 * 24.0 * 3600.0 * 1000.0;
/// The shortest pause of an interval, as in Node.
const INTERVAL_MS_MIN: u64 = 1;

/// Begins to wait, and says what the timer is called.
pub fn set<'js>(
    state: &State,
    ctx: &Ctx<'js>,
    callback: Function<'js>,
    pause: f64,
    args: Array<'js>,
    repeats: bool,
) -> Result<u32> {
    let pause = milliseconds(pause);
    let timer = Timer {
        id: state.next_position() + 1,
        callback: Persistent::save(ctx, callback),
        args: Persistent::save(ctx, args),
        every: repeats.then(|| pause.max(INTERVAL_MS_MIN)),
    };
    let id = timer.id;
    wait(state, ctx, timer, pause)?;
    Ok(id)
}

/// Asks for the pause of a timer, new or going on.
pub fn wait(state: &State, ctx: &Ctx<'_>, timer: Timer, pause: u64) -> Result<()> {
    let most = state.bounds.get().timers;
    if state.timers_made.get() >= most {
        let message = match most {
            0 => "a function that runs apart has no timers".to_owned(),
            most => format!("this script may set {most} timers, and has set them"),
        };
        return Err(Exception::throw_range(ctx, &message));
    }
    state.timers_made.set(state.timers_made.get() + 1);
    let pause = timer.every.unwrap_or(pause);
    state.ask(Wish::Rest(pause), Open::Timer(timer));
    Ok(())
}

/// The timer is not waited for any more. The host may still answer it.
pub fn clear(state: &State, id: f64) {
    if !(id >= 1.0 && id <= f64::from(u32::MAX)) {
        return;
    }
    if let Some(position) = state.timers.borrow_mut().remove(&(id as u32)) {
        let mut open = state.open.borrow_mut();
        if let Some(open) = open.get_mut(&position) {
            *open = Open::Cleared;
        }
    }
}

/// No number and negative ones are no pause.
fn milliseconds(pause: f64) -> u64 {
    if pause >= 0.0 {
        pause.min(PAUSE_MS_MAX) as u64
    } else {
        0
    }
}
