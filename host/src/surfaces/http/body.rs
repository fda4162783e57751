//! Bodies, names in paths, and queries: read strictly, and never more than may be.

use std::time::Duration;

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use super::answer::Failed;
use super::site::Site;
use crate::rules::json;
use crate::words::error::{Error, Result as Told};
use crate::words::id::shown;
use crate::words::inert::one_line;
use crate::words::limits::SERVE_NAME_CHARS;

/// The body of a request: strict JSON of one form.
pub(super) struct Wished<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Site> for Wished<T> {
    type Rejection = Failed;

    async fn from_request(request: Request, site: &Site) -> Result<Self, Failed> {
        check_type(&request)?;
        let bytes = read(request, site).await?;
        Ok(Self(parsed(&bytes)?))
    }
}

fn check_type(request: &Request) -> Result<(), Failed> {
    let said = request.headers().get(CONTENT_TYPE);
    let said = said.and_then(|value| value.to_str().ok()).unwrap_or("");
    let mut parts = said.split(';').map(str::trim);
    let is_json = parts
        .next()
        .is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    let utf8 = parts.all(|part| {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let value = value.trim_matches('"');
        !key.eq_ignore_ascii_case("charset") || value.eq_ignore_ascii_case("utf-8")
    });
    if is_json && utf8 {
        return Ok(());
    }
    let what = format!("the content type is `{}`", shown(said));
    let error = Error::bad_input(what).hint("send JSON: `content-type: application/json`");
    Err(Failed::from(error).status(StatusCode::UNSUPPORTED_MEDIA_TYPE))
}

async fn read(request: Request, site: &Site) -> Result<Vec<u8>, Failed> {
    let (most, ms) = (site.rules().body_bytes, site.rules().body_ms);
    let said = request.headers().get(CONTENT_LENGTH);
    let said = said.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if let Some(said) = said
        && said > most
    {
        return Err(too_big(most, said));
    }
    let whole = Limited::new(request.into_body(), most).collect();
    match tokio::time::timeout(Duration::from_millis(ms), whole).await {
        Err(_) => {
            let what = format!("the body did not arrive within {ms} ms");
            Err(Failed::from(Error::bad_input(what)).status(StatusCode::REQUEST_TIMEOUT))
        }
        Ok(Ok(body)) => Ok(body.to_bytes().into()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(too_big(most, most.saturating_add(1)))
        }
        Ok(Err(_)) => Err(Error::bad_input("the body ended before its end").into()),
    }
}

fn too_big(most: usize, said: usize) -> Failed {
    let error = Error::too_big("the body", most, said);
    error.hint("[serve]\nbody_bytes = …").into()
}

/// Room for the names of all that may stand in a body.
const WHY_CHARS: usize = 600;

/// Strict JSON, of one form.
fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Told<T> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| Error::bad_input("the body is no UTF-8 text"))?;
    let value = json::parse(text)
        .map_err(|why| Error::bad_input(format!("the body is no JSON: {}", shown(&why))))?;
    serde_json::from_value(value).map_err(|error| {
        let why: String = error.to_string().chars().take(WHY_CHARS).collect();
        Error::bad_input(format!("the body does not fit: {}", one_line(&why)))
            .hint("`GET /openapi.json` says what may stand in it")
    })
}

/// A name in the path.
pub(super) struct Named(pub(super) String);

impl FromRequestParts<Site> for Named {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, site: &Site) -> Result<Self, Failed> {
        let named: Result<Path<String>, PathRejection> =
            Path::from_request_parts(parts, site).await;
        match named {
            Ok(Path(name)) if name.chars().count() <= SERVE_NAME_CHARS => Ok(Self(name)),
            Ok(Path(name)) => {
                Err(Error::too_long("the name", SERVE_NAME_CHARS, name.chars().count()).into())
            }
            Err(_) => Err(Error::bad_input("the name in the path is no text").into()),
        }
    }
}

/// What stands behind the `?`.
pub(super) struct Sought<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<Site> for Sought<T> {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, site: &Site) -> Result<Self, Failed> {
        let sought: Result<Query<T>, QueryRejection> = Query::from_request_parts(parts, site).await;
        match sought {
            Ok(Query(sought)) => Ok(Self(sought)),
            Err(why) => {
                let why = shown(&why.body_text());
                Err(Error::bad_input(format!("the query does not fit: {why}")).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn typed(said: &str) -> Option<StatusCode> {
        let request = Request::builder().header(CONTENT_TYPE, said);
        let request = request.body(Body::empty()).expect("a request");
        check_type(&request)
            .err()
            .map(|failed| failed.shown_status())
    }

    #[test]
    fn a_body_is_json_and_says_so() {
        for good in [
            "application/json",
            "Application/JSON; charset=UTF-8",
            "application/json;charset=\"utf-8\"",
        ] {
            assert_eq!(typed(good), None, "{good}");
        }
        for bad in [
            "",
            "text/plain",
            "application/jsonp",
            "application/json; charset=utf-16",
            "application/x-www-form-urlencoded",
        ] {
            assert_eq!(
                typed(bad),
                Some(StatusCode::UNSUPPORTED_MEDIA_TYPE),
                "{bad}"
            );
        }
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct One {
        a: u32,
    }

    #[test]
    fn a_body_is_strict() {
        assert_eq!(parsed::<One>(b"{\"a\":1}").expect("it fits"), One { a: 1 });
        for (text, says) in [
            (&b"{\"a\":1,\"a\":2}"[..], "no JSON"),
            (b"{\"a\":1,\"user\":\"root\"}", "unknown field `user`"),
            (b"{\"a\":1", "no JSON"),
            (b"", "no JSON"),
            (b"[]", "does not fit"),
            (b"\xff", "no UTF-8"),
        ] {
            let error = parsed::<One>(text).expect_err("it does not fit");
            assert!(error.message().contains(says), "{error}");
        }
        let long = format!("{{\"{}\":1}}", "x".repeat(100_000));
        let error = parsed::<One>(long.as_bytes()).expect_err("it does not fit");
        assert!(error.message().len() < 1_000, "{error}");
        let deep = "[".repeat(100_000);
        assert!(parsed::<One>(deep.as_bytes()).is_err());
    }
}
