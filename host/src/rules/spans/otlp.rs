//! OTLP as JSON: how spans are written for a collector (`POST …/v1/traces`).
//!
//! Ids are hexadecimal, numbers of 64 bits are texts, and enumerations are their numbers, as the protocol's own
//! mapping to JSON has it. It is the whole of what we need of it, so no library for protocol buffers is.

use serde_json::{Value as Json, json};

use super::{Attribute, Kind, Moment, Span, Value};

/// The version of the conventions whose names are used.
const SCHEMA: &str = "https://opentelemetry.io/schemas/1.41.0";
/// Who writes.
const SCOPE: &str = "lazaret";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The body of a request that tells a collector of these spans.
#[must_use]
pub fn request(service: &str, spans: &[Span]) -> Json {
    let resource = [
        ("service.name", Value::Text(service.to_owned())),
        ("service.version", Value::Text(VERSION.to_owned())),
    ];
    json!({"resourceSpans": [{
        "resource": {"attributes": attributes(&resource)},
        "scopeSpans": [{
            "scope": {"name": SCOPE, "version": VERSION},
            "spans": spans.iter().map(span).collect::<Vec<_>>(),
            "schemaUrl": SCHEMA,
        }],
        "schemaUrl": SCHEMA,
    }]})
}

/// How many spans a collector says that it has not taken, though it took the request.
#[must_use]
pub fn rejected(answer: &[u8]) -> u64 {
    let Ok(answer) = serde_json::from_slice::<Json>(answer) else {
        return 0;
    };
    let rejected = answer.pointer("/partialSuccess/rejectedSpans");
    match rejected {
        Some(Json::String(text)) => text.parse().unwrap_or(0),
        Some(number) => number.as_u64().unwrap_or(0),
        None => 0,
    }
}

fn span(span: &Span) -> Json {
    let kind = match span.kind {
        Kind::Internal => 1,
        Kind::Client => 3,
    };
    let mut said = json!({
        "traceId": hex(&span.ids.trace),
        "spanId": hex(&span.ids.span),
        "name": span.name,
        "kind": kind,
        "startTimeUnixNano": nanos(span.start_ms),
        "endTimeUnixNano": nanos(span.end_ms),
        "attributes": attributes(&span.attributes),
        "events": span.moments.iter().map(moment).collect::<Vec<_>>(),
        "droppedEventsCount": u32::try_from(span.moments_lost).unwrap_or(u32::MAX),
        // 2 is an error. Its message would be content; `error.type` says which.
        "status": span.failed.as_ref().map_or_else(|| json!({}), |_| json!({"code": 2})),
    });
    if let (Some(parent), Some(said)) = (&span.ids.parent, said.as_object_mut()) {
        said.insert("parentSpanId".to_owned(), hex(parent).into());
    }
    said
}

fn moment(moment: &Moment) -> Json {
    json!({
        "timeUnixNano": nanos(moment.at_ms),
        "name": moment.name,
        "attributes": attributes(&moment.attributes),
    })
}

fn attributes(all: &[Attribute]) -> Vec<Json> {
    let one = |(key, said): &Attribute| json!({"key": key, "value": value(said)});
    all.iter().map(one).collect()
}

fn value(value: &Value) -> Json {
    match value {
        Value::Text(text) => json!({"stringValue": text}),
        Value::Texts(texts) => {
            let texts = texts.iter().map(|text| json!({"stringValue": text}));
            json!({"arrayValue": {"values": texts.collect::<Vec<_>>()}})
        }
        // The protocol knows numbers with a sign.
        Value::Number(number) => {
            json!({"intValue": i64::try_from(*number).unwrap_or(i64::MAX).to_string()})
        }
        Value::Flag(flag) => json!({"boolValue": flag}),
    }
}

fn nanos(ms: u64) -> String {
    ms.saturating_mul(1_000_000).to_string()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_collector_has_not_taken_is_read_from_its_answer() {
        for (answer, expected) in [
            ("{}", 0),
            ("", 0),
            ("[]", 0),
            ("{\"partialSuccess\":{}}", 0),
            ("{\"partialSuccess\":{\"rejectedSpans\":\"3\"}}", 3),
            ("{\"partialSuccess\":{\"rejectedSpans\":4}}", 4),
            ("{\"partialSuccess\":{\"rejectedSpans\":-4}}", 0),
        ] {
            assert_eq!(rejected(answer.as_bytes()), expected, "{answer}");
        }
    }
}
