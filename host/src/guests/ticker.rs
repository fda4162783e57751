//! The ticker: moves the engine's epoch every millisecond while a guest runs, and sleeps otherwise.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Thread};

use wasmtime::Engine;

use crate::words::error::{Error, Result};
use crate::words::limits::TICK;

/// Idle ticks before the ticker sleeps: waking it costs more than a few idle ticks.
const LINGER_TICKS: u32 = 200;

/// Ticks while somebody holds a [`Ticking`].
#[derive(Clone, Debug)]
pub(super) struct Ticker {
    active: Arc<AtomicUsize>,
    thread: Thread,
}

/// As long as it lives, time passes for guests.
pub(super) struct Ticking(Arc<AtomicUsize>);

impl Ticker {
    /// Starts the ticker of an engine. It ends with the engine.
    #[expect(
        clippy::disallowed_methods,
        reason = "this thread does nothing but wait"
    )]
    pub(super) fn start(engine: &Engine) -> Result<Self> {
        let active = Arc::new(AtomicUsize::new(0));
        let (watched, engine) = (active.clone(), engine.weak());
        let body = move || {
            let mut idle = 0;
            while let Some(engine) = engine.upgrade() {
                if watched.load(Ordering::Acquire) > 0 {
                    idle = 0;
                } else {
                    idle += 1;
                }
                if idle > LINGER_TICKS {
                    drop(engine);
                    thread::park_timeout(TICK * 1_000);
                } else {
                    engine.increment_epoch();
                    drop(engine);
                    thread::sleep(TICK);
                }
            }
        };
        let thread = thread::Builder::new().name("ticker".to_owned()).spawn(body);
        let thread =
            thread.map_err(|error| Error::bug("the ticker did not start").because(error))?;
        Ok(Self {
            active,
            thread: thread.thread().clone(),
        })
    }

    /// Lets time pass until the returned value is dropped.
    pub(super) fn run(&self) -> Ticking {
        if self.active.fetch_add(1, Ordering::AcqRel) == 0 {
            self.thread.unpark();
        }
        Ticking(self.active.clone())
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
