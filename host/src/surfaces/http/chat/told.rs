//! What a client is told, in OpenAI's words.

use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response as Answer};
use serde_json::{Value, json};

use super::super::answer::{Failed, json as answer_of};
use super::super::runs;
use crate::rules::rendered::rendered;
use crate::runs::host::Host;
use crate::runs::left::Readable;
use crate::surfaces::{again, listed, question, wish};
use crate::words::error::{Code, Error, Result};
use crate::words::id::RunId;
use crate::words::message::Usage;

/// A failure in OpenAI's form.
pub(super) struct Refused(pub(super) Failed);

impl Refused {
    /// Its body.
    pub(super) fn value(&self) -> Value {
        let error = self.0.error();
        let sort = match self.0.shown_status().as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            400..=499 => "invalid_request_error",
            _ => "server_error",
        };
        let mut message = error.message().to_owned();
        for hint in error.hints() {
            message.push_str(&format!("\nhint: {}", again::hint(hint)));
        }
        json!({"error": {
            "message": rendered(&message),
            "type": sort,
            "param": null,
            "code": error.code(),
        }})
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Answer {
        let mut answer = answer_of(self.0.shown_status(), &self.value());
        if let Some(after) = self.0.retry_after() {
            answer.headers_mut().insert(RETRY_AFTER, after);
        }
        answer
    }
}

/// What a run has come to.
pub(super) struct Told {
    pub(super) run: RunId,
    pub(super) agent: String,
    /// The answer; or what the run waits for, in words.
    pub(super) text: String,
    /// The questions it waits for; nothing where it is done.
    questions: Vec<Value>,
    at_s: u64,
    usage: Usage,
}

impl Told {
    /// Of a run that has come to this.
    ///
    /// # Errors
    /// How it failed.
    pub(super) async fn of(
        host: &Host,
        run: RunId,
        agent: String,
        answer: Result<String>,
    ) -> Result<Self> {
        let (text, questions) = match answer {
            Ok(text) => (text, Vec::new()),
            Err(error) if error.code() == Code::Asked => {
                let waiting = wish::waiting(host, &run).await?;
                let readable: Vec<Readable> = waiting.iter().map(Readable::by_person).collect();
                let questions = readable.iter().map(listed::readable).collect();
                (asks(&run, &readable), questions)
            }
            Err(error) => return Err(about(&run, error)),
        };
        let usage = runs::usage(&host.journal().records(&run).await?);
        Ok(Self {
            run,
            agent,
            text,
            questions,
            at_s: host.journal().clock().now_ms() / 1_000,
            usage,
        })
    }

    /// As one whole.
    pub(super) fn completion(&self) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.run),
            "object": "chat.completion",
            "created": self.at_s,
            "model": self.agent,
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": self.text, "refusal": null},
                "logprobs": null,
                "finish_reason": "stop",
            }],
            "usage": self.usage(),
            "lazaret": self.beside(),
        })
    }

    /// Tokens of the run, all turns together.
    pub(super) fn usage(&self) -> Value {
        let (read, written) = (self.usage.input_tokens, self.usage.output_tokens);
        json!({
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read.saturating_add(written),
        })
    }

    /// Whether it waits for a person; then its text is the host's own.
    pub(super) fn waits(&self) -> bool {
        !self.questions.is_empty()
    }

    /// What OpenAI has no words for.
    pub(super) fn beside(&self) -> Value {
        let state = match self.waits() {
            true => "waiting",
            false => "done",
        };
        json!({"run": self.run, "state": state, "questions": self.questions})
    }
}

/// The run is where what happened can be read.
fn about(run: &RunId, error: Error) -> Error {
    error.hint(format!("lazaret runs show {run}"))
}

/// What a run waits for, in words. What is to be done is somebody else's words: nobody has agreed to it yet, so it is shown
/// letter by letter.
fn asks(run: &RunId, waiting: &[Readable]) -> String {
    let mut text = format!("The run {run} waits for a person's answer.\n");
    for one in waiting {
        let id = &one.waiting.question.id;
        let name = id.as_str();
        let allow = format!(
            "To allow it: lazaret ask allow {id}, or POST /v1/questions/{name} with {{\"answer\": \"allow\"}}."
        );
        let look = format!(
            "To read all of it, and how it is answered: lazaret ask show {id}, or GET /v1/questions/{name}."
        );
        let deny = format!(
            "To deny it: lazaret ask deny {id}, or POST /v1/questions/{name} with {{\"answer\": \"deny\"}}."
        );
        let next = question::Next { allow, look, deny };
        let told = question::told(one, waiting.len(), next);
        text.push_str(&format!("\n{told}\n"));
    }
    text
}
