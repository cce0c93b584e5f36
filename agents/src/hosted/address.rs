//! Checks whether a URL can be passed to a provider.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::declarations::{NotHostedReason, Refusal};

/// Names of machines that only a local resolver knows (RFC 6761, RFC 6762, RFC 8375, ICANN's `internal`).
const LOCAL_NAMES: [&str; 5] = ["localhost", "local", "internal", "home.arpa", "test"];

/// # Errors
/// Fails if the provider cannot reach the URL, or if it contains parts that only a header could carry. The URL is not
/// shown, because it may contain secrets.
pub(super) fn check(url: &str) -> Result<(), Refusal> {
    let refused = |message: &str| Err(NotHostedReason::Address.because(format!("its `url` {message}")));
    let is_http = |scheme: &str| scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let Some((_, rest)) = url.split_once("://").filter(|(scheme, _)| is_http(scheme)) else {
        return refused("is not an http or https URL");
    };
    if url.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
        return refused("has invalid characters");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return refused("contains a user name; providers only accept the `Authorization` header");
    }
    match host(authority) {
        None => refused("has no host"),
        Some(host) if is_local(host) => {
            refused("is on this machine or a private network, which a provider cannot reach")
        }
        Some(_) => Ok(()),
    }
}

fn host(authority: &str) -> Option<&str> {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None => authority.split_once(':').map_or(authority, |(host, _)| host),
    };
    (!host.is_empty()).then_some(host)
}

fn is_local(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    match host.parse() {
        Ok(IpAddr::V4(address)) => is_local_v4(address),
        Ok(IpAddr::V6(address)) => is_local_v6(address),
        Err(_) => {
            let ends_so =
                |name: &&str| host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
            !host.contains('.') || LOCAL_NAMES.iter().any(ends_so)
        }
    }
}

fn is_local_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    // Shared addresses between a provider of lines and its customers: RFC 6598.
    let is_shared = first == 100 && (64..128).contains(&second);
    address.is_loopback() || address.is_private() || address.is_link_local() || first == 0 || is_shared
}

fn is_local_v6(address: Ipv6Addr) -> bool {
    match address.to_ipv4_mapped() {
        Some(address) => is_local_v4(address),
        None => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(check(url).is_ok(), "{url}");
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
            let refusal = check(url).unwrap_err();
            assert_eq!(refusal.reason, NotHostedReason::Address, "{url}");
            assert!(!refusal.message.contains("password"), "{}", refusal.message);
        }
    }
}
