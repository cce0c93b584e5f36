//! Asks a user: the authorization request, and its redirect.

use url::Url;

use super::fetch::{Fetch, quoted};
use super::metadata::AuthorizationServer;
use super::secret::Secret;
use crate::ground::redact::Redactor;

/// An authorization request.
pub(super) struct AuthorizationRequest<'a> {
    pub(super) client_id: &'a str,
    pub(super) redirect: &'a str,
    pub(super) scopes: &'a [String],
    pub(super) resource: &'a str,
    pub(super) state: &'a str,
    pub(super) challenge: &'a str,
}

impl AuthorizationRequest<'_> {
    /// Returns the URL at which the user grants or denies access.
    pub(super) fn url(&self, fetch: &Fetch, server: &AuthorizationServer) -> Result<Url, String> {
        let endpoint = server.authorization_endpoint.as_deref();
        let endpoint = endpoint.ok_or_else(|| {
            format!(
                "the authorization server {} has no `authorization_endpoint`; without a user, use \
                 `OAuth::client_credentials`",
                quoted(&server.issuer, &fetch.redactor)
            )
        })?;
        if !server.has_s256 {
            return Err(format!(
                "the authorization server {} does not support PKCE (`code_challenge_methods_supported` with S256), \
                 which the protocol requires",
                quoted(&server.issuer, &fetch.redactor)
            ));
        }
        let mut url = fetch.allowed(endpoint, "the authorization endpoint")?;
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", self.client_id)
            .append_pair("redirect_uri", self.redirect)
            .append_pair("state", self.state)
            .append_pair("code_challenge", self.challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", self.resource);
        if !self.scopes.is_empty() {
            url.query_pairs_mut().append_pair("scope", &self.scopes.join(" "));
        }
        if self.scopes.iter().any(|scope| scope == "offline_access") {
            // OpenID Connect passes over the scope without it.
            url.query_pairs_mut().append_pair("prompt", "consent");
        }
        Ok(url)
    }
}

/// Returns the code of a redirect, once it is known to come from this server in answer to this request.
pub(super) fn code(
    redirected: &str,
    state: &str,
    server: &AuthorizationServer,
    redactor: &Redactor,
) -> Result<Secret, String> {
    let quoted = |text: &str| quoted(text, redactor);
    let url = Url::parse(redirected).map_err(|_| "the redirect is not a URL")?;
    let parameter = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    if parameter("state").as_deref() != Some(state) {
        return Err("the redirect does not belong to this authorization (`state`); try again".to_owned());
    }
    let code = parameter("code").filter(|code| !code.is_empty());
    code.iter().for_each(|code| redactor.learn(code));
    match parameter("iss") {
        // The issuer is compared exactly (RFC 9207): a similar one is another server.
        Some(issuer) if issuer != server.issuer => {
            return Err(format!(
                "the redirect is from another authorization server, {}, and not from {}; it may be an attack, and its \
                 code is not used",
                quoted(&issuer),
                quoted(&server.issuer)
            ));
        }
        None if server.names_issuer_in_redirects => {
            return Err(format!(
                "the redirect has no `iss` of {}, which that server always sends; its code is not used",
                quoted(&server.issuer)
            ));
        }
        _ => {}
    }
    if let Some(error) = parameter("error") {
        let why = parameter("error_description").map(|why| format!(": {}", quoted(&why))).unwrap_or_default();
        return Err(format!("the authorization was refused: {}{why}", quoted(&error)));
    }
    Ok(code.map(Secret::new).ok_or("the redirect has no code")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::transports::http::network::Network;
    use serde_json::{Value, json};

    fn server(more: Value) -> AuthorizationServer {
        let mut document = json!({
            "issuer": "https://auth.example",
            "token_endpoint": "https://auth.example/token",
            "authorization_endpoint": "https://auth.example/authorize?tenant=1",
            "code_challenge_methods_supported": ["plain", "S256"],
        });
        document.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        AuthorizationServer::parse(&document, "https://auth.example", &Redactor::default()).expect("metadata")
    }

    fn code(redirected: &str, state: &str, server: &AuthorizationServer) -> Result<Secret, String> {
        super::code(redirected, state, server, &Redactor::default())
    }

    #[test]
    fn redirect_from_another_issuer_is_refused() {
        let (says, silent) =
            (server(json!({"authorization_response_iss_parameter_supported": true})), server(json!({})));
        let right = "http://127.0.0.1:1/callback?code=c&state=s&iss=https%3A%2F%2Fauth.example";
        for server in [&says, &silent] {
            assert_eq!(code(right, "s", server).expect("the code").expose(), "c");
            for wrong in ["https://evil.example", "https://auth.example/", "", "HTTPS://auth.example"] {
                let url = format!("http://127.0.0.1:1/callback?code=c&state=s&iss={wrong}");
                let error = code(&url, "s", server).expect_err(wrong).to_string();
                assert!(error.contains("another authorization server"), "{error}");
            }
        }
        let without = "http://127.0.0.1:1/callback?code=c&state=s";
        assert!(code(without, "s", &silent).is_ok());
        assert!(code(without, "s", &says).expect_err("no issuer").to_string().contains("`iss`"));
    }

    #[test]
    fn redirect_with_wrong_state_or_an_error_yields_no_code() {
        let server = server(json!({}));
        for (query, expected) in [
            ("code=c&state=other", "`state`"),
            ("code=c", "`state`"),
            ("state=s", "no code"),
            ("code=&state=s", "no code"),
            ("state=s&error=access_denied&error_description=not%20%1b%5B31myou", r"access_denied: not \u{1b}[31myou"),
            ("state=s&error=no&error_description=a%20sk-code-1&code=sk-code-1", "no: a [redacted]"),
        ] {
            let error =
                code(&format!("http://127.0.0.1:1/callback?{query}"), "s", &server).expect_err(query).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn authorization_url_contains_all_parameters_and_requires_s256() {
        let scopes = ["read".to_owned(), "offline_access".to_owned()];
        let request = AuthorizationRequest {
            client_id: "me",
            redirect: "http://127.0.0.1:1/callback",
            scopes: &scopes,
            resource: "https://mcp.example",
            state: "s",
            challenge: "c",
        };
        let fetch = Fetch::new("https://mcp.example/mcp", Redactor::default(), Network::default()).expect("a server");
        let url = request.url(&fetch, &server(json!({}))).expect("a URL");
        let has = |pair: &str| url.query().is_some_and(|query| query.split('&').any(|one| one == pair));
        for pair in [
            "tenant=1",
            "response_type=code",
            "code_challenge_method=S256",
            "code_challenge=c",
            "scope=read+offline_access",
            "prompt=consent",
            "resource=https%3A%2F%2Fmcp.example",
            "state=s",
        ] {
            assert!(has(pair), "{pair} in {url}");
        }
        for methods in [json!(["plain"]), json!(null)] {
            let server = server(json!({"code_challenge_methods_supported": methods}));
            assert!(request.url(&fetch, &server).expect_err("no S256").to_string().contains("S256"));
        }
    }
}
