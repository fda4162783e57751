//! A guest's own memory, for guests that look in it for what they should not have.

/// Whether two halves stand in it, one behind the other. Never put together, they stand nowhere else so.
pub fn stands_in(bytes: &[u8], halves: &[String]) -> bool {
    let [first, second] = halves else {
        return true;
    };
    bytes
        .windows(first.len() + second.len())
        .any(|window| window.starts_with(first.as_bytes()) && window.ends_with(second.as_bytes()))
}

/// All memory that there is, but for its first byte.
pub fn all() -> &'static [u8] {
    #[cfg(target_arch = "wasm32")]
    // SAFETY: whatever lies in a linear memory may be read as bytes, and nothing runs beside this.
    return unsafe {
        let bytes = core::arch::wasm32::memory_size(0) * 65_536;
        std::slice::from_raw_parts(std::ptr::without_provenance(1), bytes - 1)
    };
    #[cfg(not(target_arch = "wasm32"))]
    &[]
}
