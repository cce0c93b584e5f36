//! The address of a server for traces and metrics, without secrets.

use mcp_bindgen_model::{ServerConfig, Transport};

/// The attributes of a server's place in traces and metrics.
#[derive(Debug, Default)]
pub(super) struct Endpoint {
    /// `pipe` or `tcp`; unknown without a configuration.
    pub(super) transport: Option<&'static str>,
    pub(super) address: Option<String>,
    pub(super) port: Option<u16>,
}

impl Endpoint {
    pub(super) fn of(config: &ServerConfig) -> Self {
        let is_local = matches!(config.transport, Transport::Stdio { .. });
        #[cfg_attr(not(feature = "http"), allow(unused_mut))]
        let mut endpoint = Self { transport: Some(if is_local { "pipe" } else { "tcp" }), ..Self::default() };
        #[cfg(feature = "http")]
        if let Some(url) = url(config) {
            endpoint.port = url.port_or_known_default();
            endpoint.address = url.host_str().map(str::to_owned);
        }
        endpoint
    }
}

/// Returns the URL of a server, or `None` if its host contains a brace or a secret.
#[cfg(feature = "http")]
fn url(config: &ServerConfig) -> Option<reqwest::Url> {
    // A placeholder may contain `@` and `/`, so each becomes a text that no host contains.
    let marked = config.expand_with(|_| Some("{}".to_owned())).ok()?;
    let (Transport::Http { url, .. } | Transport::Sse { url, .. }) = &marked.transport else { return None };
    let url = reqwest::Url::parse(url).ok()?;
    let host = url.host_str()?;
    let has = |secret: &String| !secret.is_empty() && host.contains(&secret.to_ascii_lowercase());
    (!host.contains(['{', '}']) && !config.secrets().iter().any(has)).then_some(url)
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::*;

    #[test]
    fn endpoint_contains_host_and_port_but_no_secrets() {
        let place = |url: &str| {
            let Endpoint { transport, address, port } = Endpoint::of(&ServerConfig::http("s", url));
            assert_eq!(transport, Some("tcp"));
            address.map(|address| (address, port))
        };
        let known = |host: &str, port| Some((host.to_owned(), Some(port)));
        assert_eq!(place("https://user:hunter22@api.example.com/x?key=${K}"), known("api.example.com", 443));
        assert_eq!(place("http://127.0.0.1:8080/mcp"), known("127.0.0.1", 8080));
        assert_eq!(place("https://${USER}:${PASS}@api.example.com/"), known("api.example.com", 443));
        for unknown in [
            "https://${HOST}/mcp",
            "https://${keyring:me@corp}.example.com/mcp",
            "https://${keyring:me@corp/x}.example.com/mcp",
            "https://${CREDS:-bob:pw@internal}.example.com",
            "https://${CREDS:-bob:pw@internal/x}.example.com",
            "https://${NO NAME:-bob:pw@internal}.example.com",
            "no url",
        ] {
            assert_eq!(place(unknown), None, "{unknown}");
        }
        assert_eq!(Endpoint::of(&ServerConfig::stdio("s", "x")).transport, Some("pipe"));
    }
}
