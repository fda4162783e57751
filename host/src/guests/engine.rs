//! The engine: one for the process, with every setting that the boundary rests on (design §7).

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
    Strategy,
};

use crate::words::error::{Error, Result};
use crate::words::limits::{
    ASYNC_STACK_BYTES, CALL_DEPTH, GUEST_CORE_INSTANCES, GUEST_MEMORIES, GUEST_MEMORY_BYTES_MAX,
    GUEST_SLOTS_INNER, GUEST_SLOTS_OUTER, GUEST_TABLE_ELEMENTS, GUEST_TABLES, ISOLATED_SLOTS,
    SCRIPT_SLOTS, WASM_STACK_BYTES,
};

/// How guests' memory is had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// From a pool of slots made at start: the fast path.
    Pooled,
    /// From the system, each time: for the compile process, and for machines that refuse the pool.
    OnDemand,
}

/// Bytes of a used slot that are cleared by hand and kept, instead of given back to the system: a guest that finds its
/// pages there starts in half the time. What is kept of a stack is cleared whole, so that is little more than a usual
/// guest uses; of memory and tables, only the pages that were written.
const MEMORY_KEPT_BYTES: usize = 4 << 20;
const STACK_KEPT_BYTES: usize = 32 << 10;
const TABLE_KEPT_BYTES: usize = 64 << 10;
/// Slots kept warm for the component that they last held.
const WARM_SLOTS: u32 = 64;
/// Slots above those for calls: manifests that are read, and components on their way out.
const SLOTS_SPARE: usize = 16;

/// Makes the engine, with the stack that guests have where nobody says less: pooled if the machine allows it.
///
/// # Errors
/// `Bug` where no engine can be made at all.
pub fn best() -> Result<(Engine, Allocation)> {
    of_stack(WASM_STACK_BYTES)
}

/// Likewise, with a stack of so many bytes.
///
/// # Errors
/// As [`best`].
pub fn of_stack(bytes: usize) -> Result<(Engine, Allocation)> {
    match made(Allocation::Pooled, bytes) {
        Ok(engine) => Ok((engine, Allocation::Pooled)),
        Err(error) => {
            tracing::warn!(error = %error.cause(), "no pool of guest slots; guests are slower to start");
            made(Allocation::OnDemand, bytes).map(|engine| (engine, Allocation::OnDemand))
        }
    }
}

/// Makes an engine with the given allocation. The code that either compiles is the same.
///
/// # Errors
/// `Bug` with the engine's own reason as the cause.
pub fn new(allocation: Allocation) -> Result<Engine> {
    made(allocation, WASM_STACK_BYTES)
}

/// The stack is no part of what is compiled, so that artifacts fit whatever it is.
fn made(allocation: Allocation, stack_bytes: usize) -> Result<Engine> {
    let mut config = settings(stack_bytes);
    if allocation == Allocation::Pooled {
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool()));
    }
    Engine::new(&config)
        .map_err(|error| Error::bug("the wasm engine cannot be made").because(error))
}

fn settings(stack_bytes: usize) -> Config {
    let mut config = Config::new();
    config.strategy(Strategy::Cranelift);
    config.cranelift_opt_level(OptLevel::Speed);
    config.consume_fuel(true);
    config.epoch_interruption(true);
    config.wasm_component_model(true);
    config.max_wasm_stack(stack_bytes.min(WASM_STACK_BYTES));
    config.async_stack_size(ASYNC_STACK_BYTES);
    config.async_stack_zeroing(true);
    config.memory_init_cow(true);
    config.wasm_memory64(false);
    config.wasm_multi_memory(true);
    // Frames of a trap are named by the guest; nobody needs them.
    config.wasm_backtrace_max_frames(None);
    config.native_unwind_info(false);
    config
}

fn pool() -> PoolingAllocationConfig {
    let guests = GUEST_SLOTS_OUTER
        + GUEST_SLOTS_INNER * (CALL_DEPTH - 1)
        + SCRIPT_SLOTS
        + ISOLATED_SLOTS
        + SLOTS_SPARE;
    let count = |each: usize| u32::try_from(guests * each).unwrap_or(u32::MAX);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(count(1));
    pool.total_stacks(count(1));
    // A usual guest has one memory and three or four core instances; one with more uses other guests' share.
    pool.total_core_instances(count(8));
    pool.total_memories(count(2));
    pool.total_tables(count(8));
    pool.max_core_instances_per_component(GUEST_CORE_INSTANCES);
    pool.max_memories_per_component(GUEST_MEMORIES);
    pool.max_tables_per_component(GUEST_TABLES);
    pool.max_memories_per_module(GUEST_MEMORIES);
    pool.max_tables_per_module(GUEST_TABLES);
    pool.max_memory_size(GUEST_MEMORY_BYTES_MAX);
    pool.table_elements(GUEST_TABLE_ELEMENTS);
    pool.max_unused_warm_slots(WARM_SLOTS);
    pool.linear_memory_keep_resident(MEMORY_KEPT_BYTES);
    pool.async_stack_keep_resident(STACK_KEPT_BYTES);
    pool.table_keep_resident(TABLE_KEPT_BYTES);
    pool.pagemap_scan(Enabled::Auto);
    pool
}
