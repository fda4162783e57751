//! What came of calls and scripts, as an answer.

use axum::http::StatusCode;
use axum::response::Response as Answer;

use super::answer::{Failed, json, status_of};
use crate::runs::host::Host;
use crate::surfaces::wish::{self, Answered};
use crate::words::error::Error;

/// An envelope; one that waits for a person says for whose answer.
pub(super) async fn envelope(
    host: &Host,
    answered: Answered,
) -> std::result::Result<Answer, Failed> {
    let Answered {
        mut envelope,
        code,
        waits,
        artifacts: _,
    } = answered;
    if let (Some(run), Some(fields)) = (waits, envelope.as_object_mut()) {
        let questions = wish::questions(host, &run).await?;
        fields.insert("questions".to_owned(), questions.into());
    }
    let status = code.map_or(StatusCode::OK, status_of);
    Ok(json(status, &envelope))
}

/// Work that was lost with its task.
pub(super) fn lost() -> Failed {
    Error::bug("the work panicked, or the server ended").into()
}
