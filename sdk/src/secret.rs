//! Secrets: a tool names one, and the host fills it in.

/// The marker of a secret, to be written where its value belongs in a request.
///
/// A tool never holds a value. It writes the marker, and the host puts the value in its place as the
/// request leaves: if the tool declares the secret, and policy grants it this secret for this
/// destination in this place. A marker anywhere else refuses the request: towards another destination in
/// the same words as for a secret that does not exist, and in another place with the place that policy names.
///
/// ```no_run
/// use lazaret_sdk::prelude::*;
/// use lazaret_sdk::secret;
///
/// /// Reads who the token belongs to.
/// #[tool(effect = "read-only", hosts = ["GET https://api.github.com/"], secrets = ["github"])]
/// fn whoami() -> Result<String, Failure> {
///     let answer = fetch::Request::get("https://api.github.com/user")
///         .header("authorization", secret("github"))
///         .send()?;
///     Ok(answer.success()?.json::<Value>()?["login"].to_string())
/// }
/// ```
///
/// The operator keeps the value with `lazaret secret set github`, and says where it may go:
///
/// ```toml
/// [grants."github.whoami"]
/// fetch = ["https://api.github.com/"]
/// secrets = [{ name = "github", to = "https://api.github.com/", header = "authorization", before = "Bearer " }]
/// ```
///
/// | place | the policy line says | the tool writes the marker |
/// |---|---|---|
/// | header | `header = "authorization"`, `before = "Bearer "` | as the header's value, alone or after `before` |
/// | query | `query = "key"` | as the value of that parameter |
/// | JSON body | `json = "/auth/token"` | as the string at that pointer, once in the body |
/// | basic authentication | `basic = "USER"` | as the value of `authorization` |
#[must_use]
pub fn secret(name: &str) -> String {
    format!("{{{{secret:{name}}}}}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_marker_holds_the_name() {
        assert_eq!(super::secret("github"), "{{secret:github}}");
    }
}
