//! The token: who has it is the user of this host. It lies in the state folder, for its owner alone.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::edges::state::StateFolder;
use crate::words::error::Result;
use crate::words::id::Digest;

/// Where it lies in the state folder.
const NAME: &str = "serve.token";
/// What every token begins with, so that one is known for what it is wherever it turns up.
const MARK: &str = "laz_";

/// The token.
#[derive(Clone)]
pub struct Token {
    text: String,
    is_new: bool,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Token")
    }
}

impl Token {
    /// The token of this user, made at first use.
    ///
    /// # Errors
    /// `DiskFailed`; `Corrupt` where the file is none of ours.
    pub fn of(state: &StateFolder) -> Result<Self> {
        let is_new = !state.has(NAME);
        let key = state
            .key_of(NAME)
            .map_err(|error| error.hint("lazaret serve --new-token"))?;
        let text = format!("{MARK}{}", URL_SAFE_NO_PAD.encode(key));
        Ok(Self { text, is_new })
    }

    /// Another token: the one before counts no more.
    ///
    /// # Errors
    /// As [`Token::of`].
    pub fn renewed(state: &StateFolder) -> Result<Self> {
        state.remove(NAME)?;
        Self::of(state)
    }

    /// Whether it was made just now.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// The token itself, to be shown to its owner.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What a token is compared by: how long it takes to compare two digests says nothing of what they are of.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }
}
