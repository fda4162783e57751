//! Calls that have to be confirmed: a client confirms in its request, or its user is asked, where it can do that.
//!
//! What is asked is this call with these arguments, all of them, in the host's words. Only a yes confirms; everything
//! else leaves the call as it is, not made. What a client shows with a call that is made again counts once, in this process,
//! and as long as its user has for an answer; after that they are asked anew.

use std::time::Duration;

use rmcp::model::{
    CallToolResponse, ElicitRequest, ElicitResult, ErrorData, InputRequest, InputRequests,
    InputRequiredResult, InputResponses,
};
use serde_json::Value;

use super::ask::{Way, forged, form_of, is_made, mac, put, way};
use super::call::Call;
use super::tools::Which;
use crate::surfaces::question::args_of;
use crate::surfaces::wish::Answered;
use crate::words::error::{Code, Error};
use crate::words::event::{Answer, Surface};
use crate::words::id::{Digest, shown};

/// What the state of a call that is to be confirmed begins with.
const STATE: &str = "confirm.";
const PURPOSE: &str = "state of a call over MCP that is to be confirmed";
/// The name of the one question.
const ASKED: &str = "confirm";

/// What came of asking.
pub(super) enum Asked {
    /// Somebody said yes.
    Yes,
    /// Nobody did.
    No,
    /// The client is to make the call again, with what its user says.
    Again(CallToolResponse),
}

/// Asks a client's user to confirm a call.
pub(super) async fn ask(call: &Call<'_>) -> Asked {
    let (message, answers) = question(call);
    let form = form_of(message, &answers);
    match way(call) {
        Way::None => Asked::No,
        Way::Again => {
            let request = InputRequest::Elicitation(ElicitRequest::new(form));
            let requests: InputRequests = [(ASKED.to_owned(), request)].into_iter().collect();
            let state = state(call);
            Asked::Again(InputRequiredResult::new(Some(requests), Some(state)).into())
        }
        Way::Request => {
            let limit = Duration::from_millis(call.session.desk.serving.answer_ms);
            let peer = &call.context.peer;
            let asking = peer.create_elicitation_with_timeout(form, Some(limit));
            let said = tokio::select! {
                said = asking => said,
                () = call.given_up() => return Asked::No,
            };
            match said.is_ok_and(|said| is_yes(&said, &answers)) {
                true => Asked::Yes,
                false => Asked::No,
            }
        }
    }
}

/// Whether a state is of a call that is to be confirmed.
pub(super) fn is_state(state: &str) -> bool {
    state.starts_with(STATE)
}

/// A new state: of this call, until its user's time is over, and like no other.
fn state(call: &Call<'_>) -> String {
    let clock = call.host().journal().clock();
    let desk = &call.session.desk;
    let (now, most) = (clock.now_ms(), desk.serving.answer_ms);
    let until = now.saturating_add(most);
    let number = desk.open.open((now, until));
    let said = format!("{until}.{number}");
    format!("{STATE}{said}.{}", mac(call, (PURPOSE, &said)))
}

/// What a client's user has said to a call that is made again; asks them anew where that comes too late, or a second
/// time.
pub(super) async fn taken(
    call: &Call<'_>,
    state: &str,
    responses: &InputResponses,
) -> Result<Asked, ErrorData> {
    let state = state.strip_prefix(STATE).ok_or_else(forged)?;
    let (said, made) = state.rsplit_once('.').ok_or_else(forged)?;
    let made = Digest::parse(made).map_err(|_| forged())?;
    if !is_made(call, (PURPOSE, said), &made) {
        return Err(forged());
    }
    let (until, number) = said.split_once('.').ok_or_else(forged)?;
    let (Ok(until), Ok(number)) = (until.parse(), number.parse()) else {
        return Err(forged());
    };
    let now = call.host().journal().clock().now_ms();
    if !call.session.desk.open.take((now, until), number) {
        return Ok(ask(call).await);
    }
    let said = responses.get(ASKED);
    let said = said.and_then(|said| serde_json::from_value::<ElicitResult>(said.clone()).ok());
    let (_, answers) = question(call);
    Ok(match said.is_some_and(|said| is_yes(&said, &answers)) {
        true => Asked::Yes,
        false => Asked::No,
    })
}

/// What a call comes to that its user has not confirmed: it is not made.
pub(super) fn refused(call: &Call<'_>) -> Answered {
    let what = format!(
        "`{}` was not confirmed, so it was not called",
        shown(&call.name)
    );
    let error = Error::new(Code::Unconfirmed, what);
    Answered::refused(&shown(&call.name), Surface::Mcp, &error)
}

fn is_yes(said: &ElicitResult, answers: &[&str]) -> bool {
    super::ask::said(said, answers) == Some(Answer::Allow)
}

/// What a client's user is asked, and may answer.
fn question(call: &Call<'_>) -> (String, Vec<&'static str>) {
    let whole = "the client's own request";
    put(text(call), (vec!["allow", "deny"], whole))
}

/// What is to be confirmed, and why.
fn text(call: &Call<'_>) -> String {
    let name = match call.offered.which(&call.name) {
        Some(Which::Tool(tool)) => tool.to_string(),
        Some(Which::Script | Which::Search | Which::Resume) | None => call.name.clone(),
    };
    let mut lines = vec![format!("Is `{}` to be called?", shown(&name))];
    let tool = call.host().catalog().resolve(&name, &[]);
    if let Ok(tool) = tool {
        let declared = &tool.declared;
        let (effect, risk) = (declared.effect.word(), declared.risk.word());
        lines.push(format!("the tool is {effect}, risk {risk}"));
    }
    lines.push("each call of it has to be confirmed; it is called with:".to_owned());
    if let Value::Object(args) = &call.input {
        lines.extend(args_of(args));
    }
    lines.join("\n")
}
