//! The exports of the world, and the start-up that pre-initialisation runs.

#![cfg(target_arch = "wasm32")]

use std::cell::RefCell;

use crate::{Answer, Bounds, Engine, Step, bindings};

thread_local! {
    static ENGINE: RefCell<Option<Engine>> = const { RefCell::new(None) };
}

/// Run once, when the component is built; the guest's memory as it is afterwards is what every guest begins with.
#[unsafe(export_name = "wizer-initialize")]
extern "C" fn initialize() {
    ENGINE.with_borrow_mut(|engine| *engine = Engine::new().ok());
}

struct Guest;

impl bindings::exports::lazaret::script::steps::Guest for Guest {
    fn start(source: String, bounds: Bounds, seed: u64, now: u64) -> Step {
        with_engine(|engine| engine.start(&source, bounds, seed, now))
    }

    fn resume(answer: Answer, now: u64) -> Step {
        with_engine(|engine| engine.resume(answer, now))
    }
}

bindings::export!(Guest with_types_in bindings);

/// A mistake of the host's ends the guest.
fn with_engine(act: impl FnOnce(&mut Engine) -> Result<Step, crate::Mistake>) -> Step {
    ENGINE.with_borrow_mut(|engine| {
        let Some(engine) = engine else {
            core::arch::wasm32::unreachable()
        };
        match act(engine) {
            Ok(step) => step,
            Err(_) => core::arch::wasm32::unreachable(),
        }
    })
}
