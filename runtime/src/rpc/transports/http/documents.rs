//! JSON documents at URLs.

use std::time::Duration;

use reqwest::header::ACCEPT;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::Value;

use super::network::Network;
use super::refusals::describe;
use super::{JSON, bodies, client};

/// Fetches the JSON document at a URL, of at most `longest` bytes, with the HTTP client of this crate. It follows
/// redirects only within the origin. Cancel safe.
///
/// # Errors
/// Fails if the request fails or takes longer than `within`, if the status is not a success, or if the body is too long
/// or is not JSON.
pub async fn fetch_json(url: &str, longest: usize, within: Duration) -> Result<Value, String> {
    let request = client::shared(url, &Network::default())?.get(url).header(ACCEPT, JSON);
    let (status, body) = exchange(request, longest, within, StatusCode::is_success, describe).await?;
    if !status.is_success() {
        return Err(format!("HTTP {status}"));
    }
    serde_json::from_slice(&body).map_err(|_| "the response is not JSON".to_owned())
}

/// Sends a request, and returns the status and the body of the response. The body is empty, and is not awaited, if
/// `has_body` is `false` for the status. Cancel safe.
///
/// # Errors
/// Fails if no response arrives within the limits; `failed` describes an error of the HTTP client.
pub(crate) async fn exchange(
    request: RequestBuilder,
    longest: usize,
    within: Duration,
    has_body: fn(&StatusCode) -> bool,
    failed: fn(&reqwest::Error) -> String,
) -> Result<(StatusCode, Vec<u8>), String> {
    let exchange = async {
        let response = request.send().await.map_err(|error| failed(&error))?;
        let status = response.status();
        if !has_body(&status) {
            return Ok((status, Vec::new()));
        }
        match bodies::within(longest, response).await? {
            Some(body) => Ok((status, body)),
            None if !status.is_success() => Ok((status, Vec::new())),
            None => Err("the response is too long".to_owned()),
        }
    };
    let answer = tokio::time::timeout(within, exchange).await;
    answer.unwrap_or_else(|_| Err(format!("no answer within {within:?}")))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn body_of_a_refused_document_is_not_awaited() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let serving = async {
            let (mut stream, _) = listener.accept().await.expect("a request");
            let _ = stream.read(&mut [0; 1024]).await.expect("a request");
            stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 9\r\n\r\n").await.expect("it is sent");
            std::future::pending().await
        };
        let fetched = tokio::select! {
            fetched = fetch_json(&url, 100, Duration::from_secs(5)) => fetched,
            () = serving => unreachable!("it never ends"),
        };
        assert_eq!(fetched, Err("HTTP 404 Not Found".to_owned()));
    }
}
