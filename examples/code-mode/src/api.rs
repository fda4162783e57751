//! The shop's API: a server on loopback that answers with JSON.

use std::sync::Arc;

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::orders::Shop;

/// Answers until the task is dropped.
pub async fn serve(listener: TcpListener, shop: Arc<Shop>) {
    // They end with this task.
    let mut open = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shop = shop.clone();
        open.spawn(async move { answer(stream, &shop).await });
    }
}

async fn answer(mut stream: TcpStream, shop: &Shop) -> Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < 8_192 {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head)?;
    let found = head.split(' ').nth(1).and_then(|path| shop.answer(path));
    let status = if found.is_some() {
        "200 OK"
    } else {
        "404 Not Found"
    };
    let body = found.unwrap_or_default().to_string();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    Ok(stream.write_all(format!("{head}{body}").as_bytes()).await?)
}
