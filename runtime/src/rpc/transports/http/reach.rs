//! Checks whether the origin of a URL is reachable, with the settings of a client.

use std::fmt;
use std::time::Duration;

use hyper_util::client::proxy::matcher::Matcher;
use mcp_bindgen_model::{ServerConfig, Transport};
use reqwest::{StatusCode, Url};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::network::{Network, place, shared};
use super::refusals::describe;
use crate::ground::address::is_this_machine;

/// The route of a client to the origin of a URL: by the proxy of the configuration or else of the environment, or
/// directly.
#[derive(Clone)]
pub struct Route {
    origin: Url,
    proxy: Option<Url>,
    network: Network,
}

/// Shows only hosts and ports, because URLs of proxies often contain a password.
impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Route").field("to", &self.place()).field("proxy", &self.proxy()).finish()
    }
}

/// The error of an origin that was not reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// The origin is unreachable: the port is closed, TLS fails, or the proxy refuses.
    #[error("{0}")]
    Closed(String),
    /// It is unknown whether the origin can be reached: no answer arrived in time, or a proxy answered.
    #[error("{0}")]
    Unknown(String),
}

impl Route {
    /// Creates a check of the origin of a URL, with the certificates and the proxy of a configuration without
    /// placeholders. The rest of the URL is never sent.
    ///
    /// # Errors
    /// Fails if the URL or the configuration is invalid, without showing their values.
    pub fn to(url: &str, config: &ServerConfig) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| format!("it is not a URL: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("it must begin with `http://` or `https://`".to_owned());
        }
        let origin = url.origin().ascii_serialization();
        let origin = Url::parse(&origin).map_err(|error| format!("it has no valid host: {error}"))?;
        let network = Network::of(config, None)?;
        let proxy = network.proxy.clone().or_else(|| proxy_of_environment(&origin));
        Ok(Self { origin, proxy, network })
    }

    /// Returns the host and port of the origin.
    pub fn place(&self) -> String {
        place(&self.origin)
    }

    /// Returns the host and port of the HTTP proxy, if one is used.
    pub fn proxy(&self) -> Option<String> {
        self.proxy.as_ref().map(place)
    }

    /// Opens a connection as a client would: through the HTTP proxy if there is one, and with TLS for `https`. In
    /// both cases it also requests the headers of the origin's root page, without the server's own headers, because
    /// only a request shows that the connection works. Cancel safe: the connection is closed.
    ///
    /// # Errors
    /// See [`RouteError`].
    pub async fn open(&self, within: Duration) -> Result<(), RouteError> {
        let late = |_| format!("no answer within {within:?}");
        if self.proxy.is_none() && self.origin.scheme() == "http" {
            let opened = timeout(within, TcpStream::connect(self.place())).await.map_err(late);
            let opened = opened.and_then(|stream| stream.map_err(|error| error.to_string()));
            return opened.map(drop).map_err(RouteError::Closed);
        }
        let client = shared(self.origin.as_str(), &self.network).map_err(RouteError::Closed)?;
        let sending = client.head(self.origin.clone()).send();
        match timeout(within, sending).await.map_err(late).map_err(RouteError::Unknown)? {
            Ok(response) => self.answered(response.status()),
            // A redirect shows that the origin is reachable.
            Err(error) if error.is_redirect() => Ok(()),
            Err(error) if error.is_connect() || error.is_builder() => Err(RouteError::Closed(describe(&error))),
            Err(error) => Err(RouteError::Unknown(describe(&error))),
        }
    }

    /// Checks a status: a proxy for plain HTTP answers itself if it cannot reach the origin.
    fn answered(&self, status: StatusCode) -> Result<(), RouteError> {
        match status {
            StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                Err(RouteError::Closed(format!("the proxy requires a login (HTTP {status})")))
            }
            StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT
                if self.proxy.is_some() && self.origin.scheme() == "http" =>
            {
                Err(RouteError::Unknown(format!("the proxy, or the server behind it, returned HTTP {status}")))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the proxy that the environment names for a URL.
fn proxy_of_environment(origin: &Url) -> Option<Url> {
    let proxy = Matcher::from_system().intercept(&origin.as_str().parse().ok()?)?;
    Url::parse(&proxy.uri().to_string()).ok()
}

/// Returns `true` if headers with a secret go to another machine without TLS, where others can read them.
///
/// ```
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_runtime::exposes_headers;
///
/// let config = |url| ServerConfig::http("files", url).header("Authorization", "Bearer 8d0f2a4c6e80");
/// assert!(exposes_headers(&config("http://files.example/mcp")));
/// assert!(!exposes_headers(&config("https://files.example/mcp")));
/// ```
pub fn exposes_headers(config: &ServerConfig) -> bool {
    let (Transport::Http { url, headers } | Transport::Sse { url, headers }) = &config.transport else { return false };
    let secrets = config.secrets();
    let is_secret = |(name, value): (&String, &String)| {
        name.eq_ignore_ascii_case("authorization") || secrets.iter().any(|secret| value.contains(secret.as_str()))
    };
    let is_exposed = |url: Url| url.scheme() == "http" && !url.host_str().is_none_or(is_this_machine);
    Url::parse(url).is_ok_and(is_exposed) && headers.iter().any(is_secret)
}

#[cfg(test)]
mod tests {
    use super::super::scripted::answering;
    use super::*;

    #[test]
    fn secret_headers_over_plain_http_to_another_host_are_detected() {
        let exposes =
            |url: &str, name: &str, value: &str| exposes_headers(&ServerConfig::http("s", url).header(name, value));
        for url in [
            "http://files.example/mcp",
            "http://10.0.0.7:80/mcp",
            "http://[2001:db8::1]/mcp",
            "http://localhost.example/",
        ] {
            assert!(exposes(url, "authorization", "Basic x"), "{url}");
            assert!(exposes(url, "X-Api-Key", "8d0f2a4c6e80"), "{url}");
            assert!(!exposes(url, "X-Team", "a"), "{url}");
        }
        for url in [
            "https://files.example/mcp",
            "http://127.0.0.1:1/",
            "http://[::1]:1/",
            "http://localhost:1/",
            "http://a.localhost./",
        ] {
            assert!(!exposes(url, "Authorization", "Bearer x"), "{url}");
        }
    }

    fn route(origin: &str, proxy: Option<&str>) -> Route {
        let proxy = proxy.map(|proxy| proxy.parse().expect("a proxy"));
        Route { origin: Url::parse(origin).expect("an origin"), proxy, network: Network::default() }
    }

    #[test]
    fn proxy_port_defaults_to_that_of_its_scheme() {
        for (proxy, expected) in [
            ("http://proxy.example", "proxy.example:80"),
            ("https://proxy.example", "proxy.example:443"),
            ("http://proxy.example:3128", "proxy.example:3128"),
            ("https://me:hunter22@proxy.example:8443", "proxy.example:8443"),
        ] {
            assert_eq!(route("http://a.example", Some(proxy)).proxy().as_deref(), Some(expected));
        }
        assert_eq!(route("http://a.example", None).proxy(), None);
    }

    #[test]
    fn gateway_error_of_a_proxy_leaves_the_origin_unknown() {
        let proxy = Some("http://proxy.example");
        for status in [502, 503, 504] {
            let status = StatusCode::from_u16(status).expect("a status");
            let answered = |origin, proxy| route(origin, proxy).answered(status);
            assert!(matches!(answered("http://a.example", proxy), Err(RouteError::Unknown(_))), "{status}");
            // The proxy only tunnels TLS: the origin itself has answered.
            assert_eq!(answered("https://a.example", proxy), Ok(()), "{status}");
            assert_eq!(answered("http://a.example", None), Ok(()), "{status}");
        }
        let login = route("https://a.example", proxy).answered(StatusCode::PROXY_AUTHENTICATION_REQUIRED);
        assert!(matches!(login, Err(RouteError::Closed(_))));
        assert_eq!(route("http://a.example", proxy).answered(StatusCode::NOT_FOUND), Ok(()));
    }

    #[tokio::test]
    async fn direct_route_is_probed_by_a_connection_only() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let route = route(&format!("http://{address}"), None);
        // Nothing is sent, so that an answer is not waited for.
        assert_eq!(route.open(Duration::from_secs(5)).await, Ok(()));
    }

    /// A port without a listener, which no other test can bind while the socket exists.
    fn closed_port() -> (tokio::net::TcpSocket, std::net::SocketAddr) {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
        let address = socket.local_addr().expect("an address");
        (socket, address)
    }

    #[tokio::test]
    async fn refused_connection_closes_the_route() {
        let (_socket, address) = closed_port();
        for scheme in ["http", "https"] {
            let opened = route(&format!("{scheme}://{address}"), None).open(Duration::from_secs(5)).await;
            assert!(matches!(opened, Err(RouteError::Closed(_))), "{scheme}: {opened:?}");
        }
    }

    #[tokio::test]
    async fn silent_proxy_leaves_the_origin_unknown() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let origin = route(&format!("http://{address}"), Some("http://127.0.0.1:9"));
        assert!(matches!(origin.open(Duration::from_millis(200)).await, Err(RouteError::Unknown(_))));
    }

    #[tokio::test]
    async fn redirect_shows_that_the_origin_is_reachable_but_a_cut_response_does_not() {
        let opened = async |head: &'static str| {
            let url = answering(move |_| head).await;
            // With a proxy, a request is sent.
            route(&url, Some("http://127.0.0.1:9")).open(Duration::from_secs(5)).await
        };
        assert_eq!(opened("302 Found\r\nlocation: http://elsewhere.example/").await, Ok(()));
        let cut = opened("").await;
        assert!(matches!(cut, Err(RouteError::Unknown(_))), "{cut:?}");
    }

    #[test]
    fn debug_output_of_a_route_shows_only_host_and_port() {
        let config = ServerConfig::http("s", "https://a.example/mcp");
        let route = Route::to("https://me:hunter22@a.example/mcp?key=hunter22", &config).expect("a route");
        assert_eq!(route.place(), "a.example:443");
        assert!(!format!("{route:?} {:?}", route.origin).contains("hunter22"), "{route:?}");
        assert!(format!("{route:?}").contains("a.example:443"), "{route:?}");
        assert_eq!(Route::to("http://[::1]:9/mcp", &config).expect("a route").place(), "[::1]:9");
        for wrong in ["nothing", "http://", "http://x:y/", "ftp://a.example/", "stdio:x"] {
            assert!(Route::to(wrong, &config).is_err(), "{wrong}");
        }
    }
}
