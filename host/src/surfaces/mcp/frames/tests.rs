//! What frames do with bytes of any kind.

use super::*;
use crate::words::limits::MCP_FRAME_BYTES;

/// What comes of these bytes: the messages' methods or ids, and what was said of bad lines.
async fn read(bytes: Vec<u8>) -> (Vec<String>, Vec<Value>) {
    let (theirs, ours) = tokio::io::duplex(1 << 20);
    let (mut frames, writing) = Frames::new(
        (std::io::Cursor::new(bytes), ours),
        MCP_FRAME_BYTES,
        Arc::default(),
    );
    let mut got = Vec::new();
    while let Some(message) = frames.receive().await {
        let value = serde_json::to_value(&message).unwrap();
        got.push(value["method"].as_str().unwrap_or("answer").to_owned());
        if let JsonRpcMessage::Request(request) = message {
            let answer = rmcp::model::ServerResult::empty(());
            frames
                .send(JsonRpcMessage::response(answer, request.id))
                .await
                .unwrap();
        }
    }
    frames.close().await.unwrap();
    writing.await.unwrap();
    drop(frames);
    let mut lines = BufReader::new(theirs).lines();
    let mut said = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        let value: Value = serde_json::from_str(&line).unwrap();
        if value.get("error").is_some() {
            said.push(value);
        }
    }
    (got, said)
}

fn codes(said: &[Value]) -> Vec<i64> {
    said.iter()
        .map(|one| one["error"]["code"].as_i64().unwrap())
        .collect()
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

#[tokio::test]
async fn bad_lines_are_answered_and_the_next_is_read() {
    let (got, said) = read(format!("nope\n{PING}\n").into_bytes()).await;
    assert_eq!(
        (got.as_slice(), codes(&said)),
        (&["ping".to_owned()][..], vec![-32700])
    );
    let (got, said) = read(format!("[1]\n\r\n{{\"id\":7}}\n{PING}\r\n").into_bytes()).await;
    assert_eq!(got, ["ping"]);
    assert_eq!(codes(&said), [-32600, -32600]);
    assert_eq!(said[1]["id"], 7);
    let (got, said) =
        read([b"\xff\xfe\n".to_vec(), format!("{PING}\n").into_bytes()].concat()).await;
    assert_eq!((got.len(), codes(&said)), (1, vec![-32700]));
}

#[test]
fn what_a_client_sends_has_each_key_once_and_a_depth() {
    let nested = format!("{}{}", "[".repeat(90), "]".repeat(90));
    for (sent, says) in [
        (r#"{"a":1,"a":2}"#, "the body is no JSON: a key comes twice"),
        (&nested, "the body is no JSON: nested deeper than 64"),
    ] {
        let said = strict(sent.as_bytes(), "body").unwrap_err();
        let said: Value = serde_json::from_slice(&said).unwrap();
        assert_eq!(codes(std::slice::from_ref(&said)), [-32700]);
        let message = said["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(says), "{message}");
    }
    assert!(strict(PING.as_bytes(), "body").is_ok());
}

#[tokio::test]
async fn a_line_has_a_length() {
    for bytes in [MCP_FRAME_BYTES + 2, 3 * MCP_FRAME_BYTES] {
        let (got, said) = read(format!("{}\n{PING}\n", "x".repeat(bytes)).into_bytes()).await;
        assert_eq!(got, ["ping"], "{bytes}");
        assert_eq!(codes(&said), [-32600]);
    }
    let padded = format!("{PING}{}\n", " ".repeat(MCP_FRAME_BYTES - PING.len()));
    let (got, said) = read(padded.into_bytes()).await;
    assert_eq!((got.len(), said.len()), (1, 0));
}

#[tokio::test]
async fn a_line_is_as_long_as_the_user_lets_it_be() {
    let line = |spaces: usize| format!("{PING}{}\n", " ".repeat(spaces)).into_bytes();
    for (spaces, got) in [(100 - PING.len(), true), (101 - PING.len(), false)] {
        let (_theirs, ours) = tokio::io::duplex(1 << 20);
        let bytes = std::io::Cursor::new(line(spaces));
        let (mut frames, _writing) = Frames::new((bytes, ours), 100, Arc::default());
        assert_eq!(frames.receive().await.is_some(), got, "{spaces}");
    }
}

#[tokio::test]
async fn what_has_no_end_is_no_message() {
    let (got, said) = read(PING.as_bytes().to_vec()).await;
    assert_eq!((got.len(), said.len()), (0, 0));
}

#[tokio::test]
async fn an_id_is_used_once_at_a_time() {
    let (_theirs, ours) = tokio::io::duplex(1 << 20);
    let bytes = format!("{PING}\n{PING}\n{}\n", PING.replace(":1,", ":2,"));
    let (mut frames, _writing) = Frames::new(
        (std::io::Cursor::new(bytes.into_bytes()), ours),
        MCP_FRAME_BYTES,
        Arc::default(),
    );
    let mut ids = Vec::new();
    for _ in 0..2 {
        let message = frames.receive().await.unwrap();
        ids.push(serde_json::to_value(&message).unwrap()["id"].clone());
    }
    assert_eq!(ids, [1, 2]);
    let long = PING.replace(":1,", &format!(":\"{}\",", "i".repeat(MCP_ID_CHARS + 1)));
    let (got, said) = read(format!("{long}\n").into_bytes()).await;
    assert_eq!((got.len(), codes(&said)), (0, vec![-32600]));
}

#[tokio::test]
async fn a_client_that_does_not_read_is_not_read_from() {
    // Room for one frame or two, and nobody takes them.
    let (_theirs, ours) = tokio::io::duplex(64);
    let bytes = "nope\n".repeat(1_000);
    let (mut frames, _writing) = Frames::new(
        (std::io::Cursor::new(bytes.into_bytes()), ours),
        MCP_FRAME_BYTES,
        Arc::default(),
    );
    let read = tokio::time::timeout(Duration::from_millis(50), frames.receive()).await;
    assert!(read.is_err());
    let queued = frames.out.as_ref().map(|out| out.queue.capacity());
    assert_eq!(queued, Some(0));
}

#[tokio::test]
async fn what_is_not_answered_is_counted() {
    let (_theirs, ours) = tokio::io::duplex(1 << 20);
    let lines: String = (0..=MCP_REQUESTS)
        .map(|id| format!("{}\n", PING.replace(":1,", &format!(":{id},"))))
        .collect();
    let (mut frames, _writing) = Frames::new(
        (std::io::Cursor::new(lines.into_bytes()), ours),
        MCP_FRAME_BYTES,
        Arc::default(),
    );
    let mut last = None;
    for _ in 0..MCP_REQUESTS {
        last = frames.receive().await;
    }
    let Some(JsonRpcMessage::Request(request)) = last else {
        panic!("no request");
    };
    let more = tokio::time::timeout(Duration::from_millis(50), frames.receive()).await;
    assert!(more.is_err());
    frames.open.remove(&request.id);
    assert!(frames.receive().await.is_some());
}
