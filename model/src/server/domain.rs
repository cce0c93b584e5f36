//! A domain that an isolated server may reach.

use std::fmt;

/// A domain with its allowed ports: `api.github.com`, `*.example.com`, `example.com:8443`. The default ports are those
/// of HTTP and HTTPS, 80 and 443. `*.` matches one or more labels, but not zero.
///
/// ```
/// use mcp_bindgen_model::Domain;
///
/// let domain = Domain::parse("*.example.com")?;
/// assert!(domain.allows("api.example.com", 443) && domain.allows("a.b.example.com", 80));
/// assert!(!domain.allows("example.com", 443) && !domain.allows("api.example.com", 22));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Domain {
    /// In lower case.
    name: String,
    /// `true` for a pattern that matches subdomains.
    is_wild: bool,
    port: Option<u16>,
}

impl Domain {
    /// Parses a domain.
    ///
    /// # Errors
    /// Fails if it is not a domain name: why.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => {
                let port =
                    port.parse().map_err(|_| format!("the port `{}` is not a number", crate::printable(port)))?;
                (name, Some(port))
            }
            None => (text, None),
        };
        let (name, is_wild) = match name.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let is_label = |label: &str| {
            let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            (1..=63).contains(&label.len()) && label.bytes().all(is_inner)
        };
        let last = name.rsplit('.').next().unwrap_or_default();
        if name.contains('*') {
            return Err("`*` may only stand for the first label, as in `*.example.com`".to_owned());
        }
        if name.contains('/') {
            return Err("expected a domain without a path or `https://`".to_owned());
        }
        if !name.contains('.') || name.len() > 253 || !name.split('.').all(is_label) {
            return Err("expected a domain such as `api.example.com`, `*.example.com` or `example.com:8443`".to_owned());
        }
        if last.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("addresses are not supported; use a domain name".to_owned());
        }
        Ok(Self { name: name.to_ascii_lowercase(), is_wild, port })
    }

    /// Returns `true` if a host, in lower case and without a dot at its end, may be reached at a port.
    #[must_use]
    pub fn allows(&self, host: &str, port: u16) -> bool {
        let is_named = match self.is_wild {
            true => host.strip_suffix(&*self.name).is_some_and(|above| above.len() > 1 && above.ends_with('.')),
            false => host == self.name,
        };
        is_named && self.port.map_or([80, 443].contains(&port), |only| only == port)
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_wild { "*." } else { "" })?;
        f.write_str(&self.name)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domain_allows_itself_but_no_similar_host() {
        let allows = |domain: &str, host: &str, port| Domain::parse(domain).unwrap().allows(host, port);
        assert!(allows("API.github.com", "api.github.com", 443) && allows("x.org:8443", "x.org", 8443));
        assert!(!allows("x.org:8443", "x.org", 443) && !allows("x.org", "x.org", 22));
        for host in
            ["github.com", "evil-api.github.com", "api.github.com.evil.org", "sub.api.github.com", "apixgithub.com"]
        {
            assert!(!allows("api.github.com", host, 443), "{host}");
        }
        for host in ["example.com", "evilexample.com", "example.com.evil.org", ".example.com"] {
            assert!(!allows("*.example.com", host, 443), "{host}");
        }
    }

    #[test]
    fn invalid_domain_is_refused() {
        for text in [
            "",
            "*",
            "*.",
            "localhost",
            "10.0.0.1",
            "1.2.3.4:80",
            "https://x.org",
            "x.org/path",
            "x.*.org",
            "*x.org",
            "x..org",
            "x.org:http",
            "[::1]",
            "x org",
            "x.org:99999",
            "\u{430}pi.github.com",
        ] {
            assert!(Domain::parse(text).is_err(), "{text}");
        }
        for text in ["x.org", "*.x.org", "x.org:8443"] {
            assert_eq!(Domain::parse(text).unwrap().to_string(), text);
        }
    }
}
