//! Servers that are not who they say they are, and proxies that nobody asked for, met by the real program.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DnType, GeneralSubtree, IsCa, Issuer, KeyPair,
    NameConstraints, date_time_ymd,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::server::{self, plain};
use crate::station::{Ended, Station, hostile};

/// A year in which every test runs, and one in which none does.
const NOW: (i32, i32) = (2020, 2120);
const PAST: (i32, i32) = (2001, 2002);
const FUTURE: (i32, i32) = (2119, 2120);

/// An authority, and what it says of others.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new(constraints: Option<NameConstraints>) -> Self {
        let mut params = params(&[], NOW);
        params
            .distinguished_name
            .push(DnType::CommonName, "an authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.name_constraints = constraints;
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        Self { issuer, pem }
    }

    fn vouches(&self, names: &[&str], years: (i32, i32)) -> Server {
        let key = KeyPair::generate().unwrap();
        let certificate = params(names, years).signed_by(&key, &self.issuer).unwrap();
        Server::start(certificate, &key)
    }
}

fn params(names: &[&str], (from, to): (i32, i32)) -> CertificateParams {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.not_before = date_time_ymd(from, 1, 1);
    params.not_after = date_time_ymd(to, 1, 1);
    params
}

/// A server that has this certificate, and counts the requests that reach it inside the encryption.
struct Server {
    port: u16,
    requests: Arc<AtomicUsize>,
    ending: Arc<AtomicBool>,
    work: Option<JoinHandle<()>>,
}

impl Server {
    fn start(certificate: rcgen::Certificate, key: &KeyPair) -> Self {
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (requests, ending) = (
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let work = std::thread::spawn({
            let (requests, ending) = (requests.clone(), ending.clone());
            move || {
                while let Ok((stream, _)) = listener.accept() {
                    if ending.load(Ordering::SeqCst) {
                        return;
                    }
                    let connection = ServerConnection::new(config.clone()).unwrap();
                    serve(StreamOwned::new(connection, stream), &requests);
                }
            }
        });
        Self {
            port,
            requests,
            ending,
            work: Some(work),
        }
    }

    /// Calls through a user who trusts `authority` and grants this server alone.
    fn asked(&self, authority: &Authority) -> Ended {
        ask(&format!("https://127.0.0.1:{}/", self.port), authority)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::SeqCst);
        // Wakes it up; where it is gone already, there is nothing to wake.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        let _ = self.work.take().unwrap().join();
    }
}

/// One request, or a client that turns away.
fn serve(mut stream: StreamOwned<ServerConnection, TcpStream>, requests: &AtomicUsize) {
    let mut piece = [0; 4_096];
    if let Ok(1..) = stream.read(&mut piece) {
        requests.fetch_add(1, Ordering::SeqCst);
        let _ = stream.write_all(plain(200, "text/plain", "inside").as_bytes());
        stream.conn.send_close_notify();
        let _ = stream.flush();
    }
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

fn is_refused(server: &Server, authority: &Authority, why: &str) {
    let ended = server.asked(authority);
    ended
        .prints(&["-> failed: no connection to the server", why])
        .never("inside");
    assert_eq!(server.requests.load(Ordering::SeqCst), 0, "{why}");
}

#[test]
fn a_server_that_an_authority_vouches_for_is_believed() {
    let authority = Authority::new(None);
    let server = authority.vouches(&["127.0.0.1"], NOW);
    server.asked(&authority).prints(&["-> ok: 200", "inside"]);
    assert_eq!(server.requests.load(Ordering::SeqCst), 1);
}

#[test]
fn a_certificate_that_is_not_for_now_is_none() {
    let authority = Authority::new(None);
    is_refused(
        &authority.vouches(&["127.0.0.1"], PAST),
        &authority,
        "xpired",
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
        is_refused(&authority.vouches(names, NOW), &authority, "not valid for");
    }
}

#[test]
fn a_server_that_vouches_for_itself_is_not_believed() {
    let key = KeyPair::generate().unwrap();
    let certificate = params(&["127.0.0.1"], NOW).self_signed(&key).unwrap();
    let server = Server::start(certificate, &key);
    is_refused(&server, &Authority::new(None), "UnknownIssuer");
}

#[test]
fn an_authority_that_nobody_trusts_vouches_for_nobody() {
    let server = Authority::new(None).vouches(&["127.0.0.1"], NOW);
    is_refused(&server, &Authority::new(None), "certificate");
}

#[test]
fn an_authority_vouches_only_for_names_that_are_its_own() {
    let inner = GeneralSubtree::IpAddress(CidrSubnet::V4([10, 0, 0, 0], [255, 0, 0, 0]));
    let authority = Authority::new(Some(NameConstraints {
        permitted_subtrees: vec![inner],
        excluded_subtrees: Vec::new(),
    }));
    let server = authority.vouches(&["127.0.0.1"], NOW);
    is_refused(&server, &authority, "NameConstraintViolation");
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
