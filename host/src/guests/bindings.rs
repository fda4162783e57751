//! Generated from `wit/plugin.wit`, and nothing else.

#![expect(
    clippy::disallowed_methods,
    reason = "generated: `PluginPre` makes guests for `guest.rs`, the one file that asks it to"
)]

pub(super) mod filesystem;
pub(super) mod script;

wasmtime::component::bindgen!({
    path: "../wit/plugin.wit",
    world: "plugin",
    imports: { default: async },
    exports: { default: async },
});
