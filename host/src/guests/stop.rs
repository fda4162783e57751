//! What stopped a guest, as one of the closed codes.

use wasmtime::Trap;

use super::meter::Meter;
use crate::words::bound::Bound;
use crate::words::error::{Code, Error};
use crate::words::id::shown;
use crate::words::limits::{GUEST_POLLED, WASM_STACK_BYTES};

/// The guest has used up its processor time.
#[derive(Debug)]
pub(super) struct Late;

impl std::fmt::Display for Late {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("out of processor time")
    }
}

impl std::error::Error for Late {}

/// The guest waits for so many things at once, and may not for as many.
#[derive(Debug)]
pub(super) struct Polled(pub(super) usize);

impl std::fmt::Display for Polled {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(got) = self;
        write!(
            out,
            "it waits for {got} things at once, and may for {GUEST_POLLED}"
        )
    }
}

impl std::error::Error for Polled {}

/// Who was stopped: as it is spoken of, and the bounds that are its own.
#[derive(Clone, Copy, Debug)]
pub(super) enum Who {
    /// A guest of a tool.
    Tool,
    /// A guest that says what a plugin is, or reads a source: its bounds are the host's own.
    Reader,
    /// A guest of the engine of scripts.
    Script,
}

impl Who {
    fn name(self) -> &'static str {
        match self {
            Self::Tool | Self::Reader => "the tool",
            Self::Script => "the script",
        }
    }

    /// It has passed a bound. The work of a script is bounded by its time.
    fn passed(self, code: Code, meter: &Meter) -> Error {
        let bounds = meter.bounds();
        let memory = u64::try_from(bounds.memory_bytes).unwrap_or(u64::MAX);
        let (bound, limit) = match (self, code) {
            (Self::Script, Code::OutOfMemory) => (Bound::ScriptMemory, memory),
            (Self::Script, _) => (Bound::ScriptCpu, bounds.cpu_ms),
            (Self::Tool | Self::Reader, Code::OutOfMemory) => (Bound::Memory, memory),
            (Self::Tool | Self::Reader, Code::OutOfFuel) => (Bound::Fuel, bounds.fuel),
            (Self::Tool | Self::Reader, _) => (Bound::Cpu, bounds.cpu_ms),
        };
        let error = bound.passed(self.name(), limit);
        match self {
            Self::Reader => Error::new(code, error.message()).retry(false),
            Self::Tool | Self::Script => Error::new(code, error.message())
                .retry(false)
                .hint(bound.hint(limit)),
        }
    }
}

/// What stopped a guest. Trap texts of the engine may hold names that the guest chose, so only the
/// kind of the trap is said, and what the guest itself wrote.
pub(super) fn why_stopped(error: &wasmtime::Error, who: Who, meter: &Meter, wrote: &str) -> Error {
    if error.downcast_ref::<Late>().is_some() {
        return match meter.check_run() {
            Err(all) if meter.ticks() < meter.bounds().cpu_ms => all,
            _ => who.passed(Code::TooSlow, meter),
        };
    }
    if error.is::<wasmtime::PoolConcurrencyLimitError>() {
        return Error::new(Code::Busy, "all slots for guests are taken");
    }
    if let Some(polled) = error.downcast_ref::<Polled>() {
        let what = format!("{} trapped: {polled}", who.name());
        return Error::new(Code::Trapped, what)
            .hint("name each thing once in a list that is polled, and poll a longer one in parts");
    }
    let trap = error.downcast_ref::<Trap>().copied();
    if trap == Some(Trap::OutOfFuel) {
        return who.passed(Code::OutOfFuel, meter);
    }
    if meter.was_refused() {
        return who.passed(Code::OutOfMemory, meter);
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
    let who = who.name();
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
    let error = Error::new(Code::Trapped, message);
    let usual = WASM_STACK_BYTES >> 20;
    if trap == Some(Trap::StackOverflow) && meter.bounds().stack_bytes >> 20 < usual {
        return error.hint(format!("if it needs more: [limits]\nstack_mib = {usual}"));
    }
    error
}
