//! `notes`: the shelf of the guest's own plugin.

use crate::edges;
use crate::guests::bindings::lazaret::plugin::notes::{Host, Note};
use crate::guests::bindings::lazaret::plugin::types::{Code, Refusal};
use crate::guests::guest::Inside;
use crate::rules::caller::Origin;
use crate::rules::keep::{Keep, KeepWish};

impl Host for Inside {
    async fn put(&mut self, key: String, text: String) -> Result<(), Refusal> {
        let visit = self.visit()?;
        // A note outlives the run, and whoever opens the file reads it.
        let known = visit.station.scrub.known();
        let text = known.clean(&text).unwrap_or(text);
        let key = known.clean(&key).unwrap_or(key);
        let label = visit.wisher().written();
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
        let shelf = match &self.visit()?.caller.origin {
            Origin::Tool(tool) => tool.plugin().to_owned(),
            Origin::Client | Origin::Model | Origin::Host | Origin::Script => String::new(),
        };
        let perform = |station: std::sync::Arc<crate::guests::station::Station>, permit, _| async move {
            station.notes.perform(permit).await
        };
        let notes = self
            .hand_over(Ok(Keep { shelf, key, wish }), perform)
            .await?;
        Ok(notes.into_iter().map(note).collect())
    }
}

fn note(note: edges::notes::Note) -> Note {
    Note {
        key: note.key,
        text: note.text,
        written_ms: note.written_ms,
    }
}
