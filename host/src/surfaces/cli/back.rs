//! Coming back: a port of this machine that hears a person who has logged in somewhere, once.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::words::clock::Deadline;
use crate::words::error::{Code, Error, Result};
use crate::words::limits::servers::{
    LOGIN_HEAD_BYTES, LOGIN_HEAD_MS, LOGIN_REQUESTS, LOGIN_WAIT_MS,
};

/// A port that is listened at until this is dropped.
pub(super) struct Back {
    listener: TcpListener,
    port: u16,
}

impl Back {
    /// Any port that is free, of this machine alone.
    pub(super) async fn open() -> Result<Self> {
        let failed = |error| {
            Error::new(Code::DiskFailed, "no port of this machine can be had").because(error)
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self { listener, port })
    }

    /// Where the person comes back to.
    pub(super) fn place(&self) -> String {
        format!("http://127.0.0.1:{}/callback", self.port)
    }

    /// Waits for them, who may bring all sorts of requests of a browser along; `code` says what is in one of them.
    pub(super) async fn heard(
        &self,
        code: impl Fn(&str) -> Result<Option<String>>,
    ) -> Result<String> {
        let until = Deadline::after_ms(LOGIN_WAIT_MS);
        let late = || Error::too_slow("the login", LOGIN_WAIT_MS).retry(false);
        for _ in 0..LOGIN_REQUESTS {
            let accepted = tokio::time::timeout(until.rest(), self.listener.accept()).await;
            let Ok((mut stream, _)) = accepted.map_err(|_| late())? else {
                continue;
            };
            if let Some(code) = self.told(&mut stream, &code).await? {
                return Ok(code);
            }
        }
        let what = format!("{LOGIN_REQUESTS} requests came, and none of them was the login");
        Err(Error::new(Code::Denied, what))
    }

    /// The code in one request, which is answered.
    async fn told(
        &self,
        stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
        code: impl Fn(&str) -> Result<Option<String>>,
    ) -> Result<Option<String>> {
        let head = Duration::from_millis(LOGIN_HEAD_MS);
        let Ok(Some(target)) = tokio::time::timeout(head, target(stream, self.port)).await else {
            return Ok(None);
        };
        let code = code(&target);
        let (status, says) = match &code {
            Ok(Some(_)) => ("200 OK", "You are logged in, and can close this page."),
            Ok(None) => ("404 Not Found", "There is nothing here."),
            Err(_) => ("400 Bad Request", "This was no login. Lazaret says why."),
        };
        // Whether they read it is theirs.
        let _ = tokio::time::timeout(head, answer(stream, status, says)).await;
        code
    }
}

/// What a request asks for; nothing that could be a login where it is none for us: a page of another name may have led here.
async fn target(stream: &mut (impl AsyncRead + Unpin), port: u16) -> Option<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 1_024];
    while !bytes.windows(4).any(|four| four == b"\r\n\r\n") {
        let count = stream.read(&mut piece).await.ok();
        let count = count.filter(|count| *count > 0)?;
        bytes.extend_from_slice(piece.get(..count)?);
        if bytes.len() > LOGIN_HEAD_BYTES {
            return None;
        }
    }
    let head = String::from_utf8(bytes).ok()?;
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let mut hosts = lines.filter_map(|line| line.split_once(':'));
    let host = hosts.find(|(name, _)| name.eq_ignore_ascii_case("host"))?;
    let is_ours = method == "GET" && host.1.trim() == format!("127.0.0.1:{port}");
    let is_answer = target.starts_with("/callback?");
    Some(match is_ours && is_answer {
        true => target.to_owned(),
        false => String::new(),
    })
}

async fn answer(
    stream: &mut (impl AsyncWrite + Unpin),
    status: &str,
    says: &str,
) -> std::io::Result<()> {
    let length = says.len();
    let text = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\ncontent-security-policy: default-src 'none'\r\n\
         connection: close\r\n\r\n{says}"
    );
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(asked: &str) -> Option<String> {
        let (mut ours, mut theirs) = tokio::io::duplex(64 << 10);
        theirs.write_all(asked.as_bytes()).await.unwrap();
        drop(theirs);
        target(&mut ours, 7).await
    }

    #[tokio::test]
    async fn a_request_is_heard_only_at_its_own_address() {
        let good = "GET /callback?code=c HTTP/1.1\r\nHost: 127.0.0.1:7\r\n\r\n";
        assert_eq!(read(good).await.as_deref(), Some("/callback?code=c"));
        for other in [
            good.replace("127.0.0.1:7", "evil.test:7"),
            good.replace("127.0.0.1:7", "localhost:7"),
            good.replace("GET", "POST"),
            good.replace("/callback?", "/other?"),
        ] {
            assert_eq!(read(&other).await.as_deref(), Some(""), "{other}");
        }
        assert_eq!(read("GET /callback?code=c HTTP/1.1\r\n\r\n").await, None);
        assert_eq!(read("GET /callback?code=c").await, None);
        let long = good.replace(
            "Host",
            &format!("X: {}\r\nHost", "x".repeat(LOGIN_HEAD_BYTES)),
        );
        assert_eq!(read(&long).await, None);
    }
}
