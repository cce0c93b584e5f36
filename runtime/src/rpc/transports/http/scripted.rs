//! An HTTP server for tests, whose responses are heads without a body.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Starts a server, and returns its URL. `answer` returns the status and the headers for the head of a request in lower
/// case, and an empty text to close the connection without a response. The runtime of the test ends the server.
pub(super) async fn answering(answer: impl Fn(&str) -> &'static str + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = [0; 4096];
            let length = stream.read(&mut head).await.expect("a request");
            let head = answer(&String::from_utf8_lossy(&head[..length]).to_ascii_lowercase());
            if !head.is_empty() {
                let response = ["HTTP/1.1 ", head, "\r\nconnection: close\r\n\r\n"].concat();
                stream.write_all(response.as_bytes()).await.expect("a client");
            }
        }
    });
    url
}
