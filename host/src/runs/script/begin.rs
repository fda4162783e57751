//! How a life of a script begins: its engine is loaded, and its guest gets its source and what it is given.

use super::Script;
use crate::guests::script::{ScriptEngine, ScriptGuest, Step};
use crate::rules::script::TOOL;
use crate::words::error::Result;
use crate::words::event::{Glimpse, ScriptBounds, Scripted};
use crate::words::id::{Digest, Seq};
use crate::words::limits::{
    SCRIPT_HEAP_BYTES, SCRIPT_JSON_BYTES, SCRIPT_LOG_BYTES, SCRIPT_POLLS_PER_MS,
    SCRIPT_TIMERS_PER_CALL,
};

impl Script<'_> {
    /// Whoever watches is told what the script waits for before it runs, and that it does then.
    pub(super) async fn load(&self, engine: &ScriptEngine, seq: Seq) -> Result<()> {
        if engine.is_ready() {
            return Ok(());
        }
        let tell = |message: &str| {
            let glimpse = Glimpse::Progress {
                of: seq,
                tool: TOOL.to_owned(),
                message: message.to_owned(),
                percent: None,
                label: self.caller.label.clone(),
            };
            let journal = self.station.gate.journal();
            journal.glimpse(&self.caller.run, glimpse);
        };
        let quarantine = &self.station.quarantine;
        if !engine.is_compiled(quarantine) {
            tell("preparing the engine of scripts (compiled once, then cached)");
        }
        let loading = engine.load(quarantine);
        self.tasks.unless_cancelled(loading).await?;
        tell("running");
        Ok(())
    }

    /// A guest, and how far it came with a source.
    pub(super) async fn start_with(
        &self,
        engine: &ScriptEngine,
        begun: &Scripted,
        source: &str,
    ) -> Result<(ScriptGuest, Result<Step>)> {
        let station = self.station;
        let cpu_ms = station.gate.policy().scripts.cpu_ms;
        let time = (cpu_ms, &self.caller.known.cpu_time);
        let starting = async {
            let mut guest = engine.guest(&station.quarantine, time).await?;
            let given = (begun.seed, begun.now);
            let said = guest.start(source, &begun.bounds, given).await;
            Ok((guest, said))
        };
        self.tasks.unless_cancelled(starting).await
    }

    /// What a script that begins now is given.
    pub(super) fn begin(&self) -> Scripted {
        let policy = self.station.gate.policy();
        let calls = policy.scripts.calls;
        let place = &self.caller.place;
        let recorded = self.station.recorded.as_ref();
        let recorded = recorded.and_then(|recorded| recorded.scripted(place));
        let clock = self.station.gate.journal().clock();
        let now = recorded.map_or_else(|| clock.now_ms(), |recorded| recorded.now);
        // What a script can learn of its own run is no secret, and a seed has to differ, no more.
        let name = format!("{} {}", self.caller.run, self.caller.place);
        let seed = Digest::of(name.as_bytes()).seed();
        Scripted {
            engine: self.station.scripts.engine.digest,
            seed,
            now,
            bounds: ScriptBounds {
                calls,
                timers: calls.saturating_mul(SCRIPT_TIMERS_PER_CALL),
                polls: policy.scripts.cpu_ms.saturating_mul(SCRIPT_POLLS_PER_MS),
                heap_bytes: SCRIPT_HEAP_BYTES,
                json_bytes: SCRIPT_JSON_BYTES,
                log_bytes: SCRIPT_LOG_BYTES,
            },
        }
    }
}
