//! What a client may call itself over each way in (row A-04): who carries a call and whose call it is may be two things.
//! The sets are closed, so that nobody is taken for the command line, or for a client of MCP.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::words::event::Surface;

/// Who calls over HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OverHttp {
    /// A program.
    #[default]
    Http,
    /// Another framework, whose model has this server's tools: it is told of no secret.
    AiSdk,
    /// A page, which asks its user by itself where a tool has to be confirmed.
    React,
    /// A developer's server, which does the same.
    Dev,
}

impl From<OverHttp> for Surface {
    fn from(said: OverHttp) -> Self {
        match said {
            OverHttp::Http => Self::Http,
            OverHttp::AiSdk => Self::AiSdk,
            OverHttp::React => Self::React,
            OverHttp::Dev => Self::Dev,
        }
    }
}

/// Who calls by lines of JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverJson {
    /// A program.
    #[default]
    Json,
    /// Another framework, whose model has these tools.
    AiSdk,
    /// A developer's server.
    Dev,
}

impl From<OverJson> for Surface {
    fn from(said: OverJson) -> Self {
        match said {
            OverJson::Json => Self::Json,
            OverJson::AiSdk => Self::AiSdk,
            OverJson::Dev => Self::Dev,
        }
    }
}
