//! What a client hears while its call is under way: progress, where it asked for that, and lines of logs.
#![expect(
    deprecated,
    reason = "the newest version of the protocol drops logging, and the clients of today speak the one before"
)]

use std::sync::Mutex;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    LoggingLevel, LoggingMessageNotificationParam, NotificationMetaObject,
    ProgressNotificationParam, ProgressToken,
};
use rmcp::service::Peer;
use serde_json::{Value, json};

use crate::rules::script;
use crate::runs::host::Host;
use crate::words::event::{Glimpse, Sight};
use crate::words::id::RunId;
use crate::words::inert::{one_line, visible};
use crate::words::label::Label;
use crate::words::limits::MCP_LAST_WORDS_MS;
use crate::words::lock::lock;

/// Who hears of one call.
#[derive(Debug)]
pub(super) struct Ears {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    least: Option<LoggingLevel>,
    far: Mutex<Far>,
}

/// How far a call has said it is: the protocol wants a number that grows, whatever a tool says.
#[derive(Debug, Default)]
struct Far {
    last: f64,
    of_hundred: bool,
    begun: bool,
}

/// Between two words of a tool that says the same percentage twice.
const STEP: f64 = 0.01;

impl Far {
    fn next(&mut self, percent: Option<f32>) -> (f64, Option<f64>) {
        let said = percent.map(f64::from);
        self.of_hundred |= said.is_some();
        self.last = match said {
            Some(said) if !self.begun || said > self.last => said,
            Some(_) => self.last + STEP,
            None if self.of_hundred => self.last + STEP,
            None => self.last + 1.0,
        };
        self.begun = true;
        (self.last, self.of_hundred.then_some(100.0))
    }
}

impl Ears {
    pub(super) fn new(
        peer: Peer<RoleServer>,
        token: Option<ProgressToken>,
        least: Option<LoggingLevel>,
    ) -> Self {
        Self {
            peer,
            token,
            least,
            far: Mutex::default(),
        }
    }

    /// Whether anything is told while a call is under way: a tool's logs come with its outcome, a script's lines at once.
    pub(super) fn listens(&self, is_script: bool) -> bool {
        self.token.is_some() || is_script && self.least.is_some()
    }

    /// Does the work, and tells what is seen of its run.
    pub(super) async fn seeing<T>(
        &self,
        host: &Host,
        run: &RunId,
        work: impl Future<Output = T>,
    ) -> T {
        let limit = Duration::from_millis(MCP_LAST_WORDS_MS);
        let mut watcher = host.watch(run);
        let mut work = std::pin::pin!(work);
        let done = loop {
            let sight = tokio::select! {
                biased;
                done = &mut work => break done,
                sight = watcher.next() => sight,
            };
            let mut told = std::pin::pin!(self.hear(host, &sight));
            tokio::select! {
                biased;
                done = &mut work => {
                    // Running out is what the limit is for.
                    let _ = tokio::time::timeout(limit, told).await;
                    break done;
                }
                () = &mut told => {}
            }
        };
        let rest = async {
            while let Some(sight) = watcher.seen().await {
                self.hear(host, &sight).await;
            }
        };
        let _ = tokio::time::timeout(limit, rest).await;
        done
    }

    async fn hear(&self, host: &Host, sight: &Sight) {
        let Sight::Glimpse { glimpse, .. } = sight else {
            return;
        };
        match glimpse {
            Glimpse::Progress {
                tool,
                message,
                percent,
                label,
                ..
            } => {
                if let Some(message) = host.overheard(message, label) {
                    let message = format!("{tool}: {message}");
                    self.progress(&message, *percent, label).await;
                }
            }
            // What a tool says comes with its outcome.
            Glimpse::Said {
                tool,
                level,
                message,
                label,
                ..
            } if tool == script::TOOL => {
                if let Some(message) = host.overheard(message, label) {
                    let said = Value::String(visible(&message));
                    self.log((level, "script"), said, &json!(label)).await;
                }
            }
            Glimpse::Said { .. }
            | Glimpse::Artifact { .. }
            | Glimpse::Missed { .. }
            | Glimpse::Step(_)
            | Glimpse::Text { .. }
            | Glimpse::Thought { .. } => {}
        }
    }

    async fn progress(&self, message: &str, percent: Option<f32>, label: &Label) {
        let Some(token) = &self.token else {
            return;
        };
        let (progress, total) = lock(&self.far).next(percent);
        let mut said = ProgressNotificationParam::new(token.clone(), progress);
        said.total = total;
        // A tool's own words, and a server's: a client shows them to its user, or to its model.
        said.message = Some(one_line(message));
        said.meta = whose(&json!(label));
        // A client that has gone hears nothing.
        let _ = self.peer.notify_progress(said).await;
    }

    /// Tells what a tool has logged, as the envelope has it.
    pub(super) async fn logs(&self, envelope: &Value) {
        let lines = envelope.get("logs").and_then(Value::as_array);
        let action = envelope.pointer("/meta/action").and_then(Value::as_str);
        let label = envelope.pointer("/meta/label").cloned().unwrap_or_default();
        for line in lines.into_iter().flatten() {
            let word = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default();
            let fields = line.get("fields").cloned().unwrap_or_default();
            if fields.get("type").is_some_and(|sort| sort == "progress") {
                continue;
            }
            let said = json!({"message": visible(word("message")), "fields": fields});
            self.log((word("level"), action.unwrap_or_default()), said, &label)
                .await;
        }
    }

    async fn log(&self, (level, who): (&str, &str), said: Value, label: &Value) {
        let level = level_of(level);
        if self.least.is_none_or(|least| rank(level) < rank(least)) {
            return;
        }
        let mut line = LoggingMessageNotificationParam::new(level, said).with_logger(who);
        line.meta = whose(label);
        let _ = self.peer.notify_logging_message(line).await;
    }
}

/// Who had influence on a notice: what it says some client may show to its model.
fn whose(label: &Value) -> Option<NotificationMetaObject> {
    if label.as_array().is_none_or(Vec::is_empty) {
        return None;
    }
    serde_json::from_value(json!({"lazaret/label": label})).ok()
}

fn level_of(word: &str) -> LoggingLevel {
    match word {
        "debug" => LoggingLevel::Debug,
        "warn" => LoggingLevel::Warning,
        "error" => LoggingLevel::Error,
        _ => LoggingLevel::Info,
    }
}

fn rank(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_always_grows() {
        let mut far = Far::default();
        let mut last = -1.0;
        for (said, total) in [
            (Some(0.0), Some(100.0)),
            (Some(50.0), Some(100.0)),
            (Some(10.0), Some(100.0)),
            (None, Some(100.0)),
            (Some(100.0), Some(100.0)),
        ] {
            let (next, of) = far.next(said);
            assert!(next > last, "{said:?}: {next} after {last}");
            assert_eq!(of, total);
            last = next;
        }
        let mut far = Far::default();
        assert_eq!(far.next(None), (1.0, None));
        assert_eq!(far.next(None), (2.0, None));
    }
}
