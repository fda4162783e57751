//! Clients of MCP before a host that may be followed by another: they are told that the list of tools has changed.

use std::sync::Arc;

use lazaret::runs::host::Host;
use lazaret::surfaces::mcp::desk::{Desk, Serving};
use lazaret::surfaces::mcp::stdio::serve_over;
use lazaret_tests::prelude::*;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::watch;
use tokio::task::JoinHandle;

struct Client {
    read: BufReader<ReadHalf<DuplexStream>>,
    write: WriteHalf<DuplexStream>,
    serving: JoinHandle<lazaret::words::error::Result<()>>,
}

impl Client {
    fn of(desk: Arc<Desk>) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = tokio::io::split(theirs);
        let serving = tokio::spawn(serve_over(desk, (read, write), std::future::pending()));
        let (read, write) = tokio::io::split(ours);
        Self {
            read: BufReader::new(read),
            write,
            serving,
        }
    }

    async fn tell(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.write.write_all(line.as_bytes()).await.unwrap();
    }

    /// The next message like this; others are passed over.
    async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            assert!(
                self.read.read_line(&mut line).await.unwrap() > 0,
                "it ended"
            );
            let message: Value = serde_json::from_str(&line).unwrap();
            if wanted(&message) {
                return message;
            }
        }
    }

    async fn ask(&mut self, id: u32, method: &str, params: Value) -> Value {
        self.tell(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        self.until(|message| message["id"] == id).await
    }

    async fn names(&mut self, id: u32, params: Value) -> Vec<String> {
        let list = self.ask(id, "tools/list", params).await;
        let tools = list["result"]["tools"].as_array().unwrap();
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        tools.iter().map(name).collect()
    }

    async fn end(self) {
        drop((self.read, self.write));
        self.serving.await.unwrap().unwrap();
    }
}

/// A desk before a host with these lines, whom others may follow.
async fn following(policy: &str) -> (Rigged, watch::Sender<Arc<Host>>, Arc<Desk>) {
    let rigged = Rig::of("").open().await;
    let first = Arc::new(Rig::of(policy).open().await.host);
    let (tell, hosts) = watch::channel(first);
    let desk = Desk::following(hosts, Serving::default()).unwrap();
    (rigged, tell, desk)
}

const COUNT: &str = "text__count";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_are_told_when_another_host_comes() {
    let (other, tell, desk) = following("block = [\"text.count\"]").await;
    let mut client = Client::of(desk);
    let begin = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let begun = client.ask(1, "initialize", begin).await;
    assert_eq!(
        begun["result"]["capabilities"]["tools"]["listChanged"],
        true
    );
    client
        .tell(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    assert!(!client.names(2, json!({})).await.contains(&COUNT.to_owned()));
    tell.send(Arc::new(other.host)).unwrap();
    client
        .until(|message| message["method"] == "notifications/tools/list_changed")
        .await;
    assert!(client.names(3, json!({})).await.contains(&COUNT.to_owned()));
    client.end().await;
}

/// A change is told to whoever listens, also where it came first: what was listed before may be another's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_came_before_is_told_too() {
    let (other, tell, desk) = following("block = [\"text.count\"]").await;
    let mut client = Client::of(desk);
    tell.send(Arc::new(other.host)).unwrap();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let listen = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    client
        .tell(
            json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": listen}),
        )
        .await;
    client
        .until(|message| message["method"] == "notifications/tools/list_changed")
        .await;
    client.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_the_newest_version_ask_to_be_told() {
    let (other, tell, desk) = following("block = [\"text.count\"]").await;
    let mut client = Client::of(desk);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let listen = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    client
        .tell(
            json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": listen}),
        )
        .await;
    client
        .until(|message| message["method"] == "notifications/subscriptions/acknowledged")
        .await;
    tell.send(Arc::new(other.host)).unwrap();
    client
        .until(|message| message["method"] == "notifications/tools/list_changed")
        .await;
    assert!(
        client
            .names(2, json!({"_meta": meta}))
            .await
            .contains(&COUNT.to_owned())
    );
    client.end().await;
}
