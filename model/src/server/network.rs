//! Checks of the keys about the way to a server at a URL.

use super::Transport;
use crate::config::ServerConfig;

impl ServerConfig {
    /// Returns the problem of one of `ca`, `client_cert`, `proxy` and `auth`, as the rest of a sentence that begins
    /// with the key. Unexpanded placeholders are not checked.
    ///
    /// ```
    /// use mcp_bindgen_model::ServerConfig;
    ///
    /// let server = ServerConfig::http("files", "http://files.example/mcp").ca("ca.pem");
    /// assert_eq!(server.network_problem("ca"), Some("requires a `url` with `https://`"));
    /// ```
    #[must_use]
    pub fn network_problem(&self, key: &str) -> Option<&'static str> {
        let (Transport::Http { url, headers } | Transport::Sse { url, headers }) = &self.transport else { return None };
        let is_pem_for = |pem: &str, begin: &str| !is_pem(pem) || pem.contains(begin);
        match (key, &self.ca, &self.client_cert, &self.proxy, &self.auth) {
            ("ca", Some(_), ..) | ("client_cert", _, Some(_), ..) if url.starts_with("http://") => {
                Some("requires a `url` with `https://`")
            }
            ("ca", Some(pem), ..) | ("client_cert", _, Some(pem), ..)
                if !is_pem_for(pem, "-----BEGIN CERTIFICATE-----") =>
            {
                Some("has no certificate")
            }
            ("client_cert", _, Some(pem), ..) if !is_pem_for(pem, "PRIVATE KEY-----") => Some("has no private key"),
            ("proxy", _, _, Some(proxy), _)
                if !["http://", "https://", "${"].iter().any(|start| proxy.starts_with(start)) =>
            {
                Some("is not an `http://` or `https://` URL")
            }
            ("auth", .., Some(_)) if headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) => {
                Some("cannot be combined with the header `Authorization`; remove one of them")
            }
            _ => None,
        }
    }
}

/// Returns `true` for the text of a PEM file rather than its path.
pub(super) fn is_pem(text: &str) -> bool {
    text.contains("-----BEGIN ")
}
