//! Servers that show who they are: rightly, wrongly, or as somebody else.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DnType, GeneralSubtree, IsCa, Issuer, KeyPair,
    NameConstraints, date_time_ymd,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde::Deserialize;

/// A year in which every test runs, and ones in which none does.
pub const NOW: (i32, i32) = (2020, 2120);
/// Before.
pub const PAST: (i32, i32) = (2001, 2002);
/// After.
pub const FUTURE: (i32, i32) = (2119, 2120);

/// What `/out` is answered with: the same host, without encryption.
const OUT: &str = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
/// What a server says inside the encryption.
const INSIDE: &str = "HTTP/1.1 200 x\r\ncontent-type: text/plain\r\ncontent-length: 6\r\nconnection: close\r\n\r\ninside";

/// An authority, and what it says of others.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate.
    pub pem: String,
    /// Its key, for who goes on with it in another process.
    pub key: String,
}

impl Authority {
    /// One that may vouch for anybody, or for whom its constraints allow.
    #[must_use]
    pub fn new(constraints: Option<NameConstraints>) -> Self {
        Self::with(KeyPair::generate().expect("a key"), constraints)
    }

    fn with(key: KeyPair, constraints: Option<NameConstraints>) -> Self {
        let mut params = params(&[], NOW);
        // Two that are trusted in one place are told from each other.
        let name = format!("an authority {}", constraints.is_some());
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.name_constraints = constraints;
        let pem = params.self_signed(&key).expect("a certificate").pem();
        let text = key.serialize_pem();
        let issuer = Issuer::new(params, key);
        Self {
            issuer,
            pem,
            key: text,
        }
    }

    /// A server that it vouches for.
    #[must_use]
    pub fn vouches(&self, names: &[&str], years: (i32, i32)) -> Server {
        let key = KeyPair::generate().expect("a server on this machine");
        let certificate = params(names, years)
            .signed_by(&key, &self.issuer)
            .expect("a server on this machine");
        Server::start(certificate, &key)
    }
}

/// What a certificate says.
#[must_use]
pub fn params(names: &[&str], (from, to): (i32, i32)) -> CertificateParams {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).expect("a server on this machine");
    params.not_before = date_time_ymd(from, 1, 1);
    params.not_after = date_time_ymd(to, 1, 1);
    params
}

/// A server that has this certificate, and counts the requests that reach it inside the encryption.
pub struct Server {
    port: u16,
    requests: Arc<AtomicUsize>,
    ending: Arc<AtomicBool>,
    work: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts it.
    #[must_use]
    pub fn start(certificate: rcgen::Certificate, key: &KeyPair) -> Self {
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a server on this machine");
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("a server on this machine");
        let config = Arc::new(config);
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a server on this machine");
        let port = listener
            .local_addr()
            .expect("a server on this machine")
            .port();
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
                    let connection =
                        ServerConnection::new(config.clone()).expect("a server on this machine");
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

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How many requests reached it.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::SeqCst);
        // Wakes it up; where it is gone already, there is nothing to wake.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        let _ = self.work.take().map(JoinHandle::join);
    }
}

/// One request, or a client that turns away.
fn serve(mut stream: StreamOwned<ServerConnection, TcpStream>, requests: &AtomicUsize) {
    let mut piece = [0; 4_096];
    if let Ok(1..) = stream.read(&mut piece) {
        requests.fetch_add(1, Ordering::SeqCst);
        let leads_out = piece.starts_with(b"GET /out ");
        let answer = if leads_out { OUT } else { INSIDE };
        let _ = stream.write_all(answer.as_bytes());
        stream.conn.send_close_notify();
        let _ = stream.flush();
    }
}

/// Where the keys of the authorities are that this process trusts, with `SSL_CERT_FILE` beside it.
pub const TRUSTED: &str = "LAZARET_TEST_AUTHORITIES";

/// An authority that vouches for no address of this machine.
#[must_use]
pub fn confined() -> NameConstraints {
    let inner = GeneralSubtree::IpAddress(CidrSubnet::V4([10, 0, 0, 0], [255, 0, 0, 0]));
    NameConstraints {
        permitted_subtrees: vec![inner],
        excluded_subtrees: Vec::new(),
    }
}

/// Makes two authorities that a process is to trust; the file with both.
///
/// # Panics
/// Where they cannot be written.
#[must_use]
pub fn lay(folder: &Path) -> std::path::PathBuf {
    let (any, few) = (Authority::new(None), Authority::new(Some(confined())));
    let file = folder.join("authorities.pem");
    let written = std::fs::write(&file, format!("{}{}", any.pem, few.pem))
        .and_then(|()| std::fs::write(folder.join("any.key"), any.key))
        .and_then(|()| std::fs::write(folder.join("few.key"), few.key));
    written.expect("the folder of a test can be written");
    file
}

/// What a server shows of itself.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Certified {
    /// That an authority vouches for it.
    Right,
    /// A certificate that was good once,
    Expired,
    /// that will be,
    NotYet,
    /// that is for another name,
    OtherName,
    /// that it has made itself,
    Itself,
    /// of an authority that nobody trusts,
    Stranger,
    /// or of one that may not vouch for it.
    NotItsOwn,
}

impl Certified {
    /// Starts such a server.
    ///
    /// # Panics
    /// Where this process trusts nobody: see [`TRUSTED`].
    #[must_use]
    pub fn start(self) -> Server {
        let here = &["127.0.0.1"][..];
        match self {
            Self::Right => trusted("any").vouches(here, NOW),
            Self::Expired => trusted("any").vouches(here, PAST),
            Self::NotYet => trusted("any").vouches(here, FUTURE),
            Self::OtherName => trusted("any").vouches(&["127.0.0.2", "localhost", "*"], NOW),
            Self::Stranger => Authority::new(None).vouches(here, NOW),
            Self::NotItsOwn => trusted("few").vouches(here, NOW),
            Self::Itself => {
                let key = KeyPair::generate().expect("a key");
                let certificate = params(here, NOW).self_signed(&key);
                Server::start(certificate.expect("a certificate"), &key)
            }
        }
    }
}

fn trusted(name: &str) -> Authority {
    let folder = std::env::var_os(TRUSTED).expect("this process trusts somebody");
    let key = std::fs::read_to_string(Path::new(&folder).join(format!("{name}.key")));
    let key = KeyPair::from_pem(&key.expect("a key")).expect("a key");
    Authority::with(key, (name == "few").then(confined))
}
