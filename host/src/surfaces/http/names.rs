//! By which names the server is spoken to: a page on the internet can point a name of its own at this machine, and
//! then its scripts could speak to us as if we were its server (DNS rebinding).

use std::net::IpAddr;

use axum::http::uri::Authority;

/// Names by which clients may speak to the server.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Whether it listens for other machines: then by any address, too, since an address is nobody's name.
    pub remote: bool,
    /// What the operator allows beside those of loopback.
    pub also: Vec<String>,
}

impl Names {
    /// Whether `Host` says a name of ours.
    #[must_use]
    pub fn are(&self, host: &str) -> bool {
        if host.contains('@') {
            return false;
        }
        let Ok(authority) = host.parse::<Authority>() else {
            return false;
        };
        // What stands behind the name is read as no port where it is none: it may be the rest of another's name.
        let rest = host.strip_prefix(authority.host());
        if !rest.is_some_and(|rest| rest.is_empty() || is_port(rest)) {
            return false;
        }
        let name = authority.host().to_ascii_lowercase();
        if name == "localhost" || self.also.iter().any(|own| own.eq_ignore_ascii_case(&name)) {
            return true;
        }
        let address = name.trim_start_matches('[').trim_end_matches(']');
        match address.parse::<IpAddr>() {
            Ok(address) => address.is_loopback() || self.remote,
            Err(_) => false,
        }
    }

    /// Whether a page of `origin` is one of our own, as seen by a request to `host`.
    #[must_use]
    pub fn is_own(origin: &str, host: &str) -> bool {
        let rest = ["http://", "https://"]
            .iter()
            .find_map(|scheme| origin.strip_prefix(scheme));
        rest.is_some_and(|rest| !rest.is_empty() && rest.eq_ignore_ascii_case(host))
    }
}

fn is_port(text: &str) -> bool {
    let digits = text.strip_prefix(':').unwrap_or_default();
    digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_ours_are_ours() {
        let local = Names::default();
        for good in [
            "localhost",
            "LOCALHOST:7420",
            "127.0.0.1:7420",
            "127.9.9.9",
            "[::1]:80",
            "[::1]",
        ] {
            assert!(local.are(good), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "evil.example:7420",
            "localhost.evil.example",
            "localhost.",
            "localhost@evil.example",
            "localhost:7420.evil.example",
            "localhost:.evil.example",
            "localhost:evil.example",
            "localhost:",
            "localhost:99999",
            "localhost:+80",
            "[::1]:7420.evil.example",
            "[::1].evil.example",
            "127.0.0.1:7420:80",
            "127.0.0.1.nip.io",
            "192.168.1.7:7420",
            "0.0.0.0:7420",
            "[::ffff:10.0.0.1]:80",
            "2130706433",
            "0x7f.1",
            "localhost:7420/x",
            "localhost, evil",
        ] {
            assert!(!local.are(bad), "{bad}");
        }
        let remote = Names {
            remote: true,
            also: vec!["box.lan".to_owned()],
        };
        assert!(remote.are("192.168.1.7:7420") && remote.are("Box.LAN:7420"));
        assert!(!remote.are("evil.example"));
    }

    #[test]
    fn only_our_own_pages_may_ask() {
        assert!(Names::is_own("http://localhost:7420", "localhost:7420"));
        for origin in [
            "null",
            "",
            "http://",
            "http://localhost",
            "http://localhost:7421",
            "http://evil.example",
            "file://",
            "http://localhost:7420/",
        ] {
            assert!(!Names::is_own(origin, "localhost:7420"), "{origin}");
        }
    }
}
