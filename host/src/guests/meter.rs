//! The meter of one guest: memory and tables summed over all of them, its processor time, and its calls of the host.

use wasmtime::ResourceLimiter;

use crate::rules::bounds::GuestBounds;
use crate::rules::caller::CpuTime;
use crate::words::error::Result;
use crate::words::limits::{
    GUEST_CORE_INSTANCES, GUEST_MEMORIES, GUEST_TABLE_ELEMENTS, GUEST_TABLES,
};

/// What stops a guest, and what it has used.
#[derive(Debug)]
pub(super) struct Meter {
    bounds: GuestBounds,
    cpu_time: CpuTime,
    memory_bytes: usize,
    table_elements: usize,
    peak_bytes: usize,
    refused: bool,
    ticks: u64,
    host_calls: u64,
}

impl Meter {
    /// The meter of a guest whose run has `cpu_time` for all its guests.
    pub(super) fn new(bounds: GuestBounds, cpu_time: CpuTime) -> Self {
        Self {
            bounds,
            cpu_time,
            memory_bytes: 0,
            table_elements: 0,
            peak_bytes: 0,
            refused: false,
            ticks: 0,
            host_calls: 0,
        }
    }

    /// What bounds it.
    pub(super) fn bounds(&self) -> GuestBounds {
        self.bounds
    }

    /// Whether it was refused memory: a trap after that is a lack of memory.
    pub(super) fn was_refused(&self) -> bool {
        self.refused
    }

    /// The highest sum of its memories.
    pub(super) fn peak_bytes(&self) -> usize {
        self.peak_bytes
    }

    /// One more millisecond of processor time; whether there is more to come.
    pub(super) fn tick(&mut self) -> bool {
        self.ticks += 1;
        // It comes to us by the way of a call, and the guest has made none.
        self.host_calls = self.host_calls.saturating_sub(1);
        self.cpu_time.tick() && self.ticks < self.bounds.cpu_ms
    }

    /// Milliseconds of processor time that it has used.
    pub(super) fn ticks(&self) -> u64 {
        self.ticks
    }

    /// The guest calls the host once more.
    pub(super) fn ask(&mut self) {
        self.host_calls = self.host_calls.saturating_add(1);
    }

    /// How often it has.
    pub(super) fn host_calls(&self) -> u64 {
        self.host_calls
    }

    /// The run has processor time left.
    ///
    /// # Errors
    /// `OverBudget` where it has none.
    pub(super) fn check_run(&self) -> Result<()> {
        self.cpu_time.check()
    }
}

/// `StoreLimits` counts each memory on its own; eight memories of the limit would be eight limits.
impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let sum = self
            .memory_bytes
            .saturating_add(desired.saturating_sub(current));
        let fits =
            sum <= self.bounds.memory_bytes && maximum.is_none_or(|maximum| desired <= maximum);
        if fits {
            self.memory_bytes = sum;
            self.peak_bytes = self.peak_bytes.max(sum);
        } else {
            self.refused = true;
        }
        Ok(fits)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let sum = self
            .table_elements
            .saturating_add(desired.saturating_sub(current));
        let fits = sum <= GUEST_TABLE_ELEMENTS && maximum.is_none_or(|maximum| desired <= maximum);
        if fits {
            self.table_elements = sum;
        } else {
            self.refused = true;
        }
        Ok(fits)
    }

    fn instances(&self) -> usize {
        usize::try_from(GUEST_CORE_INSTANCES).unwrap_or(usize::MAX)
    }

    fn memories(&self) -> usize {
        usize::try_from(GUEST_MEMORIES).unwrap_or(usize::MAX)
    }

    fn tables(&self) -> usize {
        usize::try_from(GUEST_TABLES).unwrap_or(usize::MAX)
    }
}
