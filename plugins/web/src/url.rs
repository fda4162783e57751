//! Relative links made absolute, as RFC 3986 (5.2) says.
//!
//! Only what a link needs: the host parses every URL again before it sends anything.

/// A URL cut into its parts; `query` and `fragment` keep their mark.
struct Parts<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
    fragment: &'a str,
}

fn split(url: &str) -> Parts<'_> {
    let (rest, fragment) = url.split_at(url.find('#').unwrap_or(url.len()));
    let (rest, query) = match rest.find('?') {
        Some(at) => (&rest[..at], Some(&rest[at..])),
        None => (rest, None),
    };
    let (scheme, rest) = match rest.split_once(':') {
        Some((scheme, after)) if is_scheme(scheme) => (Some(scheme), after),
        _ => (None, rest),
    };
    let (authority, path) = match rest.strip_prefix("//") {
        Some(after) => {
            let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
            (Some(authority), path)
        }
        None => (None, rest),
    };
    Parts {
        scheme,
        authority,
        path,
        query,
        fragment,
    }
}

fn is_scheme(text: &str) -> bool {
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(rest)
}

/// The address that `link` means on the page at `base`; nothing unless it is `http` or `https`.
pub(crate) fn resolve(base: &str, link: &str) -> Option<String> {
    // Browsers ignore white space around a link and line breaks in it.
    let link: String = link
        .trim()
        .chars()
        .filter(|char| !char.is_control())
        .collect();
    let (base, link) = (split(base), split(&link));
    let (scheme, authority, path, query) = match (link.scheme, link.authority) {
        (Some(scheme), authority) => (scheme, authority, without_dots(link.path), link.query),
        (None, Some(authority)) => (
            base.scheme?,
            Some(authority),
            without_dots(link.path),
            link.query,
        ),
        (None, None) if link.path.is_empty() => {
            let path = if base.path.is_empty() { "/" } else { base.path };
            (
                base.scheme?,
                base.authority,
                path.to_owned(),
                link.query.or(base.query),
            )
        }
        (None, None) => {
            let path = if link.path.starts_with('/') {
                link.path.to_owned()
            } else {
                let folder = base.path.rfind('/').map_or("/", |at| &base.path[..=at]);
                format!("{folder}{}", link.path)
            };
            (
                base.scheme?,
                base.authority,
                without_dots(&path),
                link.query,
            )
        }
    };
    let scheme = scheme.to_ascii_lowercase();
    let authority = authority.filter(|authority| !authority.is_empty())?;
    if scheme != "http" && scheme != "https" {
        return None;
    }
    let path = path.replace(' ', "%20");
    let query = query.unwrap_or_default().replace(' ', "%20");
    Some(format!(
        "{scheme}://{authority}{path}{query}{}",
        link.fragment.replace(' ', "%20")
    ))
}

fn without_dots(path: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    for (at, segment) in segments.iter().enumerate() {
        let last = at + 1 == segments.len();
        match *segment {
            "." | ".." => {
                if *segment == ".." {
                    out.pop();
                }
                if last {
                    out.push("");
                }
            }
            other => out.push(other),
        }
    }
    format!("/{}", out.join("/"))
}

#[cfg(test)]
mod tests {
    use super::resolve;

    fn check(base: &str, link: &str, expected: Option<&str>) {
        assert_eq!(resolve(base, link).as_deref(), expected, "{link} on {base}");
    }

    #[test]
    fn links_are_resolved() {
        let base = "https://a.example/b/c/d?q=1#x";
        check(base, "e", Some("https://a.example/b/c/e"));
        check(base, "./e/", Some("https://a.example/b/c/e/"));
        check(base, "../e?r", Some("https://a.example/b/e?r"));
        check(base, "../../../e", Some("https://a.example/e"));
        check(base, "..", Some("https://a.example/b/"));
        check(base, "/e#f", Some("https://a.example/e#f"));
        check(base, "?r=2", Some("https://a.example/b/c/d?r=2"));
        check(base, "#y", Some("https://a.example/b/c/d?q=1#y"));
        check(base, "//b.example/e", Some("https://b.example/e"));
        check(base, "HTTP://b.example", Some("http://b.example/"));
        check(base, " /a b\n", Some("https://a.example/a%20b"));
        check("https://a.example", "e", Some("https://a.example/e"));
        check("https://a.example", "", Some("https://a.example/"));
    }

    #[test]
    fn other_schemes_are_no_addresses() {
        for link in [
            "javascript:alert(1)",
            "java\nscript:alert(1)",
            "mailto:a@b.example",
            "data:,x",
            "https:",
        ] {
            check("https://a.example/", link, None);
        }
    }
}
