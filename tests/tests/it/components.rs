//! Files that are no plugin: each gets an error of its own, and none a panic.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use lazaret::edges::state::StateFolder;
use lazaret::guests::cache::Cache;
use lazaret::guests::compile::{Compiler, check_component};
use lazaret::guests::engine::{self, Allocation};
use lazaret::guests::plugin::{Plugin, PluginBytes};
use lazaret::guests::station::Quarantine;
use lazaret::words::clock::Clock;
use lazaret_tests::forge;
use lazaret_tests::prelude::*;

async fn refused(bytes: &[u8]) -> lazaret::words::error::Error {
    let opened = Rig::of("").component("bad", bytes).try_open().await;
    opened.map(|_| ()).expect_err("no plugin")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_are_something_else_are_named_for_what_they_are() {
    for (bytes, says) in [
        (&b""[..], "this is no wasm component"),
        (b"hello", "this is no wasm component"),
        (b"(component)", "this is no wasm component"),
        (b"\0asm\x01\0\0\0", "this is a core module"),
        (b"\0asm\x0e\0\x01\0", "wasm of a version that is not known"),
        (b"\x7fELF\x02\x01\x01\0", "native code"),
        (b"\0asm\x0d\0\x01\0", "it exports nothing"),
        (
            b"\0asm\x0d\0\x01\0\xff\xff\xff\xff\xff",
            "not a valid component",
        ),
    ] {
        let error = refused(bytes).await;
        assert_eq!(error.code(), Code::BadPlugin, "{bytes:?}: {error:?}");
        assert!(
            error.message().contains("plugin `bad`") && error.message().contains(says),
            "{error:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_a_hundred_megabytes_is_refused_unread() {
    let rig = Rig::of("");
    let path = rig.path("big.wasm");
    let file = std::fs::File::create(&path).expect("a file");
    file.set_len(100 << 20).expect("a sparse file");
    let error = rig
        .plugin("big", &path)
        .try_open()
        .await
        .map(|_| ())
        .expect_err("too big");
    assert_eq!(error.code(), Code::TooBig);
    assert!(
        error
            .message()
            .contains("104857600 bytes, and at most 33554432"),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_and_nothing_are_no_plugins() {
    let rig = Rig::of("").file("folder/a", "");
    let path = rig.path("folder");
    let error = rig
        .plugin("bad", &path)
        .try_open()
        .await
        .map(|_| ())
        .expect_err("a folder");
    assert_eq!(error.code(), Code::BadInput);
    let rig = Rig::of("");
    let path = rig.path("missing.wasm");
    let error = rig
        .plugin("bad", &path)
        .try_open()
        .await
        .map(|_| ())
        .expect_err("nothing");
    assert_eq!(error.code(), Code::NotFound);
}

/// Looks at many spoiled components, a few at a time, with the real compile process.
async fn look_at(spoiled: Vec<(String, Vec<u8>)>) -> Vec<(String, Result<(), Code>)> {
    let folder = tempfile::tempdir().expect("a folder");
    let state = StateFolder::open(&folder.path().join("state")).expect("a state folder");
    let engine = engine::best().expect("an engine");
    let cache = Cache::open(&state, &engine.0).expect("a cache");
    let compiler = Compiler::new(&target().join("debug/lazaret"));
    let quarantine =
        Quarantine::new(engine, cache, compiler, Clock::set(NOW_MS)).expect("a quarantine");
    let (quarantine, folder) = (Arc::new(quarantine), Arc::new(folder));
    let looking = stream::iter(spoiled).map(|(name, bytes)| {
        let (quarantine, folder) = (quarantine.clone(), folder.clone());
        async move {
            let path = folder.path().join(&name);
            std::fs::write(&path, bytes).expect("a file");
            let looked = Plugin::look(&quarantine, PluginBytes::File(path)).await;
            (name, looked.map(|_| ()).map_err(|error| error.code()))
        }
    });
    looking.buffer_unordered(3).collect().await
}

fn assert_typed(looked: Vec<(String, Result<(), Code>)>, refused_at_least: usize) {
    let refused = looked.iter().filter(|(_, looked)| looked.is_err()).count();
    assert!(
        refused >= refused_at_least,
        "only {refused} of {} were refused",
        looked.len()
    );
    for (name, looked) in looked {
        let typed = matches!(looked, Ok(()) | Err(Code::BadPlugin | Code::TooBig));
        assert!(typed, "{name}: {looked:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_with_one_bit_flipped_is_refused_or_still_a_component() {
    let good = forge::plugin(forge::MANIFEST, "");
    let step = (good.len() / 240).max(1);
    let flipped = (0..good.len()).step_by(step).map(|at| {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        (format!("byte-{at}"), bytes)
    });
    let flipped: Vec<_> = flipped.collect();
    assert!(flipped.len() >= 200, "{}", flipped.len());
    assert_typed(look_at(flipped).await, 100);
}

/// One of each that a core module may have.
const FIELDS: &str = "
    (type $t (func (param i32 i64) (result i64)))
    (global $g (mut i32) (i32.const 1))
    (table $s 2 4 funcref)
    (elem (table $s) (i32.const 0) func $f $f)
    (func $f (export \"f\") (type $t) (local i32)
        (block (loop (br_if 1 (i32.eqz (local.get 0)))
            (local.set 2 (i32.add (global.get $g) (i32.const 1)))
            (local.set 0 (i32.sub (local.get 0) (i32.const 1))) (br 0)))
        (call_indirect $s (type $t) (i32.const 0) (local.get 1) (local.get 2)))";

/// One of each type that a component may have.
fn types_beside(n: usize) -> String {
    format!(
        "(type $r{n} (record (field \"a\" u8) (field \"b\" (list string))))
        (type $v{n} (variant (case \"a\" u64) (case \"b\" (tuple char f64)) (case \"c\")))
        (type $f{n} (flags \"a\" \"b\"))
        (type $e{n} (enum \"a\" \"b\"))
        (type $o{n} (option $v{n}))
        (type $w{n} (result $r{n} (error $e{n})))
        (type $c{n} (func (param \"x\" $o{n}) (param \"y\" $f{n}) (result $w{n})))"
    )
}

/// Without a process for each of them, so that there can be many: what the compile process does is the engine's alone.
#[test]
fn ten_thousand_flipped_bits_are_refused_or_still_a_component() {
    const FLIPPED: usize = 10_000;
    let types: String = (0..8).map(types_beside).collect();
    let good = forge::plugin_with(forge::MANIFEST, FIELDS, &types);
    let engine = engine::new(Allocation::OnDemand).expect("an engine");
    let bits = good.len() * 8;
    assert!(bits >= FLIPPED, "{bits} bits");
    let compiles = |bit: usize| {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        check_component(&bytes).is_ok() && engine.precompile_component(&bytes).is_ok()
    };
    let half = |odd: usize| {
        let places = (0..FLIPPED).filter(|place| place % 2 == odd);
        let compiled = places.filter(|place| compiles(place * bits / FLIPPED));
        compiled.count()
    };
    let compiled: usize = std::thread::scope(|scope| {
        let halves = [0, 1].map(|odd| scope.spawn(move || half(odd)));
        halves
            .map(|half| half.join().expect("no panic"))
            .iter()
            .sum()
    });
    println!("{compiled} of {FLIPPED} are still components");
    assert!((1..FLIPPED / 2).contains(&compiled), "{compiled}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_is_cut_off_anywhere_is_refused() {
    let good = forge::plugin(forge::MANIFEST, "");
    let cut = (0..good.len()).step_by(good.len() / 60);
    let cut: Vec<_> = cut
        .map(|at| (format!("length-{at}"), good[..at].to_vec()))
        .collect();
    let count = cut.len();
    assert_typed(look_at(cut).await, count);
    let echo = std::fs::read(target().join("guests/echo.wasm")).expect("`make plugins` builds it");
    let cut = (1..12).map(|part| echo.len() * part / 12);
    let cut: Vec<_> = cut
        .map(|at| (format!("length-{at}"), echo[..at].to_vec()))
        .collect();
    assert_typed(look_at(cut).await, 11);
}
