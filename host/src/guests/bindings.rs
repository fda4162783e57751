//! Generated from `wit/plugin.wit`, and nothing else.

#![expect(missing_docs, clippy::all, clippy::pedantic, reason = "generated code")]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "plugin",
    imports: { default: async },
    exports: { default: async },
});
