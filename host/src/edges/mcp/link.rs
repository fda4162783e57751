//! A link to a server that is up: what it said of its tools, and calls that are under way.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, InputRequiredResult, InputResponses,
    ListResourcesRequest, ListToolsRequest, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequest, ReadResourceRequestParams, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, PeerRequestOptions, RequestHandle,
    RunningService, ServiceError, serve_client_with_lifecycle,
};
use rmcp::transport::IntoTransport;
use serde_json::Value;
use tokio::sync::Mutex;

use super::ear::Ear;
use super::ending::Ending;
use super::login::Logins;
use super::remote::Challenged;
use super::wire::Wire;
use super::{Around, Ask, Desk};
use super::{parts, process};
use crate::rules::server::asked::Want;
use crate::rules::server::definition::{self, Listed};
use crate::rules::server::resources::{self, Act};
use crate::rules::server::{Terms, Way, pin, said};
use crate::words::clock::{Clock, Deadline};
use crate::words::error::{Code, Error, Result};
use crate::words::id::Digest;
use crate::words::limits::servers::SERVER_ROUNDS;
use crate::words::limits::{SERVER_LOOK_MS, SERVER_PAGES, SERVER_TOOLS};

/// A server that is up, or was.
pub(super) struct Link {
    running: Mutex<Option<RunningService<RoleClient, Ear>>>,
    peer: Peer<RoleClient>,
    ear: Ear,
    ending: Arc<Ending>,
    began: Instant,
    offers: Mutex<Offers>,
}

/// What a server says of its tools.
struct Offers {
    listed: Listed,
    digests: BTreeMap<String, Digest>,
    at: Instant,
}

impl Offers {
    fn of(listed: Listed) -> Self {
        Self {
            digests: pin::digests(&listed),
            listed,
            at: Clock::instant(),
        }
    }
}

impl Link {
    /// Starts a server, or connects to it, and asks what it offers, in so much time, which is said to be so many
    /// milliseconds.
    ///
    /// # Errors
    /// `FetchFailed`, `TooSlow`.
    pub(super) async fn open(
        (terms, around): (&Terms, &Around),
        challenged: &Challenged,
        (limit, limit_ms): (Duration, u64),
    ) -> Result<Self> {
        let ending = Arc::new(Ending::default());
        let ear = Ear::new(terms, &around.known);
        let opening = Self::begin((terms, around), ear, (ending.clone(), challenged));
        let opened = tokio::time::timeout(limit, opening).await;
        let opened = opened.unwrap_or_else(|_| {
            let name = &terms.name;
            let what = format!("the start of the server `{name}`");
            Err(Error::too_slow(&what, limit_ms).hint(format!(
                "`start_timeout_ms` in `[mcp.{name}.limits]` says how long it may take"
            )))
        });
        if let Err(error) = &opened {
            ending.end(error.message());
        }
        opened.map_err(|error| match parts::astray(terms, around) {
            Some(part) => error.hint(format!(
                "`{part}` lies beside `lazaret.toml`, and the server runs elsewhere: write its full path, or `folder = \".\"` in \
                 `[mcp.{}]`",
                terms.name
            )),
            None => error,
        })
    }

    async fn begin(
        (terms, around): (&Terms, &Around),
        ear: Ear,
        (ending, challenged): (Arc<Ending>, &Challenged),
    ) -> Result<Self> {
        let running = match &terms.way {
            Way::Program(program) => {
                let process = process::start((terms, program), around, &ear, &ending)?;
                let wire = Wire::new(process, terms.bounds, ear.clone(), ending.clone());
                greet((wire, ClientLifecycleMode::Initialize), &ear, &ending).await?
            }
            Way::Remote(remote) => {
                Logins::of(around).freshen((terms, remote)).await?;
                let desk = (ending.clone(), challenged.clone());
                let desk = Desk::new((terms, remote), around, desk)?;
                let either = (desk.clone().transport(terms), either());
                match greet(either, &ear, &ending).await {
                    // One of an older revision that answers what it does not know with nothing.
                    Err(_) if !ending.is_over() => {
                        let old = (desk.transport(terms), ClientLifecycleMode::Initialize);
                        greet(old, &ear, &ending).await?
                    }
                    greeted => greeted?,
                }
            }
        };
        let peer = running.peer().clone();
        let listed = list(&peer, (&ear, &ending)).await?;
        Ok(Self {
            running: Mutex::new(Some(running)),
            peer,
            ear,
            ending,
            began: Clock::instant(),
            offers: Mutex::new(Offers::of(listed)),
        })
    }

    pub(super) fn is_up(&self) -> bool {
        !self.ending.is_over() && !self.peer.is_transport_closed()
    }

    pub(super) fn why(&self) -> String {
        self.ending.why()
    }

    pub(super) fn age(&self) -> Duration {
        Clock::instant().duration_since(self.began)
    }

    /// What it says of its tools.
    pub(super) async fn listed(&self) -> Listed {
        self.offers.lock().await.listed.clone()
    }

    /// What it says of one tool now, as one name. If it has said that this has changed, it is asked; not more often
    /// than [`SERVER_LOOK_MS`], and until then nothing that it said before counts.
    ///
    /// # Errors
    /// `FetchFailed`, `TooSlow`.
    pub(super) async fn digest_of(&self, tool: &str, deadline: Deadline) -> Result<Option<Digest>> {
        let late = |_| {
            Error::new(
                Code::TooSlow,
                "the server did not say in time what it offers",
            )
        };
        let mut offers = tokio::time::timeout(deadline.rest(), self.offers.lock())
            .await
            .map_err(late)?;
        if self.ear.take_changed() {
            let looked = Clock::instant().duration_since(offers.at);
            let wait = Duration::from_millis(SERVER_LOOK_MS).saturating_sub(looked);
            // Until it has been asked, it stays so.
            self.ear.changed();
            let _ =
                tokio::time::timeout(wait.min(deadline.rest()), std::future::pending::<()>()).await;
            let _ = self.ear.take_changed();
            let listing =
                tokio::time::timeout(deadline.rest(), list(&self.peer, (&self.ear, &self.ending)))
                    .await;
            match listing.map_err(late).and_then(|listed| listed) {
                Ok(listed) => *offers = Offers::of(listed),
                Err(error) => {
                    self.ear.changed();
                    return Err(error);
                }
            }
        }
        Ok(offers.digests.get(tool).copied())
    }

    /// Calls a tool and waits for what comes of it.
    ///
    /// # Errors
    /// `FetchFailed` where the server went away, `GuestFailed` where it says that it cannot, `TooSlow`.
    pub(super) async fn call(&self, ask: Ask<'_>) -> Result<Value> {
        let _heeding = self.ear.heed(&ask.wants);
        let mut more = More::default();
        for _ in 0..SERVER_ROUNDS {
            let request = request_of(&ask, more)?;
            let answer = self.round(&ask, request).await?;
            let ServerResult::InputRequiredResult(wanted) = &answer else {
                return outcome_of(ask.act, &answer);
            };
            if ask.act != Act::Call {
                return Err(no_more());
            }
            more = self.more(&ask, wanted.clone()).await?;
        }
        let what = format!("the server wants more than its arguments, {SERVER_ROUNDS} times over");
        Err(Error::new(Code::GuestFailed, what))
    }

    /// One request of a call, and what the server answers to it.
    async fn round(&self, ask: &Ask<'_>, request: ClientRequest) -> Result<ServerResult> {
        let sending = self
            .peer
            .send_cancellable_request(request, PeerRequestOptions::default());
        let open = |error: Error| match ask.repeatable {
            true => error,
            false => error.in_doubt("it"),
        };
        let late = |_| {
            let what = "the server did not answer in time";
            open(Error::new(Code::TooSlow, what))
        };
        let gone = || open(self.gone().retry(ask.repeatable));
        let handle = tokio::time::timeout(ask.deadline.rest(), sending)
            .await
            .map_err(late)?;
        let handle = handle.map_err(|_| gone())?;
        let _listening = self
            .ear
            .listen(handle.progress_token.clone(), ask.progress.clone());
        let mut waiting = Waiting(Some(handle));
        let answer = tokio::select! {
            biased;
            answer = tokio::time::timeout(ask.deadline.rest(), waiting.answer()) => answer.map_err(late)?,
            () = self.ending.over() => return Err(gone()),
        };
        waiting.0 = None;
        match answer {
            Ok(result) => Ok(result),
            Err(ServiceError::McpError(refused)) => Err(said::failed(&refused.message, |words| {
                self.ear.scrubbed(words)
            })),
            Err(_) => Err(gone()),
        }
    }

    /// What a server is given that says which wishes it has, before it answers: each of them may come true, or none does.
    async fn more(&self, ask: &Ask<'_>, wanted: InputRequiredResult) -> Result<More> {
        let mut given = InputResponses::new();
        for (name, request) in wanted.input_requests.unwrap_or_default() {
            let written = serde_json::to_value(&request).unwrap_or_default();
            let method = written.get("method").and_then(Value::as_str);
            let want = method.and_then(Want::of);
            let want = want.filter(|want| self.ear.offers(*want));
            let (Some(want), Some(wants)) = (want, &ask.wants) else {
                return Err(no_more());
            };
            let params = written.get("params").cloned().unwrap_or_default();
            let asked = tokio::select! {
                asked = wants(want, params) => asked,
                () = self.ending.over() => return Err(self.gone().retry(false)),
            };
            let refused = |error: Error| {
                if error.code() == Code::BadInput {
                    Error::new(Code::GuestFailed, error.message())
                } else {
                    error
                }
            };
            given.insert(name, asked.map_err(refused)?);
        }
        Ok(More {
            given: (!given.is_empty()).then_some(given),
            state: wanted.request_state,
        })
    }

    fn gone(&self) -> Error {
        let what = format!(
            "the server `{}` went away: {}",
            self.ear.server(),
            self.why()
        );
        Error::new(Code::FetchFailed, what)
    }

    /// Ends it, and waits until it has.
    pub(super) async fn end(&self) {
        let running = self.running.lock().await.take();
        self.ending.end("it was ended");
        if let Some(running) = running {
            // However it ends, it has.
            let _ = running.cancel().await;
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.ending.end("it was ended");
    }
}

/// A call that is under way. Dropping it tells the server that nobody waits.
struct Waiting(Option<RequestHandle<RoleClient>>);

impl Waiting {
    async fn answer(&mut self) -> std::result::Result<ServerResult, ServiceError> {
        match &mut self.0 {
            Some(handle) => (&mut handle.rx)
                .await
                .unwrap_or(Err(ServiceError::TransportClosed)),
            None => Err(ServiceError::TransportClosed),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let (Some(handle), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current())
        {
            let cancel = handle.cancel(Some("nobody waits for it".to_owned()));
            // A server that does not read is not waited for.
            runtime.spawn(tokio::time::timeout(
                Duration::from_millis(SERVER_LOOK_MS),
                cancel,
            ));
        }
    }
}

/// A server over HTTP may be of the revision that has no greeting, or of one before it; it says so at once.
fn either() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    }
}

async fn greet<T, E, A>(
    (transport, lifecycle): (T, ClientLifecycleMode),
    ear: &Ear,
    ending: &Ending,
) -> Result<RunningService<RoleClient, Ear>>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let greeted = serve_client_with_lifecycle(ear.clone(), transport, lifecycle).await;
    greeted.map_err(|error| {
        let failed = ending.failed().filter(|_| !ending.is_over());
        let why = match &failed {
            _ if ending.is_over() => ending.why(),
            Some(failed) => ear.clean(failed.message()),
            None => ear.clean(&refusal(&error)),
        };
        let what = format!("the server `{}` did not start: {why}", ear.server());
        let hints = failed.iter().flat_map(Error::hints).cloned();
        let may_pass = failed.as_ref().is_none_or(Error::is_retryable);
        hints.fold(
            Error::new(Code::FetchFailed, what).retry(may_pass),
            Error::hint,
        )
    })
}

/// What a failed beginning means. Texts of the library may hold whole messages, which are left out.
fn refusal(error: &ClientInitializeError) -> String {
    if let ClientInitializeError::JsonRpcError(error) = error {
        return format!("it said: {}", error.message);
    }
    if let ClientInitializeError::ConnectionClosed(_) = error {
        return "it closed the connection".to_owned();
    }
    "it does not speak the protocol".to_owned()
}

/// All tools that a server lists.
async fn list(peer: &Peer<RoleClient>, (ear, ending): (&Ear, &Ending)) -> Result<Listed> {
    let failed = |what: &str| {
        let why = if ending.is_over() {
            ending.why()
        } else {
            what.to_owned()
        };
        Error::new(
            Code::FetchFailed,
            format!("the server did not list its tools: {why}"),
        )
    };
    let (mut entries, mut cursor) = (Vec::new(), None);
    for page in 1..=SERVER_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let request = ListToolsRequest::with_param(params);
        let asking = peer.send_request(ClientRequest::ListToolsRequest(request));
        let answer = tokio::select! {
            biased;
            answer = asking => answer,
            () = ending.over() => return Err(failed("")),
        };
        let mut answer = match answer {
            Ok(answer) => value_of(&answer)?,
            Err(ServiceError::McpError(refused)) => {
                return Err(failed(&ear.clean(&refused.message)));
            }
            Err(_) => return Err(failed("it went away")),
        };
        if let Some(Value::Array(tools)) = answer.get_mut("tools") {
            // Before anything is made of them: a server may repeat what it was given.
            tools.iter_mut().for_each(|tool| ear.clean_value(tool));
            entries.append(tools);
        }
        cursor = answer
            .get("nextCursor")
            .and_then(Value::as_str)
            .map(str::to_owned);
        // One more than is looked at says that there are more.
        if cursor.is_none() || entries.len() > SERVER_TOOLS {
            break;
        }
        // Else what is on the pages that are not read would be missing, and nobody would know.
        if page == SERVER_PAGES {
            return Err(failed(&format!(
                "its list has more than {SERVER_PAGES} pages"
            )));
        }
    }
    let info = peer.peer_info();
    let has_resources = info.is_some_and(|info| info.capabilities.resources.is_some());
    let own = if has_resources {
        resources::tools().to_vec()
    } else {
        Vec::new()
    };
    Ok(definition::read_beside(&entries, own))
}

/// What goes with a call that a server has sent back, beside its arguments.
#[derive(Default)]
struct More {
    given: Option<InputResponses>,
    /// What the server said of where it was: nobody reads it, and it goes back as it came.
    state: Option<String>,
}

/// What is asked for by a call.
fn request_of(ask: &Ask<'_>, more: More) -> Result<ClientRequest> {
    let word = |key: &str| ask.args.get(key).and_then(Value::as_str);
    Ok(match ask.act {
        Act::Call => {
            let Value::Object(args) = ask.args.clone() else {
                return Err(Error::bug("arguments that fit a schema are no object"));
            };
            let mut params = CallToolRequestParams::new(ask.tool.to_owned()).with_arguments(args);
            params.input_responses = more.given;
            params.request_state = more.state;
            ClientRequest::CallToolRequest(CallToolRequest::new(params))
        }
        Act::ListResources => {
            let cursor = word("cursor").map(str::to_owned);
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(params))
        }
        Act::ReadResource => {
            let params = ReadResourceRequestParams::new(word("uri").unwrap_or_default());
            ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
        }
    })
}

/// What came of a call. Nothing else is given for it than its arguments.
fn outcome_of(act: Act, result: &ServerResult) -> Result<Value> {
    let fits = match act {
        Act::Call => matches!(result, ServerResult::CallToolResult(_)),
        Act::ListResources => matches!(result, ServerResult::ListResourcesResult(_)),
        Act::ReadResource => matches!(result, ServerResult::ReadResourceResult(_)),
    };
    if fits {
        return value_of(result).and_then(|said| resources::answer(act, &said));
    }
    if let ServerResult::InputRequiredResult(_) = result {
        return Err(no_more());
    }
    let what = "the server answered with what is no outcome of a call";
    Err(Error::new(Code::BadOutcome, what))
}

fn no_more() -> Error {
    let what = "the server wants more than the arguments, and is given nothing more";
    let hint = "`elicitation` and `sampling` of `[mcp.NAME]` say what it may ask for";
    Error::new(Code::GuestFailed, what).hint(hint)
}

fn value_of(result: &ServerResult) -> Result<Value> {
    serde_json::to_value(result)
        .map_err(|error| Error::new(Code::NotJson, "the server's answer is no JSON").because(error))
}
