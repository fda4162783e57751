//! Scripts: the engine's component, the reader of TypeScript, and one guest for one script.
//!
//! The engine imports nothing, so its guest can only compute. The host starts it, is told what the
//! script waits for, and hands in one answer at a time. What it is told is checked here like anything
//! else that a guest says.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::OnceCell;
use wasmtime::Store;
use wasmtime::component::Linker;

use super::bindings::script::engine::exports::lazaret::script::steps;
use super::bindings::script::engine::{Engine, EnginePre};
use super::bindings::script::types::{Types, TypesPre};
use super::guest::{Errand, Inside, Metered, metered, store_for};
use super::meter::Meter;
use super::plugin::PluginBytes;
use super::slots::Slot;
use super::station::Quarantine;
use super::stop::{Who, why_stopped};
use crate::rules::bounds::GuestBounds;
use crate::rules::call::Call;
use crate::rules::caller::Caller;
use crate::rules::caller::CpuTime;
use crate::rules::grant::{Grant, Pattern};
use crate::rules::json as strict;
use crate::rules::manifest::Declared;
use crate::rules::sanitise::visible;
use crate::rules::schema::Args;
use crate::rules::script::{self, Answered, Settled, Wish};
use crate::words::clock::Deadline;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{ScriptBounds, Spent};
use crate::words::id::{Digest, ToolName, shown};
use crate::words::label::Label;
use crate::words::length::cut;
use crate::words::limits::failures::FAILURE_CHARS;
use crate::words::limits::{
    CALL_TIMEOUT_MS, GUEST_MEMORY_BYTES, SCRIPT_FUEL_PER_MS, SCRIPT_JSON_BYTES, SCRIPT_LOG_BYTES,
    WASM_STACK_BYTES,
};

/// The components that scripts need, with the code of the newest engine.
#[derive(Debug)]
pub struct Scripts {
    /// The name under which policy knows scripts.
    pub name: ToolName,
    /// What is declared of them.
    pub declared: Arc<Declared>,
    /// The engine of scripts that begin now.
    pub engine: ScriptEngine,
    types: PluginBytes,
    reader: OnceCell<Reader>,
}

struct Reader(TypesPre<Inside>);

impl std::fmt::Debug for Reader {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Reader")
    }
}

impl Scripts {
    /// With this engine, and this reader of TypeScript. Neither is loaded before it is needed.
    ///
    /// # Errors
    /// What reading a component says.
    pub fn new(engine: PluginBytes, types: PluginBytes) -> Result<Self> {
        Ok(Self {
            name: ToolName::parse(script::TOOL)?,
            declared: Arc::new(script::declared()?),
            engine: ScriptEngine::new(engine)?,
            types,
            reader: OnceCell::new(),
        })
    }

    /// Who wishes a script, as a caller: it reaches the engine and nothing else.
    #[must_use]
    pub fn caller(&self, caller: &Caller) -> Caller {
        Caller {
            reach: Arc::new([Pattern::exactly(&self.name)]),
            ..caller.clone()
        }
    }

    /// A script as a call: of the engine's component, with its source.
    #[must_use]
    pub fn call(&self, source: &str) -> Call {
        Call {
            tool: self.name.clone(),
            component: self.engine.digest,
            declared: self.declared.clone(),
            grant: Arc::new(Grant::default()),
            args: Args::own(json!({"source": source})),
            held: Label::default(),
            places: Vec::new(),
            attached: Vec::new(),
            wish: None,
        }
    }

    /// Blanks out the types of a TypeScript source on its run's processor time; what is left is JavaScript. Says how many
    /// milliseconds that took, too.
    ///
    /// # Errors
    /// `BadInput` with line and column for what cannot be taken away; `Busy` where no slot becomes free in time.
    pub(crate) async fn blank(&self, quarantine: &Quarantine, what: Typed<'_>) -> Blanked {
        let deadline = Deadline::after_ms(CALL_TIMEOUT_MS);
        let slot = quarantine.slots().take_script(deadline);
        self.blank_in(quarantine, what, slot).await
    }

    /// The same of a function that runs apart: whoever waits for that may hold the slot of a script meanwhile.
    ///
    /// # Errors
    /// As [`Scripts::blank`].
    pub(super) async fn blank_apart(&self, quarantine: &Quarantine, what: Typed<'_>) -> Blanked {
        let deadline = Deadline::after_ms(CALL_TIMEOUT_MS);
        let slot = quarantine.slots().take_isolated(deadline);
        self.blank_in(quarantine, what, slot).await
    }

    async fn blank_in(
        &self,
        quarantine: &Quarantine,
        (source, cpu_time): Typed<'_>,
        slot: impl Future<Output = Result<Slot>>,
    ) -> Blanked {
        let ready = async {
            let slot = slot.await?;
            let errand = Errand::Read(cpu_time.clone());
            let store = store_for(quarantine, READER_BOUNDS, errand)?;
            Ok((self.reader(quarantine).await?, store, slot))
        };
        let (reader, mut store, _slot) = match ready.await {
            Ok(ready) => ready,
            Err(error) => return (Err(error), 0),
        };
        let read = {
            let _ticking = quarantine.ticker().run();
            read_types(&reader.0, &mut store, source).await
        };
        let inside = store.data();
        let blanked = match read {
            Ok(Ok(blanked)) => Ok(blanked),
            Ok(Err(problem)) => Err(Error::bad_input(format!(
                "{} (line {}, column {})",
                visible(&problem.message),
                problem.line,
                problem.column
            ))),
            Err(error) => Err(inside.explain(&error)),
        };
        (blanked, inside.cpu_ms())
    }

    async fn reader(&self, quarantine: &Quarantine) -> Result<&Reader> {
        let load = async || {
            let digest = self.types.digest()?;
            let component = quarantine.component(&self.types, digest).await?;
            let linked = quarantine.linker().instantiate_pre(&component);
            linked.and_then(TypesPre::new).map(Reader).map_err(unfit)
        };
        self.reader.get_or_try_init(load).await
    }
}

/// A source, and the processor time of its run.
pub(crate) type Typed<'a> = (&'a str, &'a CpuTime);
/// What is left of it, and the milliseconds of processor time that this took.
pub(crate) type Blanked = (Result<String>, u64);

async fn read_types(
    reader: &TypesPre<Inside>,
    store: &mut Store<Inside>,
    source: &str,
) -> wasmtime::Result<Result<String, super::bindings::script::types::Problem>> {
    let guest: Types = reader.instantiate_async(&mut *store).await?;
    guest.call_blank(store, source).await
}

/// Work, processor time and memory of reading one source.
const READER_BOUNDS: GuestBounds = GuestBounds {
    fuel: 5_000_000_000,
    cpu_ms: 5_000,
    memory_bytes: GUEST_MEMORY_BYTES,
    stack_bytes: WASM_STACK_BYTES,
};

/// The component of an engine, and its code once it is needed.
#[derive(Debug)]
pub struct ScriptEngine {
    /// Its bytes' digest, which every script that it runs is pinned to.
    pub digest: Digest,
    /// Where its bytes are.
    pub origin: PluginBytes,
    linked: OnceCell<Seat>,
}

struct Seat(EnginePre<Alone>);

impl std::fmt::Debug for Seat {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Seat")
    }
}

impl ScriptEngine {
    /// The engine of these bytes.
    ///
    /// # Errors
    /// What reading them says.
    pub fn new(origin: PluginBytes) -> Result<Self> {
        Ok(Self {
            digest: origin.digest()?,
            origin,
            linked: OnceCell::new(),
        })
    }

    /// The interfaces that the component imports: none, or it is no engine.
    ///
    /// # Errors
    /// What loading says.
    pub async fn imports(&self, quarantine: &Quarantine) -> Result<Vec<String>> {
        let seat = self.seat(quarantine).await?;
        let world = seat.0.instance_pre().component().component_type();
        let imports = world.imports(quarantine.engine());
        Ok(imports.map(|(name, _)| name.to_owned()).collect())
    }

    /// Whether its code is loaded already.
    pub(crate) fn is_ready(&self) -> bool {
        self.linked.initialized()
    }

    /// Whether nothing of it has to be compiled any more.
    pub(crate) fn is_compiled(&self, quarantine: &Quarantine) -> bool {
        self.is_ready() || quarantine.cache().has_component(self.digest)
    }

    /// Loads its code, where that is not done yet.
    ///
    /// # Errors
    /// What loading says.
    pub(crate) async fn load(&self, quarantine: &Quarantine) -> Result<()> {
        self.seat(quarantine).await.map(|_seat| ())
    }

    async fn seat(&self, quarantine: &Quarantine) -> Result<&Seat> {
        let load = async || {
            let component = quarantine.component(&self.origin, self.digest).await?;
            // Nothing is linked: a component that imports anything does not fit.
            let linked = Linker::new(quarantine.engine()).instantiate_pre(&component);
            linked.and_then(EnginePre::new).map(Seat).map_err(unfit)
        };
        self.linked.get_or_try_init(load).await
    }

    /// A fresh guest. Waits for a slot.
    ///
    /// # Errors
    /// `Busy` where none becomes free in time, and what loading says.
    pub(crate) async fn guest(
        &self,
        quarantine: &Quarantine,
        (cpu_ms, cpu_time): ScriptTime<'_>,
    ) -> Result<ScriptGuest> {
        let deadline = Deadline::after_ms(CALL_TIMEOUT_MS);
        let seat = self.seat(quarantine).await?;
        let slot = quarantine.slots().take_script(deadline).await?;
        seat.guest(quarantine, (cpu_ms, cpu_time), slot).await
    }

    /// A fresh guest for a function that a script, or a model, waits for. Waits for a slot of its own kind.
    ///
    /// # Errors
    /// As [`ScriptEngine::guest`].
    pub(super) async fn guest_apart(
        &self,
        quarantine: &Quarantine,
        (cpu_ms, cpu_time): ScriptTime<'_>,
    ) -> Result<ScriptGuest> {
        let deadline = Deadline::after_ms(CALL_TIMEOUT_MS);
        let seat = self.seat(quarantine).await?;
        let slot = quarantine.slots().take_isolated(deadline).await?;
        seat.guest(quarantine, (cpu_ms, cpu_time), slot).await
    }
}

/// Processor time that a script may use, and what its run has of it for all its guests.
pub(crate) type ScriptTime<'a> = (u64, &'a CpuTime);

impl Seat {
    async fn guest(
        &self,
        quarantine: &Quarantine,
        (cpu_ms, cpu_time): ScriptTime<'_>,
        slot: Slot,
    ) -> Result<ScriptGuest> {
        let bounds = GuestBounds {
            fuel: cpu_ms.saturating_mul(SCRIPT_FUEL_PER_MS),
            cpu_ms,
            memory_bytes: GUEST_MEMORY_BYTES,
            stack_bytes: WASM_STACK_BYTES,
        };
        let alone = Alone(Meter::new(bounds, cpu_time.clone()));
        let mut store = metered(Store::new(quarantine.engine(), alone), bounds)?;
        let made = self.0.instantiate_async(&mut store).await;
        let engine = made.map_err(|error| explain(&error, &store))?;
        Ok(ScriptGuest {
            quarantine: quarantine.clone(),
            fuel: bounds.fuel,
            store,
            engine,
            _slot: slot,
        })
    }
}

fn unfit(error: wasmtime::Error) -> Error {
    Error::bad_plugin(format!(
        "the component is no engine of scripts: {}",
        shown(&format!("{error:#}"))
    ))
}

/// What the store of a script holds: a meter, since there is nothing to reach.
struct Alone(Meter);

impl Metered for Alone {
    fn meter(&mut self) -> &mut Meter {
        &mut self.0
    }
}

/// One script in its guest.
pub(crate) struct ScriptGuest {
    quarantine: Quarantine,
    fuel: u64,
    store: Store<Alone>,
    engine: Engine,
    _slot: Slot,
}

/// Where a script stands after a step.
#[derive(Debug)]
pub(crate) struct Step {
    /// What comes next.
    pub(crate) progress: Progress,
    /// What it has written to its console: level and line.
    pub(crate) logs: Vec<(&'static str, String)>,
}

/// What comes next in a script.
#[derive(Debug)]
pub(crate) enum Progress {
    /// It waits, for these and what it has asked for before.
    Waiting(Vec<(u32, Wish)>),
    /// It has returned this JSON text.
    Done(String),
    /// It will not go on.
    Failed(Broken),
}

/// Why a script will not go on.
#[derive(Debug)]
pub(crate) struct Broken {
    /// Closed code.
    pub(crate) code: Code,
    /// Its own words.
    pub(crate) message: String,
    /// Line and column in its source, from 1; none where there is no place.
    pub(crate) place: Option<(u32, u32)>,
    frames: String,
}

impl Broken {
    /// As an error, with the place and the frames in its words.
    pub(crate) fn error(&self) -> Error {
        let mut message = self.message.clone();
        if let Some((line, column)) = self.place {
            message.push_str(&format!(" (line {line}, column {column})"));
        }
        message.push_str(&self.frames);
        Error::new(self.code, cut(message, FAILURE_CHARS))
    }
}

impl ScriptGuest {
    /// Begins.
    ///
    /// # Errors
    /// What stopped the guest: `OutOfFuel`, `OutOfMemory`, `TooSlow`, `Trapped`.
    pub(crate) async fn start(
        &mut self,
        source: &str,
        bounds: &ScriptBounds,
        (seed, now): (u64, u64),
    ) -> Result<Step> {
        let bounds = steps::Bounds {
            calls: bounds.calls,
            timers: bounds.timers,
            polls: bounds.polls,
            heap_bytes: bounds.heap_bytes,
            json_bytes: bounds.json_bytes,
            log_bytes: bounds.log_bytes,
        };
        self.refill()?;
        let _ticking = self.quarantine.ticker().run();
        let engine = self.engine.lazaret_script_steps();
        let said = engine
            .call_start(&mut self.store, source, bounds, seed, now)
            .await;
        let said = said.map_err(|error| explain(&error, &self.store))?;
        Ok(read(said, now))
    }

    /// Goes on with one answer.
    ///
    /// # Errors
    /// As [`ScriptGuest::start`].
    pub(crate) async fn resume(&mut self, settled: &Settled) -> Result<Step> {
        let outcome = match &settled.answered {
            Answered::Value(value) => steps::Outcome::Value(value.to_string()),
            Answered::Failed {
                code,
                message,
                retryable,
            } => steps::Outcome::Failed(steps::ToolError {
                code: code.word(),
                message: message.clone(),
                retryable: *retryable,
            }),
            Answered::Rested => steps::Outcome::Rested,
        };
        let answer = steps::Answer {
            position: settled.position,
            outcome,
        };
        self.refill()?;
        let _ticking = self.quarantine.ticker().run();
        let engine = self.engine.lazaret_script_steps();
        let said = engine
            .call_resume(&mut self.store, &answer, settled.at)
            .await;
        let said = said.map_err(|error| explain(&error, &self.store))?;
        Ok(read(said, settled.at))
    }

    /// What one step copies out is bounded; many steps are bounded by their number.
    fn refill(&mut self) -> Result<()> {
        let bytes = usize::try_from(SCRIPT_JSON_BYTES + SCRIPT_LOG_BYTES).unwrap_or(usize::MAX);
        self.store
            .set_hostcall_fuel(bytes.saturating_mul(STEP_COPIES));
        Ok(())
    }

    /// What it has taken so far; the time is the caller's to say.
    pub(crate) fn spent(&self) -> Spent {
        let left = self.store.get_fuel().unwrap_or(0);
        Spent {
            fuel: self.fuel.saturating_sub(left),
            cpu_ms: self.store.data().0.ticks(),
            memory_bytes: u64::try_from(self.store.data().0.peak_bytes()).unwrap_or(u64::MAX),
            host_calls: self.store.data().0.host_calls(),
            ..Spent::default()
        }
    }
}

/// Values of full size that one step may copy out: the arguments of many calls come at once.
const STEP_COPIES: usize = 16;

fn explain(error: &wasmtime::Error, store: &Store<Alone>) -> Error {
    why_stopped(error, Who::Script, &store.data().0, "")
}

/// A step in the host's words.
fn read(said: steps::Step, now: u64) -> Step {
    let progress = match said.progress {
        steps::Progress::Waiting(requests) => {
            let wished = requests.into_iter().map(|request| {
                let wish = match request.wish {
                    steps::Wish::Call(call) => Wish::Call {
                        tool: call.tool,
                        args: strict::wished(&call.args),
                    },
                    steps::Wish::Rest(ms) => Wish::Rest {
                        due: now.saturating_add(ms),
                    },
                };
                (request.position, wish)
            });
            Progress::Waiting(wished.collect())
        }
        steps::Progress::Done(text) => Progress::Done(text),
        steps::Progress::Failed(failure) => Progress::Failed(failed(&failure)),
    };
    let lines = said.logs.into_iter();
    let logs = lines.map(|line| (level(line.level), visible(&line.text)));
    Step {
        progress,
        logs: logs.collect(),
    }
}

fn level(level: steps::Level) -> &'static str {
    match level {
        steps::Level::Debug => "debug",
        steps::Level::Info => "info",
        steps::Level::Warn => "warn",
        steps::Level::Error => "error",
    }
}

/// Why a script failed: its own words, with the place in its source.
fn failed(failure: &steps::Failure) -> Broken {
    let (code, lead) = match failure.reason {
        steps::Reason::Syntax => (Code::BadInput, "the script is no program: "),
        steps::Reason::Thrown => (Code::ScriptFailed, ""),
        steps::Reason::Stalled => (Code::Stalled, ""),
        steps::Reason::OutOfWork => (Code::OutOfFuel, ""),
        steps::Reason::OutOfMemory => (Code::OutOfMemory, ""),
        steps::Reason::TooBig => (Code::TooBig, ""),
        steps::Reason::NotJson => (Code::NotJson, ""),
    };
    let mut frames = String::new();
    // One frame says no more than the place does.
    if failure.stack.trim().lines().count() > 1 {
        for frame in failure.stack.trim().lines() {
            frames.push_str(&format!("\n    {}", visible(frame.trim())));
        }
    }
    Broken {
        code,
        message: format!("{lead}{}", visible(&failure.message)),
        place: (failure.line > 0).then_some((failure.line, failure.column)),
        frames,
    }
}
