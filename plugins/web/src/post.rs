//! `web.post`: sending something to an address.

use lazaret_sdk::fetch::{Request, Response};
use lazaret_sdk::prelude::*;

const BODY_BYTES_MAX: usize = 1024 * 1024;
const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// What was answered.
#[value]
#[derive(PartialEq)]
pub struct Answer {
    /// The HTTP status; 200 to 299 means that it worked.
    pub status: u16,
    /// The answer, if it is JSON.
    pub json: Option<Value>,
    /// The answer as text, if it is not JSON; cut if it is very long.
    pub text: Option<String>,
}

/// Posts JSON or a text to a web address and returns the answer, whatever its status.
///
/// Redirects are not followed: what is sent goes to this address and no other.
#[tool(
    effect = "external-stateful",
    risk = "external_write",
    sequential,
    steers(url = "url"),
    content = ["json", "text", "media_type"],
    example(
        title = "JSON",
        args = r#"{"url": "https://api.example.com/items", "json": {"name": "tea"}}"#
    ),
    example(
        title = "a text",
        args = r#"{"url": "https://paste.example.com/", "text": "hello"}"#
    )
)]
pub fn post(
    /// The address, with `https://`.
    url: String,
    /// The value to send as JSON; give this or `text`.
    json: Option<Value>,
    /// The text to send; give this or `json`.
    text: Option<String>,
    /// The media type of `text`.
    #[default("text/plain; charset=utf-8".to_owned())]
    media_type: String,
) -> Result<Answer, Failure> {
    let (media_type, body) = body_of(json, text, media_type)?;
    let response = Request::post(url).body(&media_type, body).send()?;
    Ok(read(&response))
}

fn body_of(
    json: Option<Value>,
    text: Option<String>,
    media_type: String,
) -> Result<(String, String), Failure> {
    let (media_type, body) = match (json, text) {
        (Some(json), None) => ("application/json".to_owned(), json.to_string()),
        (None, Some(text)) => (media_type, text),
        _ => bad_input!("give `json` or `text`, one of the two"),
    };
    if body.len() > BODY_BYTES_MAX {
        fail!(
            "there are {} bytes to send, at most {BODY_BYTES_MAX} are taken",
            body.len()
        );
    }
    Ok((media_type, body))
}

fn read(response: &Response) -> Answer {
    let bytes = response.bytes();
    let status = response.status();
    let is_json = response
        .media_type()
        .is_some_and(|media_type| media_type.ends_with("json"));
    let json = if is_json && bytes.len() <= ANSWER_BYTES_MAX {
        response.clone().json().ok()
    } else {
        None
    };
    let text = json.is_none().then(|| {
        let kept = &bytes[..bytes.len().min(ANSWER_BYTES_MAX)];
        String::from_utf8_lossy(kept).into_owned()
    });
    Answer { status, json, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_body_is_sent() {
        let plain = || "text/plain".to_owned();
        let (media_type, body) = body_of(Some(json!({"a": 1})), None, plain()).unwrap();
        assert_eq!(
            (media_type.as_str(), body.as_str()),
            ("application/json", r#"{"a":1}"#)
        );
        assert_eq!(body_of(None, Some("x".to_owned()), plain()).unwrap().1, "x");
        assert!(body_of(None, None, plain()).is_err());
        assert!(body_of(Some(json!(1)), Some("x".to_owned()), plain()).is_err());
    }

    fn check(media_type: &str, body: &str, json: Option<Value>, text: Option<&str>) {
        let header = [("content-type", media_type)];
        let response = Response::new("https://a.example/", 201, &header, body);
        let expected = Answer {
            status: 201,
            json,
            text: text.map(str::to_owned),
        };
        assert_eq!(read(&response), expected);
    }

    #[test]
    fn answers_are_json_or_text() {
        check(
            "application/json",
            r#"{"id": 7}"#,
            Some(json!({"id": 7})),
            None,
        );
        check("application/problem+json", "null", Some(Value::Null), None);
        check("application/json", "no", None, Some("no"));
        check("text/html", "<p>", None, Some("<p>"));
    }
}
