//! Answers: JSON, and the failure envelope with the status of its code.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response as Answer};
use serde::Serialize;

use crate::surfaces::envelope::refused;
use crate::words::error::{Code, Error};
use crate::words::event::Surface;
use crate::words::inert::inert_json;

/// What became of a request.
pub(super) type Answered = Result<Answer, Failed>;

/// What a failure of the server itself is called.
const SERVER_ERROR: &str = "DEV_SERVER_ERROR";

/// Why a request is not done.
#[derive(Debug)]
pub(super) struct Failed {
    error: Error,
    /// What was asked for, as the envelope names it.
    action: String,
    /// The status, where it is not that of the code.
    status: Option<StatusCode>,
    /// When the same may be asked again, in milliseconds.
    after_ms: Option<u64>,
}

impl Failed {
    /// The same with another status: HTTP knows more of them than there are codes.
    pub(super) fn status(mut self, status: StatusCode) -> Self {
        self.status = Some(status);
        self
    }

    /// The same with the time after which it may be asked again.
    pub(super) fn after_ms(mut self, after_ms: u64) -> Self {
        self.after_ms = Some(after_ms);
        self
    }

    /// The same, with a name for what was asked for.
    pub(super) fn of(mut self, action: &str) -> Self {
        action.clone_into(&mut self.action);
        self
    }

    /// Why.
    pub(super) fn error(&self) -> &Error {
        &self.error
    }

    /// The status that it is answered with.
    pub(super) fn shown_status(&self) -> StatusCode {
        self.status.unwrap_or_else(|| status_of(self.error.code()))
    }

    /// Its `Retry-After`, in whole seconds.
    pub(super) fn retry_after(&self) -> Option<HeaderValue> {
        let busy = matches!(self.error.code(), Code::Busy | Code::RateLimited);
        let after_ms = self.after_ms.or(busy.then_some(1_000))?;
        Some(HeaderValue::from(after_ms.div_ceil(1_000).max(1)))
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self {
            error,
            action: "http".to_owned(),
            status: None,
            after_ms: None,
        }
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Answer {
        let mut envelope = refused(&self.action, Surface::Http, &self.error);
        // A mistake of the server's own, and of no tool (row A-26).
        if let (Code::Bug, Some(code)) = (self.error.code(), envelope.pointer_mut("/error/code")) {
            *code = SERVER_ERROR.into();
        }
        let mut answer = json(self.shown_status(), &envelope);
        if let Some(after) = self.retry_after() {
            answer.headers_mut().insert(RETRY_AFTER, after);
        }
        answer
    }
}

/// The status of a failure.
pub(super) fn status_of(code: Code) -> StatusCode {
    StatusCode::from_u16(code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// A JSON value. Hidden characters are escaped, since some clients print it as it is.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    let text = inert_json(serde_json::to_string(value).unwrap_or_default());
    let mut answer = Answer::new(Body::from(text));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    let json = HeaderValue::from_static("application/json");
    headers.insert(CONTENT_TYPE, json);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(X_CONTENT_TYPE_OPTIONS, nosniff);
    answer
}

/// A JSON value of what is well.
pub(super) fn ok(value: &impl Serialize) -> Answered {
    Ok(json(StatusCode::OK, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    async fn told(failed: Failed) -> (u16, serde_json::Value) {
        let answer = failed.into_response();
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.expect("a body");
        let envelope = serde_json::from_slice(&body.to_bytes()).expect("JSON");
        (status, envelope)
    }

    #[tokio::test]
    async fn a_failure_of_the_server_itself_is_told_as_one() {
        let (status, envelope) = told(super::super::shown::lost()).await;
        assert_eq!(
            (status, &envelope["error"]["code"]),
            (500, &SERVER_ERROR.into())
        );
        assert_eq!(envelope["error"]["kind"], "bug");
        let (status, envelope) = told(Error::not_found("such address").into()).await;
        assert_eq!(
            (status, &envelope["error"]["code"]),
            (404, &"NOT_FOUND".into())
        );
    }
}
