//! The pooled HTTP client: rustls with ring, redirects within one origin.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};
use reqwest::{StatusCode, Url};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::runtime::{Handle, Id};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_REDIRECTS: usize = 5;
/// Node and uvicorn close what was idle for five seconds; a request that crosses the end of its connection is lost.
const IDLE_CONNECTIONS_KEPT: Duration = Duration::from_secs(4);

/// The client of this runtime: connections to one origin share its sockets. It ends with the last who holds it. Those of
/// several runtimes share nothing, because each drives its own sockets.
///
/// # Errors
/// Why there is none, for example because the system's certificates cannot be read.
pub(crate) fn shared(url: &str) -> Result<Arc<reqwest::Client>, String> {
    static CLIENTS: Mutex<Vec<(Id, bool, Weak<reqwest::Client>)>> = Mutex::new(Vec::new());
    let runtime = Handle::try_current().map_err(|error| error.to_string())?.id();
    let secure = !url.starts_with("http:");
    let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    clients.retain(|(.., client)| client.strong_count() > 0);
    let mut same = clients.iter().filter(|(id, is_secure, _)| *id == runtime && *is_secure == secure);
    if let Some(client) = same.find_map(|(.., client)| client.upgrade()) {
        return Ok(client);
    }
    let client = Arc::new(build(secure)?);
    clients.push((runtime, secure, Arc::downgrade(&client)));
    Ok(client)
}

fn build(secure: bool) -> Result<reqwest::Client, String> {
    let tls = if secure { tls()? } else { no_tls()? };
    reqwest::Client::builder()
        .user_agent(concat!("mcp-bindgen/", env!("CARGO_PKG_VERSION")))
        .tls_backend_preconfigured(tls)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_CONNECTIONS_KEPT)
        .tcp_nodelay(true)
        .redirect(Policy::custom(same_origin))
        .build()
        .map_err(|error| super::refusals::describe(&error))
}

/// ring and the system's certificates, for our connections alone: what the program installs for itself is not touched.
fn tls() -> Result<ClientConfig, String> {
    static CONFIG: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    let config = builder()?
        .with_platform_verifier()
        .map_err(|error| format!("failed to read the system's certificates: {error}"))?
        .with_no_client_auth();
    Ok(CONFIG.get_or_init(|| config).clone())
}

/// Plain HTTP works where the system has no certificates, too.
fn no_tls() -> Result<ClientConfig, String> {
    Ok(builder()?.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, String> {
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())
}

fn same_origin(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    match check_redirect(attempt.status(), attempt.url(), attempt.previous()) {
        Ok(()) => attempt.follow(),
        Err(problem) => attempt.error(problem),
    }
}

/// A redirect elsewhere would carry the headers, and with them the secrets, to somebody else.
///
/// # Errors
/// Says why a redirect from the last of the visited URLs is not followed.
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
    use super::*;

    #[tokio::test]
    async fn one_client_for_all_who_hold_it_and_nothing_for_the_process() {
        let one = shared("https://a.example/mcp").expect("a client");
        assert!(Arc::ptr_eq(&one, &shared("https://b.example/mcp").expect("a client")));
        let weak = Arc::downgrade(&one);
        drop(one);
        assert!(weak.upgrade().is_none());
        assert!(rustls::crypto::CryptoProvider::get_default().is_none());
    }
}
