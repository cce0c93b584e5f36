//! The pooled HTTP client: rustls with ring, redirects within one origin.

use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_REDIRECTS: usize = 5;

/// A client with its own pool of connections.
///
/// # Errors
/// Why none could be made, for example because the system's certificates cannot be read.
pub(crate) fn build() -> reqwest::Result<reqwest::Client> {
    // A provider that the program has installed already serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("mcp-bindgen/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .redirect(Policy::custom(same_origin))
        .build()
}

/// A redirect elsewhere would carry the headers, and with them the secrets, to somebody else.
fn same_origin(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let stays = attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
    // The other redirects turn a POST into a GET.
    let keeps_method = matches!(attempt.status().as_u16(), 307 | 308);
    if !stays {
        attempt.error("to another origin, which is not followed")
    } else if !keeps_method || attempt.previous().len() > MAX_REDIRECTS {
        attempt.error("in a way that is not followed")
    } else {
        attempt.follow()
    }
}
