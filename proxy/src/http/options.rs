//! How a proxy is served over HTTP.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

#[cfg(feature = "jwt")]
use super::auth::JwtAuth;
use super::auth::{Authentication, Bearer, TokenFile};
use super::origin::{Host, Origin};
use crate::ServeError;

/// Options for serving a proxy over HTTP. By default it is only reachable from this machine, on a free port.
///
/// ```
/// use std::time::Duration;
///
/// use mcp_bindgen_proxy::HttpOptions;
///
/// let options = HttpOptions::new()
///     .address(([127, 0, 0, 1], 8080))
///     .bearer("a secret that clients have")
///     .allow_origin("https://app.example.com")
///     .idle_sessions(Duration::from_secs(600));
/// assert!(!format!("{options:?}").contains("secret"));
/// ```
#[derive(Clone, Debug)]
#[must_use = "options do nothing until a proxy is served"]
pub struct HttpOptions {
    pub(super) address: SocketAddr,
    pub(super) path: String,
    is_public: bool,
    is_unauthenticated: bool,
    pub(super) authentication: Authentication,
    pub(super) hosts: Vec<Host>,
    pub(super) origins: Vec<Origin>,
    pub(super) limits: Limits,
    /// The first fault of a value.
    fault: Option<ServeError>,
}

/// The bounds of the work that clients can make.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) body: usize,
    pub(super) requests: usize,
    pub(super) connections: usize,
    pub(super) sessions: usize,
    pub(super) children: usize,
    pub(super) head: Duration,
    pub(super) taken: Duration,
    pub(super) idle: Duration,
    pub(super) drain: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl HttpOptions {
    /// Uses path `/mcp` on a free port of 127.0.0.1; [`HttpServer::url`](super::HttpServer::url) returns the URL.
    pub fn new() -> Self {
        Self {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            path: "/mcp".to_owned(),
            is_public: false,
            is_unauthenticated: false,
            authentication: Authentication::None,
            hosts: Vec::new(),
            origins: Vec::new(),
            limits: Limits {
                body: 4 * 1024 * 1024,
                requests: 1024,
                connections: 1024,
                sessions: 1024,
                children: 256,
                head: Duration::from_secs(30),
                taken: Duration::from_secs(60),
                idle: Duration::from_secs(300),
                drain: Duration::from_secs(5),
            },
            fault: None,
        }
    }

    /// Sets the address to listen on; port 0 selects a free one.
    pub fn address(mut self, address: impl Into<SocketAddr>) -> Self {
        self.address = address.into();
        self
    }

    /// Sets the path of the endpoint, `/mcp` by default.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Allows an address that other machines can reach. This also requires a [`bearer`](Self::bearer) or
    /// [`without_authentication`](Self::without_authentication).
    pub fn allow_public(mut self) -> Self {
        self.is_public = true;
        self
    }

    /// Allows a public address without authentication, for proxies behind something that authenticates clients.
    pub fn without_authentication(mut self) -> Self {
        self.is_unauthenticated = true;
        self
    }

    /// Sets the token that each request must have (`Authorization: Bearer ..`). It is never sent to servers.
    pub fn bearer(mut self, token: impl Into<String>) -> Self {
        match Bearer::new(&token.into()) {
            Ok(bearer) => self.authenticated_by(Authentication::Bearer(bearer)),
            Err(fault) => {
                self.fault.get_or_insert(fault);
                self
            }
        }
    }

    /// Lets in the clients that have one of several tokens with names, instead of a [`bearer`](Self::bearer).
    pub fn tokens(self, tokens: TokenFile) -> Self {
        self.authenticated_by(Authentication::Tokens(tokens))
    }

    /// Lets in the clients that have an access token of an authorization server, instead of a [`bearer`](Self::bearer).
    #[cfg(feature = "jwt")]
    pub fn jwt(self, auth: JwtAuth) -> Self {
        self.authenticated_by(Authentication::Jwt(auth))
    }

    fn authenticated_by(mut self, authentication: Authentication) -> Self {
        if !self.authentication.is_open() {
            self.refuse("bearer", "set only one kind of authentication".to_owned());
        }
        Self { authentication, ..self }
    }

    /// Allows a `Host` that clients may use, with or without a port. Loopback names of this machine, and the address
    /// of the connection itself, are always allowed.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        let host = host.into();
        match Host::parse(&host) {
            Some(host) => self.hosts.push(host),
            None => {
                self.refuse("allow_host", format!("invalid host {host:?}: expected a host such as `mcp.example.com`"))
            }
        }
        self
    }

    /// Allows calls from web pages of an origin: `https://app.example.com`. Loopback origins are always allowed.
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        let origin = origin.into();
        match Origin::parse(&origin) {
            Some(origin) => self.origins.push(origin),
            None => self.refuse(
                "allow_origin",
                format!("invalid origin {origin:?}: expected an origin such as `https://app.example.com`"),
            ),
        }
        self
    }

    /// Limits the bytes of a request; 4 MiB by default. Larger requests, and those with more than 131,072 JSON
    /// values, are rejected (413).
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.limits.body = bytes;
        self
    }

    /// Limits the open requests, including streams; 1024 by default. A session may have a quarter of them. Further
    /// ones are rejected (503).
    pub fn max_requests(mut self, requests: usize) -> Self {
        self.limits.requests = requests;
        self
    }

    /// Limits the open connections; 1024 by default. Further ones replace the oldest connection without a request, or
    /// wait if all have one.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.limits.connections = connections;
        self
    }

    /// Limits the sessions of clients up to 2025-11-25; 1024 by default. A further session replaces the longest idle
    /// one, and is rejected (503) if none is idle.
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.limits.sessions = sessions;
        self
    }

    /// Limits the child processes of all sessions together; 256 by default. It limits the sessions too: each may start
    /// every server that is a child process and not shared (`shared` of its configuration).
    pub fn max_children(mut self, children: usize) -> Self {
        self.limits.children = children;
        self
    }

    /// Sets how long a session may be without an open request before it ends, with its connections; 5 minutes by
    /// default.
    pub fn idle_sessions(mut self, after: Duration) -> Self {
        self.limits.idle = after;
        self
    }

    /// Sets the timeout for reading the head of a request, and again for its body; 30 seconds by default.
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.limits.head = timeout;
        self
    }

    /// Sets how long a client may accept no data before its connection is closed; 60 seconds by default. Idle streams
    /// without data to send stay open.
    pub fn write_timeout(mut self, timeout: Duration) -> Self {
        self.limits.taken = timeout;
        self
    }

    /// Sets how long open requests may take when the server is closed; 5 seconds by default.
    pub fn drain(mut self, timeout: Duration) -> Self {
        self.limits.drain = timeout;
        self
    }

    fn refuse(&mut self, option: &'static str, problem: String) {
        self.fault.get_or_insert(ServeError::option(option, problem));
    }

    /// Checks the options.
    pub(super) fn check(self) -> Result<Self, ServeError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let Self { address, ref path, limits, .. } = self;
        if !path.starts_with('/') || !path.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#".contains(&byte)) {
            let problem = "expected a path of visible ASCII that begins with `/`, without `?` and `#`";
            return Err(ServeError::option("path", problem));
        }
        let are_zero = [
            ("max_body", limits.body == 0),
            ("max_requests", limits.requests == 0),
            ("max_connections", limits.connections == 0),
            ("max_sessions", limits.sessions == 0),
            ("max_children", limits.children == 0),
            ("idle_sessions", limits.idle.is_zero()),
            ("read_timeout", limits.head.is_zero()),
            ("write_timeout", limits.taken.is_zero()),
        ];
        if let Some((option, _)) = are_zero.into_iter().find(|(_, is_zero)| *is_zero) {
            return Err(ServeError::option(option, "must be above zero"));
        }
        #[cfg(feature = "jwt")]
        if let Authentication::Jwt(auth) = &self.authentication {
            auth.check()?;
        }
        if !address.ip().to_canonical().is_loopback() {
            if !self.is_public {
                return Err(ServeError::PublicAddress { address });
            }
            if self.authentication.is_open() && !self.is_unauthenticated {
                return Err(ServeError::Unauthenticated { address });
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(options: HttpOptions) -> String {
        options.check().err().map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn public_address_requires_permission_and_authentication() {
        for address in ["0.0.0.0:80", "192.0.2.1:80", "[::]:80", "[::ffff:192.0.2.1]:80"] {
            let Ok(address) = address.parse::<SocketAddr>() else { panic!("{address}") };
            let options = || HttpOptions::new().address(address);
            assert!(refusal(options()).contains("allow_public"), "{address}");
            assert!(refusal(options().bearer("token")).contains("allow_public"), "{address}");
            assert!(refusal(options().allow_public()).contains("bearer"), "{address}");
            assert_eq!(refusal(options().allow_public().bearer("token")), "");
            assert_eq!(refusal(options().allow_public().without_authentication()), "");
        }
        for address in ["127.0.0.1:0", "127.3.2.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
            let Ok(address) = address.parse::<SocketAddr>() else { panic!("{address}") };
            assert_eq!(refusal(HttpOptions::new().address(address)), "", "{address}");
        }
    }

    #[test]
    fn invalid_options_are_refused_by_name() {
        let new = HttpOptions::new;
        let secret = "s3cr\net";
        for (options, name) in [
            (new().path("mcp"), "path"),
            (new().path("/a b"), "path"),
            (new().path("/a?b"), "path"),
            (new().max_body(0), "max_body"),
            (new().max_requests(0), "max_requests"),
            (new().max_connections(0), "max_connections"),
            (new().max_sessions(0), "max_sessions"),
            (new().max_children(0), "max_children"),
            (new().idle_sessions(Duration::ZERO), "idle_sessions"),
            (new().read_timeout(Duration::ZERO), "read_timeout"),
            (new().write_timeout(Duration::ZERO), "write_timeout"),
            (new().bearer(""), "bearer"),
            (new().bearer(secret), "bearer"),
            (new().allow_host("a/b"), "allow_host"),
            (new().allow_host(""), "allow_host"),
            (new().allow_origin("app.example.com"), "allow_origin"),
            (new().allow_origin("https://app.example.com/path"), "allow_origin"),
            (new().allow_origin("*"), "allow_origin"),
        ] {
            let said = refusal(options);
            assert!(said.starts_with(name), "{name}: {said}");
            assert!(!said.contains("s3cr"), "{said}");
        }
    }
}
