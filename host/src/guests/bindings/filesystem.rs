//! Generated from `wit/wasi`, and nothing else.

wasmtime::component::bindgen!({
    path: "../wit/wasi",
    world: "files",
    imports: { default: async | trappable },
    trappable_error_type: {
        "wasi:filesystem/types.error-code" => crate::guests::imports::filesystem::FsError,
    },
    with: {
        "wasi:io/error": wasmtime_wasi::p2::bindings::io::error,
        "wasi:io/poll": wasmtime_wasi::p2::bindings::io::poll,
        "wasi:io/streams": wasmtime_wasi::p2::bindings::io::streams,
        "wasi:clocks/wall-clock": wasmtime_wasi::p2::bindings::clocks::wall_clock,
        "wasi:filesystem/types.descriptor": crate::guests::imports::filesystem::Descriptor,
        "wasi:filesystem/types.directory-entry-stream": crate::guests::imports::filesystem::Entries,
    },
});
