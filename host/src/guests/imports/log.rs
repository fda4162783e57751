//! `log`: lines and progress, bounded; what is too much is counted and dropped.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::guests::bindings::lazaret::plugin::log::{Host, Level};
use crate::guests::guest::{Errand, Inside, LogLine, Visit};
use crate::rules::json;
use crate::rules::sanitise::visible;
use crate::words::event::Glimpse;
use crate::words::label::Label;
use crate::words::limits::{LOG_BYTES, LOG_LINES};

impl Host for Inside {
    async fn write(&mut self, level: Level, message: String, fields: String) {
        let Errand::Call(visit) = &mut self.errand else {
            return;
        };
        let level = match level {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        let bytes = message.len() + fields.len();
        if !visit.has_room(bytes) {
            return;
        }
        let fields = read_fields(&fields);
        // A line that says so is progress with fields of its own.
        if fields.get("type").is_some_and(|sort| sort == PROGRESS) {
            let percent = fields.get("percent");
            let percent = percent.and_then(|percent| f32::deserialize(percent).ok());
            visit.tell_far((level, &message), percent, fields);
        } else {
            visit.add_line(level, &message, Value::Object(fields));
            visit.tell_line();
        }
    }

    async fn progress(&mut self, message: String, percent: Option<f32>) {
        let Errand::Call(visit) = &mut self.errand else {
            return;
        };
        if !visit.has_room(message.len()) {
            return;
        }
        visit.tell_far(("info", &message), percent, Map::new());
    }
}

/// The `type` of a line that says how far its call has come.
const PROGRESS: &str = "progress";

impl Visit {
    /// Keeps and tells how far the call has come. A percentage that is none is left out.
    fn tell_far(
        &mut self,
        (level, message): (&'static str, &str),
        percent: Option<f32>,
        mut fields: Map<String, Value>,
    ) {
        let percent = percent
            .filter(|percent| percent.is_finite())
            .map(|percent| percent.clamp(0.0, 100.0));
        fields.insert("type".to_owned(), PROGRESS.into());
        match percent {
            Some(percent) => fields.insert("percent".to_owned(), percent.into()),
            None => fields.remove("percent"),
        };
        self.add_line(level, message, Value::Object(fields));
        let Some(line) = self.trail.logs.last() else {
            return;
        };
        let glimpse = Glimpse::Progress {
            of: self.caller.parent,
            tool: self.caller.origin.to_string(),
            message: line.message.clone(),
            percent,
            label: self.influence(),
        };
        self.station.gate.glimpse(&self.caller.run, glimpse);
    }

    /// Tells watchers of the newest line.
    fn tell_line(&self) {
        let Some(line) = self.trail.logs.last() else {
            return;
        };
        let glimpse = Glimpse::Said {
            of: self.caller.parent,
            tool: self.caller.origin.to_string(),
            level: line.level,
            message: line.message.clone(),
            fields: line.fields.as_object().cloned().unwrap_or_default(),
            label: self.influence(),
        };
        self.station.gate.glimpse(&self.caller.run, glimpse);
    }

    /// Who has influence on what the guest says now: whoever wished for the call, and all that it has heard since. What
    /// it says may be what its tool says is secret.
    pub(super) fn influence(&self) -> Label {
        self.caller.label.join(&self.heard.brings(true))
    }

    /// Whether a line of so many bytes is kept; if not, it is counted.
    fn has_room(&mut self, bytes: usize) -> bool {
        let trail = &mut self.trail;
        let room =
            trail.logs.len() < LOG_LINES && trail.log_bytes.saturating_add(bytes) <= LOG_BYTES;
        if room {
            trail.log_bytes += bytes;
        } else {
            trail.logs_dropped += 1;
        }
        room
    }

    fn add_line(&mut self, level: &'static str, message: &str, mut fields: Value) {
        self.station.scrub.clean_value(&mut fields);
        let time = self.station.gate.journal().clock().now_ms();
        let message = visible(&self.station.scrub.clean(message));
        self.trail.logs.push(LogLine {
            level,
            message,
            fields,
            time,
        });
    }
}

/// Fields that are no JSON object are kept as text.
fn read_fields(text: &str) -> Map<String, Value> {
    if text.is_empty() {
        return Map::new();
    }
    match json::parse(text) {
        Ok(Value::Object(map)) => map,
        Ok(_) | Err(_) => Map::from_iter([("text".to_owned(), visible(text).into())]),
    }
}
