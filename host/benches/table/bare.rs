//! The bare engine: the same settings and the same component, with WASI and without any gate.

use ::lazaret::guests::engine;
use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Engine, Store, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

wasmtime::component::bindgen!({
    path: "../wit/plugin.wit",
    world: "plugin",
    imports: { default: async },
    exports: { default: async },
});

mod script {
    wasmtime::component::bindgen!({
        path: "../wit/script.wit",
        world: "engine",
        exports: { default: async },
    });
}

use script::exports::lazaret::script::steps::{Answer, Bounds, Outcome, Progress};

/// A component that was linked once.
pub(crate) struct Bare {
    engine: Engine,
    linked: PluginPre<Inside>,
}

struct Inside {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for Inside {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl Bare {
    pub(crate) fn new(component: &[u8]) -> Self {
        let (engine, _) = engine::best().unwrap();
        let component = Component::from_binary(&engine, component).unwrap();
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
        linker.define_unknown_imports_as_traps(&component).unwrap();
        let linked = PluginPre::new(linker.instantiate_pre(&component).unwrap()).unwrap();
        Self { engine, linked }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// A fresh store, a fresh guest, one call.
    pub(crate) async fn echo(&self) {
        let inside = Inside {
            wasi: WasiCtx::builder().build(),
            table: ResourceTable::new(),
        };
        let mut store = Store::new(&self.engine, inside);
        store.set_fuel(20_000_000_000).unwrap();
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|_| Ok(UpdateDeadline::Yield(1)));
        let guest = self.linked.instantiate_async(&mut store).await.unwrap();
        let said = guest
            .lazaret_plugin_tool()
            .call_run(&mut store, "echo", r#"{"text":"a b"}"#)
            .await;
        assert_eq!(said.unwrap().unwrap(), r#""a b""#);
    }
}

/// The engine of scripts, linked once to nothing.
pub(crate) struct BareScript {
    engine: Engine,
    linked: script::EnginePre<()>,
}

impl BareScript {
    pub(crate) fn new(engine: &Engine) -> Self {
        let bytes = ::lazaret::guests::plugin::script_engine();
        let bytes = bytes.read(bytes.digest().unwrap()).unwrap();
        let component = Component::from_binary(engine, &bytes).unwrap();
        let linked = Linker::new(engine).instantiate_pre(&component).unwrap();
        Self {
            engine: engine.clone(),
            linked: script::EnginePre::new(linked).unwrap(),
        }
    }

    /// A fresh store, a fresh guest, one script; its value as JSON text. Each of its calls is answered at once, or
    /// after a call of `tool` in a fresh guest of that.
    pub(crate) async fn run(&self, source: &str, tool: Option<&Bare>) -> String {
        let mut store = Store::new(&self.engine, ());
        // Only where the engine counts.
        if store.set_fuel(600_000_000_000).is_ok() {
            store.set_epoch_deadline(1);
            store.epoch_deadline_callback(|_| Ok(UpdateDeadline::Yield(1)));
        }
        let guest = self.linked.instantiate_async(&mut store).await.unwrap();
        let bounds = Bounds {
            calls: 2_000,
            timers: 32_000,
            polls: 480_000,
            heap_bytes: 48 << 20,
            json_bytes: 1 << 20,
            log_bytes: 64 << 10,
        };
        let steps = guest.lazaret_script_steps();
        let step = steps.call_start(&mut store, source, bounds, 1, 1).await;
        let mut step = step.unwrap();
        loop {
            let request = match step.progress {
                Progress::Waiting(mut requests) => requests.remove(0),
                Progress::Done(text) => return text,
                Progress::Failed(failure) => panic!("{failure:?}"),
            };
            if let Some(tool) = tool {
                tool.echo().await;
            }
            let answer = Answer {
                position: request.position,
                outcome: Outcome::Value(r#""a b""#.to_owned()),
            };
            step = steps.call_resume(&mut store, &answer, 1).await.unwrap();
        }
    }
}
