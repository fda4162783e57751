//! A completion piece by piece: what the model says as it says it, and the answer of the run.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::Response as Answer;
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;

use super::super::answer::{Answered, Failed};
use super::super::shown::lost;
use super::super::site::Site;
use super::Course;
use super::told::{Refused, Told};
use crate::rules::rendered::Pieces;
use crate::words::event::{Event, Glimpse, Sight};
use crate::words::inert::inert_json;
use crate::words::limits::SERVE_PULSE_MS;

/// A stream under way.
struct Stream {
    course: Option<Course>,
    with_usage: bool,
    id: String,
    agent: String,
    at_s: u64,
    /// What was said in the turn under way, as it was told.
    turn: String,
    /// Whether anything was told before that.
    is_later: bool,
    /// All that was said, where what leads somewhere waits for the end; nothing where it is told as it is.
    pieces: Option<Pieces>,
    _seat: OwnedSemaphorePermit,
}

/// The answer, as a stream.
pub(super) fn answer(site: &Site, course: Course, with_usage: bool) -> Answered {
    let stream = Stream {
        with_usage,
        id: format!("chatcmpl-{}", course.run),
        agent: course.agent.clone(),
        at_s: course.host.journal().clock().now_ms() / 1_000,
        turn: String::new(),
        is_later: false,
        pieces: course.markdown.pieces(),
        course: Some(course),
        _seat: site.feeds().seat()?,
    };
    let pieces = stream::unfold(stream, async |mut stream| {
        let bytes = stream.piece().await?;
        Some((Ok::<_, Infallible>(bytes), stream))
    });
    let mut answer = Answer::new(Body::from_stream(pieces));
    let headers = answer.headers_mut();
    let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
    headers.insert(CONTENT_TYPE, kind);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(X_CONTENT_TYPE_OPTIONS, nosniff);
    Ok(answer)
}

fn event(value: &Value) -> String {
    format!("data: {}\n\n", inert_json(value.to_string()))
}

impl Stream {
    /// The next piece; nothing once all is said.
    async fn piece(&mut self) -> Option<Bytes> {
        loop {
            let course = self.course.as_mut()?;
            let pulse = Duration::from_millis(SERVE_PULSE_MS);
            let next = async {
                tokio::select! {
                    biased;
                    sight = course.watcher.next() => Ok(sight),
                    answer = &mut course.work => Err(answer.ok().flatten()),
                }
            };
            let sight = match tokio::time::timeout(pulse, next).await {
                Err(_) => return Some(Bytes::from_static(b": here\n\n")),
                Ok(Ok(sight)) => sight,
                Ok(Err(answer)) => {
                    let rest = self.rest().await;
                    let Course {
                        host, run, agent, ..
                    } = self.course.take()?;
                    let told = match answer {
                        Some(answer) => Told::of(&host, run, agent, answer).await,
                        None => return Some(failure(lost())),
                    };
                    return Some(match told {
                        Ok(told) => self.end(rest, &told),
                        Err(error) => failure(error.into()),
                    });
                }
            };
            let said = self.said(sight).unwrap_or_default();
            let text = self.inert(said);
            if !text.is_empty() {
                return Some(self.chunk(&json!({"content": text}), None).into());
            }
        }
    }

    /// What was said after the last look.
    async fn rest(&mut self) -> String {
        let mut rest = String::new();
        while let Some(course) = self.course.as_mut()
            && let Some(sight) = course.watcher.seen().await
        {
            rest.push_str(&self.said(sight).unwrap_or_default());
        }
        rest
    }

    /// What a sight adds to the answer.
    fn said(&mut self, sight: Sight) -> Option<String> {
        match sight {
            Sight::Record(record) => {
                // Another turn, or another model in place of one that failed.
                if matches!(record.event, Event::Prompted { .. }) {
                    self.is_later |= !self.turn.is_empty();
                    self.turn.clear();
                }
                None
            }
            Sight::Glimpse { glimpse, .. } => match glimpse {
                Glimpse::Text { text } => {
                    let parted = self.is_later && self.turn.is_empty();
                    self.turn.push_str(&text);
                    Some(if parted { format!("\n\n{text}") } else { text })
                }
                Glimpse::Step(_)
                | Glimpse::Thought { .. }
                | Glimpse::Progress { .. }
                | Glimpse::Missed { .. }
                | Glimpse::Said { .. }
                | Glimpse::Artifact { .. } => None,
            },
        }
    }

    /// What can be told of what was said.
    fn inert(&mut self, said: String) -> String {
        match &mut self.pieces {
            Some(pieces) => pieces.push(&said),
            None => said,
        }
    }

    /// What was not told when a run has come to this, after so much that was said.
    fn left(&mut self, mut rest: String, told: &Told) -> String {
        let more = told.text.strip_prefix(self.turn.as_str());
        match (more, &mut self.pieces) {
            // Whoever wished for it has no part in the question.
            (_, Some(pieces)) if told.waits() => {
                let mut text = pieces.push(&rest);
                text.push_str(&pieces.close());
                return text + &told.text;
            }
            (Some(more), _) => rest.push_str(more),
            (None, _) => rest.push_str(&format!("\n\n{}", told.text)),
        }
        let mut text = self.inert(rest);
        text.push_str(&self.pieces.as_mut().map(Pieces::end).unwrap_or_default());
        text
    }

    /// The end: what of the answer was not told, why it ends, and what it took.
    fn end(&mut self, rest: String, told: &Told) -> Bytes {
        let text = self.left(rest, told);
        let mut all = String::new();
        if !text.is_empty() {
            all.push_str(&self.chunk(&json!({"content": text}), None));
        }
        let mut last = self.value(&json!({}), Some("stop"));
        if let Some(fields) = last.as_object_mut() {
            fields.insert("lazaret".to_owned(), told.beside());
        }
        all.push_str(&event(&last));
        if self.with_usage {
            let mut usage = self.value(&json!({}), None);
            if let Some(fields) = usage.as_object_mut() {
                fields.insert("choices".to_owned(), json!([]));
                fields.insert("usage".to_owned(), told.usage());
            }
            all.push_str(&event(&usage));
        }
        all.push_str("data: [DONE]\n\n");
        all.into()
    }

    fn chunk(&self, delta: &Value, finish: Option<&str>) -> String {
        event(&self.value(delta, finish))
    }

    fn value(&self, delta: &Value, finish: Option<&str>) -> Value {
        let mut delta = delta.clone();
        if let Some(fields) = delta.as_object_mut() {
            fields.insert("role".to_owned(), "assistant".into());
        }
        json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.at_s,
            "model": self.agent,
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
        })
    }
}

fn failure(failed: Failed) -> Bytes {
    format!("{}data: [DONE]\n\n", event(&Refused(failed).value())).into()
}
