//! Counts the work of a script, and ends it when it is too much.
//!
//! QuickJS polls once in some ten thousand steps of bytecode, calls and backtracks of a regular expression. A script can
//! be busy without reaching a poll, in a chain of promises whose jobs are short; so jobs are counted too. Once the meter
//! has fired, every later poll interrupts at once, and no job is run any more.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use rquickjs::{Ctx, qjs};

/// A job costs some forty steps of bytecode at least, most of it outside of the interpreter's loop.
const JOBS_PER_POLL: u32 = 256;

/// The meter of one guest.
#[derive(Default)]
pub struct Meter {
    polls: Cell<u64>,
    polls_max: Cell<u64>,
    jobs: Cell<u32>,
    fired: Cell<bool>,
}

impl Meter {
    /// Begins to count for this context. The meter must outlive the context's runtime, or `detach` be called.
    pub fn attach(&self, ctx: &Ctx<'_>) {
        self.polls_max.set(u64::MAX);
        // SAFETY: the caller keeps the meter alive; it is only read through shared cells.
        unsafe {
            let runtime = qjs::JS_GetRuntime(ctx.as_raw().as_ptr());
            let opaque = std::ptr::from_ref(self).cast_mut().cast::<c_void>();
            qjs::JS_SetInterruptHandler(runtime, Some(polled), opaque);
        }
    }

    /// Polls are no longer counted.
    pub fn detach(&self, ctx: &Ctx<'_>) {
        // SAFETY: a live runtime; without a callback nobody keeps the pointer.
        unsafe {
            let runtime = qjs::JS_GetRuntime(ctx.as_raw().as_ptr());
            qjs::JS_SetInterruptHandler(runtime, None, std::ptr::null_mut());
        }
    }

    /// Sets how much may be used from now on.
    pub fn bound(&self, polls_max: u64) {
        self.polls.set(0);
        self.polls_max.set(polls_max);
    }

    /// Whether the script has used too much.
    pub fn fired(&self) -> bool {
        self.fired.get()
    }

    /// Counts one job, and says whether it may run.
    pub fn job(&self) -> bool {
        let jobs = self.jobs.get() + 1;
        self.jobs.set(jobs % JOBS_PER_POLL);
        if jobs == JOBS_PER_POLL {
            return !self.poll();
        }
        !self.fired()
    }

    /// Counts one poll, and says whether to interrupt.
    fn poll(&self) -> bool {
        if self.fired() {
            return true;
        }
        self.polls.set(self.polls.get() + 1);
        if self.polls.get() <= self.polls_max.get() {
            return false;
        }
        self.fired.set(true);
        true
    }
}

unsafe extern "C" fn polled(_: *mut qjs::JSRuntime, meter: *mut c_void) -> c_int {
    // SAFETY: `attach` passed a meter that outlives the runtime.
    let meter = unsafe { &*meter.cast_const().cast::<Meter>() };
    c_int::from(meter.poll())
}
