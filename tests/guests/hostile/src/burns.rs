//! What is used up: time, stack, memory, patience.

use std::hint::black_box;

use lazaret_sdk::prelude::*;

/// Never ends.
#[tool(effect = "pure")]
pub fn spin() -> u64 {
    let mut count = 0_u64;
    loop {
        count = black_box(count.wrapping_add(1));
        if black_box(count) == u64::MAX {
            return count;
        }
    }
}

/// Calls itself for ever.
#[tool(effect = "pure")]
pub fn recurse() -> u64 {
    deeper(0)
}

#[allow(unconditional_recursion)]
fn deeper(depth: u64) -> u64 {
    let here = black_box([depth; 64]);
    deeper(here[3] + 1).wrapping_add(here[7])
}

/// Takes memory in pieces of a mebibyte until there is none, by the allocator.
#[tool(effect = "pure")]
pub fn hoard() -> usize {
    let mut all = Vec::new();
    loop {
        all.push(black_box(vec![1_u8; 1 << 20]));
        black_box(&all);
    }
}

/// Grows memory page by page, past the allocator, and says how far it came.
#[tool(effect = "pure")]
pub fn grow() -> usize {
    #[cfg(target_arch = "wasm32")]
    {
        let mut pages = 0;
        while core::arch::wasm32::memory_grow(0, 16) != usize::MAX {
            pages += 16;
        }
        pages
    }
    #[cfg(not(target_arch = "wasm32"))]
    0
}

/// Fills thirty-two mebibytes again and again.
#[tool(effect = "pure")]
pub fn fill() -> u8 {
    let mut all = vec![0_u8; 32 << 20];
    loop {
        all.fill(1);
        black_box(&mut all);
        if black_box(all[7]) == 2 {
            return all[9];
        }
    }
}

/// Panics with a message.
#[tool(effect = "pure")]
pub fn panics(
    /// What it says.
    message: String,
) -> String {
    panic!("{message}");
}

/// Executes `unreachable`.
#[tool(effect = "pure")]
pub fn traps() -> String {
    #[cfg(target_arch = "wasm32")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_arch = "wasm32"))]
    String::new()
}

/// Asks the host the time, over and over.
#[tool(effect = "read-only", risk = "read_only")]
pub fn ask_often(
    /// How often.
    times: u64,
) -> u64 {
    (0..times)
        .map(|_| u64::from(wasip2::clocks::wall_clock::now().nanoseconds))
        .fold(0, u64::max)
}
