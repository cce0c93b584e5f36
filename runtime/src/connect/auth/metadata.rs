//! Metadata that resources and authorization servers publish.

use serde_json::Value;

use super::fetch::quoted;
use crate::ground::redact::Redactor;

/// A protected resource (RFC 9728).
#[derive(Debug, PartialEq)]
pub(super) struct Resource {
    /// The identifier exactly as published, because tokens are requested for it.
    pub(super) identifier: String,
    pub(super) issuers: Vec<String>,
    pub(super) scopes: Option<Vec<String>>,
}

impl Resource {
    /// Parses published metadata. Without `resource` it may belong to another server (RFC 9728, 3.3).
    pub(super) fn parse(document: &Value) -> Result<Self, String> {
        let identifier = text(document, "resource").ok_or_else(|| {
            "the server's metadata has no `resource` and is not used (RFC 9728, 3.3); its operator must add it"
                .to_owned()
        })?;
        Ok(Self {
            identifier,
            issuers: texts(document, "authorization_servers").unwrap_or_default(),
            scopes: texts(document, "scopes_supported"),
        })
    }
}

/// An authorization server (RFC 8414, OpenID Connect Discovery).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AuthorizationServer {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: String,
    pub(super) registration_endpoint: Option<String>,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) auth_methods: Option<Vec<String>>,
    pub(super) has_s256: bool,
    pub(super) names_issuer_in_redirects: bool,
    pub(super) takes_metadata_urls: bool,
    pub(super) gives_refresh_tokens: bool,
}

impl AuthorizationServer {
    /// Parses the metadata of `issuer`, which must name the same issuer.
    pub(super) fn parse(document: &Value, issuer: &str, redactor: &Redactor) -> Result<Self, String> {
        let quoted = |text: &str| quoted(text, redactor);
        let named = text(document, "issuer")
            .ok_or_else(|| format!("the metadata of the authorization server {} has no issuer", quoted(issuer)))?;
        if !is_same_issuer(&named, issuer) {
            return Err(format!(
                "the metadata of the authorization server {} has another issuer, {}; it may be an attack, and is not \
                 used",
                quoted(issuer),
                quoted(&named)
            ));
        }
        let token_endpoint = text(document, "token_endpoint")
            .ok_or_else(|| format!("the authorization server {} has no token endpoint", quoted(issuer)))?;
        let has = |key, value: &str| texts(document, key).is_some_and(|all| all.iter().any(|one| one == value));
        let is = |key| document.get(key).and_then(Value::as_bool).unwrap_or_default();
        Ok(Self {
            issuer: named,
            authorization_endpoint: text(document, "authorization_endpoint"),
            token_endpoint,
            registration_endpoint: text(document, "registration_endpoint"),
            scopes: texts(document, "scopes_supported"),
            auth_methods: texts(document, "token_endpoint_auth_methods_supported"),
            has_s256: has("code_challenge_methods_supported", "S256"),
            names_issuer_in_redirects: is("authorization_response_iss_parameter_supported"),
            takes_metadata_urls: is("client_id_metadata_document_supported"),
            gives_refresh_tokens: has("grant_types_supported", "refresh_token"),
        })
    }
}

/// Compares issuers exactly, except for a trailing slash without a path, which some libraries add. The issuer in a
/// redirect is compared without this exception.
pub(super) fn is_same_issuer(a: &str, b: &str) -> bool {
    let bare = |issuer: &str| -> Option<String> {
        let host = issuer.split_once("://")?.1.strip_suffix('/')?;
        (!host.contains('/')).then(|| issuer.trim_end_matches('/').to_owned())
    };
    a == b || bare(a).is_some_and(|a| a == b) || bare(b).is_some_and(|b| a == b)
}

pub(super) fn text(document: &Value, key: &str) -> Option<String> {
    document.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

pub(super) fn texts(document: &Value, key: &str) -> Option<Vec<String>> {
    let elements = document.get(key)?.as_array()?;
    Some(elements.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn metadata_of_another_issuer_is_refused() {
        let parse = |document: &Value, issuer: &str| AuthorizationServer::parse(document, issuer, &Redactor::default());
        let document = json!({"issuer": "https://a.example", "token_endpoint": "https://a.example/token"});
        assert!(parse(&document, "https://a.example").is_ok());
        assert!(parse(&document, "https://a.example/").is_ok());
        for other in [
            "https://b.example",
            "https://a.example/tenant",
            "http://a.example",
            "https://a.example//",
            "https://A.example",
        ] {
            let error = parse(&document, other).expect_err(other).to_string();
            assert!(error.contains("another issuer") && error.contains("https://a.example"), "{error}");
        }
        let error = parse(&json!({"token_endpoint": "x"}), "https://a.example").expect_err("none");
        assert!(error.to_string().contains("has no issuer"));
    }

    #[test]
    fn trailing_slash_distinguishes_tenants() {
        assert!(!is_same_issuer("https://a.example/t", "https://a.example/t/"));
        assert!(is_same_issuer("http://localhost:80/", "http://localhost:80"));
    }
}
