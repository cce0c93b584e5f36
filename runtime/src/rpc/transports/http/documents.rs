//! JSON documents at URLs.

use std::time::Duration;

use reqwest::header::ACCEPT;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::Value;

use super::network::Network;
use super::refusals::describe;
use super::{bodies, client};

/// Fetches the JSON document at a URL, of at most `longest` bytes, with the HTTP client of this crate. It follows
/// redirects only within the origin. Cancel safe.
///
/// # Errors
/// Fails if the request fails or takes longer than `within`, if the status is not a success, or if the body is too long
/// or is not JSON.
pub async fn fetch_json(url: &str, longest: usize, within: Duration) -> Result<Value, String> {
    let client = client::shared(url, &Network::default())?;
    let request = client.get(url).header(ACCEPT, super::JSON);
    let (status, body) = exchange(request, longest, within, StatusCode::is_success, describe).await?;
    if !status.is_success() {
        return Err(format!("HTTP {status}"));
    }
    serde_json::from_slice(&body).map_err(|_| "the response is not JSON".to_owned())
}

/// Sends a request, and returns the status and the body of the response. The body is empty, and is not awaited, if `has_body` is
/// `false` for the status. Cancel safe.
///
/// # Errors
/// Fails if no response arrives; `failed` describes an error of the HTTP client.
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
        let body = bodies::within(longest, response).await?.ok_or("the response is too long")?;
        Ok((status, body))
    };
    let answer = tokio::time::timeout(within, exchange).await;
    answer.unwrap_or_else(|_| Err(format!("no answer within {within:?}")))
}
