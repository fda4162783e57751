//! `tools/call`: one call of a client, from its name to its outcome.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ErrorData};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::live::Ears;
use super::session::{Session, refused};
use super::tools::{Offered, RESUME_RUN, Which, told as listed};
use super::{ask, confirm, form, ticket, told};
use crate::guests::tasks::Tasks;
use crate::rules::code_mode::{
    RUN_SCRIPT, SEARCH_TOOLS, answer, fitting, run_script_card, search_args, search_tools_card,
};
use crate::runs::host::{Called, Host};
use crate::runs::left::{Program, Resumed};
use crate::runs::written::Written;
use crate::surfaces::envelope::found;
use crate::surfaces::spot::begun_here;
use crate::surfaces::wish::{self, Answered, Options};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Event, Surface};
use crate::words::id::{RunId, shown};
use crate::words::label::Label;
use crate::words::message::WishedArgs;

/// Where a client says what it asks of one call beside tool and arguments, in the `_meta` of its request.
const OPTIONS: &str = "lazaret/options";

/// One call of a client.
pub(super) struct Call<'a> {
    pub(super) session: &'a Session,
    pub(super) context: &'a RequestContext<RoleServer>,
    pub(super) offered: Arc<Offered>,
    ears: Ears,
    /// What was asked for, as the client wrote it.
    pub(super) name: String,
    pub(super) input: Value,
}

/// Makes a call, whatever comes of it.
pub(super) async fn call(
    session: &Session,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let offered = session.desk.offered().map_err(|error| refused(&error))?;
    let Ok(_place) = session.desk.calls.clone().try_acquire_owned() else {
        let most = session.desk.serving.calls;
        let error = Error::new(Code::Busy, format!("{most} calls are under way already"))
            .hint("wait for one of them; `[mcp_server] calls` says how many may be");
        let name = shown(&offered.host.told_again(&request.name));
        let answered = Answered::refused(&name, Surface::Mcp, &error);
        let most = session.desk.serving.frame_bytes;
        return Ok(told::told(&offered.host, &answered, most).into());
    };
    let token = context.meta.get_progress_token();
    let call = Call {
        session,
        context,
        offered,
        ears: Ears::new(context.peer.clone(), token, session.least(context)),
        name: request.name.into_owned(),
        input: Value::Object(request.arguments.unwrap_or_default()),
    };
    let responses = request.input_responses.unwrap_or_default();
    let answered = match &request.request_state {
        Some(state) if confirm::is_state(state) => {
            match confirm::taken(&call, state, &responses).await? {
                confirm::Asked::Yes => call.make(true).await,
                confirm::Asked::No => return call.tell(&confirm::refused(&call)).await,
                confirm::Asked::Again(response) => return Ok(response),
            }
        }
        Some(state) => match ask::taken(&call, state, &responses).await? {
            ask::Taken::Answered(answered) => answered,
            ask::Taken::Left(response) => return Ok(response),
        },
        None => {
            let answered = call.make(false).await;
            match answered.code {
                Some(Code::Unconfirmed) => match confirm::ask(&call).await {
                    confirm::Asked::Yes => call.make(true).await,
                    confirm::Asked::No => answered,
                    confirm::Asked::Again(response) => return Ok(response),
                },
                Some(_) | None => answered,
            }
        }
    };
    ask::settled(&call, answered).await
}

impl Call<'_> {
    pub(super) fn host(&self) -> &Arc<Host> {
        &self.offered.host
    }

    /// Makes it for the first time, or once its user has confirmed it.
    async fn make(&self, confirmed: bool) -> Answered {
        let made = match self.offered.which(&self.name) {
            Some(Which::Tool(tool)) => self.tool(tool.as_str(), confirmed).await,
            Some(Which::Script) => self.script().await,
            Some(Which::Search) => self.search(),
            Some(Which::Resume) => self.resume().await,
            // It is a wish all the same, and stands on record; what is near it the host says.
            None => self.tool(&shown(&self.name), confirmed).await,
        };
        made.unwrap_or_else(|error| self.refused(&error))
    }

    pub(super) fn refused(&self, error: &Error) -> Answered {
        let name = self.host().told_again(&self.name);
        Answered::refused(&shown(&name), Surface::Mcp, error)
    }

    async fn tool(&self, tool: &str, confirmed: bool) -> Result<Answered> {
        let mut options = self.options()?;
        options.confirm |= confirmed;
        options.client = self.client();
        let host = self.host();
        let (run, tasks) = (host.new_run(), host.tasks());
        let (tool, input, whose) = (tool.to_owned(), self.input.clone(), run.clone());
        let (host, own) = (host.clone(), tasks.clone());
        let work = async move {
            let wished = (tool.as_str(), input);
            wish::call(&host, (whose, Surface::Mcp), wished, &options, &own).await
        };
        Ok(self.under_way(&run, &tasks, work.boxed()).await)
    }

    /// What is asked of the call beside its arguments. A model never types.
    fn options(&self) -> Result<Options> {
        let said = self.context.meta.get(OPTIONS).cloned();
        let options: Options = said
            .map_or(Ok(Options::default()), serde_json::from_value)
            .map_err(|why| {
                Error::bad_input(format!("`_meta.{OPTIONS}`: {}", shown(&why.to_string())))
            })?;
        if options.typed {
            let what =
                format!("`_meta.{OPTIONS}`: `typed` is not for MCP, whose words a model wrote");
            return Err(Error::bad_input(what));
        }
        Ok(options)
    }

    /// Who calls, as it introduces itself: a client that comes back has another session, and sends the same key again.
    fn client(&self) -> String {
        let here = self.context.meta.client_info();
        let said = || self.context.peer.peer_info();
        let name = here.or_else(|| said().map(|info| info.client_info.clone()));
        name.map_or(String::new(), |client| {
            format!("client {}", shown(&client.name))
        })
    }

    fn args(&self) -> WishedArgs {
        WishedArgs::Json(self.input.clone())
    }

    async fn script(&self) -> Result<Answered> {
        let args = fitting(&self.args(), &run_script_card(&[]))?;
        let source = args.get("source").and_then(Value::as_str);
        let program = Program {
            source: source.unwrap_or_default().to_owned(),
            written: Written::Sent,
            with: &[],
        };
        let host = self.host().clone();
        let (run, tasks) = (host.new_run(), host.tasks());
        let (whose, own) = (run.clone(), tasks.clone());
        let work = async move { host.program(whose, Surface::Mcp, program, &own).await };
        let called = self.under_way(&run, &tasks, work.boxed()).await;
        Ok(self.answered(RUN_SCRIPT, called))
    }

    fn search(&self) -> Result<Answered> {
        let host = self.host();
        let rules = host.policy().scripts.search;
        let args = fitting(&self.args(), &search_tools_card(rules))?;
        let query = search_args(&args);
        let tools = listed(host);
        let all: Vec<_> = tools.iter().map(|tool| tool.listed()).collect();
        let text = answer(&all, query, rules)?;
        // Names and descriptions are the words of whoever wrote a plugin.
        let classes = &host.policy().flows.classes;
        let words = classes.of_words(tools.iter().map(|tool| &tool.name));
        let label = Written::Sent.label().join(&words);
        let mut found = json!(text);
        host.fit(&mut found, &label);
        Ok(self.knows(SEARCH_TOOLS, &found, &label))
    }

    fn knows(&self, action: &str, value: &Value, label: &Label) -> Answered {
        Answered {
            envelope: found(action, Surface::Mcp, value, label),
            code: None,
            waits: None,
            artifacts: Vec::new(),
        }
    }

    async fn resume(&self) -> Result<Answered> {
        let run = self.input.get("run").and_then(Value::as_str);
        let run = run.ok_or_else(|| {
            Error::new(Code::BadArgs, "Invalid action input.")
                .hint(format!("{RESUME_RUN} {}", json!({"run": "RUN"})))
        })?;
        let unknown = || Error::not_found(format!("run `{}` of this client", shown(run)));
        let run = ticket::run_of(self.host(), run).ok_or_else(|| {
            unknown().hint("`resume.run` of the answer that said that the call waits, as it is")
        })?;
        self.check_own(&run).await?;
        Ok(self.go_on(&run).await)
    }

    /// Whether a run was begun by a client of MCP: another's is not gone on with from here.
    pub(super) async fn check_own(&self, run: &RunId) -> Result<()> {
        let records = self.host().journal().records(run).await;
        let records = records.unwrap_or_default();
        let first = records.first().map(|first| &first.event);
        match first {
            Some(Event::Started(started)) if started.surface == Surface::Mcp => Ok(()),
            Some(_) | None => {
                let what = format!("run `{}` of a client of MCP", shown(run.as_str()));
                Err(Error::not_found(what))
            }
        }
    }

    /// Goes on with a run that was left; of one that has ended meanwhile, what came of it: a client that did not hear that
    /// asks again, and what it asks for happens no second time.
    pub(super) async fn go_on(&self, run: &RunId) -> Answered {
        let host = self.host();
        if let Some(ended) = host.ended(run).await.transpose() {
            return self.answered(&self.name, ended);
        }
        let tasks = host.tasks();
        let (host, whose, own) = (host.clone(), run.clone(), tasks.clone());
        let work = async move {
            match Box::pin(host.resume(&whose, &own)).await? {
                Resumed::Called(called) => Ok(*called),
                Resumed::Answer(_) => Err(Error::bug("a call that was an agent's run")),
            }
        };
        let called = self.under_way(run, &tasks, work.boxed()).await;
        self.answered(&self.name, called)
    }

    fn answered(&self, action: &str, called: Result<Called>) -> Answered {
        match called {
            Ok(called) => Answered::of(called, Surface::Mcp),
            Err(error) => {
                let action = self.host().told_again(action);
                Answered::refused(&shown(&action), Surface::Mcp, &error)
            }
        }
    }

    /// Does the work of a run: told to whoever listens, and given up when the client takes its request back or goes.
    async fn under_way<T: Send + 'static>(
        &self,
        run: &RunId,
        tasks: &Tasks,
        work: BoxFuture<'static, T>,
    ) -> T {
        let work = begun_here(&self.session.desk.threads, work);
        let work = async {
            let mut work = std::pin::pin!(form::beside(self, run, work));
            tokio::select! {
                biased;
                done = work.as_mut() => return done,
                () = self.given_up() => {}
            }
            tasks.cancel();
            work.await
        };
        let is_tool = matches!(self.offered.which(&self.name), Some(Which::Tool(_)));
        match self.ears.listens(!is_tool) {
            true => self.ears.seeing(self.host(), run, work).await,
            false => work.await,
        }
    }

    /// Returns when nobody waits for the outcome any more.
    pub(super) async fn given_up(&self) {
        tokio::select! {
            () = self.context.ct.cancelled() => {}
            () = self.session.desk.closed() => {}
        }
    }

    /// What the client is told, once nobody has to be asked any more.
    pub(super) async fn tell(&self, answered: &Answered) -> Result<CallToolResponse, ErrorData> {
        // A name that leads nowhere is an error of the protocol, which only says so.
        if self.offered.which(&self.name).is_none() && answered.code == Some(Code::UnknownTool) {
            return Err(told::protocol(answered, &self.offered));
        }
        self.ears.logs(&answered.envelope).await;
        let most = self.session.desk.serving.frame_bytes;
        Ok(told::told(self.host(), answered, most).into())
    }
}
