//! The witness: a server on loopback that counts, by path, what was really sent.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use crate::server::body_length;

/// Counts what it is sent, and answers each with an empty page.
#[derive(Debug)]
pub struct Witness {
    port: u16,
    seen: Arc<Mutex<BTreeMap<String, usize>>>,
    ending: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Witness {
    /// Listens on a free port.
    ///
    /// # Panics
    /// Where there is none.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let (seen, ending) = (Arc::new(Mutex::default()), Arc::new(AtomicBool::new(false)));
        let accepting = std::thread::spawn({
            let (seen, ending) = (seen.clone(), ending.clone());
            move || {
                for stream in listener.incoming() {
                    if ending.load(Ordering::SeqCst) {
                        return;
                    }
                    if let Ok(stream) = stream {
                        let seen = seen.clone();
                        std::thread::spawn(move || answer(stream, &seen));
                    }
                }
            }
        });
        Self {
            port,
            seen,
            ending,
            accepting: Some(accepting),
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// How often this path was sent to.
    #[must_use]
    pub fn count(&self, path: &str) -> usize {
        counted(&self.seen).get(path).copied().unwrap_or(0)
    }

    /// How much was sent at all.
    #[must_use]
    pub fn total(&self) -> usize {
        counted(&self.seen).values().sum()
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::SeqCst);
        // Wakes it up; where it is gone already, there is nothing to wake.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

fn counted(seen: &Mutex<BTreeMap<String, usize>>) -> MutexGuard<'_, BTreeMap<String, usize>> {
    seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Requests of one connection, until the other side is gone. A request counts once its head is here, whatever becomes
/// of whoever has sent it.
fn answer(mut stream: TcpStream, seen: &Mutex<BTreeMap<String, usize>>) {
    let mut bytes = Vec::new();
    let mut piece = [0; 4_096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = body_length(head);
            if body.len() >= length {
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                *counted(seen).entry(path).or_default() += 1;
                bytes.drain(..head.len() + 4 + length);
                let answer =
                    "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok";
                if stream.write_all(answer.as_bytes()).is_err() {
                    return;
                }
                continue;
            }
        }
        match stream.read(&mut piece) {
            Ok(read @ 1..) => bytes.extend_from_slice(&piece[..read]),
            Ok(0) | Err(_) => return,
        }
    }
}
