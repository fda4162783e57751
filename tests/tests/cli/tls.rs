//! Servers that are not who they say they are, and proxies that nobody asked for, met by the real program.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;

use lazaret_tests::authority::{Authority, FUTURE, NOW, PAST, Server, confined, params};
use rcgen::{BasicConstraints, IsCa, KeyPair};

use crate::provider::station_at;
use crate::server::{self, plain};
use crate::station::{Ended, Station, hostile};

/// What is said of a certificate for which nobody vouches who may.
const NOBODY: &str = "nobody vouches for it whom this system trusts with that";

/// Calls through a user who trusts `authority` and grants this server alone.
fn asked(server: &Server, authority: &Authority) -> Ended {
    ask(&format!("https://127.0.0.1:{}/", server.port()), authority)
}

fn station(url: &str) -> Station {
    Station::with(&format!(
        "[plugins]\nhostile = {:?}\n[grants.\"hostile.fetch_each\"]\nfetch = [{{ url = \"{url}\", private = true }}]\n",
        hostile()
    ))
}

fn ask(url: &str, authority: &Authority) -> Ended {
    let station = station(url);
    let trusted = station.write("authority.pem", &authority.pem);
    fs::create_dir(station.workspace().join("none")).unwrap();
    let args = format!("{{\"urls\":[\"{url}\"]}}");
    let mut call = station.command(&["call", "hostile.fetch_each", &args]);
    call.env("SSL_CERT_FILE", trusted);
    station.finish(&mut call).ends(0)
}

/// Runs it for a user who trusts an authority that vouches for nobody here.
fn run(station: &Station, arguments: &[&str]) -> Ended {
    let trusted = station.write("authority.pem", &Authority::new(None).pem);
    let mut command = station.command(arguments);
    command.env("SSL_CERT_FILE", trusted);
    station.finish(&mut command)
}

/// A server with a certificate of its own making, as of an authority.
fn own_authority() -> Server {
    let key = KeyPair::generate().unwrap();
    let mut params = params(&["127.0.0.1"], NOW);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap();
    Server::start(certificate, &key)
}

fn is_refused(server: &Server, authority: &Authority, why: &str) {
    let ended = asked(server, authority);
    ended
        .prints(&[
            "-> denied: the certificate of 127.0.0.1 is not trusted: ",
            why,
        ])
        .never("inside")
        .never("OtherError");
    assert_eq!(server.requests(), 0, "{why}");
}

#[test]
fn a_server_that_an_authority_vouches_for_is_believed() {
    let authority = Authority::new(None);
    let server = authority.vouches(&["127.0.0.1"], NOW);
    asked(&server, &authority).prints(&["-> ok: 200", "inside"]);
    assert_eq!(server.requests(), 1);
}

#[test]
fn a_certificate_that_is_not_for_now_is_none() {
    let authority = Authority::new(None);
    is_refused(
        &authority.vouches(&["127.0.0.1"], PAST),
        &authority,
        "it has expired",
    );
    is_refused(
        &authority.vouches(&["127.0.0.1"], FUTURE),
        &authority,
        "not valid yet",
    );
}

#[test]
fn a_certificate_for_another_name_is_none() {
    let authority = Authority::new(None);
    for names in [
        &["127.0.0.2"][..],
        &["localhost"],
        &["*"],
        &["*.0.0.1"],
        &[],
    ] {
        is_refused(
            &authority.vouches(names, NOW),
            &authority,
            "it is for another name",
        );
    }
}

#[test]
fn a_server_that_vouches_for_itself_is_not_believed() {
    let key = KeyPair::generate().unwrap();
    let certificate = params(&["127.0.0.1"], NOW).self_signed(&key).unwrap();
    let server = Server::start(certificate, &key);
    is_refused(&server, &Authority::new(None), NOBODY);
    // As most that are made by hand: it says that it is an authority as well.
    let server = own_authority();
    is_refused(&server, &Authority::new(None), NOBODY);
}

/// A certificate stays what it is: nobody tries again, and whoever can mend it is told how.
#[test]
fn a_certificate_that_is_not_trusted_ends_a_call_at_once() {
    let server = own_authority();
    let url = format!("https://127.0.0.1:{}/", server.port());
    let station = Station::with(&format!(
        "[grants.\"web.get_page\"]\nfetch = [{{ url = \"{url}\", private = true }}]\n"
    ));
    let args = format!("{{\"url\":\"{url}\"}}");
    let ended = run(&station, &["call", "web.get_page", &args]).ends(3);
    ended.says(&[
        "the certificate of 127.0.0.1 is not trusted: ",
        "(certificate_not_trusted)",
        "nothing switches this off",
        "SSL_CERT_FILE",
    ]);
    let ended = run(&station, &["call", "web.get_page", &args, "--json"]).ends(3);
    let error = &ended.json()["error"];
    assert_eq!(error["code"], "AUTHORIZATION_ERROR", "{error}");
    assert_eq!(error["retryable"], false, "{error}");
    assert_eq!(server.requests(), 0);
}

/// A model's server is met in the same words, and asked no second time.
#[test]
fn a_models_server_without_a_certificate_that_is_trusted_is_told_nothing() {
    let server = own_authority();
    let station = station_at(&format!("https://127.0.0.1:{}", server.port()));
    let ended = run(&station, &["run", "how long?"]).ends(3);
    ended.says(&["the certificate of 127.0.0.1 is not trusted: ", NOBODY]);
    assert_eq!(server.requests(), 0);
}

#[test]
fn an_authority_that_nobody_trusts_vouches_for_nobody() {
    let server = Authority::new(None).vouches(&["127.0.0.1"], NOW);
    is_refused(&server, &Authority::new(None), NOBODY);
}

#[test]
fn an_authority_vouches_only_for_names_that_are_its_own() {
    let authority = Authority::new(Some(confined()));
    let server = authority.vouches(&["127.0.0.1"], NOW);
    is_refused(&server, &authority, NOBODY);
}

#[test]
fn what_cannot_be_encrypted_is_not_sent_in_the_clear() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!(
        "https://127.0.0.1:{}/",
        listener.local_addr().unwrap().port()
    );
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut first = [0; 5];
        stream.read_exact(&mut first).unwrap();
        stream
            .write_all(plain(200, "text/plain", "open").as_bytes())
            .unwrap();
        first
    });
    ask(&url, &Authority::new(None))
        .prints(&["-> failed: no connection to the server"])
        .never("open");
    // The beginning of a handshake, and not of a request.
    assert_eq!(answering.join().unwrap()[..3], [22, 3, 1]);
}

#[test]
fn proxies_of_the_environment_are_not_asked() {
    let answer = |text| vec![server::Answer::Bytes(plain(200, "text/plain", text))];
    let (target, proxy) = (
        server::Server::start(answer("direct")),
        server::Server::start(answer("by proxy")),
    );
    let url = format!("{}/", target.url());
    let station = station(&url);
    let args = format!("{{\"urls\":[\"{url}\"]}}");
    let mut call = station.command(&["call", "hostile.fetch_each", &args]);
    for name in ["http_proxy", "https_proxy", "all_proxy"] {
        call.env(name, proxy.url());
        call.env(name.to_uppercase(), proxy.url());
    }
    station
        .finish(&mut call)
        .ends(0)
        .prints(&["-> ok: 200", "direct"]);
    assert_eq!(target.requests().len(), 1);
    assert!(proxy.requests().is_empty());
}
