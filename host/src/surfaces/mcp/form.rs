//! Forms of other servers, passed on: a server whose tool a client has called may ask its user something in the middle of that
//! call, and the answer goes back to that server alone.
//!
//! The form waits on record as any other, and anybody at this machine may fill it first: then the client is told that it is
//! over. The server's words are shown as such. A client of the newest revision cannot be asked in the middle of a call.

use std::time::Duration;

use rmcp::model::{
    CancelledNotificationParam, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, RequestId, ServerRequest,
};
use rmcp::service::PeerRequestOptions;
use serde_json::json;

use super::ask::{Way, way};
use super::call::Call;
use crate::gate::journal::Watcher;
use crate::rules::rendered::fenced;
use crate::rules::server::asked::form_of;
use crate::runs::left::Waiting;
use crate::surfaces::again;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Answer, Event, Sight};
use crate::words::id::{RunId, shown};
use crate::words::inert::visible;
use crate::words::limits::MCP_ASK_ROUNDS;

/// Does the work of a run, and meanwhile passes on to the client's user what servers ask in its middle.
pub(super) async fn beside<T>(call: &Call<'_>, run: &RunId, work: impl Future<Output = T>) -> T {
    if way(call) != Way::Request {
        return work.await;
    }
    let host = call.host();
    let mut watcher = host.watch(run);
    let asking = async {
        loop {
            let waiting = host.next_form(&mut watcher).await;
            put(call, &waiting).await;
        }
    };
    let (mut work, mut asking) = (std::pin::pin!(work), std::pin::pin!(asking));
    tokio::select! {
        biased;
        done = work.as_mut() => done,
        () = asking.as_mut() => work.await,
    }
}

/// Puts one form until its answer fits. One that nobody decides here waits on for whoever does elsewhere.
async fn put(call: &Call<'_>, waiting: &Waiting) {
    let mut wrong = None;
    for _ in 0..MCP_ASK_ROUNDS {
        let Some(form) = form(waiting, wrong.as_ref()) else {
            return;
        };
        let Some(said) = asked(call, waiting, form).await else {
            return;
        };
        match given(call, waiting, said).await {
            Err(error) if error.code() == Code::BadInput => wrong = Some(error),
            Ok(()) | Err(_) => return,
        }
    }
}

/// What a client's user says; nothing where they say nothing, or somebody else was faster.
async fn asked(
    call: &Call<'_>,
    waiting: &Waiting,
    form: ElicitRequestParams,
) -> Option<ElicitResult> {
    let host = call.host();
    let mut watcher = host.watch(&waiting.run);
    let peer = &call.context.peer;
    let now = host.journal().clock().now_ms();
    let left = waiting
        .question
        .until
        .map_or(0, |until| until.saturating_sub(now));
    let limit = Duration::from_millis(left.min(call.session.desk.serving.answer_ms));
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
    let options = PeerRequestOptions::with_timeout(limit);
    let asking = peer.send_cancellable_request(request, options).await.ok()?;
    let id = asking.id.clone();
    tokio::select! {
        said = asking.await_response() => match said {
            Ok(ClientResult::ElicitResult(said)) => Some(said),
            Ok(_) | Err(_) => None,
        },
        () = call.given_up() => None,
        () = settled(&mut watcher, waiting) => {
            over(call, id).await;
            None
        }
    }
}

/// Returns when a question has its answer, or will have none.
async fn settled(watcher: &mut Watcher, waiting: &Waiting) {
    loop {
        let Sight::Record(record) = watcher.next().await else {
            continue;
        };
        if let Event::Answered { question, .. } | Event::Expired { question } = &record.event
            && *question == waiting.question.id
        {
            return;
        }
    }
}

/// Tells a client that nobody waits for its user any more.
async fn over(call: &Call<'_>, id: RequestId) {
    let why = "it was answered elsewhere".to_owned();
    let param = CancelledNotificationParam::new(Some(id), Some(why));
    // A client that is gone need not hear it.
    let _ = call.context.peer.notify_cancelled(param).await;
}

/// Leaves what a client's user has said for the call that waits.
async fn given(call: &Call<'_>, waiting: &Waiting, said: ElicitResult) -> Result<()> {
    let (host, id) = (call.host(), waiting.question.id.as_str());
    if said.action == ElicitationAction::Accept {
        let content = said.content.unwrap_or_else(|| json!({}));
        return host.answer_form(id, content).await.map(|_| ());
    }
    let left = match said.action == ElicitationAction::Decline {
        true => host.answer(id, Answer::Deny).await,
        // Whoever closed a window has decided nothing.
        false => host.dismiss_form(id).await,
    };
    left.map(|_| ())
}

/// A form as a client is asked it, with what was wrong with the answer before.
fn form(waiting: &Waiting, wrong: Option<&Error>) -> Option<ElicitRequestParams> {
    let (source, form) = form_of(&waiting.subject, &waiting.content)?;
    let said = waiting.question.reasons.first()?;
    let mut lines = vec![
        format!(
            "`{}` asks you in the middle of a call. Your answer goes to that server and nowhere else; it is to hold no password and no other secret.",
            shown(source)
        ),
        fenced(&visible(said)),
        format!(
            "in full: {}",
            again::hint(&format!("lazaret ask show {}", waiting.question.id))
        ),
    ];
    lines.extend(wrong.map(|error| fenced(&format!("not taken: {}", error.message()))));
    // One that the protocol has no words for waits for `lazaret ask`.
    let schema = serde_json::from_value::<ElicitationSchema>(form.passed_on()).ok()?;
    Some(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: lines.join("\n"),
        requested_schema: schema,
    })
}
