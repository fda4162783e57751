//! Traces: spans of all runs of this process, told to the collector that the operator named.
//!
//! No run waits for it. Spans are folded from records as they are appended and queued within a bound; a thread of its
//! own sends them, batch by batch. What does not fit, and what nobody takes, is dropped and counted. Each request
//! goes the way of any other: a `Fetch` by the host, judged by the operator's own line, through egress with its
//! checks of addresses. The record that its permit stands on is kept in a journal of its own, which is forgotten with
//! the batch: what was sent follows from the records of the runs themselves, and with which secrets stands at each one's
//! beginning. What tells of runs must not be one.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread;

use tokio::sync::Notify;

use super::host::{Places, Setup};
use super::provider::{Model, Provider};
use super::rest;
use crate::edges::egress::{Answer, Egress};
use crate::edges::vault::Vault;
use crate::gate::Gate;
use crate::gate::journal::{Journal, Onlooker};
use crate::rules::caller::{Caller, Origin};
use crate::rules::grant::Grant;
use crate::rules::policy::Policy;
use crate::rules::scrub;
use crate::rules::spans::collector::{Collector, SERVICE, Told, again_after_ms};
use crate::rules::spans::{Models, Served, Span, Trace, otlp};
use crate::words::clock::{Clock, Deadline};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Event, Record, TracedWith};
use crate::words::id::RunId;
use crate::words::key::HostKey;
use crate::words::limits::SPAN_RUNS;
use crate::words::lock::lock;

/// Tells a collector what happens. Dropping it sends what is left, within a bound.
pub(super) struct Traces {
    shared: Arc<Shared>,
    secrets: Vec<TracedWith>,
    thread: Option<thread::JoinHandle<()>>,
}

/// What became of spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    /// Taken by the collector.
    pub sent: u64,
    /// Lost: the queue was full, or nobody took them.
    pub lost: u64,
}

struct Shared {
    state: Mutex<State>,
    /// There are spans to be sent, or no more will come.
    news: Notify,
    /// No more will come.
    closed: Notify,
    models: Models,
    queue_spans: usize,
}

#[derive(Default)]
struct State {
    runs: HashMap<RunId, Trace>,
    queue: VecDeque<Span>,
    /// Spans of the request under way.
    in_flight: usize,
    traced: Traced,
    /// Why spans were lost for the first time, until that is said.
    unsaid: Option<String>,
    is_closed: bool,
}

/// What a collector would be told of a run with these records.
#[must_use]
pub fn written(setup: &Setup, records: &[Record]) -> String {
    let collector = setup.places.collector.as_ref();
    let service = collector.map_or(SERVICE, |collector| &collector.service);
    let spans = Trace::of(records, served(&setup.models));
    otlp::request(service, &spans).to_string()
}

/// What stands behind the names of these models.
fn served(models: &BTreeMap<String, Model>) -> Models {
    let served = |(name, model): (&String, &Model)| {
        let (provider, known) = match &model.provider {
            Provider::Scripted { .. } => ("scripted", name),
            Provider::Remote(remote) => (remote.wire.provider(), &remote.model),
        };
        let served = Served {
            provider,
            model: known.clone(),
            window_tokens: model.window.tokens,
        };
        (name.clone(), served)
    };
    Arc::new(models.iter().map(served).collect())
}

impl Traces {
    /// Looks on at `journal`, and tells the collector that is named; nobody, where none is.
    ///
    /// # Errors
    /// `Bug` where no thread can be had.
    pub(super) fn open(
        places: &Places,
        (vault, known): (&Vault, &scrub::KnownSecrets),
        models: &BTreeMap<String, Model>,
        journal: &Journal,
    ) -> Result<Option<Self>> {
        let Some(collector) = places.collector.clone() else {
            return Ok(None);
        };
        let egress = Egress::new(&places.names, vault.clone(), known.clone());
        Self::start(collector, egress, served(models), journal).map(Some)
    }

    /// Looks on at `journal`, and tells the collector.
    ///
    /// # Errors
    /// `Bug` where no thread can be had.
    fn start(
        collector: Collector,
        egress: Egress,
        models: Models,
        journal: &Journal,
    ) -> Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            news: Notify::new(),
            closed: Notify::new(),
            models,
            queue_spans: collector.pace.queue_spans,
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::bug("no runtime could be made for traces").because(error))?;
        let secrets = collector.secrets();
        let sender = Sender {
            grant: Arc::new(collector.grant()),
            policy: Arc::new(Policy::nothing("[traces]")),
            key: journal.key().clone(),
            shared: shared.clone(),
            collector,
            egress,
        };
        let work = move || {
            runtime.block_on(sender.until_closed());
            // A look-up of a name that does not end is nobody's to wait for.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("traces".to_owned()).spawn(work);
        let thread = thread
            .map_err(|error| Error::bug("the thread of traces did not start").because(error))?;
        journal.show_all(shared.clone());
        Ok(Self {
            shared,
            secrets,
            thread: Some(thread),
        })
    }

    /// The secrets with which the collector is told.
    pub(super) fn secrets(&self) -> Vec<TracedWith> {
        self.secrets.clone()
    }

    pub(super) fn traced(&self) -> Traced {
        lock(&self.shared.state).traced
    }
}

impl fmt::Debug for Traces {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Traces")
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        lock(&self.shared.state).is_closed = true;
        self.shared.news.notify_one();
        self.shared.closed.notify_one();
        if let Some(thread) = self.thread.take() {
            // Its own deadline is `flush_ms`.
            let _ = thread.join();
        }
    }
}

impl Onlooker for Shared {
    fn see(&self, record: &Record) {
        let mut state = lock(&self.state);
        if state.is_closed {
            return;
        }
        // What a copy of a run begins with was told of the run that it is a copy of.
        if matches!(&record.event, Event::Started(started) if started.forked.is_none()) {
            let trace = Trace::new(&record.run, self.models.clone());
            state.begin(&record.run, trace);
        }
        // Calls that are no runs of their own have no trace.
        let Some(trace) = state.runs.get_mut(&record.run) else {
            return;
        };
        let spans = trace.see(record);
        // A run that is left may be taken up by anybody; then it is folded anew.
        if matches!(record.event, Event::Stopped(_) | Event::Paused { .. }) {
            state.runs.remove(&record.run);
        }
        for span in spans {
            if state.queue.len() < self.queue_spans {
                state.queue.push_back(span);
            } else {
                state.lose(1, "more spans wait than `queue_spans` of `[traces]`");
            }
        }
        if !state.queue.is_empty() {
            drop(state);
            self.news.notify_one();
        }
    }

    /// Whoever went on with the run before has told what was over by then.
    fn taken_up(&self, records: &[Record]) {
        let Some(first) = records.first() else {
            return;
        };
        let mut trace = Trace::new(&first.run, self.models.clone());
        for record in records {
            let _ = trace.see(record);
        }
        lock(&self.state).begin(&first.run, trace);
    }

    fn let_go(&self, run: &RunId) {
        lock(&self.state).runs.remove(run);
    }
}

impl State {
    fn begin(&mut self, run: &RunId, trace: Trace) {
        if self.runs.len() < SPAN_RUNS || self.runs.contains_key(run) {
            self.runs.insert(run.clone(), trace);
        } else {
            self.lose(1, "more runs go on at once than are followed");
        }
    }

    /// Spans are lost, which is said once, by the thread that sends them.
    fn lose(&mut self, spans: usize, why: &str) {
        if self.traced.lost == 0 && spans > 0 {
            self.unsaid = Some(why.to_owned());
        }
        let spans = u64::try_from(spans).unwrap_or(u64::MAX);
        self.traced.lost = self.traced.lost.saturating_add(spans);
    }
}

/// The thread's own side.
struct Sender {
    collector: Collector,
    egress: Egress,
    grant: Arc<Grant>,
    policy: Arc<Policy>,
    key: HostKey,
    shared: Arc<Shared>,
}

impl Sender {
    /// Sends until no more spans come, and what is left then for no longer than `flush_ms`.
    async fn until_closed(&self) {
        tokio::select! {
            () = self.send_all() => {}
            () = self.flushed() => {}
        }
        let mut state = lock(&self.shared.state);
        let left = state.queue.len() + state.in_flight;
        state.queue.clear();
        let why = "the process ended before they were sent (`flush_ms` of `[traces]`)";
        state.lose(left, why);
        drop(state);
        self.say();
    }

    fn say(&self) {
        let unsaid = lock(&self.shared.state).unsaid.take();
        if let Some(why) = unsaid {
            tracing::warn!(target: "lazaret::traces", "spans are lost, said once: {why}");
        }
    }

    async fn flushed(&self) {
        self.shared.closed.notified().await;
        let clock = Clock::system();
        let flush_ms = self.collector.pace.flush_ms;
        rest::until(&clock, clock.now_ms().saturating_add(flush_ms)).await;
    }

    async fn send_all(&self) {
        while let Some(batch) = self.batch().await {
            let spans = batch.len();
            let sent = self.send(&batch).await;
            let mut state = lock(&self.shared.state);
            state.in_flight = 0;
            let rejected = match sent {
                Ok(rejected) => usize::try_from(rejected).unwrap_or(usize::MAX).min(spans),
                Err(_) => spans,
            };
            let taken = u64::try_from(spans.saturating_sub(rejected)).unwrap_or(u64::MAX);
            state.traced.sent = state.traced.sent.saturating_add(taken);
            match sent {
                Ok(_) => state.lose(rejected, "the collector has rejected some"),
                Err(error) => state.lose(spans, error.message()),
            }
            drop(state);
            self.say();
        }
    }

    /// The next spans to be sent: as many as go into one request, or those that have waited long enough; nothing when
    /// there are none and no more come.
    async fn batch(&self) -> Option<Vec<Span>> {
        let pace = &self.collector.pace;
        let mut due = None;
        loop {
            let news = self.shared.news.notified();
            {
                let mut state = lock(&self.shared.state);
                let is_due = due.is_some_and(|due: Deadline| due.rest().is_zero());
                if state.is_closed && state.queue.is_empty() {
                    return None;
                }
                if state.is_closed || is_due || state.queue.len() >= pace.batch_spans {
                    let spans = state.queue.len().min(pace.batch_spans);
                    state.in_flight = spans;
                    return Some(state.queue.drain(..spans).collect());
                }
                if due.is_none() && !state.queue.is_empty() {
                    due = Some(Deadline::after_ms(pace.batch_ms));
                }
            }
            match due {
                Some(due) => {
                    let _ = tokio::time::timeout(due.rest(), news).await;
                }
                None => news.await,
            }
        }
    }

    /// Tells the collector of these spans; how many it has not taken.
    ///
    /// # Errors
    /// Why none was taken.
    async fn send(&self, spans: &[Span]) -> Result<u64> {
        let body = otlp::request(&self.collector.service, spans).to_string();
        let pace = &self.collector.pace;
        let clock = Clock::system();
        for attempt in 1.. {
            let (error, told) = match self.post(body.clone().into_bytes()).await {
                Ok(answer) => match Told::of(answer.status) {
                    Told::Taken => return Ok(otlp::rejected(&answer.body)),
                    told @ (Told::Later | Told::Never) => (refused(answer.status), told),
                },
                Err(error) if is_passing(&error) => (error, Told::Later),
                Err(error) => (error, Told::Never),
            };
            let after_ms = again_after_ms(attempt, pace.attempts);
            match after_ms.filter(|_| told == Told::Later) {
                Some(ms) => rest::until(&clock, clock.now_ms().saturating_add(ms)).await,
                None => return Err(error),
            }
        }
        Err(Error::bug("a request without an end"))
    }

    async fn post(&self, body: Vec<u8>) -> Result<Answer> {
        let clock = Clock::system();
        let journal = Journal::in_memory(clock.clone(), self.key.clone())?;
        let gate = Gate::new(self.policy.clone(), journal);
        let deadline = Deadline::after_ms(self.collector.pace.timeout_ms);
        let within = (self.grant.clone(), deadline);
        let caller = Caller::apart(RunId::new(&clock), Origin::Host, within);
        let fetch = self.collector.request(body)?;
        let send = async |permit| self.egress.send(permit, deadline).await;
        gate.pass(&caller, fetch, send).await?.performed.result
    }
}

fn refused(status: u16) -> Error {
    let what = format!("the collector answered with status {status}");
    Error::new(Code::FetchFailed, what)
}

/// Whether the same request may be taken later: the collector was not reached, or took too long.
fn is_passing(error: &Error) -> bool {
    matches!(error.code(), Code::FetchFailed | Code::TooSlow) && error.is_retryable()
}
