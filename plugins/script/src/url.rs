//! What `URL` and `URLSearchParams` know, from the crate `url`, which follows the standard that they are of.
//!
//! The classes of the prelude keep a text, and ask here for its parts.

use url::{Url, form_urlencoded, quirks};

/// The normal form of a URL, or why it is none.
pub fn parse(text: &str, base: Option<&str>) -> Result<String, String> {
    let base = base
        .map(Url::parse)
        .transpose()
        .map_err(|error| format!("the base: {error}"))?;
    let parsed = match &base {
        Some(base) => base.join(text),
        None => Url::parse(text),
    };
    parsed.map(String::from).map_err(|error| error.to_string())
}

/// One part of a URL in its normal form.
pub fn part(href: &str, name: &str) -> String {
    let Ok(url) = Url::parse(href) else {
        return String::new();
    };
    match name {
        "origin" => quirks::origin(&url),
        "protocol" => quirks::protocol(&url).to_owned(),
        "username" => quirks::username(&url).to_owned(),
        "password" => quirks::password(&url).to_owned(),
        "host" => quirks::host(&url).to_owned(),
        "hostname" => quirks::hostname(&url).to_owned(),
        "port" => quirks::port(&url).to_owned(),
        "pathname" => quirks::pathname(&url).to_owned(),
        "search" => quirks::search(&url).to_owned(),
        "hash" => quirks::hash(&url).to_owned(),
        _ => String::new(),
    }
}

/// The URL with one part replaced; a part that does not fit changes nothing, as the standard has it.
pub fn replaced(href: &str, name: &str, value: &str) -> String {
    let Ok(mut url) = Url::parse(href) else {
        return href.to_owned();
    };
    let _ = match name {
        "protocol" => quirks::set_protocol(&mut url, value),
        "username" => quirks::set_username(&mut url, value),
        "password" => quirks::set_password(&mut url, value),
        "host" => quirks::set_host(&mut url, value),
        "hostname" => quirks::set_hostname(&mut url, value),
        "port" => quirks::set_port(&mut url, value),
        "pathname" => {
            quirks::set_pathname(&mut url, value);
            Ok(())
        }
        "search" => {
            quirks::set_search(&mut url, value);
            Ok(())
        }
        "hash" => {
            quirks::set_hash(&mut url, value);
            Ok(())
        }
        _ => Ok(()),
    };
    url.into()
}

/// The names and values of a query, in turn.
pub fn pairs(query: &str) -> Vec<String> {
    form_urlencoded::parse(query.as_bytes())
        .flat_map(|(name, value)| [name.into_owned(), value.into_owned()])
        .collect()
}

/// The query of names and values in turn.
pub fn query(pairs: &[String]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for pair in pairs.chunks_exact(2) {
        query.append_pair(&pair[0], &pair[1]);
    }
    query.finish()
}
