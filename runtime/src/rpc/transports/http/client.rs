//! The pooled HTTP client: redirects within one origin, and no retries.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{StatusCode, Url};
use tokio::runtime::{Handle, Id};

use super::network::Network;
use super::refusals::describe;
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
    /// The runtime, whether the client is for `https`, and the network path.
    type Key = (Id, bool, Network);
    static CLIENTS: Mutex<Vec<(Key, Weak<reqwest::Client>)>> = Mutex::new(Vec::new());
    let runtime = Handle::try_current().map_err(|error| error.to_string())?.id();
    let is_secure = !url.starts_with("http:");
    let key = (runtime, is_secure, network.clone());
    let mut clients = lock(&CLIENTS);
    clients.retain(|(_, client)| client.strong_count() > 0);
    if let Some(client) = clients.iter().find(|(other, _)| *other == key).and_then(|(_, client)| client.upgrade()) {
        return Ok(client);
    }
    let client = Arc::new(build(network, is_secure)?);
    clients.push((key, Arc::downgrade(&client)));
    Ok(client)
}

fn build(network: &Network, is_secure: bool) -> Result<reqwest::Client, String> {
    let builder = reqwest::Client::builder()
        .user_agent(concat!("mcp-bindgen/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_CONNECTIONS_KEPT)
        .tcp_nodelay(true);
    let same_origin =
        Policy::custom(|attempt| match check_redirect(attempt.status(), attempt.url(), attempt.previous()) {
            Ok(()) => attempt.follow(),
            Err(problem) => attempt.error(problem),
        });
    // Last, whatever the program sets: both could send a call again.
    let builder = network.apply(builder, is_secure)?.redirect(same_origin).retry(reqwest::retry::never());
    builder.build().map_err(|error| describe(&error))
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
