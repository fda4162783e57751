//! What the host says in its log of components and servers that it refuses: all of it, for the whole program of tests.

use std::fmt::{Debug, Write};
use std::sync::{Mutex, Once, PoisonError};

use lazaret::words::error::Code;
use lazaret::words::id::Digest;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Where it says so.
const TARGETS: [&str; 2] = ["lazaret::plugin", "lazaret::mcp"];

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Listens from now on.
///
/// # Panics
/// Where somebody else listens.
pub fn begin() {
    static BEGUN: Once = Once::new();
    BEGUN
        .call_once(|| tracing::subscriber::set_global_default(Heard).expect("nobody else listens"));
}

/// Whether the component of this digest, or the server of this identity, was refused with this code; a component that is
/// too big to be read has no digest.
#[must_use]
pub fn refused(code: Code, digest: Digest) -> bool {
    let said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let code = format!("code={:?} ", code.word());
    let digests = [format!("digest={digest} "), "digest=none ".to_owned()];
    said.iter()
        .any(|line| line.contains(&code) && digests.iter().any(|digest| line.contains(digest)))
}

struct Heard;

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, "{}={value:?} ", field.name());
    }
}

impl Subscriber for Heard {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        TARGETS.contains(&about.target()) && about.is_event()
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        said.push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
