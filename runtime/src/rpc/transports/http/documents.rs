//! JSON documents at URLs.

use std::time::Duration;

use reqwest::header::ACCEPT;
use serde_json::Value;

use super::network::Network;
use super::refusals::describe;
use super::{bodies, client};

/// Gets the JSON document at a URL, of at most `longest` bytes, by the HTTP client of this crate. It follows redirects
/// within the origin alone. Cancel safe.
///
/// # Errors
/// The reason why there is none.
pub async fn fetch_json(url: &str, longest: usize, within: Duration) -> Result<Value, String> {
    let exchange = async {
        let client = client::shared(url, &Network::default())?;
        let request = client.get(url).header(ACCEPT, super::JSON);
        let response = request.send().await.map_err(|error| describe(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(format!("HTTP {status}"));
        }
        let body = bodies::within(longest, response).await?.ok_or("the response is too long")?;
        serde_json::from_slice(&body).map_err(|_| "the response is not JSON".to_owned())
    };
    let answer = tokio::time::timeout(within, exchange).await;
    answer.unwrap_or_else(|_| Err(format!("no answer within {within:?}")))
}
