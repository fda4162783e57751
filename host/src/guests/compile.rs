//! Compiling: in a process of its own, which limits itself before it looks at the component.
//!
//! A component from outside may be made to keep the compiler busy or to exhaust its memory; then that
//! process ends, and this one says so.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::Semaphore;
use wasmtime::component::Component;

use super::engine::{self, Allocation};
use crate::words::error::{Code, Error, Result};
use crate::words::id::shown;
use crate::words::limits::{
    ARTIFACT_CODE_BYTES, COMPILE_CPU_SECONDS, COMPILE_MEMORY_BYTES, COMPILE_TIMEOUT_MS,
    COMPILES_AT_ONCE, COMPONENT_BYTES,
};

/// The hidden command by which the host starts itself as a compile process.
pub const COMMAND: &str = "compile-component";
/// Bytes of the compile process's own words that are looked at.
const WORDS_BYTES: u64 = 4_096;

/// Starts compile processes, few at a time.
#[derive(Clone, Debug)]
pub struct Compiler {
    program: PathBuf,
    at_once: Arc<Semaphore>,
    bounds: CompileBounds,
}

/// What compiling one component may take.
#[derive(Clone, Copy, Debug)]
pub struct CompileBounds {
    /// Address space of the process.
    pub memory_bytes: u64,
    /// Its processor time.
    pub cpu_seconds: u64,
    /// Its wall time.
    pub timeout_ms: u64,
}

impl Default for CompileBounds {
    /// The most that there is.
    fn default() -> Self {
        Self {
            memory_bytes: COMPILE_MEMORY_BYTES,
            cpu_seconds: COMPILE_CPU_SECONDS,
            timeout_ms: COMPILE_TIMEOUT_MS,
        }
    }
}

impl Compiler {
    /// A compiler that starts `program`, which must be a `lazaret`.
    #[must_use]
    pub fn new(program: &Path) -> Self {
        Self {
            program: program.to_owned(),
            at_once: Arc::new(Semaphore::new(COMPILES_AT_ONCE)),
            bounds: CompileBounds::default(),
        }
    }

    /// The same within less.
    #[must_use]
    pub fn within(mut self, bounds: CompileBounds) -> Self {
        let most = CompileBounds::default();
        self.bounds = CompileBounds {
            memory_bytes: bounds.memory_bytes.min(most.memory_bytes),
            cpu_seconds: bounds.cpu_seconds.min(most.cpu_seconds),
            timeout_ms: bounds.timeout_ms.min(most.timeout_ms),
        };
        self
    }

    /// Compiles a component.
    ///
    /// # Errors
    /// `BadPlugin` for what is no valid component, `TooBig`, `TooSlow`, `OutOfMemory` for what takes too much.
    pub async fn compile(&self, component: &[u8]) -> Result<Vec<u8>> {
        check_component(component)?;
        let _turn = self
            .at_once
            .acquire()
            .await
            .map_err(|_| Error::bug("the compiler was closed"))?;
        let limit = Duration::from_millis(self.bounds.timeout_ms);
        let compiled = tokio::time::timeout(limit, self.compile_now(component)).await;
        compiled.unwrap_or_else(|_| {
            let what = "compiling the component";
            Err(Error::too_slow(what, self.bounds.timeout_ms))
        })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this file owns the compile process"
    )]
    async fn compile_now(&self, component: &[u8]) -> Result<Vec<u8>> {
        let failed =
            |error: std::io::Error| Error::bug("the compile process failed").because(error);
        let mut process = Command::new(&self.program)
            .arg(COMMAND)
            .arg(self.bounds.memory_bytes.to_string())
            .arg(self.bounds.cpu_seconds.to_string())
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                let what = format!(
                    "the compile process `{}` cannot be started",
                    self.program.display()
                );
                Error::bug(what).because(error)
            })?;
        let (Some(mut input), Some(output), Some(words)) = (
            process.stdin.take(),
            process.stdout.take(),
            process.stderr.take(),
        ) else {
            return Err(Error::bug("the compile process has no pipes"));
        };
        let write = async {
            // A process that has given up reads no further, and says why.
            let _ = input.write_all(component).await;
            drop(input);
        };
        let most = u64::try_from(ARTIFACT_CODE_BYTES).unwrap_or(u64::MAX);
        let (mut output, mut words) = (output.take(most), words.take(WORDS_BYTES));
        let (mut code, mut said) = (Vec::new(), Vec::new());
        let ((), read, heard) = tokio::join!(
            write,
            output.read_to_end(&mut code),
            words.read_to_end(&mut said)
        );
        read.map_err(failed)?;
        heard.map_err(failed)?;
        let status = process.wait().await.map_err(failed)?;
        if status.success() {
            return Ok(code);
        }
        let said = String::from_utf8_lossy(&said);
        Err(explain(status, &said, self.bounds))
    }
}

/// Signals by which people and systems ask a program to end: SIGHUP, SIGINT, SIGQUIT, SIGTERM.
const ASKED: [i32; 4] = [1, 2, 3, 15];

fn explain(status: std::process::ExitStatus, said: &str, bounds: CompileBounds) -> Error {
    use std::os::unix::process::ExitStatusExt;
    const XCPU: i32 = 24;
    if status.code() == Some(i32::from(BAD_COMPONENT)) {
        return Error::bad_plugin(format!("not a valid component: {}", shown(said.trim())));
    }
    if status.signal() == Some(XCPU) {
        return Error::new(
            Code::TooSlow,
            format!(
                "compiling took more than {} s of processor time",
                bounds.cpu_seconds
            ),
        );
    }
    if let Some(signal) = status.signal().filter(|signal| ASKED.contains(signal)) {
        let what = format!("compiling was ended from outside, by signal {signal}");
        return Error::new(Code::Cancelled, what).hint("do it again: it begins anew");
    }
    let mib = bounds.memory_bytes >> 20;
    if said.contains("memory allocation") {
        let what = format!("compiling took more than {mib} MiB");
        return Error::new(Code::OutOfMemory, what);
    }
    if let Some(signal) = status.signal() {
        let what = format!(
            "compiling was ended by signal {signal}, as it is where memory runs out; it may take {mib} MiB"
        );
        return Error::new(Code::OutOfMemory, what);
    }
    Error::bug("the compile process failed").because(anyhow::anyhow!("{status}: {said}"))
}

/// What can be said before compiling: size, and the first eight bytes.
///
/// # Errors
/// `TooBig`, `BadPlugin` with what the bytes are instead.
pub fn check_component(bytes: &[u8]) -> Result<()> {
    if bytes.len() > COMPONENT_BYTES {
        return Err(Error::too_big(
            "the component",
            COMPONENT_BYTES,
            bytes.len(),
        ));
    }
    match bytes.get(..8) {
        Some(b"\0asm\x0d\0\x01\0") => Ok(()),
        Some(b"\0asm\x01\0\0\0") => Err(Error::bad_plugin(
            "this is a core module, and a plugin is a component",
        )
        .hint("build it for `wasm32-wasip2`, or wrap it with `wasm-tools component new`")),
        Some(start) if start.starts_with(b"\0asm") => Err(Error::bad_plugin(
            "this is wasm of a version that is not known here",
        )),
        Some(start) if start.starts_with(b"\x7fELF") => Err(Error::bad_plugin(
            "this is native code, which is never accepted from outside",
        )),
        Some(_) | None => {
            Err(Error::bad_plugin("this is no wasm component").hint("a plugin is one `.wasm` file"))
        }
    }
}

/// Exit status of the compile process for a component that is not valid.
const BAD_COMPONENT: u8 = 10;

/// The compile process: limits itself to so many bytes and seconds, and to no more than the host allows; reads a
/// component, writes its code. Returns its exit status.
#[must_use]
pub fn child(
    (memory_bytes, cpu_seconds): (u64, u64),
    input: &mut dyn std::io::Read,
    output: &mut dyn std::io::Write,
    words: &mut dyn std::io::Write,
) -> u8 {
    if let Err(error) = limit_self(memory_bytes, cpu_seconds) {
        // There is nobody to tell but the pipe.
        let _ = write!(words, "cannot limit itself: {error}");
        return 1;
    }
    let mut component = Vec::new();
    let most = u64::try_from(COMPONENT_BYTES).unwrap_or(u64::MAX);
    let read = std::io::Read::read_to_end(&mut std::io::Read::take(input, most), &mut component);
    let engine = engine::new(Allocation::OnDemand);
    let (Ok(_), Ok(engine)) = (read, engine) else {
        return 1;
    };
    match engine.precompile_component(&component) {
        Ok(code) => u8::from(output.write_all(&code).is_err()),
        Err(error) => {
            // As above.
            let _ = write!(words, "{error:#}");
            BAD_COMPONENT
        }
    }
}

fn limit_self(memory_bytes: u64, cpu_seconds: u64) -> rustix::io::Result<()> {
    let limit = |most: u64| Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    let cpu_seconds = cpu_seconds.min(COMPILE_CPU_SECONDS);
    setrlimit(Resource::As, limit(memory_bytes.min(COMPILE_MEMORY_BYTES)))?;
    // At the first the system says why it ends the process, at the second it does not.
    let processor = Rlimit {
        current: Some(cpu_seconds),
        maximum: Some(cpu_seconds + 1),
    };
    setrlimit(Resource::Cpu, processor)?;
    setrlimit(Resource::Core, limit(0))?;
    setrlimit(Resource::Fsize, limit(0))?;
    setrlimit(Resource::Nofile, limit(32))
}

/// Names what a component wants or lacks that is not of our world: interface and both versions.
///
/// # Errors
/// `BadPlugin`.
pub fn check_world(component: &Component, engine: &wasmtime::Engine) -> Result<()> {
    const OURS: &str = "lazaret:plugin/";
    const INTERFACES: [&str; 7] = [
        "types",
        "log",
        "artifacts",
        "fetch",
        "files",
        "notes",
        "call",
    ];
    const VERSION: &str = "0.1.0";
    let world = component.component_type();
    for (name, _) in world.imports(engine) {
        let (interface, version) = name.split_once('@').unwrap_or((name, "no version"));
        match interface.strip_prefix(OURS) {
            Some(known) if INTERFACES.contains(&known) && version == VERSION => {}
            Some(known) if INTERFACES.contains(&known) => return Err(other_version(name, version)),
            Some(_) => return Err(unknown_import(name)),
            None if interface.starts_with("wasi:") && version.starts_with("0.2.") => {}
            None => return Err(unknown_import(name)),
        }
    }
    let exports: Vec<&str> = world.exports(engine).map(|(name, _)| name).collect();
    if exports.contains(&"lazaret:plugin/tool@0.1.0") {
        return Ok(());
    }
    match exports
        .iter()
        .find_map(|name| Some((name, name.strip_prefix("lazaret:plugin/tool@")?)))
    {
        Some((name, version)) => Err(other_version(name, version)),
        None => Err(Error::bad_plugin(format!(
            "the component does not export `lazaret:plugin/tool@{VERSION}`; it exports {}",
            if exports.is_empty() {
                "nothing".to_owned()
            } else {
                shown(&exports.join(", "))
            }
        ))
        .hint("a plugin is written with `lazaret-sdk`, or against `wit/plugin.wit`")),
    }
}

fn other_version(name: &str, version: &str) -> Error {
    Error::bad_plugin(format!(
        "the component speaks `{}` of version {}, and this host speaks version 0.1.0",
        shown(name.split('@').next().unwrap_or(name)),
        shown(version)
    ))
    .hint("build it against the SDK of this version")
}

fn unknown_import(name: &str) -> Error {
    Error::bad_plugin(format!(
        "the component wants `{}`, which this host does not have",
        shown(name)
    ))
    .hint("a plugin may import `lazaret:plugin` and WASI 0.2")
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn whoever_ends_the_compiler_is_not_told_of_memory() {
        let bounds = CompileBounds {
            memory_bytes: 4 << 20,
            cpu_seconds: 7,
            timeout_ms: 1,
        };
        for (signal, said, code, says) in [
            (2, "", Code::Cancelled, "ended from outside, by signal 2"),
            (15, "", Code::Cancelled, "ended from outside, by signal 15"),
            (24, "", Code::TooSlow, "more than 7 s"),
            (
                6,
                "memory allocation of 9 bytes failed",
                Code::OutOfMemory,
                "took more than 4 MiB",
            ),
            (
                9,
                "",
                Code::OutOfMemory,
                "signal 9, as it is where memory runs out",
            ),
        ] {
            let error = explain(ExitStatus::from_raw(signal), said, bounds);
            assert_eq!(error.code(), code, "{error}");
            assert!(error.message().contains(says), "{error}");
        }
    }
}
