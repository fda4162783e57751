//! The ear: what a server says without being asked. Nearly all of it is refused.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rmcp::Service;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientResult, ElicitationCapability, ErrorCode, ErrorData,
    FormElicitationCapability, Implementation, NumberOrString, ProgressToken, SamplingCapability,
    ServerNotification, ServerRequest,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

use crate::rules::scrub::KnownSecrets;
use crate::rules::server::Terms;
use crate::rules::server::asked::Want;
use crate::words::error::{Code, Error, Result as Answered};
use crate::words::id::shown;
use crate::words::limits::servers::SERVER_ASKS;
use crate::words::lock::lock;

/// Notices of progress that are kept for calls of which nobody is told yet.
const EARLY: usize = 16;

/// Whom to tell how a call goes: a sentence, and per cent where they are known.
pub type Progress = Arc<dyn Fn(String, Option<u8>) + Send + Sync>;

/// Who sees to what a server asks for in the middle of one of its calls: the wish with its parameters, and what is sent
/// for it.
pub type Wants = Arc<dyn Fn(Want, Value) -> Wanted + Send + Sync>;

/// What is sent for a wish, once it is there.
pub(super) type Wanted = Pin<Box<dyn Future<Output = Answered<Value>> + Send>>;

/// What one server is heard to say. Cheap to clone.
#[derive(Clone)]
pub(super) struct Ear(Arc<Heard>);

struct Heard {
    server: String,
    known: KnownSecrets,
    /// What it may ask for at all.
    may: ClientCapabilities,
    /// It says that it offers something else by now.
    is_stale: AtomicBool,
    calls: Mutex<Calls>,
    /// Calls under way, in whose middle it may ask for something.
    asked: Mutex<BTreeMap<u64, Underway>>,
    begun: AtomicU64,
    /// As many of its requests as are seen to at once.
    at_once: Semaphore,
}

/// Whom to tell of which call.
#[derive(Default)]
struct Calls {
    all: HashMap<ProgressToken, Progress>,
    /// Told of calls that nobody listens to: a server may be faster than whoever has just asked it.
    early: VecDeque<(ProgressToken, String, Option<u8>)>,
}

/// A call under way, in whose middle the server may ask for something.
struct Underway {
    wants: Wants,
    /// Dropped when the call is over: what was asked for in its middle is no longer wanted.
    over: watch::Sender<()>,
}

/// A call in whose middle the server may ask for something until this is dropped.
pub(super) struct Heeding {
    ear: Ear,
    number: u64,
}

impl Drop for Heeding {
    fn drop(&mut self) {
        lock(&self.ear.0.asked).remove(&self.number);
    }
}

/// A call whose progress is told until this is dropped.
pub(super) struct Listening {
    ear: Ear,
    token: ProgressToken,
}

impl Drop for Listening {
    fn drop(&mut self) {
        lock(&self.ear.0.calls).all.remove(&self.token);
    }
}

impl Ear {
    pub(super) fn new(terms: &Terms, known: &KnownSecrets) -> Self {
        Self(Arc::new(Heard {
            server: terms.name.clone(),
            known: known.clone(),
            may: capabilities(terms),
            is_stale: AtomicBool::new(false),
            calls: Mutex::default(),
            asked: Mutex::default(),
            begun: AtomicU64::new(0),
            at_once: Semaphore::new(SERVER_ASKS),
        }))
    }

    /// The server's name.
    pub(super) fn server(&self) -> &str {
        &self.0.server
    }

    /// It offers something else by now. However often it says so, it is looked at once.
    pub(super) fn changed(&self) {
        self.0.is_stale.store(true, Ordering::Release);
    }

    /// Whether it said so since this was asked last.
    pub(super) fn take_changed(&self) -> bool {
        self.0.is_stale.swap(false, Ordering::AcqRel)
    }

    /// Tells of the progress of the call with this token, from its beginning.
    pub(super) fn listen(&self, token: ProgressToken, progress: Progress) -> Listening {
        let mut calls = lock(&self.0.calls);
        let (own, others) = std::mem::take(&mut calls.early)
            .into_iter()
            .partition::<VecDeque<_>, _>(|(whose, ..)| *whose == token);
        calls.early = others;
        for (_, message, percent) in own {
            progress(message, percent);
        }
        calls.all.insert(token.clone(), progress);
        drop(calls);
        let ear = self.clone();
        Listening { ear, token }
    }

    /// Sees to what the server asks for in the middle of a call that is about to be made: it may ask before it has heard all
    /// of it.
    pub(super) fn heed(&self, wants: &Option<Wants>) -> Option<Heeding> {
        let underway = Underway {
            wants: wants.clone()?,
            over: watch::Sender::new(()),
        };
        let number = self.0.begun.fetch_add(1, Ordering::AcqRel);
        lock(&self.0.asked).insert(number, underway);
        let ear = self.clone();
        Some(Heeding { ear, number })
    }

    /// Who sees to what the server asks for, and until when. A request of an older revision does not say which call it
    /// belongs to: where there is more than one, nobody does.
    fn asker(&self) -> Option<(Wants, watch::Receiver<()>)> {
        let asked = lock(&self.0.asked);
        let mut underway = asked.values();
        match (underway.next(), underway.next()) {
            (Some(one), None) => Some((one.wants.clone(), one.over.subscribe())),
            (Some(_), Some(_)) | (None, _) => None,
        }
    }

    /// What the server is given for a wish in the middle of its only call, until that is over.
    async fn give(&self, want: Want, params: Value) -> Result<Value, ErrorData> {
        let no = |what: &str| ErrorData::new(ErrorCode::INVALID_REQUEST, what.to_owned(), None);
        let Ok(_place) = self.0.at_once.try_acquire() else {
            return Err(no("too much is asked for at once"));
        };
        let Some((wants, mut over)) = self.asker() else {
            return Err(no(
                "there is not exactly one call under way that this could belong to",
            ));
        };
        let given = tokio::select! {
            given = wants(want, params) => given,
            _ = over.changed() => return Err(no("the call is over")),
        };
        given.map_err(|error| told(&error))
    }

    /// How a call goes.
    pub(super) fn progress(
        &self,
        token: &ProgressToken,
        (done, total): (f64, Option<f64>),
        message: &str,
    ) {
        let (message, percent) = (self.clean(message), percent(done, total));
        let mut calls = lock(&self.0.calls);
        if let Some(tell) = calls.all.get(token).cloned() {
            drop(calls);
            tell(message, percent);
            return;
        }
        calls.early.push_back((token.clone(), message, percent));
        if calls.early.len() > EARLY {
            calls.early.pop_front();
        }
    }

    /// A line for whoever reads the log.
    pub(super) fn log(&self, line: &str) {
        let server = &self.0.server;
        tracing::debug!(target: "lazaret::mcp", "{server}: {}", self.clean(line));
    }

    /// Takes what must not be read out of what the server says of a tool.
    pub(super) fn clean_value(&self, said: &mut Value) {
        self.0.known.clean_value(said);
    }

    /// Words of the server on one short line, without what must not be read.
    pub(super) fn clean(&self, text: &str) -> String {
        shown(&self.scrubbed(text))
    }

    /// The same, whole.
    pub(super) fn scrubbed(&self, text: &str) -> String {
        self.0.known.clean(text).unwrap_or_else(|| text.to_owned())
    }

    /// Whether a wish of this kind may come true.
    pub(super) fn offers(&self, want: Want) -> bool {
        match want {
            Want::Form => self.0.may.elicitation.is_some(),
            Want::Reply => self.0.may.sampling.is_some(),
        }
    }

    fn refuse(&self, what: &str) -> ErrorData {
        let (server, what) = (&self.0.server, self.clean(what));
        tracing::info!(target: "lazaret::mcp", "{server}: it asked for `{what}`, which is refused");
        ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            format!("`{what}` is not offered"),
            None,
        )
    }
}

/// What a server may ask for, as it is told.
fn capabilities(terms: &Terms) -> ClientCapabilities {
    let mut may = ClientCapabilities::default();
    if terms.asks.elicitation {
        let form = FormElicitationCapability::new();
        may.elicitation = Some(ElicitationCapability::new().with_form(form));
    }
    may.sampling = terms
        .asks
        .sampling
        .is_some()
        .then(SamplingCapability::default);
    may
}

/// What a server is told where its wish comes to nothing: never more than that it may not, or what was wrong with it.
fn told(error: &Error) -> ErrorData {
    if error.code() == Code::BadInput {
        return ErrorData::new(ErrorCode::INVALID_PARAMS, error.message().to_owned(), None);
    }
    ErrorData::new(ErrorCode::INVALID_REQUEST, "it is not given", None)
}

/// How much of it is done, where that can be said.
fn percent(done: f64, total: Option<f64>) -> Option<u8> {
    let total = total.filter(|total| *total > 0.0)?;
    let percent = (done / total * 100.0).clamp(0.0, 100.0);
    (0..=100u8).rev().find(|known| f64::from(*known) <= percent)
}

impl Service<RoleClient> for Ear {
    /// What a server asks for is refused, all but whether we are there: nobody's model, files or words are its, unless the
    /// operator says so.
    async fn handle_request(
        &self,
        request: ServerRequest,
        _: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        if let ServerRequest::PingRequest(_) = &request {
            return Ok(ClientResult::empty(()));
        }
        // Only its name is told, and never what it brought along.
        let mut written = serde_json::to_value(&request).unwrap_or_default();
        drop(request);
        let params = written.get_mut("params").map(Value::take);
        let params = params.unwrap_or_default();
        let method = written.get("method").and_then(Value::as_str);
        let method = method.unwrap_or("that");
        match Want::of(method).filter(|want| self.offers(*want)) {
            Some(want) => as_result(want, self.give(want, params).await?),
            None => Err(self.refuse(method)),
        }
    }

    async fn handle_notification(
        &self,
        said: ServerNotification,
        _: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        if let ServerNotification::ToolListChangedNotification(_) = &said {
            self.changed();
        }
        if let ServerNotification::ProgressNotification(said) = said {
            let said = said.params;
            let message = said.message.unwrap_or_default();
            self.progress(&said.progress_token, (said.progress, said.total), &message);
        }
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("lazaret", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(self.0.may.clone(), us)
    }
}

impl fmt::Debug for Ear {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Ear({})", self.0.server)
    }
}

/// What is sent, as the library has it.
fn as_result(want: Want, given: Value) -> Result<ClientResult, ErrorData> {
    let result = match want {
        Want::Form => serde_json::from_value(given).map(ClientResult::ElicitResult),
        Want::Reply => serde_json::from_value(given)
            .map(|reply| ClientResult::CreateMessageResult(Box::new(reply))),
    };
    result.map_err(|_| ErrorData::new(ErrorCode::INTERNAL_ERROR, "it cannot be said", None))
}

/// The token of a notice of progress, as it stands in JSON.
pub(super) fn token(value: &serde_json::Value) -> Option<ProgressToken> {
    serde_json::from_value::<NumberOrString>(value.clone())
        .ok()
        .map(ProgressToken)
}

#[cfg(test)]
pub(super) mod tests {
    use std::task::{Context, Waker};

    use super::*;
    use crate::rules::server::{Asks, Bounds, Choice, Program, Way};

    /// What was told: the words, and per cent.
    type Heard = (String, Option<u8>);
    /// A request that is seen to.
    type Waits<'a> = Pin<Box<dyn Future<Output = Result<Value, ErrorData>> + 'a>>;

    /// The ear of a server, which knows these secrets.
    pub(in crate::edges::mcp) fn ear(known: &KnownSecrets) -> Ear {
        let terms = Terms {
            name: "mail".to_owned(),
            way: Way::Program(Program {
                command: Vec::new(),
                env: BTreeMap::new(),
                path: String::new(),
                folder: None,
                beside: std::path::PathBuf::new(),
                data: Vec::new(),
            }),
            choice: Choice::default(),
            bounds: Bounds::default(),
            asks: Asks::default(),
            login: Default::default(),
        };
        Ear::new(&terms, known)
    }

    /// Each that waits is kept for as long as whoever answers takes.
    #[tokio::test]
    async fn what_a_server_asks_for_at_once_is_bounded() {
        let ear = ear(&KnownSecrets::default());
        let never: Wants = Arc::new(|_, _| Box::pin(std::future::pending()));
        let _heeding = ear.heed(&Some(never));
        let asks = || -> Waits<'_> { Box::pin(ear.give(Want::Form, Value::Null)) };
        let mut waiting: Vec<_> = (0..SERVER_ASKS).map(|_| asks()).collect();
        let mut context = Context::from_waker(Waker::noop());
        let mut waits = |one: &mut Waits<'_>| one.as_mut().poll(&mut context).is_pending();
        assert!(waiting.iter_mut().all(&mut waits));
        let refused = asks().await.expect_err("there are too many");
        assert_eq!(refused.message, "too much is asked for at once");
        waiting.pop();
        let mut next = asks();
        assert!(waits(&mut next));
    }

    #[test]
    fn the_name_of_a_wish_is_cleaned_before_it_is_cut() {
        let known = KnownSecrets::default();
        known.learn(b"canary-7f3a9c-wired");
        let ear = ear(&known);
        for before in 100..120 {
            let name = format!("{}canary-7f3a9c-wired", "x".repeat(before));
            let refused = ear.refuse(&name);
            assert!(!refused.message.contains("can"), "{}", refused.message);
        }
    }

    #[test]
    fn a_server_that_is_faster_than_its_caller_is_heard() {
        let ear = ear(&KnownSecrets::default());
        let token = |number: i64| ProgressToken(NumberOrString::Number(number));
        for number in 0..20 {
            ear.progress(&token(number), (1.0, Some(4.0)), "a quarter");
        }
        let told = |number: i64| {
            let heard: Arc<Mutex<Vec<Heard>>> = Arc::default();
            let hears = heard.clone();
            let tell = move |message, percent| lock(&hears).push((message, percent));
            let listening = ear.listen(token(number), Arc::new(tell));
            ear.progress(&token(number), (2.0, Some(4.0)), "a half");
            drop(listening);
            std::mem::take(&mut *lock(&heard))
        };
        let half = ("a half".to_owned(), Some(50));
        let quarter = ("a quarter".to_owned(), Some(25));
        assert_eq!(told(19), [quarter, half.clone()]);
        assert_eq!(told(19), std::slice::from_ref(&half), "it is told once");
        assert_eq!(told(0), [half], "what is kept is bounded");
    }
}
