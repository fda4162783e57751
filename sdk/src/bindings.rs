//! The raw bindings, generated from `wit/plugin.wit`.
//!
//! Nothing outside this crate should need them: the other modules say the same in friendlier words.
//! Outside WebAssembly the imports compile too, but panic when they are called.

wit_bindgen::generate!({
    path: "../wit/plugin.wit",
    world: "plugin",
    pub_export_macro: true,
    export_macro_name: "export_plugin",
    default_bindings_module: "::lazaret_sdk::bindings",
    runtime_path: "::lazaret_sdk::bindings::rt",
});

pub use wit_bindgen::rt;
