//! Generated from `wit/script.wit`, and nothing else: the engine of scripts, and the reader of TypeScript.

/// The world `engine`.
pub(in crate::guests) mod engine {
    #![expect(
        clippy::disallowed_methods,
        reason = "generated: `EnginePre` makes guests for `script.rs`, the one file that asks it to"
    )]

    wasmtime::component::bindgen!({
        path: "../wit/script.wit",
        world: "engine",
        exports: { default: async },
    });
}

/// The world `types`.
pub(in crate::guests) mod types {
    #![expect(
        clippy::disallowed_methods,
        reason = "generated: `TypesPre` makes guests for `script.rs`, the one file that asks it to"
    )]

    wasmtime::component::bindgen!({
        path: "../wit/script.wit",
        world: "types",
        exports: { default: async },
    });
}
