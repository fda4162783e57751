//! What came of calls and scripts, as an answer.

use axum::http::StatusCode;
use axum::response::Response as Answer;

use super::answer::{Failed, json, status_of};
use crate::runs::host::Host;
use crate::surfaces::wish::{self, Answered};
use crate::words::error::Error;
use crate::words::event::Surface;

/// An envelope; one that waits for a person says for whose answer, as far as whoever called may read that.
pub(super) async fn envelope(
    host: &Host,
    answered: Answered,
    surface: Surface,
) -> std::result::Result<Answer, Failed> {
    let Answered {
        mut envelope,
        code,
        waits,
        artifacts: _,
    } = answered;
    if let (Some(run), Some(fields)) = (waits, envelope.as_object_mut()) {
        let questions = wish::questions_for(host, &run, surface).await?;
        fields.insert("questions".to_owned(), questions.into());
    }
    let status = code.map_or(StatusCode::OK, status_of);
    Ok(json(status, &envelope))
}

/// Work that was lost with its task.
pub(super) fn lost() -> Failed {
    Error::bug("the work panicked, or the server ended").into()
}
