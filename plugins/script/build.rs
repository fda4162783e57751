//! Sizes the stack that C and Rust use in linear memory.

/// Sixteen times what the interpreter may use of it (`src/engine.rs`).
const STACK_BYTES: u32 = 4 * 1024 * 1024;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        println!("cargo::rustc-cdylib-link-arg=-zstack-size={STACK_BYTES}");
    }
}
