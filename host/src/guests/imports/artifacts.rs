//! `artifacts`: files that a call hands to whoever called. They stay in the outcome; nothing is
//! written anywhere, so there is no effect to judge.

use serde_json::{Value, json};

use crate::guests::bindings::lazaret::plugin::artifacts::{Artifact as Wish, Host};
use crate::guests::bindings::lazaret::plugin::types::Refusal;
use crate::guests::guest::{Artifact, Inside, Trail};
use crate::rules::json;
use crate::words::error::{Error, Result};
use crate::words::event::Glimpse;
use crate::words::id::shown;
use crate::words::limits::unread::{ARTIFACT_METADATA_BYTES, ARTIFACT_NAME_BYTES};
use crate::words::limits::{ARTIFACT_BYTES, ARTIFACTS};

impl Host for Inside {
    async fn add(&mut self, wish: Wish) -> Result<String, Refusal> {
        let visit = self.visit()?;
        let bytes = check_room(&visit.trail, &wish).map_err(|error| visit.refuse(&error))?;
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
        let id = format!("artifact-{}", visit.trail.artifacts.len() + 1);
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

/// What all artifacts of a call take with one more. Nothing of it has been looked through by then, and of what was said of it
/// nothing read.
fn check_room(trail: &Trail, wish: &Wish) -> Result<usize> {
    let count = trail.artifacts.len();
    if count >= ARTIFACTS {
        let what = "the list of artifacts";
        return Err(Error::too_many(what, ARTIFACTS, count + 1));
    }
    let parts = [
        ("the name of an artifact", &wish.name, ARTIFACT_NAME_BYTES),
        (
            "the media type of an artifact",
            &wish.media_type,
            ARTIFACT_NAME_BYTES,
        ),
        (
            "the metadata of an artifact",
            &wish.metadata,
            ARTIFACT_METADATA_BYTES,
        ),
    ];
    let mut bytes = trail.artifact_bytes.saturating_add(wish.bytes.len());
    for (what, text, most) in parts {
        if text.len() > most {
            return Err(Error::too_big(what, most, text.len()));
        }
        bytes = bytes.saturating_add(text.len());
    }
    if bytes > ARTIFACT_BYTES {
        let what = "the artifacts together";
        return Err(Error::too_big(what, ARTIFACT_BYTES, bytes));
    }
    Ok(bytes)
}
