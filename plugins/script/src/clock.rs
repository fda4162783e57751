//! The only clock: the `now` of the last step.
//!
//! QuickJS asks for the time through one function, which the guest defines itself, so that the component needs no import
//! for it. Natively, where only the tests of this crate run, QuickJS asks the operating system instead.

use std::sync::atomic::{AtomicU64, Ordering};

static NOW_MS: AtomicU64 = AtomicU64::new(0);

/// Sets what `Date` says.
pub fn set(now_ms: u64) {
    NOW_MS.store(now_ms, Ordering::Relaxed);
}

/// What `Date` says.
pub fn now_ms() -> u64 {
    NOW_MS.load(Ordering::Relaxed)
}

/// What the interpreter's C library asks.
#[cfg(target_arch = "wasm32")]
#[unsafe(no_mangle)]
extern "C" fn __rquickjs_host_now_us() -> f64 {
    now_ms() as f64 * 1000.0
}
