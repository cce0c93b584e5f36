//! The pooled HTTP client: redirects within one origin, and no retries.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};
use reqwest::{StatusCode, Url};
use tokio::runtime::{Handle, Id};

use super::network::Network;
use crate::ground::sync::lock;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_REDIRECTS: usize = 5;
/// The lifetime of idle connections. Node and uvicorn close theirs after five seconds, and a request at that moment is
/// lost.
const IDLE_CONNECTIONS_KEPT: Duration = Duration::from_secs(4);

/// Returns the HTTP client of this runtime for a network path, so that connections to one origin share sockets. The
/// client ends with its last owner. Runtimes do not share clients, because each drives its own sockets.
///
/// # Errors
/// Fails if no client can be created, for example because the system's certificates are unreadable.
pub(crate) fn shared(url: &str, network: &Network) -> Result<Arc<reqwest::Client>, String> {
    static CLIENTS: Mutex<Vec<Shared>> = Mutex::new(Vec::new());
    let runtime = Handle::try_current().map_err(|error| error.to_string())?.id();
    let is_secure = !url.starts_with("http:");
    let mut clients = lock(&CLIENTS);
    clients.retain(|shared| shared.client.strong_count() > 0);
    let is_alike =
        |shared: &&Shared| (shared.runtime, shared.is_secure) == (runtime, is_secure) && shared.network == *network;
    if let Some(client) = clients.iter().filter(is_alike).find_map(|shared| shared.client.upgrade()) {
        return Ok(client);
    }
    let client = Arc::new(build(network, is_secure)?);
    clients.push(Shared { runtime, is_secure, network: network.clone(), client: Arc::downgrade(&client) });
    Ok(client)
}

struct Shared {
    runtime: Id,
    is_secure: bool,
    network: Network,
    client: Weak<reqwest::Client>,
}

fn build(network: &Network, is_secure: bool) -> Result<reqwest::Client, String> {
    let builder = reqwest::Client::builder()
        .user_agent(concat!("mcp-bindgen/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_CONNECTIONS_KEPT)
        .tcp_nodelay(true);
    // Last, whatever the program sets: both could send a call again.
    network
        .apply(builder, is_secure)?
        .redirect(Policy::custom(same_origin))
        .retry(reqwest::retry::never())
        .build()
        .map_err(|error| super::refusals::describe(&error))
}

fn same_origin(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    match check_redirect(attempt.status(), attempt.url(), attempt.previous()) {
        Ok(()) => attempt.follow(),
        Err(problem) => attempt.error(problem),
    }
}

/// Checks a redirect, which must stay on the origin: the headers contain secrets.
///
/// # Errors
/// Fails with the reason why a redirect from the last of the visited URLs is not followed.
pub(super) fn check_redirect(status: StatusCode, target: &Url, visited: &[Url]) -> Result<(), String> {
    let stays = visited.last().is_some_and(|from| from.origin() == target.origin());
    // The other redirects turn a POST into a GET.
    let keeps_method = matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    if !stays {
        let origin = target.origin().ascii_serialization();
        Err(format!("to another origin, {origin}, which is not followed; if it is right, set `url` to it"))
    } else if !keeps_method {
        let status = status.as_u16();
        Err(format!("with HTTP {status}, which turns a POST into a GET; set `url` to where it leads"))
    } else if visited.len() > MAX_REDIRECTS {
        Err(format!("more than {MAX_REDIRECTS} times"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mcp_bindgen_model::ServerConfig;

    use super::*;

    #[tokio::test]
    async fn http_client_is_shared_by_equal_settings_and_dropped_with_its_users() {
        let client = |url: &str, config: &ServerConfig| {
            shared(url, &Network::of(config, None).expect("a way")).expect("a client")
        };
        let config = ServerConfig::http("s", "https://a.example/mcp");
        let one = client("https://a.example/mcp", &config);
        assert!(Arc::ptr_eq(&one, &client("https://b.example/mcp", &config)));
        assert!(!Arc::ptr_eq(&one, &client("https://a.example/mcp", &config.proxy("http://proxy.example:3128"))));
        let weak = Arc::downgrade(&one);
        drop(one);
        assert!(weak.upgrade().is_none());
        assert!(rustls::crypto::CryptoProvider::get_default().is_none());
    }
}
