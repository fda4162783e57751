//! WASI with nothing in it: no files, no network, no environment, no arguments; a coarse clock,
//! bounded random, and output that is caught.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, async_trait};

use crate::rules::scrub::{Scrub, Trickle};
use crate::words::clock::Clock;
use crate::words::limits::{RANDOM_BYTES, STDIO_BYTES};
use crate::words::lock::lock;

/// What a guest wrote to its standard output and error.
#[derive(Clone, Debug, Default)]
pub(super) struct Output(Arc<Mutex<Caught>>);

#[derive(Debug, Default)]
struct Caught {
    bytes: Vec<u8>,
    dropped: u64,
}

impl Output {
    /// What was kept, as text free of what `scrub` knows, with a note on what was dropped.
    pub(super) fn text(&self, scrub: &Scrub) -> String {
        let caught = lock(&self.0);
        let text = String::from_utf8_lossy(&caught.bytes);
        let mut text = if caught.dropped > 0 {
            // What is cut in two is not recognised.
            Trickle::new(scrub).add(&text)
        } else {
            scrub.clean(&text)
        };
        if caught.dropped > 0 {
            text.push_str(&format!("\n[{} bytes more were dropped]", caught.dropped));
        }
        text
    }

    /// Whether nothing was written.
    pub(super) fn is_empty(&self) -> bool {
        lock(&self.0).bytes.is_empty()
    }
}

/// A WASI context of nothing.
pub(super) fn nothing(output: &Output, clock: &Clock) -> WasiCtx {
    let mut builder = WasiCtx::builder();
    builder
        .stdout(output.clone())
        .stderr(output.clone())
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .max_random_size(RANDOM_BYTES)
        .wall_clock(Coarse(clock.clone()))
        .monotonic_clock(Since(Clock::instant()));
    builder.build()
}

/// The host's clock in whole milliseconds.
struct Coarse(Clock);

impl HostWallClock for Coarse {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.0.now_ms())
    }
}

/// Milliseconds since the guest began: nothing to measure neighbours with.
struct Since(std::time::Instant);

impl HostMonotonicClock for Since {
    fn resolution(&self) -> u64 {
        1_000_000
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis())
            .unwrap_or(u64::MAX / 1_000_000)
            .saturating_mul(1_000_000)
    }
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

/// Never blocks and never fails: what is too much is counted and dropped.
#[async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for Output {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let mut caught = lock(&self.0);
        let room = STDIO_BYTES
            .saturating_sub(caught.bytes.len())
            .min(bytes.len());
        caught.bytes.extend(bytes.iter().take(room));
        caught.dropped += u64::try_from(bytes.len() - room).unwrap_or(0);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(STDIO_BYTES)
    }
}
