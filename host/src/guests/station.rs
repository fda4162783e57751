//! The station: gate, edges, engine and catalog in one place, as every call needs them.

use std::sync::{Arc, Mutex};

use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

use super::apart::Counsel;
use super::bindings;
use super::bindings::filesystem::wasi::filesystem::{preopens, types};
use super::cache::Cache;
use super::catalog::Catalog;
use super::compile::{self, Compiler};
use super::engine::Allocation;
use super::guest::{Inside, Linked, Reached};
use super::imports::{http, poll};
use super::plugin::PluginBytes;
use super::recorded::Recorded;
use super::repeats::Repeats;
use super::script::Scripts;
use super::slots::Slots;
use super::ticker::Ticker;
use crate::edges::answers::Answers;
use crate::edges::egress::Egress;
use crate::edges::files::Files;
use crate::edges::notes::Notes;
use crate::edges::records::RecordLabels;
use crate::gate::Gate;
use crate::rules::health::Health;
use crate::rules::scrub::Scrub;
use crate::words::clock::Clock;
use crate::words::error::{Error, Result};
use crate::words::id::Digest;

/// Everything that performing a call takes.
#[derive(Debug)]
pub struct Station {
    /// Judges and records.
    pub gate: Gate,
    /// Sends requests.
    pub egress: Egress,
    /// Opens files.
    pub files: Files,
    /// Keeps notes.
    pub notes: Notes,
    /// Runs components.
    pub quarantine: Quarantine,
    /// Runs scripts.
    pub scripts: Scripts,
    /// Knows the tools.
    pub catalog: Catalog,
    /// Knows what must not be read by a model or client.
    pub scrub: Scrub,
    /// What is known of calls of other runs.
    pub past: Past,
    /// Whoever is asked in the middle of a call.
    pub counsel: Counsels,
    /// In a replay: what came from outside. Nothing is asked of guests and models then.
    pub recorded: Option<Arc<dyn Recorded>>,
    /// How its models have done lately.
    pub health: Mutex<Health>,
}

/// What is known of calls of other runs.
#[derive(Debug)]
pub struct Past {
    /// What clients have had done under a key.
    pub keyed: Repeats,
    /// Which records of services were written, and under whose influence.
    pub records: RecordLabels,
}

/// Whoever is asked in the middle of a call.
#[derive(Debug)]
pub struct Counsels {
    /// Models: about what is held, and by servers.
    pub models: Box<dyn Counsel>,
    /// Persons: where their answers are left.
    pub persons: Answers,
}

/// The engine and what belongs to it. Cheap to clone.
#[derive(Clone)]
pub struct Quarantine(Arc<Parts>);

struct Parts {
    engine: Engine,
    allocation: Allocation,
    linker: Linker<Inside>,
    ticker: Ticker,
    slots: Slots,
    cache: Cache,
    compiler: Compiler,
    clock: Clock,
}

impl Quarantine {
    /// Links WASI with nothing in it, `wasi:http` and `wasi:filesystem` whose every wish goes through the gate, and our
    /// own imports; nothing else exists for a guest.
    ///
    /// # Errors
    /// `Bug` where the interfaces do not fit the engine.
    pub fn new(
        (engine, allocation): (Engine, Allocation),
        cache: Cache,
        compiler: Compiler,
        clock: Clock,
    ) -> Result<Self> {
        let mut linker = Linker::new(&engine);
        let unlinked =
            |error: wasmtime::Error| Error::bug("the imports cannot be linked").because(error);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).map_err(unlinked)?;
        // WASI's own files know only of folders that are opened by name, and its `poll` and its requests of no bound: ours stand
        // in their place.
        linker.allow_shadowing(true);
        types::add_to_linker::<Inside, Reached>(&mut linker, |inside| inside).map_err(unlinked)?;
        preopens::add_to_linker::<Inside, Reached>(&mut linker, |inside| inside)
            .map_err(unlinked)?;
        poll::bound(&mut linker).map_err(unlinked)?;
        wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker).map_err(unlinked)?;
        http::bound(&mut linker).map_err(unlinked)?;
        linker.allow_shadowing(false);
        bindings::Plugin::add_to_linker::<Inside, Reached>(&mut linker, |inside| inside)
            .map_err(unlinked)?;
        let (ticker, slots) = (Ticker::start(&engine)?, Slots::new());
        Ok(Self(Arc::new(Parts {
            engine,
            allocation,
            linker,
            ticker,
            slots,
            cache,
            compiler,
            clock,
        })))
    }

    /// The one engine.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// How guests' memory is had.
    #[must_use]
    pub fn allocation(&self) -> Allocation {
        self.0.allocation
    }

    /// The compile cache.
    #[must_use]
    pub fn cache(&self) -> &Cache {
        &self.0.cache
    }

    /// What plugins may be linked to.
    pub(super) fn linker(&self) -> &Linker<Inside> {
        &self.0.linker
    }

    pub(super) fn ticker(&self) -> &Ticker {
        &self.0.ticker
    }

    pub(super) fn slots(&self) -> &Slots {
        &self.0.slots
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// A component of any world: from the cache, or compiled.
    pub(super) async fn component(
        &self,
        origin: &PluginBytes,
        digest: Digest,
    ) -> Result<Component> {
        match self.0.cache.component(&self.0.engine, digest)? {
            Some(component) => Ok(component),
            None => {
                let bytes = origin.read(digest)?;
                let code = self.0.compiler.compile(&bytes).await?;
                self.0.cache.store(&self.0.engine, digest, &code)
            }
        }
    }

    /// A plugin ready for guests.
    pub(super) async fn load(&self, origin: &PluginBytes, digest: Digest) -> Result<Linked> {
        let component = self.component(origin, digest).await?;
        compile::check_world(&component, &self.0.engine)?;
        Linked::new(&self.0.linker, &component)
    }
}

impl std::fmt::Debug for Quarantine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Quarantine")
    }
}
