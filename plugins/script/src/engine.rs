//! The engine: one interpreter for one script.

use std::rc::Rc;

use rquickjs::{Context, Ctx, Function, Persistent, Promise, Result, Runtime};

use crate::heap::{Heap, Metered};
use crate::meter::Meter;
use crate::state::State;
use crate::{Answer, Bounds, Progress, Step, answers, clock, ending, failure, natives, source};

/// How deep the interpreter may go, in bytes of the stack that C uses in linear memory. At most a sixteenth of that
/// stack (see `build.rs`): the real stack of a frame, which the host provides, is larger.
const STACK_BYTES_MAX: usize = 256 * 1024;
/// What the engine may use beyond the script's heap, to say that the heap was full.
const SPEECH_BYTES: usize = 1024 * 1024;

/// A mistake of the host's; the script is where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// `start` was called before.
    Started,
    /// There is no script, or it has ended.
    NotRunning,
    /// No request with this number is open.
    NotOpen(u32),
    /// A timer was answered as if it were a call, or a call as if it were a timer.
    OtherKind(u32),
    /// The answer to this request is not JSON.
    NotJson(u32),
}

/// One interpreter, and its script once it has started.
pub struct Engine {
    main: Option<Persistent<Promise<'static>>>,
    started: bool,
    ended: bool,
    state: Rc<State>,
    meter: Rc<Meter>,
    context: Context,
}

impl Engine {
    /// An interpreter with everything that a script finds there, ready to start: what pre-initialisation freezes.
    pub fn new() -> Result<Self> {
        let heap = Heap::unbounded();
        let runtime = Runtime::new_with_alloc(Metered(Rc::clone(&heap)))?;
        runtime.set_max_stack_size(STACK_BYTES_MAX);
        let context = Context::full(&runtime)?;
        let state = Rc::new(State::new(heap));
        let meter = Rc::new(Meter::default());
        let tracked = Rc::clone(&state);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, promise, _, is_handled| tracked.rejected(&ctx, promise, is_handled),
        )));
        context.with(|ctx| {
            meter.attach(&ctx);
            natives::install(&ctx, &state)
        })?;
        runtime.run_gc();
        Ok(Self {
            main: None,
            started: false,
            ended: false,
            state,
            meter,
            context,
        })
    }

    /// Begins a script. See `wit/script.wit`.
    pub fn start(
        &mut self,
        source: &str,
        bounds: Bounds,
        seed: u64,
        now: u64,
    ) -> std::result::Result<Step, Mistake> {
        if self.started {
            return Err(Mistake::Started);
        }
        self.started = true;
        clock::set(now);
        self.state.started_ms.set(now);
        self.state.bounds.set(bounds);
        self.state.random.reseed(seed);
        self.meter.bound(bounds.polls);
        self.state.heap.bound(bounds.heap_bytes as usize);
        let context = self.context.clone();
        let progress = context.with(|ctx| self.begin(&ctx, source));
        Ok(self.step(progress))
    }

    /// Goes on with one answer. See `wit/script.wit`.
    pub fn resume(&mut self, answer: Answer, now: u64) -> std::result::Result<Step, Mistake> {
        let main = self.main.clone().ok_or(Mistake::NotRunning)?;
        if self.ended {
            return Err(Mistake::NotRunning);
        }
        clock::set(now);
        let progress = self.context.with(|ctx| {
            let taken = answers::take(&self.state, &ctx, answer)?;
            let settled = taken.and_then(|()| main.restore(&ctx));
            Ok(match settled {
                Ok(main) => ending::settle(&self.state, &self.meter, &ctx, &main),
                Err(_) => Progress::Failed(ending::uncaught(&self.state, &self.meter, &ctx)),
            })
        })?;
        Ok(self.step(progress))
    }

    /// The bytes that the interpreter's heap holds.
    pub fn heap_bytes(&self) -> usize {
        self.state.heap.used()
    }

    fn begin(&mut self, ctx: &Ctx<'_>, text: &str) -> Progress {
        let main = match source::compile(ctx, text) {
            Ok(main) => main,
            Err(_) => {
                let thrown = ctx.catch();
                let_speak(&self.state);
                return Progress::Failed(failure::syntax(ctx, &thrown, &self.state, text));
            }
        };
        let main = match call(&main) {
            Ok(main) => main,
            Err(_) => return Progress::Failed(ending::uncaught(&self.state, &self.meter, ctx)),
        };
        self.main = Some(Persistent::save(ctx, main.clone()));
        ending::settle(&self.state, &self.meter, ctx, &main)
    }

    fn step(&mut self, progress: Progress) -> Step {
        self.ended = !matches!(progress, Progress::Waiting(_));
        let most = self.state.bounds.get().log_bytes as usize;
        let logs = self.state.log.borrow_mut().take(most);
        Step { progress, logs }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.main = None;
        self.state.clear();
        self.context.with(|ctx| self.meter.detach(&ctx));
    }
}

fn call<'js>(main: &Function<'js>) -> Result<Promise<'js>> {
    main.call(())
}

/// Gives a script that ends the little more that it takes to say why.
pub fn let_speak(state: &State) {
    state.heap.extend(SPEECH_BYTES);
}
