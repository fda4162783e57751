//! A guest: one instance of a component, for one call, in a store of its own.
//!
//! It is made, metered, called and thrown away here. What it may reach is in [`Errand`]; a guest that
//! only reads out its manifest may reach nothing.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use wasmtime::component::{Component, HasSelf, Linker, ResourceTable};
use wasmtime::{CallHook, Store, Trap, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::bindings::{Plugin, PluginPre, exports::lazaret::plugin::tool::Failure};
use super::heard::{Heard, Refused};
use super::meter::Meter;
use super::station::{Quarantine, Station};
use super::stop::{Late, Who, why_stopped};
use super::tasks::Tasks;
use super::wasi::{self, Output};
use crate::rules::bounds::GuestBounds;
use crate::rules::caller::Caller;
use crate::rules::caller::CpuTime;
use crate::rules::flow::records::Seen;
use crate::rules::sanitise::visible;
use crate::rules::scrub::Scrub;
use crate::words::clock::Deadline;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Read, Spent};
use crate::words::id::shown;
use crate::words::label::Label;
use crate::words::limits::{
    FETCH_HEADER_BYTES, GUEST_RESOURCES, HOSTCALL_BYTES, LOG_BYTES, LOG_LINES, WASM_STACK_BYTES,
};

/// A component whose imports are resolved: ready to become a guest in microseconds.
pub(super) struct Linked(PluginPre<Inside>);

/// What a store holds: all that a guest's imports can reach.
pub(super) struct Inside {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    table: ResourceTable,
    meter: Meter,
    output: Output,
    pub(super) errand: Errand,
}

/// What a guest is here for.
pub(super) enum Errand {
    /// To read: its own manifest, or a source, on this processor time. Every request is refused.
    Read(CpuTime),
    /// To run a tool.
    Call(Box<Visit>),
}

impl Errand {
    /// The processor time that it shares with all guests of its run.
    fn cpu_time(&self) -> CpuTime {
        match self {
            Self::Read(cpu_time) => cpu_time.clone(),
            Self::Call(visit) => visit.caller.known.cpu_time.clone(),
        }
    }
}

/// A call, seen from inside: whose it is, and what it has left behind so far.
pub(super) struct Visit {
    pub(super) station: Arc<Station>,
    pub(super) tasks: Tasks,
    /// The guest as a caller: its tool is the origin, its grant the reach.
    pub(super) caller: Caller,
    pub(super) heard: Heard,
    /// How many requests through `wasi:http` may still be under way at once.
    pub(super) requests: Arc<Semaphore>,
    pub(super) trail: Trail,
}

/// What a call leaves behind beside its outcome.
#[derive(Debug, Default)]
pub struct Trail {
    /// Lines, in order.
    pub logs: Vec<LogLine>,
    /// Files for whoever called.
    pub artifacts: Vec<Artifact>,
    /// What it has read, and has waited for in vain.
    pub read: Read,
    /// What is known of records of its service that it has shown or written.
    pub records: Seen,
    /// What stands behind what the steps around it and its checker said, which is no reading of its own.
    pub around: Label,
    pub(crate) log_bytes: usize,
    pub(crate) logs_dropped: u64,
    pub(super) artifact_bytes: usize,
    pub(super) calls: u64,
    /// The last request, if it was refused: a guest that then gives up failed for that reason.
    pub(super) refused: Option<Refused>,
}

impl Trail {
    /// All that stands behind what came of the call, beside what its caller knew.
    pub(super) fn label(&self) -> Label {
        let known = self.records.label.join(&self.around);
        self.read.label.join(&known)
    }

    /// Keeps a line as long as there is room, and counts it otherwise.
    pub(crate) fn keep_line(&mut self, line: LogLine) {
        if self.logs.len() >= LOG_LINES || self.log_bytes + line.message.len() > LOG_BYTES {
            self.logs_dropped += 1;
            return;
        }
        self.log_bytes += line.message.len();
        self.logs.push(line);
    }
}

/// One line of a call's log.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct LogLine {
    /// `debug`, `info`, `warn` or `error`.
    pub level: &'static str,
    /// The line.
    pub message: String,
    /// More, by name.
    pub fields: serde_json::Value,
    /// Milliseconds since 1970.
    pub time: u64,
}

/// A file for whoever called.
#[derive(Clone, Debug, PartialEq)]
pub struct Artifact {
    /// Its id within the call.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// More, by name.
    pub metadata: serde_json::Value,
    /// Itself.
    pub bytes: Vec<u8>,
}

/// How a guest ended.
pub(super) struct Ending {
    /// What it said, or what stopped it.
    pub(super) said: Result<Result<String, Failure>>,
    /// What it left behind.
    pub(super) trail: Trail,
    /// What it took.
    pub(super) spent: Spent,
}

/// Processor time, work and memory of a guest that reads out its manifest.
const MANIFEST_BOUNDS: GuestBounds = GuestBounds {
    fuel: 1_000_000_000,
    cpu_ms: 1_000,
    memory_bytes: 64 << 20,
    stack_bytes: WASM_STACK_BYTES,
};
/// When it must be done.
const MANIFEST_TIMEOUT: Duration = Duration::from_secs(5);

impl Linked {
    /// Resolves a component's imports.
    pub(super) fn new(linker: &Linker<Inside>, component: &Component) -> Result<Self> {
        let wrong = |error: wasmtime::Error| {
            Error::bad_plugin(format!(
                "the component does not fit this host: {}",
                shown(&format!("{error:#}"))
            ))
        };
        let linked = linker.instantiate_pre(component).map_err(wrong)?;
        PluginPre::new(linked).map(Self).map_err(wrong)
    }

    /// Names of the interfaces that the component imports.
    pub(super) fn imports(&self, quarantine: &Quarantine) -> Vec<String> {
        let component = self.0.instance_pre().component().component_type();
        component
            .imports(quarantine.engine())
            .map(|(name, _)| name.to_owned())
            .collect()
    }

    /// Reads the manifest in a guest that may do nothing, and is of no run.
    pub(super) async fn manifest(&self, quarantine: &Quarantine) -> Result<String> {
        let mut store = store_for(
            quarantine,
            MANIFEST_BOUNDS,
            Errand::Read(CpuTime::default()),
        )?;
        let _ticking = quarantine.ticker().run();
        let reading = tokio::time::timeout(MANIFEST_TIMEOUT, async {
            let guest = self.0.instantiate_async(&mut store).await?;
            guest.lazaret_plugin_tool().call_manifest(&mut store).await
        });
        let read = reading.await;
        match read {
            Ok(Ok(text)) => Ok(text),
            Ok(Err(error)) => {
                let why = store.data().explain(&error);
                // What is no trap is the engine's own word on a part that does not fit. It is read by
                // whoever installs the plugin, never by a model.
                let detail = if error.is::<Trap>() || error.is::<Late>() {
                    String::new()
                } else {
                    format!(" ({})", shown(&format!("{error:#}")))
                };
                Err(Error::bad_plugin(format!(
                    "the plugin cannot read out its manifest: {}{detail}",
                    why.message()
                )))
            }
            Err(_) => Err(Error::bad_plugin(
                "the plugin does not end reading out its manifest",
            )),
        }
    }

    /// Calls a tool in a fresh guest. Ends by the deadline, whatever the guest does.
    pub(super) async fn call(
        &self,
        quarantine: &Quarantine,
        visit: Visit,
        bounds: GuestBounds,
        (tool, args): (&str, &str),
    ) -> Ending {
        let began = crate::words::clock::Clock::instant();
        let (tasks, deadline) = (visit.tasks.clone(), visit.caller.deadline);
        let mut store = match store_for(quarantine, bounds, Errand::Call(Box::new(visit))) {
            Ok(store) => store,
            Err(error) => {
                return Ending {
                    said: Err(error),
                    trail: Trail::default(),
                    spent: Spent::default(),
                };
            }
        };
        let said = {
            let _ticking = quarantine.ticker().run();
            let calling = async {
                let called = self.call_in(&mut store, tool, args).await;
                called.map_err(|error| store.data().explain(&error))
            };
            within(deadline, &tasks, calling).await
        };
        let fuel = bounds.fuel.saturating_sub(store.get_fuel().unwrap_or(0));
        let inside = store.into_data();
        let cpu_ms = inside.cpu_ms();
        let memory_bytes = u64::try_from(inside.meter.peak_bytes()).unwrap_or(u64::MAX);
        let host_calls = inside.meter.host_calls();
        let us = Spent::since(began).us;
        let trail = inside.into_trail();
        Ending {
            said,
            spent: Spent {
                us,
                fuel,
                cpu_ms,
                memory_bytes,
                host_calls,
                calls: trail.calls,
                ..Spent::default()
            },
            trail,
        }
    }

    async fn call_in(
        &self,
        store: &mut Store<Inside>,
        tool: &str,
        args: &str,
    ) -> wasmtime::Result<Result<String, Failure>> {
        let guest: Plugin = self.0.instantiate_async(&mut *store).await?;
        guest
            .lazaret_plugin_tool()
            .call_run(store, tool, args)
            .await
    }
}

/// A store for one guest: its meters set, and nothing within its reach but its errand.
pub(super) fn store_for(
    quarantine: &Quarantine,
    bounds: GuestBounds,
    errand: Errand,
) -> Result<Store<Inside>> {
    let output = Output::default();
    let mut table = ResourceTable::new();
    table.set_max_capacity(GUEST_RESOURCES);
    let wasi = wasi::nothing(&output, quarantine.clock());
    let mut http = WasiHttpCtx::new();
    http.set_field_size_limit(FETCH_HEADER_BYTES);
    let cpu_time = errand.cpu_time();
    let inside = Inside {
        wasi,
        http,
        table,
        meter: Meter::new(bounds, cpu_time),
        output,
        errand,
    };
    metered(Store::new(quarantine.engine(), inside), bounds)
}

/// Sets the meters of a store: memory, work, processor time, what host calls copy.
pub(super) fn metered<T: Metered>(mut store: Store<T>, bounds: GuestBounds) -> Result<Store<T>> {
    store.data_mut().meter().check_run()?;
    store.limiter(|inside| inside.meter());
    store
        .set_fuel(bounds.fuel)
        .map_err(|error| Error::bug("the engine counts no fuel").because(error))?;
    store.set_hostcall_fuel(HOSTCALL_BYTES);
    store.call_hook(|mut store, step| {
        if matches!(step, CallHook::CallingHost) {
            store.data_mut().meter().ask();
        }
        Ok(())
    });
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|mut store| {
        if store.data_mut().meter().tick() {
            Ok(UpdateDeadline::Yield(1))
        } else {
            Err(wasmtime::Error::new(Late))
        }
    });
    Ok(store)
}

/// What a store holds, seen by its meters.
pub(super) trait Metered: Send + 'static {
    /// The meter of its guest.
    fn meter(&mut self) -> &mut Meter;
}

impl Metered for Inside {
    fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }
}

impl std::fmt::Debug for Linked {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Linked")
    }
}

async fn within<T>(
    deadline: Deadline,
    tasks: &Tasks,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let rest = deadline.rest();
    let bounded = async {
        tokio::time::timeout(rest, work).await.unwrap_or_else(|_| {
            Err(Error::new(
                Code::TooSlow,
                format!("the call did not end within its {} ms", deadline.ms()),
            ))
        })
    };
    tasks.unless_cancelled(bounded).await
}

impl Inside {
    /// What the guest holds of the host's.
    pub(super) fn table(&self) -> &ResourceTable {
        &self.table
    }

    /// The same, to change it.
    pub(super) fn table_mut(&mut self) -> &mut ResourceTable {
        &mut self.table
    }

    /// Milliseconds of processor time that the guest has used.
    pub(super) fn cpu_ms(&self) -> u64 {
        self.meter.ticks()
    }

    /// What stopped the guest.
    pub(super) fn explain(&self, error: &wasmtime::Error) -> Error {
        let (who, wrote) = match &self.errand {
            Errand::Read(_) => (Who::Reader, self.output.text(&Scrub::default())),
            Errand::Call(visit) => (Who::Tool, self.output.text(&visit.station.scrub)),
        };
        why_stopped(error, who, &self.meter, &wrote)
    }

    fn into_trail(self) -> Trail {
        let mut trail = match self.errand {
            Errand::Read(_) => Trail::default(),
            Errand::Call(visit) => {
                let mut trail = visit.trail;
                trail.read = visit.heard.read();
                trail.refused = visit.heard.last_refusal();
                if !self.output.is_empty() {
                    let time = visit.station.gate.journal().clock().now_ms();
                    let fields = serde_json::json!({"type": "output"});
                    trail.logs.push(LogLine {
                        level: "debug",
                        message: visible(&self.output.text(&visit.station.scrub)),
                        fields,
                        time,
                    });
                }
                trail
            }
        };
        if trail.logs_dropped > 0 {
            let message = format!("{} log lines more were dropped", trail.logs_dropped);
            let time = trail.logs.last().map_or(0, |line| line.time);
            trail.logs.push(LogLine {
                level: "warn",
                message,
                fields: serde_json::json!({}),
                time,
            });
        }
        trail
    }
}

impl WasiView for Inside {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl WasiHttpView for Inside {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            hooks: &mut self.errand,
            table: &mut self.table,
            ctx: &mut self.http,
        }
    }
}

/// The linker's view of a store's contents.
pub(super) type Reached = HasSelf<Inside>;
