//! What the configuration says of logging in to an MCP server over HTTP: `login` of `[mcp.NAME]`.

use serde::Deserialize;

use super::mcp::{McpTable, secret};
use super::secrets;
use crate::edges::vault::Vault;
use crate::rules::server::login::{Terms, address};
use crate::words::error::{Error, Result};

/// `login = { client = …, secret = …, issuer = … }`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoginTable {
    /// What Lazaret is called where one logs in, or the address of a document about it; absent: it makes itself known.
    pub client: String,
    /// The secret of the vault that goes with it.
    pub secret: Option<String>,
    /// Or the environment variable that holds it.
    #[serde(deserialize_with = "secrets::env")]
    pub env: Option<String>,
    /// What is asked for beside what the server says, in one text.
    pub scope: String,
    /// Who lets you in, letter for letter as it calls itself: nobody else is told the secret. Absent: whoever the server
    /// names, and then there is no secret.
    pub issuer: Option<String>,
    /// Where tokens are had, if that is at another address than the issuer's.
    pub token: Option<String>,
}

/// What names the issuer, as one writes it.
const WRITTEN: &str =
    "login = { client = \"ID\", secret = \"NAME\", issuer = \"https://id.example\" }";

/// How one logs in to a server over HTTP.
pub(super) fn login(vault: &mut Vault, name: &str, table: &McpTable) -> Result<Terms> {
    let said = &table.login;
    if *said == LoginTable::default() {
        return Ok(Terms::default());
    }
    if table.url.is_none() {
        let what = "`login` is about a `url`, and it has a `command`";
        return Err(Error::bad_input(what));
    }
    let own = format!("mcp.{name}.login.secret");
    let secret = match (&said.env, &said.secret) {
        (None, None) => None,
        both => Some(
            secret(vault, own, both)
                .ok_or_else(|| Error::bad_input("`login` has either `env` or `secret`"))?,
        ),
    };
    if said.client.is_empty() && secret.is_some() {
        let what = "`login` has a secret, and no `client` that it belongs to";
        return Err(Error::bad_input(what));
    }
    if said.issuer.is_none() && (secret.is_some() || said.token.is_some()) {
        let what = "`login` does not say whose its secret and its `token` are: the server could name anybody";
        return Err(Error::bad_input(what).hint(format!(
            "name who lets you in, letter for letter as it calls itself: {WRITTEN}"
        )));
    }
    if let Some(issuer) = &said.issuer {
        address("`login.issuer`", issuer).map_err(unwritten)?;
    }
    let token = said.token.as_deref();
    let token = token.map(|token| address("`login.token`", token).map_err(unwritten));
    Ok(Terms {
        client: Some(said.client.clone()).filter(|client| !client.is_empty()),
        secret,
        scope: said.scope.clone(),
        issuer: said.issuer.clone(),
        token: token.transpose()?.map(String::from),
    })
}

fn unwritten(error: Error) -> Error {
    Error::bad_input(error.message().to_owned()).hint(WRITTEN)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::edges::vault::Backend;

    fn read(said: &str) -> Result<Terms> {
        let text = format!("url = \"https://a.test/\"\nlogin = {{ {said} }}");
        let table: McpTable =
            toml::from_str(&text).map_err(|error| Error::bad_input(error.message()))?;
        let mut vault = Vault::new(Backend::default(), Path::new("/nowhere"));
        login(&mut vault, "a", &table)
    }

    #[test]
    fn a_secret_is_somebodys() {
        for (said, says) in [
            ("client = \"me\", env = \"ME\"", "anybody"),
            ("client = \"me\", secret = \"me\"", "anybody"),
            ("token = \"https://id.test/t\"", "anybody"),
            ("env = \"ME\", issuer = \"https://id.test\"", "no `client`"),
            ("issuer = \"http://id.test\"", "`https`"),
            ("issuer = \"id\"", "no address"),
            (
                "issuer = \"https://id.test\", token = \"http://id.test/t\"",
                "`login.token`",
            ),
        ] {
            let error = read(said).unwrap_err();
            assert!(error.message().contains(says), "{said}: {error}");
        }
        let said = "client = \"me\", env = \"ME\", issuer = \"https://id.test\", token = \"https://id2.test\"";
        let terms = read(said).unwrap();
        assert_eq!(terms.issuer.as_deref(), Some("https://id.test"));
        assert_eq!(terms.token.as_deref(), Some("https://id2.test/"));
        assert!(read("client = \"me\", scope = \"a b\"").is_ok());
    }
}
