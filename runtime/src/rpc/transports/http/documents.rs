//! Bodies of responses, with a limit on their size, and JSON documents at URLs.

use std::time::Duration;

use reqwest::header::ACCEPT;
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::Value;
use tokio::time::timeout;

use super::JSON;
use super::network::{Network, shared};
use super::refusals::describe;

/// The limits on the size and the wait for the body of a refusal.
const MAX_REFUSAL: usize = 64 * 1024;
const PATIENCE_FOR_REFUSAL: Duration = Duration::from_secs(2);

/// Returns the whole of a body; `None` if it is longer than `limit`. Dropping the future closes the response: the rest is
/// not read, and an HTTP/1.1 connection is not used again.
///
/// # Errors
/// Fails if it is cut.
pub(crate) async fn within(limit: usize, response: Response) -> Result<Option<Vec<u8>>, String> {
    if response.content_length().is_some_and(|announced| announced > limit as u64) {
        return Ok(None);
    }
    let mut body = Vec::new();
    read(response, limit, &mut body).await.map_err(|error| describe(&error))?;
    Ok((body.len() <= limit).then_some(body))
}

/// Reads the part of a refusal's body that arrives soon. Dropping the future acts like dropping `within`.
pub(crate) async fn beginning(response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    // The part before an error is used too.
    let _ = timeout(PATIENCE_FOR_REFUSAL, read(response, MAX_REFUSAL, &mut body)).await;
    body.truncate(MAX_REFUSAL);
    body
}

/// Reads a body to its end, or until it is longer than `limit`.
async fn read(mut response: Response, limit: usize, body: &mut Vec<u8>) -> reqwest::Result<()> {
    while body.len() <= limit
        && let Some(chunk) = response.chunk().await?
    {
        body.extend_from_slice(&chunk);
    }
    Ok(())
}

/// Fetches the JSON document at a URL, of at most `longest` bytes, with the HTTP client of this crate. It follows
/// redirects only within the origin. Cancel safe.
///
/// # Errors
/// Fails if the request fails or takes longer than `patience`, if the status is not a success, or if the body is too long
/// or is not JSON.
pub async fn fetch_json(url: &str, longest: usize, patience: Duration) -> Result<Value, String> {
    let request = shared(url, &Network::default())?.get(url).header(ACCEPT, JSON);
    let (status, body) = exchange(request, longest, patience, StatusCode::is_success, describe).await?;
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
    patience: Duration,
    has_body: fn(&StatusCode) -> bool,
    failed: fn(&reqwest::Error) -> String,
) -> Result<(StatusCode, Vec<u8>), String> {
    let exchange = async {
        let response = request.send().await.map_err(|error| failed(&error))?;
        let status = response.status();
        if !has_body(&status) {
            return Ok((status, Vec::new()));
        }
        match within(longest, response).await? {
            Some(body) => Ok((status, body)),
            None if !status.is_success() => Ok((status, Vec::new())),
            None => Err("the response is too long".to_owned()),
        }
    };
    let answer = timeout(patience, exchange).await;
    answer.unwrap_or_else(|_| Err(format!("no answer within {patience:?}")))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::super::scripted::answering;
    use super::*;

    #[tokio::test]
    async fn body_beyond_the_limit_fails_a_success_and_is_left_out_of_a_refusal() {
        for (head, expected) in [
            ("200 OK\r\ncontent-length: 9", Err("the response is too long".to_owned())),
            ("500 Oops\r\ncontent-length: 9", Ok((StatusCode::INTERNAL_SERVER_ERROR, Vec::new()))),
        ] {
            let url = answering(move |_| head).await;
            let request = shared(&url, &Network::default()).expect("a client").get(url);
            assert_eq!(exchange(request, 5, Duration::from_secs(5), |_| true, describe).await, expected);
        }
    }

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

    fn response(length: usize) -> Response {
        http::Response::new(vec![b'x'; length]).into()
    }

    #[tokio::test]
    async fn beginning_of_a_refusal_has_64_kib_at_most() {
        for (length, expected) in [(0, 0), (5_000, 5_000), (65_536, 65_536), (100_000, 65_536)] {
            assert_eq!(beginning(response(length)).await.len(), expected);
        }
    }

    #[tokio::test]
    async fn body_beyond_the_limit_is_none() {
        for (length, expected) in [(9, Some(9)), (10, Some(10)), (11, None)] {
            let body = within(10, response(length)).await.expect("it is whole");
            assert_eq!(body.map(|body| body.len()), expected);
        }
    }
}
