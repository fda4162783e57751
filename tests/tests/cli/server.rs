//! A server on loopback that gives the answers it was told, one a connection, and keeps what it was
//! asked.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use lazaret_tests::server::body_length;
use lazaret_tests::wait::PATIENCE;

/// What the server does with one connection.
pub enum Answer {
    /// These bytes, and the connection is closed.
    Bytes(String),
    /// These bytes, and then silence for as long as the server lives.
    Silence(String),
}

pub struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    arrived: Mutex<Receiver<()>>,
    ending: Arc<AtomicBool>,
    work: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let ending = Arc::new(AtomicBool::new(false));
        let (tell, arrived) = channel();
        let work = std::thread::spawn({
            let (requests, ending) = (requests.clone(), ending.clone());
            move || serve(&listener, answers, &requests, &ending, &tell)
        });
        Self {
            port,
            requests,
            arrived: Mutex::new(arrived),
            ending,
            work: Some(work),
        }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns when a request has been read and its bytes are sent.
    pub fn wait(&self) {
        let arrived = self.arrived.lock().unwrap().recv_timeout(PATIENCE);
        arrived.expect("a request arrives");
    }

    /// Every request so far, head and body.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// The bodies of the requests, which are JSON.
    pub fn bodies(&self) -> Vec<serde_json::Value> {
        let body = |request: &String| {
            let body = request.split_once("\r\n\r\n").unwrap().1;
            serde_json::from_str(body).unwrap()
        };
        self.requests().iter().map(body).collect()
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

fn serve(
    listener: &TcpListener,
    answers: Vec<Answer>,
    requests: &Mutex<Vec<String>>,
    ending: &AtomicBool,
    tell: &Sender<()>,
) {
    let mut silent = Vec::new();
    for answer in answers
        .into_iter()
        .map(Some)
        .chain(std::iter::repeat_with(|| None))
    {
        let Ok((mut stream, _)) = listener.accept() else {
            return;
        };
        if ending.load(Ordering::SeqCst) {
            return;
        }
        requests.lock().unwrap().push(read(&mut stream));
        match answer {
            Some(Answer::Bytes(bytes)) => drop(stream.write_all(bytes.as_bytes())),
            Some(Answer::Silence(bytes)) => {
                drop(stream.write_all(bytes.as_bytes()));
                silent.push(stream);
            }
            None => drop(stream.write_all(plain(500, "text/plain", "no more").as_bytes())),
        }
        // The test may have stopped waiting.
        let _ = tell.send(());
    }
}

/// One request: its head, and as much body as the head says.
pub fn read(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0; 4_096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && body.len() >= body_length(head)
        {
            return text.into_owned();
        }
        match stream.read(&mut piece) {
            Ok(read @ 1..) => bytes.extend_from_slice(&piece[..read]),
            Ok(0) | Err(_) => return String::from_utf8_lossy(&bytes).into_owned(),
        }
    }
}

/// A whole answer.
pub fn plain(status: u16, media_type: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} x\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// A stream of events, which ends with the connection.
pub fn stream(events: &[String]) -> String {
    let events: Vec<String> = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{}",
        events.concat()
    )
}
