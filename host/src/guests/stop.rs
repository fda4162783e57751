//! What stopped a guest, as one of the closed codes.

use wasmtime::Trap;

use crate::words::error::{Code, Error};
use crate::words::id::shown;

/// The guest has used up its processor time.
#[derive(Debug)]
pub(super) struct Late;

impl std::fmt::Display for Late {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("out of processor time")
    }
}

impl std::error::Error for Late {}

/// What stopped a guest. Trap texts of the engine may hold names that the guest chose, so only the
/// kind of the trap is said, and what the guest itself wrote.
pub(super) fn why_stopped(
    error: &wasmtime::Error,
    who: &str,
    refused_memory: bool,
    wrote: &str,
) -> Error {
    if error.downcast_ref::<Late>().is_some() {
        return Error::new(Code::TooSlow, format!("{who} used up its processor time")).retry(false);
    }
    if error.is::<wasmtime::PoolConcurrencyLimitError>() {
        return Error::new(Code::Busy, "all slots for guests are taken");
    }
    let trap = error.downcast_ref::<Trap>().copied();
    if trap == Some(Trap::OutOfFuel) {
        return Error::new(Code::OutOfFuel, format!("{who} used up its units of work"));
    }
    if refused_memory {
        return Error::new(
            Code::OutOfMemory,
            format!("{who} asked for more memory than it may have"),
        );
    }
    let kind = match trap {
        Some(Trap::StackOverflow) => "its stack overflowed",
        Some(Trap::UnreachableCodeReached) => "it gave up (panic or `unreachable`)",
        Some(Trap::MemoryOutOfBounds) => "it read or wrote outside of its memory",
        Some(Trap::IntegerDivisionByZero) => "it divided by zero",
        Some(Trap::IntegerOverflow | Trap::BadConversionToInteger) => "a number did not fit",
        Some(Trap::TableOutOfBounds | Trap::IndirectCallToNull | Trap::BadSignature) => {
            "it called what is no function"
        }
        Some(_) => "it broke a rule of wasm",
        None => "it broke a rule of the component model, or passed a limit of its imports",
    };
    tracing::debug!(error = format!("{error:#}"), "guest");
    // A panic writes its place, then its message, then advice on backtraces.
    let mut lines = wrote
        .lines()
        .skip_while(|line| !line.contains("panicked at"));
    let place = lines.next();
    let said = lines.find(|line| !line.trim().is_empty()).or(place);
    let message = match said {
        Some(said) => format!("{who} trapped: {kind}; it wrote `{}`", shown(said.trim())),
        None => format!("{who} trapped: {kind}"),
    };
    Error::new(Code::Trapped, message)
}
