//! What is wrong with the way to a server at a URL.

use super::{ServerConfig, Transport};

impl ServerConfig {
    /// Returns what is wrong with one of `ca`, `client_cert`, `proxy` and `auth`, as the rest of a sentence that begins
    /// with the key. Placeholders that are not expanded yet are left alone.
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
        match key {
            "ca" | "client_cert" if url.starts_with("http://") => Some("requires a `url` with `https://`"),
            "ca" => self.ca.as_deref().and_then(|ca| missing(ca, "-----BEGIN CERTIFICATE-----", "has no certificate")),
            "client_cert" => self.client_cert.as_deref().and_then(|pem| {
                let certificate = missing(pem, "-----BEGIN CERTIFICATE-----", "has no certificate");
                certificate.or_else(|| missing(pem, "PRIVATE KEY-----", "has no private key"))
            }),
            "proxy" => {
                let is_url = |proxy: &String| ["http://", "https://", "${"].iter().any(|start| proxy.starts_with(start));
                self.proxy.as_ref().filter(|proxy| !is_url(proxy)).map(|_| "is not an `http://` or `https://` URL")
            }
            "auth" if self.auth.is_some() && headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) => {
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

fn missing(text: &str, begin: &str, problem: &'static str) -> Option<&'static str> {
    (is_pem(text) && !text.contains(begin)).then_some(problem)
}
