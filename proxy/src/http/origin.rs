//! The `Origin` and `Host` of requests.

use std::net::IpAddr;

use hyper::Uri;
use hyper::http::uri::Authority;

/// An allowed host of requests, with its port if one is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    name: String,
    port: Option<u16>,
}

/// The origin of a browser page (RFC 6454).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    scheme: String,
    host: Host,
}

impl Host {
    pub(super) fn parse(text: &str) -> Option<Self> {
        // An address with colons may be given as in a URL or bare.
        if let Ok(IpAddr::V6(address)) = text.parse() {
            return Some(Self { name: address.to_string(), port: None });
        }
        let authority = text.parse::<Authority>().ok()?;
        let (host, is_alone) = (authority.host(), !text.contains('@'));
        // The part after the colon must be a port.
        let rest = text.strip_prefix(host)?;
        let port = match rest.strip_prefix(':') {
            Some(port) => Some(port.parse().ok()?),
            None => None,
        };
        let name = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        // `localhost.` is the same name in its absolute form.
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        (is_alone && !name.is_empty()).then_some(Self { name, port })
    }

    pub(super) fn is_loopback(&self) -> bool {
        self.name == "localhost" || self.address().is_some_and(|address| address.to_canonical().is_loopback())
    }

    /// Returns the address, if the host is not a name. No foreign name can resolve to this proxy then.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.name.parse().ok()
    }

    /// Returns `true` if the host matches an allowed one, which matches any port if it has none.
    pub(super) fn is_of(&self, allowed: &Self) -> bool {
        self.name == allowed.name && (allowed.port.is_none() || allowed.port == self.port)
    }
}

impl Origin {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let uri = text.parse::<Uri>().ok()?;
        let scheme = scheme.to_ascii_lowercase();
        // No path, no query: an origin ends with its host.
        let mut host = Host::parse(authority).filter(|_| uri.path() == "/" || uri.path().is_empty())?;
        host.port = host.port.or(match scheme.as_str() {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        });
        Some(Self { scheme, host })
    }

    pub(super) fn is_loopback(&self) -> bool {
        ["http", "https"].contains(&self.scheme.as_str()) && self.host.is_loopback()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_parsed_by_browser_rules() {
        for text in
            ["localhost", "LOCALHOST:8080", "localhost.", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:80", "::1"]
        {
            assert!(Host::parse(text).is_some_and(|host| host.is_loopback()), "{text}");
        }
        for text in
            ["example.com", "localhost.example.com", "127.0.0.1.example.com", "10.0.0.1", "[::2]:80", "2130706433"]
        {
            assert!(Host::parse(text).is_some_and(|host| !host.is_loopback()), "{text}");
        }
        for text in ["", ":80", "a b", "user@localhost", "localhost:http", "localhost:99999", "a/b", "http://localhost"]
        {
            assert_eq!(Host::parse(text), None, "{text}");
        }
    }

    #[test]
    fn port_is_compared_only_if_specified() {
        let host = |text| Host::parse(text).unwrap_or_else(|| panic!("{text}"));
        assert!(host("mcp.example.com:8080").is_of(&host("MCP.example.com")));
        assert!(host("mcp.example.com:8080").is_of(&host("mcp.example.com:8080")));
        assert!(!host("mcp.example.com").is_of(&host("mcp.example.com:8080")));
        assert!(!host("example.com").is_of(&host("mcp.example.com")));
    }

    #[test]
    fn origins_have_a_scheme_a_host_and_a_port() {
        let origin = Origin::parse;
        assert_eq!(origin("https://App.example.com"), origin("https://app.example.com:443"));
        assert_ne!(origin("https://app.example.com"), origin("http://app.example.com"));
        assert_ne!(origin("https://app.example.com"), origin("https://app.example.com:8443"));
        for text in ["http://localhost:6274", "https://127.0.0.1", "http://[::1]:3000"] {
            assert!(origin(text).is_some_and(|origin| origin.is_loopback()), "{text}");
        }
        for text in ["http://localhost.evil.example", "ftp://localhost", "http://127.0.0.1.evil.example"] {
            assert!(origin(text).is_some_and(|origin| !origin.is_loopback()), "{text}");
        }
        for text in ["null", "", "localhost", "http://", "http://a/b", "http://user@localhost", "http://localhost:x"] {
            assert_eq!(origin(text), None, "{text}");
        }
    }
}
