//! `notes`: the shelf of the guest's own plugin.

use std::sync::Arc;

use crate::edges;
use crate::gate::denied;
use crate::guests::bindings::lazaret::plugin::notes::{Host, Note};
use crate::guests::bindings::lazaret::plugin::types::{Code, Refusal};
use crate::guests::guest::Inside;
use crate::guests::station::Station;
use crate::rules::caller::Origin;
use crate::rules::keep::{Keep, KeepWish};
use crate::words::error;

impl Host for Inside {
    async fn put(&mut self, key: String, text: String) -> Result<(), Refusal> {
        let label = self.visit()?.wisher().written();
        self.keep(key, KeepWish::Put { text, label })
            .await
            .map(|_| ())
    }

    async fn get(&mut self, key: String) -> Result<Note, Refusal> {
        self.keep(key, KeepWish::Get)
            .await?
            .pop()
            .ok_or_else(|| Refusal {
                code: Code::NotFound,
                message: "there is no such note".to_owned(),
                retryable: false,
            })
    }

    async fn list(&mut self, prefix: String, limit: u32) -> Result<Vec<Note>, Refusal> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.keep(prefix, KeepWish::List { limit }).await
    }

    async fn search(&mut self, query: String, limit: u32) -> Result<Vec<Note>, Refusal> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.keep(query, KeepWish::Search { limit }).await
    }

    async fn delete(&mut self, key: String) -> Result<(), Refusal> {
        let label = self.visit()?.wisher().written();
        self.keep(key, KeepWish::Delete { label }).await.map(|_| ())
    }
}

impl Inside {
    async fn keep(&mut self, key: String, wish: KeepWish) -> Result<Vec<Note>, Refusal> {
        let visit = self.visit()?;
        let station = visit.station.clone();
        let shelf = match &visit.caller.origin {
            Origin::Tool(tool) => tool.plugin().to_owned(),
            Origin::Client | Origin::Model | Origin::Host | Origin::Script => String::new(),
        };
        let keep = Keep { shelf, key, wish };
        let perform =
            |station: Arc<Station>, permit, _| async move { station.notes.perform(permit).await };
        let notes = self.hand_over(move || fit(&station, keep), perform).await?;
        Ok(notes.into_iter().map(note).collect())
    }
}

/// A wish that is no longer than may be, which is looked at before it is looked through. What is kept of it has no secrets: a
/// note outlives the run, and whoever opens the file reads it.
fn fit(station: &Station, mut keep: Keep) -> error::Result<Keep> {
    let policy = station.gate.policy();
    let sized = keep.check_size();
    sized.map_err(|denial| denied(&denial, policy))?;
    if let KeepWish::Put { text, .. } = &mut keep.wish {
        let known = station.scrub.known();
        if let Some(clean) = known.clean(text) {
            *text = clean;
        }
        if let Some(clean) = known.clean(&keep.key) {
            keep.key = clean;
        }
    }
    Ok(keep)
}

fn note(note: edges::notes::Note) -> Note {
    Note {
        key: note.key,
        text: note.text,
        written_ms: note.written_ms,
    }
}
