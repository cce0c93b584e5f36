//! The data that a provider needs to reach a server: the URL and the headers, as values.

use std::collections::BTreeMap;
use std::net::IpAddr;

use mcp_bindgen_model::{ServerConfig, Transport, printable};

use super::declarations::{NotHosted, NotHostedReason};

/// Names of machines that only a local resolver knows (RFC 6761, RFC 6762, RFC 8375, ICANN's `internal`).
const LOCAL_NAMES: [&str; 5] = ["localhost", "local", "internal", "home.arpa", "test"];

/// URL and headers with their secrets. It has no `Debug`, which would show them.
pub(super) struct Credentials {
    pub(super) url: String,
    /// The token of `Authorization: Bearer`.
    pub(super) bearer: Option<String>,
    /// All other headers.
    pub(super) headers: BTreeMap<String, String>,
}

impl Credentials {
    /// Reads the credentials of a configuration without placeholders.
    ///
    /// # Errors
    /// Fails if the provider cannot reach the URL, or if something cannot be sent to it. No values are shown.
    pub(super) fn of(ready: &ServerConfig) -> Result<Self, NotHosted> {
        let (url, headers) = remote(ready)?;
        let mut found = Self { url: url.clone(), bearer: None, headers: BTreeMap::new() };
        for (name, value) in headers {
            let is_name = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
            if name.is_empty() || !name.bytes().all(is_name) {
                return Err(NotHostedReason::Headers.because("it has an invalid header name"));
            }
            if !value.bytes().all(|b| (b' '..=b'~').contains(&b) || b == b'\t') {
                let message = format!("the value of its header `{}` has invalid characters", printable(name));
                return Err(NotHostedReason::Headers.because(message));
            }
            match bearer(value).filter(|_| name.eq_ignore_ascii_case("authorization")) {
                Some(token) => found.bearer = Some(token.to_owned()),
                None => drop(found.headers.insert(name.clone(), value.clone())),
            }
        }
        // Two spellings of one name are two headers for the file, and one for HTTP.
        if headers.keys().filter(|name| name.eq_ignore_ascii_case("authorization")).count() > 1 {
            return Err(NotHostedReason::Headers.because("it has `Authorization` twice"));
        }
        match unreachable(url) {
            Some(fault) => Err(NotHostedReason::Address.because(format!("its `url` {fault}"))),
            None => Ok(found),
        }
    }

    /// Refuses to send secrets over plain http. `written` is the configuration before placeholders were replaced. The
    /// value of a header's placeholder counts as a secret, and so does every bearer token.
    pub(super) fn check_encryption(&self, written: &ServerConfig, ready: &ServerConfig) -> Result<(), NotHosted> {
        if self.is_encrypted() {
            return Ok(());
        }
        let secrets = ready.secrets();
        let shows = |text: &str| secrets.iter().any(|secret| !secret.is_empty() && text.contains(secret.as_str()));
        let (_, plain) = remote(written)?;
        let is_secret = |(name, value): (&String, &String)| plain.get(name) != Some(value) || shows(value);
        let what = if self.bearer.is_some() || self.headers.iter().any(is_secret) {
            "one of its headers"
        } else if shows(&self.url) {
            "the URL itself"
        } else {
            return Ok(());
        };
        let message = format!("its `url` is not https, and {what} contains a secret");
        Err(NotHostedReason::Address.because(message))
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.url.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
    }
}

/// Returns the URL and the headers of a server.
///
/// # Errors
/// Fails if it is a child process.
pub(super) fn remote(config: &ServerConfig) -> Result<(&String, &BTreeMap<String, String>), NotHosted> {
    match &config.transport {
        Transport::Http { url, headers } | Transport::Sse { url, headers } => Ok((url, headers)),
        Transport::Stdio { .. } => {
            let message = "a provider cannot start a child process; only a `url` can be hosted";
            Err(NotHostedReason::Transport.because(message))
        }
    }
}

/// Returns the token of `Bearer TOKEN`.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.trim().split_once([' ', '\t'])?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && !token.contains([' ', '\t'])).then_some(token)
}

/// Returns the reason why a provider cannot reach a URL, or why it contains parts that only a header could carry. The URL
/// is not shown, because it may contain secrets.
fn unreachable(url: &str) -> Option<&'static str> {
    let is_http = |scheme: &str| scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let Some((_, rest)) = url.split_once("://").filter(|(scheme, _)| is_http(scheme)) else {
        return Some("is not an http or https URL");
    };
    if url.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
        return Some("has invalid characters");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Some("contains a user name; providers only accept the `Authorization` header");
    }
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(host, _)| host),
        None => authority.split(':').next().unwrap_or_default(),
    };
    match host {
        "" => Some("has no host"),
        host if is_local(host) => Some("is on this machine or a private network, which a provider cannot reach"),
        _ => None,
    }
}

fn is_local(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    match host.parse().map(|address: IpAddr| address.to_canonical()) {
        Ok(IpAddr::V4(address)) => {
            let [first, second, ..] = address.octets();
            // Shared addresses between a provider of lines and its customers: RFC 6598.
            let is_shared = first == 100 && (64..128).contains(&second);
            address.is_loopback() || address.is_private() || address.is_link_local() || first == 0 || is_shared
        }
        Ok(IpAddr::V6(address)) => {
            let is_own = address.is_loopback() || address.is_unspecified();
            is_own || address.is_unique_local() || address.is_unicast_link_local()
        }
        Err(_) => {
            let is_below =
                |name: &&str| matches!(host.strip_suffix(*name), Some(rest) if rest.is_empty() || rest.ends_with('.'));
            !host.contains('.') || LOCAL_NAMES.iter().any(is_below)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(headers: &[(&str, &str)]) -> Result<Credentials, NotHosted> {
        let config = ServerConfig::http("a", "https://a.example.com");
        Credentials::of(&headers.iter().fold(config, |config, (name, value)| config.header(*name, *value)))
    }

    #[test]
    fn bearer_token_is_separated_from_other_headers() {
        let found = of(&[("authorization", "bearer  t0ken"), ("X-Team", "blue")]).unwrap();
        assert_eq!(found.bearer.as_deref(), Some("t0ken"));
        assert_eq!(found.headers.keys().collect::<Vec<_>>(), ["X-Team"]);
        for other in ["Basic dTpw", "Bearer", "Bearer ", "Bearer a b", "t0ken"] {
            let found = of(&[("Authorization", other)]).unwrap();
            assert_eq!((found.bearer.is_none(), found.headers.len()), (true, 1), "{other}");
        }
    }

    #[test]
    fn secrets_are_not_sent_over_plain_http() {
        let config = |scheme: &str, path: &str| ServerConfig::http("a", format!("{scheme}://a.example.com/{path}"));
        let check = |written: ServerConfig| {
            let ready = written.expand(|_| Some("hunter2".to_owned())).unwrap();
            Credentials::of(&ready).unwrap().check_encryption(&written, &ready)
        };
        let with_secrets: [fn(ServerConfig) -> ServerConfig; 4] = [
            |config| config.header("Authorization", "Bearer abc"),
            |config| config.header("Authorization", "Basic dTpw"),
            |config| config.header("X-Api-Key", "0123456789abcdef"),
            |config| config.header("X-Team", "${TEAM}"),
        ];
        for with_secret in with_secrets {
            let refusal = check(with_secret(config("http", ""))).unwrap_err();
            assert_eq!(refusal.reason, NotHostedReason::Address);
            assert!(refusal.message.contains("one of its headers"), "{}", refusal.message);
            check(with_secret(config("https", ""))).unwrap();
        }
        let in_url = check(config("http", "?api_key=0123456789abcdef")).unwrap_err();
        assert!(in_url.message.contains("the URL itself"), "{}", in_url.message);
        check(config("http", "mcp").header("X-Team", "blue")).unwrap();
    }

    #[test]
    fn invalid_headers_are_refused_and_not_shown() {
        for (name, value) in
            [("X", "s3cret\n"), ("X", "s3cret\r\nY: z"), ("X", "s3cret é"), ("X Y", "s3cret"), ("", "s3cret")]
        {
            let refusal = of(&[(name, value)]).err().unwrap();
            assert_eq!(refusal.reason, NotHostedReason::Headers);
            assert!(!refusal.message.contains("s3cret"), "{}", refusal.message);
        }
        for second in ["Bearer b", "Basic b"] {
            assert!(of(&[("Authorization", "Bearer a"), ("authorization", second)]).is_err(), "{second}");
        }
    }

    #[test]
    fn public_addresses_are_accepted() {
        for url in [
            "https://mcp.example.com/mcp",
            "HTTPS://MCP.example.com",
            "http://example.com:8080/x?key=v",
            "https://8.8.8.8/",
            "https://[2606:4700::1111]:443/mcp",
            "https://localhost.example.com",
            "https://a.example.com/@me",
        ] {
            assert_eq!(unreachable(url), None, "{url}");
        }
    }

    #[test]
    fn addresses_unreachable_for_a_provider_are_refused() {
        for url in [
            "",
            "ftp://example.com",
            "https://",
            "https:///x",
            "https://localhost:8080/mcp",
            "https://LocalHost./",
            "http://127.0.0.1",
            "http://10.1.2.3/",
            "http://192.168.0.1/",
            "http://172.16.0.1/",
            "http://169.254.169.254/",
            "http://100.64.0.1/",
            "http://0.0.0.0/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[fd00::1]/",
            "http://[fe80::1]/",
            "http://nas.local/",
            "http://intranet/",
            "https://user:password@example.com/",
            "https://example.com/a b",
            "https://example.com\\@localhost/",
        ] {
            let refusal = Credentials::of(&ServerConfig::http("a", url)).err().unwrap();
            assert_eq!(refusal.reason, NotHostedReason::Address, "{url}");
            assert!(!refusal.message.contains("password"), "{}", refusal.message);
        }
    }
}
