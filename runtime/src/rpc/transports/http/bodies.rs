//! Reads bodies with a limit on their size.
//!
//! Dropping `within` or `beginning` closes the response: the rest is not read, and an HTTP/1.1 connection is
//! not used again.

use std::time::Duration;

use super::refusals::describe;

/// The limits on the size and the wait for the body of a refusal.
const MAX_REFUSAL: usize = 64 * 1024;
const PATIENCE_FOR_REFUSAL: Duration = Duration::from_secs(2);

/// Returns the whole of a body; `None` if it is longer than `limit`.
///
/// # Errors
/// Fails if it is cut.
pub(crate) async fn within(limit: usize, response: reqwest::Response) -> Result<Option<Vec<u8>>, String> {
    if response.content_length().is_some_and(|announced| announced > limit as u64) {
        return Ok(None);
    }
    let mut body = Vec::new();
    read(response, limit, &mut body).await.map_err(|error| describe(&error))?;
    Ok((body.len() <= limit).then_some(body))
}

/// Reads the part of a refusal's body that arrives soon.
pub(crate) async fn beginning(response: reqwest::Response) -> Vec<u8> {
    let mut body = Vec::new();
    // The part before an error is used too.
    let _ = tokio::time::timeout(PATIENCE_FOR_REFUSAL, read(response, MAX_REFUSAL, &mut body)).await;
    body.truncate(MAX_REFUSAL);
    body
}

/// Reads a body to its end, or until it is longer than `limit`.
async fn read(mut response: reqwest::Response, limit: usize, body: &mut Vec<u8>) -> reqwest::Result<()> {
    while body.len() <= limit
        && let Some(chunk) = response.chunk().await?
    {
        body.extend_from_slice(&chunk);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(length: usize) -> reqwest::Response {
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
