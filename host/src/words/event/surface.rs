//! Surfaces: the ways in and out.

use serde::{Deserialize, Serialize};

/// A way in and out (row A-04).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Surface {
    /// The command line.
    Cli,
    /// JSON lines.
    Json,
    /// HTTP.
    Http,
    /// MCP.
    Mcp,
    /// A user interface that confirms by itself.
    React,
    /// A developer's server.
    Dev,
    /// Another framework's tool list.
    AiSdk,
}

impl Surface {
    /// The supported surfaces where a manifest names none.
    pub const ALL: [Self; 7] = [
        Self::Cli,
        Self::Json,
        Self::Http,
        Self::Mcp,
        Self::React,
        Self::Dev,
        Self::AiSdk,
    ];

    /// Whether whoever calls may be elsewhere (A-13b).
    #[must_use]
    pub fn is_remote(self) -> bool {
        match self {
            // A page and a developer's server come over HTTP.
            Self::Http | Self::Mcp | Self::AiSdk | Self::React | Self::Dev => true,
            Self::Cli | Self::Json => false,
        }
    }

    /// Whether what comes over it some model wrote, and a model reads what it is answered, whoever sits before that.
    #[must_use]
    pub fn is_for_models(self) -> bool {
        match self {
            Self::Mcp | Self::AiSdk => true,
            Self::Cli | Self::Json | Self::Http | Self::React | Self::Dev => false,
        }
    }

    /// The surface as it stands in a manifest.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Json => "json",
            Self::Http => "http",
            Self::Mcp => "mcp",
            Self::React => "react",
            Self::Dev => "dev",
            Self::AiSdk => "ai-sdk",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row A-04: where a manifest names none, these are the surfaces of a tool.
    #[test]
    fn all_of_them_by_their_words() {
        let words = Surface::ALL.map(Surface::word);
        assert_eq!(
            words,
            ["cli", "json", "http", "mcp", "react", "dev", "ai-sdk"]
        );
        for surface in Surface::ALL {
            let written = serde_json::to_value(surface).unwrap();
            assert_eq!(written, surface.word());
        }
    }
}
