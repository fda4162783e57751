//! Pins: what a person has read of servers, in the user's own state folder, one file for each server.

use crate::edges::state::StateFolder;
use crate::rules::scrub::{KnownSecrets, told};
use crate::rules::server::Terms;
use crate::rules::server::pin::Pin;
use crate::words::error::{Error, Result};
use crate::words::limits::SERVER_PIN_BYTES;

/// Where servers have their folders and pins.
pub const FOLDER: &str = "servers";

/// The pins of this user.
#[derive(Clone, Debug)]
pub struct Pins(StateFolder);

impl Pins {
    /// Opens them.
    ///
    /// # Errors
    /// As [`StateFolder::open`].
    pub fn open(state: &StateFolder) -> Result<Self> {
        state.below(FOLDER).map(Self)
    }

    /// Those in this folder.
    #[must_use]
    pub fn at(folder: StateFolder) -> Self {
        Self(folder)
    }

    /// What was read of a server, without what is `known`; nothing, where that was never, or of another one of its name.
    /// What was kept while nobody knew that it holds a secret is kept anew.
    ///
    /// # Errors
    /// `Corrupt`, `DiskFailed`.
    pub fn of(&self, terms: &Terms, known: &KnownSecrets) -> Result<Option<Pin>> {
        let Some(text) = self.0.read(&file(terms))? else {
            return Ok(None);
        };
        let mut pin = Pin::read(&text).map_err(|error| {
            error.hint(format!(
                "read it anew: `lazaret servers trust {}`",
                terms.name
            ))
        })?;
        if pin.identity != terms.identity() {
            return Ok(None);
        }
        let tools = pin.tools.iter_mut();
        let dirty = tools.filter_map(|tool| told::clean_definition(tool, known).then_some(()));
        if dirty.count() > 0 {
            self.keep(terms, &pin)?;
        }
        Ok(Some(pin))
    }

    /// Keeps what was read of a server.
    ///
    /// # Errors
    /// `TooBig`, `DiskFailed`.
    pub fn keep(&self, terms: &Terms, pin: &Pin) -> Result<()> {
        let text = pin.text()?;
        if text.len() > SERVER_PIN_BYTES {
            return Err(Error::too_big(
                "what the server says of its tools",
                SERVER_PIN_BYTES,
                text.len(),
            ));
        }
        self.0.write(&file(terms), text.as_bytes())
    }

    /// Forgets what was read of a server.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn forget(&self, terms: &Terms) -> Result<()> {
        self.0.remove(&file(terms))
    }
}

fn file(terms: &Terms) -> String {
    format!("{}.json", terms.identity())
}
