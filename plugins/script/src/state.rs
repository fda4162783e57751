//! What the engine knows about its script, shared with the functions that the prelude calls.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use rquickjs::{Array, Ctx, Error, Function, Object, Persistent, Promise, Result, Value};

use crate::heap::Heap;
use crate::log::Log;
use crate::random::Random;
use crate::{Bounds, Request, Wish};

/// Something that has a request open.
pub enum Open {
    Call(OpenCall),
    /// A timer.
    Timer(Timer),
    /// A timer that was cleared; its answer means nothing, and nobody waits for it.
    Cleared,
}

/// A call that waits: the promise's two ends, and where the script called.
pub struct OpenCall {
    pub resolve: Persistent<Function<'static>>,
    pub reject: Persistent<Function<'static>>,
    pub trace: Persistent<Value<'static>>,
}

/// A timer that waits.
#[derive(Clone)]
pub struct Timer {
    /// What the script calls it.
    pub id: u32,
    pub callback: Persistent<Function<'static>>,
    pub args: Persistent<Array<'static>>,
    /// The pause of an interval.
    pub every: Option<u64>,
}

/// What the prelude gives to Rust.
pub struct Prelude {
    /// The interpreter's own `Error`, whatever a script makes of the name.
    pub bare_error: Persistent<Function<'static>>,
    /// Makes a `ToolError`.
    pub tool_error: Persistent<Function<'static>>,
    /// Writes a value as `console.log` does.
    pub inspect: Persistent<Function<'static>>,
    /// What stands behind `tools`, to be known again.
    pub tools: Persistent<Object<'static>>,
    /// What every handle has as its prototype: it throws for whatever the handle does not have.
    pub held: Persistent<Object<'static>>,
    /// Writes arguments as JSON, and throws where one only looks like a handle.
    pub with_handles: Persistent<Function<'static>>,
}

/// The state of one guest.
pub struct State {
    pub heap: Rc<Heap>,
    pub bounds: Cell<Bounds>,
    pub random: Random,
    pub started_ms: Cell<u64>,
    pub log: RefCell<Log>,
    pub prelude: RefCell<Option<Prelude>>,
    pub open: RefCell<BTreeMap<u32, Open>>,
    /// Timers by what the script calls them.
    pub timers: RefCell<BTreeMap<u32, u32>>,
    pub calls: Cell<u32>,
    pub timers_made: Cell<u32>,
    /// The bytes of all arguments of this step.
    pub args_bytes: Cell<usize>,
    /// What all calls beyond the budget are rejected with.
    pub over_budget: RefCell<Option<Persistent<Value<'static>>>>,
    fresh: RefCell<Vec<Request>>,
    position: Cell<u32>,
    /// Rejected promises without anybody to handle them, by address, with their place in time.
    unhandled: RefCell<BTreeMap<usize, (u64, Persistent<Promise<'static>>)>>,
    rejections: Cell<u64>,
}

/// Before `start`, nothing is allowed.
const NO_BOUNDS: Bounds = Bounds {
    calls: 0,
    timers: 0,
    polls: 0,
    heap_bytes: 0,
    json_bytes: 0,
    log_bytes: 0,
};

impl State {
    pub fn new(heap: Rc<Heap>) -> Self {
        Self {
            heap,
            bounds: Cell::new(NO_BOUNDS),
            random: Random::seeded(0),
            started_ms: Cell::new(0),
            log: RefCell::default(),
            prelude: RefCell::default(),
            open: RefCell::default(),
            timers: RefCell::default(),
            calls: Cell::new(0),
            timers_made: Cell::new(0),
            args_bytes: Cell::new(0),
            over_budget: RefCell::default(),
            fresh: RefCell::default(),
            position: Cell::new(0),
            unhandled: RefCell::default(),
            rejections: Cell::new(0),
        }
    }

    /// Lets go of every value of the interpreter, which must happen before it ends.
    pub fn clear(&self) {
        self.prelude.take();
        self.open.take();
        self.over_budget.take();
        self.unhandled.take();
    }

    /// Something of the prelude's, whatever a script makes of the names in it.
    pub fn of_prelude<T>(&self, pick: impl Fn(&Prelude) -> Persistent<T>) -> Result<Persistent<T>> {
        let prelude = self.prelude.borrow();
        prelude.as_ref().map(pick).ok_or(Error::Unknown)
    }

    /// Asks the host for something.
    pub fn ask(&self, wish: Wish, open: Open) {
        let position = self.position.get();
        self.position.set(position + 1);
        if let Open::Timer(timer) = &open {
            self.timers.borrow_mut().insert(timer.id, position);
        }
        self.open.borrow_mut().insert(position, open);
        self.fresh.borrow_mut().push(Request { position, wish });
    }

    /// The number that the next request will have.
    pub fn next_position(&self) -> u32 {
        self.position.get()
    }

    /// What is new since the last step.
    pub fn take_fresh(&self) -> Vec<Request> {
        self.args_bytes.set(0);
        self.fresh.take()
    }

    /// Whether anything is open that somebody may wait for.
    pub fn waits(&self) -> bool {
        let open = self.open.borrow();
        open.values().any(|open| !matches!(open, Open::Cleared))
    }

    /// Keeps account of rejections: a promise that nobody handles yet, or one that somebody handles after all.
    pub fn rejected<'js>(&self, ctx: &Ctx<'js>, promise: Value<'js>, is_handled: bool) {
        let address = address(&promise);
        if is_handled {
            self.unhandled.borrow_mut().remove(&address);
        } else if let Some(promise) = promise.into_promise() {
            let rejections = self.rejections.get();
            self.rejections.set(rejections + 1);
            let promise = Persistent::save(ctx, promise);
            self.unhandled
                .borrow_mut()
                .insert(address, (rejections, promise));
        }
    }

    /// The promise that was rejected first among those that nobody handles.
    pub fn first_unhandled<'js>(&self, ctx: &Ctx<'js>) -> Result<Option<Promise<'js>>> {
        let unhandled = self.unhandled.borrow();
        let first = unhandled.values().min_by_key(|(at, _)| *at);
        first
            .map(|(_, promise)| promise.clone().restore(ctx))
            .transpose()
    }
}

/// Where a value lives, which stays so for as long as it is kept.
fn address(value: &Value<'_>) -> usize {
    // SAFETY: only the address is taken, and only of an object.
    unsafe { rquickjs::qjs::JS_VALUE_GET_PTR(value.as_raw()) as usize }
}
