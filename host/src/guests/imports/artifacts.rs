//! `artifacts`: files that a call hands to whoever called. They stay in the outcome; nothing is
//! written anywhere, so there is no effect to judge.

use serde_json::{Value, json};

use crate::guests::bindings::lazaret::plugin::artifacts::{Artifact as Wish, Host};
use crate::guests::bindings::lazaret::plugin::types::Refusal;
use crate::guests::guest::{Artifact, Inside};
use crate::rules::json;
use crate::words::error::Error;
use crate::words::event::Glimpse;
use crate::words::id::shown;
use crate::words::limits::{ARTIFACT_BYTES, ARTIFACTS};

impl Host for Inside {
    async fn add(&mut self, wish: Wish) -> Result<String, Refusal> {
        let visit = self.visit()?;
        let count = visit.trail.artifacts.len();
        if count >= ARTIFACTS {
            return Err(visit.refuse(&Error::too_many(
                "the list of artifacts",
                ARTIFACTS,
                count + 1,
            )));
        }
        let bytes = visit.trail.artifact_bytes.saturating_add(wish.bytes.len());
        if bytes > ARTIFACT_BYTES {
            return Err(visit.refuse(&Error::too_big(
                "the artifacts together",
                ARTIFACT_BYTES,
                bytes,
            )));
        }
        let mut metadata = match json::parse(&wish.metadata) {
            Ok(Value::Object(map)) => Value::Object(map),
            Ok(_) | Err(_) => json!({}),
        };
        let scrub = &visit.station.scrub;
        scrub.clean_value(&mut metadata);
        // Cleaned before they are cut. Bytes lose secrets only: a path in a file may be what it is about.
        let (name, media_type) = (scrub.clean(&wish.name), scrub.clean(&wish.media_type));
        let (name, media_type) = (shown(&name), shown(&media_type));
        let bytes_clean = scrub.known().clean_bytes(&wish.bytes).unwrap_or(wish.bytes);
        let id = format!("artifact-{}", count + 1);
        let glimpse = Glimpse::Artifact {
            of: visit.caller.parent,
            tool: visit.caller.origin.to_string(),
            id: id.clone(),
            name: name.clone(),
            bytes: bytes_clean.len(),
            label: visit.influence(),
        };
        visit.station.gate.glimpse(&visit.caller.run, glimpse);
        visit.trail.artifact_bytes = bytes;
        visit.trail.artifacts.push(Artifact {
            id: id.clone(),
            name,
            media_type,
            metadata,
            bytes: bytes_clean,
        });
        Ok(id)
    }
}
