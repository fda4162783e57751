//! An address where nobody listens, and nobody can begin to: a port that was free a moment ago may be another's by now.

use tokio::net::TcpSocket;

/// A port of 127.0.0.1 that is taken until this is dropped, and refuses whoever comes.
pub struct Nobody {
    port: u16,
    _taken: TcpSocket,
}

impl Nobody {
    /// Takes a port.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "no two of them are the same")]
    pub fn new() -> Self {
        let taken = TcpSocket::new_v4().expect("a socket");
        taken.bind(([127, 0, 0, 1], 0).into()).expect("a free port");
        let port = taken.local_addr().expect("a bound port").port();
        Self {
            port,
            _taken: taken,
        }
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address, as that of a server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}
