//! A minimal HTTP server and client for JSON.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Larger than any request of the examples.
const LARGEST: usize = 8 * 1024 * 1024;

/// Answers requests on a free port, and returns its address.
pub(super) async fn serve(
    answer: impl Fn(&str, &[(String, String)], &Value) -> Result<Value, String> + Send + Sync + 'static,
) -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let answered = match read(&mut stream).await {
                    Ok(message) => {
                        let path = message.first.split(' ').nth(1).unwrap_or_default();
                        answer(path, &message.headers, &message.body)
                    }
                    Err(error) => Err(error),
                };
                let (status, body) = match answered {
                    Ok(body) => ("200 OK", body),
                    Err(message) => ("400 Bad Request", json!({ "error": { "message": message } })),
                };
                // The client has disconnected.
                let _ = stream.write_all(message(&format!("HTTP/1.1 {status}"), &[], &body).as_bytes()).await;
            });
        }
    });
    Ok(address)
}

/// Returns the status and the body of the response.
pub(super) async fn post(
    address: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Result<(u16, Value), String> {
    let said = |error: std::io::Error| format!("{address}: {error}");
    let mut stream = TcpStream::connect(address).await.map_err(said)?;
    let headers = [&[("host", address)], headers].concat();
    let request = message(&format!("POST {path} HTTP/1.1"), &headers, body);
    stream.write_all(request.as_bytes()).await.map_err(said)?;
    let answer = read(&mut stream).await?;
    let status = answer.first.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.ok_or("no status")?, answer.body))
}

fn message(first: &str, headers: &[(&str, &str)], body: &Value) -> String {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let body = body.to_string();
    let length = body.len();
    format!(
        "{first}\r\n{headers}content-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

struct Message {
    first: String,
    headers: Vec<(String, String)>,
    body: Value,
}

async fn read(stream: &mut TcpStream) -> Result<Message, String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned();
            let mut lines = head.lines();
            let first = lines.next().unwrap_or_default().to_owned();
            let headers: Vec<(String, String)> = lines
                .filter_map(|line| line.split_once(':'))
                .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
                .collect();
            let length =
                headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, length)| length.parse().ok());
            let length: usize = length.ok_or("no length")?;
            if let Some(body) = bytes.get(end + 4..).filter(|body| body.len() >= length) {
                let body = serde_json::from_slice(body).map_err(|error| format!("the body is not JSON: {error}"))?;
                return Ok(Message { first, headers, body });
            }
        }
        let read = stream.read(&mut buffer).await.map_err(|error| error.to_string())?;
        if read == 0 || bytes.len() > LARGEST {
            return Err("it ends in the middle, or never".to_owned());
        }
        bytes.extend_from_slice(buffer.get(..read).unwrap_or_default());
    }
}
