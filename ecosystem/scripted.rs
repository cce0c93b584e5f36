//! The API of a model, for the tests of packages that call one over HTTP.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Answers each request with the next of these streams of events. Returns the address.
pub(crate) async fn api(streams: Vec<Vec<Value>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        for events in streams {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut read = Vec::new();
            let mut buffer = [0; 4096];
            // Requests of the tests are JSON objects.
            while !read.ends_with(b"}") {
                let count = stream.read(&mut buffer).await.expect("a request");
                read.extend_from_slice(&buffer[..count]);
            }
            let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(format!("{head}{body}data: [DONE]\n\n").as_bytes()).await;
        }
    });
    address
}
