//! Runs the start-up of a module, and reads what became of it.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use wasmi::{Engine, Instance, Linker, Module, Store, Val};
use wasmparser::ValType;
use wasmtime_wizer::{InstanceState, SnapshotVal, Wizer};

use crate::Result;

/// The module with its start-up done.
pub fn initialized(module: &[u8]) -> Result<Vec<u8>> {
    let wizer = Wizer::new();
    let (context, instrumented) = wizer
        .instrument(module)
        .map_err(|error| format!("the module is none that can be pre-initialised: {error:#}"))?;
    let mut started = Started::new(&instrumented, wizer.get_init_func())?;
    let snapshot = pin!(wizer.snapshot(&context, &mut started));
    // The instance answers at once, so there is nothing to wait for.
    match snapshot.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(module) => module.map_err(|error| format!("the snapshot failed: {error:#}")),
        Poll::Pending => Err("the snapshot waits for something".to_owned()),
    }
}

/// An instance whose start-up has run.
struct Started {
    store: Store<()>,
    instance: Instance,
}

impl Started {
    fn new(module: &[u8], start_up: &str) -> Result<Self> {
        let engine = Engine::default();
        let module = Module::new(&engine, module)
            .map_err(|error| format!("the module cannot be interpreted: {error}"))?;
        let mut store = Store::new(&engine, ());
        let instance = Linker::new(&engine)
            .instantiate_and_start(&mut store, &module)
            .map_err(|error| {
                format!("the module cannot be instantiated without imports: {error}")
            })?;
        instance
            .get_typed_func::<(), ()>(&store, start_up)
            .and_then(|start_up| start_up.call(&mut store, ()))
            .map_err(|error| format!("the start-up `{start_up}` failed: {error}"))?;
        Ok(Self { store, instance })
    }
}

impl InstanceState for Started {
    async fn global_get(&mut self, name: &str, _: ValType) -> SnapshotVal {
        let global = self.instance.get_global(&self.store, name);
        match global.map(|global| global.get(&self.store)) {
            Some(Val::I32(value)) => SnapshotVal::I32(value),
            Some(Val::I64(value)) => SnapshotVal::I64(value),
            Some(Val::F32(value)) => SnapshotVal::F32(value.to_bits()),
            Some(Val::F64(value)) => SnapshotVal::F64(value.to_bits()),
            other => panic!("the global {name} is no number that can be frozen: {other:?}"),
        }
    }

    async fn memory_contents(&mut self, name: &str, contents: impl FnOnce(&[u8]) + Send) {
        match self.instance.get_memory(&self.store, name) {
            Some(memory) => contents(memory.data(&self.store)),
            None => panic!("the memory {name} was exported, and is not"),
        }
    }
}
