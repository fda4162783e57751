//! Who may be told a login's secrets: the issuer that the operator names, and no address that somebody else has named.
//!
//! The server says who its issuer is, and may say so of anybody; an issuer says where its endpoints are, and may say so of
//! somebody else's. Where the two are not held together, a secret goes to whoever the server likes (mix-up, RFC 9700).

use url::Url;

use super::{Issuer, Terms, address};
use crate::words::error::{Code, Error, Result};
use crate::words::id::shown;

impl Terms {
    /// The issuer that is asked, of those that a server names: the operator's, letter for letter, or the first where they
    /// name none.
    ///
    /// # Errors
    /// `Denied` where the server does not name the operator's. Nothing where it names nobody.
    pub fn issuer_of<'a>(&self, named: &[&'a str]) -> Result<Option<&'a str>> {
        let first = named.first().copied();
        let (Some(own), Some(first)) = (&self.issuer, first) else {
            return Ok(first);
        };
        match named.iter().find(|issuer| *issuer == own) {
            Some(issuer) => Ok(Some(issuer)),
            None => {
                let what = format!(
                    "the server names the issuer `{}`, and `login.issuer` is `{}`: it is told nothing",
                    shown(first),
                    shown(own)
                );
                Err(Error::new(Code::Denied, what).hint(
                    "if you know that its issuer is another one by now, say so in `login.issuer` of `[mcp.NAME]`",
                ))
            }
        }
    }
}

impl Issuer {
    /// Whether its endpoints are its own: where a person logs in, where tokens are had, and where one makes oneself known.
    /// Tokens may be had elsewhere only where the operator says where; of an issuer that they name it is believed where a
    /// person logs in.
    ///
    /// # Errors
    /// `Denied` for an endpoint of somebody else.
    pub fn is_whole(&self, said: &Terms) -> Result<()> {
        let own = address("the issuer", &self.issuer)?.origin();
        let is_own = |place: &Url| place.origin() == own;
        let is_named = said.token.as_deref() == Some(self.token.as_str());
        if !is_own(&self.token) && !is_named {
            return Err(self.elsewhere("token_endpoint", &self.token).hint(
                "if its own documentation says so, write the address: `login = { issuer = \"https://…\", token = \"https://…\" }` \
                 in `[mcp.NAME]`",
            ));
        }
        if !is_own(&self.authorize) && said.issuer.is_none() {
            let refused = self.elsewhere("authorization_endpoint", &self.authorize);
            return Err(refused.hint(
                "if you know the issuer, name it: `login = { issuer = \"https://…\" }` in `[mcp.NAME]`",
            ));
        }
        let register = self.register.as_ref().filter(|_| said.client.is_none());
        match register.filter(|place| !is_own(place)) {
            Some(place) => Err(self.elsewhere("registration_endpoint", place)),
            None => Ok(()),
        }
    }

    fn elsewhere(&self, key: &str, place: &Url) -> Error {
        let what = format!(
            "`{key}` of the issuer `{}` is somebody else's: `{}`",
            shown(&self.issuer),
            shown(place.as_str())
        );
        Error::new(Code::Denied, what)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn issuer(authorize: &str, token: &str, register: &str) -> Issuer {
        let document = json!({
            "issuer": "https://id.test/t", "authorization_endpoint": authorize, "token_endpoint": token,
            "registration_endpoint": register, "code_challenge_methods_supported": ["S256"],
        });
        Issuer::read(&document, "https://id.test/t").unwrap()
    }

    fn said(issuer: Option<&str>, token: Option<&str>) -> Terms {
        Terms {
            issuer: issuer.map(str::to_owned),
            token: token.map(str::to_owned),
            ..Terms::default()
        }
    }

    #[test]
    fn the_issuer_is_the_operators_letter_for_letter() {
        let named = ["https://evil.test", "https://id.test"];
        let of = |own: Option<&str>, named: &[&'static str]| {
            said(own, None)
                .issuer_of(named)
                .map_err(|error| error.code())
        };
        assert_eq!(of(None, &named), Ok(Some("https://evil.test")));
        assert_eq!(of(None, &[]), Ok(None));
        assert_eq!(
            of(Some("https://id.test"), &named),
            Ok(Some("https://id.test"))
        );
        for other in [
            "https://id.test/",
            "https://ID.test",
            "https://id.test.evil",
        ] {
            assert_eq!(of(Some(other), &named), Err(Code::Denied), "{other}");
        }
    }

    #[test]
    fn endpoints_are_the_issuers_own_or_the_operator_says_otherwise() {
        let (own, evil) = ("https://id.test/x", "https://evil.test/x");
        let (nobody, pinned) = (said(None, None), said(Some("https://id.test/t"), None));
        let google = said(Some("https://id.test/t"), Some(evil));
        for (authorize, token, register, said, is_good) in [
            (own, own, own, &nobody, true),
            (evil, own, own, &nobody, false),
            (own, evil, own, &nobody, false),
            (own, own, evil, &nobody, false),
            (own, "https://id.test:444/x", own, &nobody, false),
            (evil, own, own, &pinned, true),
            (own, evil, own, &pinned, false),
            (own, own, evil, &pinned, false),
            (own, evil, own, &google, true),
            (own, "https://evil.test/y", own, &google, false),
        ] {
            let is_whole = issuer(authorize, token, register).is_whole(said).is_ok();
            assert_eq!(is_whole, is_good, "{authorize} {token} {register} {said:?}");
        }
        let client = Terms {
            client: Some("me".to_owned()),
            ..Terms::default()
        };
        assert!(issuer(own, own, evil).is_whole(&client).is_ok());
    }
}
