//! `log`: lines and progress, bounded; what is too much is counted and dropped.

use serde_json::{Value, json};

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
        if visit.has_room(bytes) {
            visit.add_line(level, &message, read_fields(&fields));
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
        let percent = percent
            .filter(|percent| percent.is_finite())
            .map(|percent| percent.clamp(0.0, 100.0));
        let glimpse = Glimpse::Progress {
            of: visit.caller.parent,
            tool: visit.caller.origin.to_string(),
            message: visible(&visit.station.scrub.clean(&message)),
            percent,
            label: visit.influence(),
        };
        visit
            .station
            .gate
            .journal()
            .glimpse(&visit.caller.run, glimpse);
        visit.add_line(
            "info",
            &message,
            json!({"type": "progress", "percent": percent}),
        );
    }
}

impl Visit {
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
        let journal = self.station.gate.journal();
        journal.glimpse(&self.caller.run, glimpse);
    }

    /// Who has influence on what the guest says now: whoever wished for the call, and all that it has heard since.
    fn influence(&self) -> Label {
        self.caller.label.join(&self.heard.label())
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
fn read_fields(text: &str) -> Value {
    if text.is_empty() {
        return json!({});
    }
    match json::parse(text) {
        Ok(Value::Object(map)) => Value::Object(map),
        Ok(_) | Err(_) => json!({"text": visible(text)}),
    }
}
