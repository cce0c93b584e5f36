//! Discovers the authorization server of a resource, by the metadata that both publish.
//!
//! `discover` and `authorization_server` only read: dropping them loses nothing.

use serde_json::Value;
use url::Url;

use super::challenge::BearerChallenge;
use super::fetch::{Fetch, quoted, text};
use crate::ground::redact::Redactor;

/// The discovered metadata of a server.
pub(super) struct Found {
    /// The resource that tokens are requested for, exactly as published.
    pub(super) resource: String,
    pub(super) scopes: Vec<String>,
    pub(super) server: AuthorizationServer,
}

/// An authorization server.
#[derive(Clone)]
pub(super) struct AuthorizationServer {
    pub(super) issuer: String,
    /// RFC 8414 and OpenID Connect Discovery define the keys.
    pub(super) metadata: Value,
}

impl AuthorizationServer {
    /// Checks the metadata of `issuer`, which must name the same issuer.
    fn new(metadata: Value, issuer: &str, redactor: &Redactor) -> Result<Self, String> {
        let named = text(&metadata, "issuer").ok_or_else(|| {
            format!("the metadata of the authorization server {} has no issuer", quoted(issuer, redactor))
        })?;
        if !is_same_issuer(&named, issuer) {
            return Err(format!(
                "the metadata of the authorization server {} has another issuer, {}; it may be an attack, and is not \
                 used",
                quoted(issuer, redactor),
                quoted(&named, redactor)
            ));
        }
        Ok(Self { issuer: named, metadata })
    }

    /// Returns `true` if the metadata has this flag.
    pub(super) fn has_flag(&self, key: &str) -> bool {
        self.metadata.get(key).and_then(Value::as_bool).unwrap_or_default()
    }
}

/// Returns the authorization server of a resource: the one that the program names, or the first one.
pub(super) async fn discover(
    fetch: &Fetch,
    challenge: &BearerChallenge,
    pinned: Option<&str>,
) -> Result<Found, String> {
    let mut places = Vec::new();
    if let Some(named) = &challenge.resource_metadata {
        let url = fetch.server.join(named).map_err(|_| "`resource_metadata` of the server is not a URL")?;
        places.push(fetch.allowed(url.as_str(), "the server's metadata")?);
    }
    places.extend(resource_places(&fetch.server));
    places.dedup();
    let Some(metadata) = fetch.document(&places).await? else {
        // Protocol 2025-03-26: the server is its own authorization server.
        let issuer = pinned_or(pinned, &[fetch.server.origin().ascii_serialization()], &fetch.redactor)?;
        let none = "the server requires authorization and publishes no OAuth metadata (RFC 9728, RFC 8414)";
        let help = "if it takes a key, set `headers.Authorization`";
        let server = published(fetch, &issuer).await.map_err(|error| format!("{none}: {error}; {help}"))?;
        let server = server.ok_or_else(|| format!("{none}; {help}"))?;
        return Ok(Found { resource: fetch.identifier(), scopes: Vec::new(), server });
    };
    let resource = text(&metadata, "resource")
        .ok_or("the server's metadata has no `resource` and is not used (RFC 9728, 3.3); its operator must add it")?;
    if !covers(&resource, &fetch.server) {
        return Err(format!(
            "the server's metadata is for another resource, {}; it may be an attack, and is not used",
            quoted(&resource, &fetch.redactor)
        ));
    }
    let issuer = pinned_or(pinned, &texts(&metadata, "authorization_servers"), &fetch.redactor)?;
    let server = authorization_server(fetch, &issuer).await?;
    Ok(Found { resource, scopes: texts(&metadata, "scopes_supported"), server })
}

fn pinned_or(pinned: Option<&str>, issuers: &[String], redactor: &Redactor) -> Result<String, String> {
    let first = issuers.first().ok_or("the server's metadata has no authorization server")?;
    match pinned {
        None => Ok(first.clone()),
        Some(pinned) => issuers.iter().find(|issuer| is_same_issuer(issuer, pinned)).cloned().ok_or_else(|| {
            format!(
                "the server's authorization server is {}, and `OAuth::issuer` only allows {}; if it has moved, \
                 register the client there",
                quoted(first, redactor),
                quoted(pinned, redactor)
            )
        }),
    }
}

/// Returns the metadata of an issuer, at the URLs of RFC 8414 and OpenID Connect.
pub(super) async fn authorization_server(fetch: &Fetch, issuer: &str) -> Result<AuthorizationServer, String> {
    published(fetch, issuer).await?.ok_or_else(|| {
        let issuer = quoted(issuer, &fetch.redactor);
        format!("the authorization server {issuer} publishes no metadata (RFC 8414, OpenID Connect)")
    })
}

/// Returns the metadata of an issuer, if it is published.
async fn published(fetch: &Fetch, issuer: &str) -> Result<Option<AuthorizationServer>, String> {
    let base = fetch.allowed(issuer, "the authorization server")?;
    let metadata = fetch.document(&issuer_places(&base)).await?;
    metadata.map(|metadata| AuthorizationServer::new(metadata, issuer, &fetch.redactor)).transpose()
}

/// Returns the URLs of a resource's metadata, the likeliest first.
fn resource_places(server: &Url) -> Vec<Url> {
    let path = server.path().trim_end_matches('/');
    at(server, [path, ""].map(|path| format!("/.well-known/oauth-protected-resource{path}")))
}

/// Returns the URLs of an issuer's metadata, in the order of the protocol.
fn issuer_places(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    at(
        issuer,
        [
            format!("/.well-known/oauth-authorization-server{path}"),
            format!("/.well-known/openid-configuration{path}"),
            format!("{path}/.well-known/openid-configuration"),
        ],
    )
}

/// Returns the URLs of paths on a server. Paths that are the same follow each other.
fn at(base: &Url, paths: impl IntoIterator<Item = String>) -> Vec<Url> {
    let url = |path: String| {
        let mut url = base.clone();
        url.set_path(&path);
        url.set_query(None);
        url.set_fragment(None);
        url
    };
    let mut urls: Vec<Url> = paths.into_iter().map(url).collect();
    urls.dedup();
    urls
}

/// Returns `true` if the resource is the server or contains it.
fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    if resource.query().is_some() || resource.fragment().is_some() {
        return resource == *server;
    }
    let path = resource.path().trim_end_matches('/');
    let below = server.path().strip_prefix(path);
    resource.origin() == server.origin() && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Compares issuers exactly, except for a trailing slash without a path, which some libraries add. The issuer in a
/// redirect is compared without this exception.
pub(super) fn is_same_issuer(a: &str, b: &str) -> bool {
    bare(a) == bare(b)
}

/// Returns an issuer without the slash that is its whole path: the third slash in all.
fn bare(issuer: &str) -> &str {
    issuer.strip_suffix('/').filter(|bare| bare.matches('/').count() == 2).unwrap_or(issuer)
}

/// Returns the texts of a list in a JSON object.
pub(super) fn texts(document: &Value, key: &str) -> Vec<String> {
    let elements = document.get(key).and_then(Value::as_array).into_iter().flatten();
    elements.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect(text)
    }

    fn texts(urls: &[Url]) -> Vec<&str> {
        urls.iter().map(Url::as_str).collect()
    }

    #[test]
    fn metadata_urls_follow_the_order_of_the_protocol() {
        assert_eq!(
            texts(&resource_places(&url("https://a.example/v1/mcp/?key=x#y"))),
            [
                "https://a.example/.well-known/oauth-protected-resource/v1/mcp",
                "https://a.example/.well-known/oauth-protected-resource"
            ]
        );
        assert_eq!(
            texts(&resource_places(&url("https://a.example"))),
            ["https://a.example/.well-known/oauth-protected-resource"]
        );
        assert_eq!(
            texts(&issuer_places(&url("https://a.example:8443/tenant1"))),
            [
                "https://a.example:8443/.well-known/oauth-authorization-server/tenant1",
                "https://a.example:8443/.well-known/openid-configuration/tenant1",
                "https://a.example:8443/tenant1/.well-known/openid-configuration"
            ]
        );
        assert_eq!(
            texts(&issuer_places(&url("https://a.example/"))),
            [
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration"
            ]
        );
    }

    #[test]
    fn resource_must_match_the_server_or_a_parent_path() {
        let server = url("https://a.example/v1/mcp");
        for resource in
            ["https://a.example/v1/mcp", "https://a.example", "https://a.example/v1/", "https://A.example:443/v1"]
        {
            assert!(covers(resource, &server), "{resource}");
        }
        for resource in [
            "https://evil.example/v1/mcp",
            "http://a.example/v1/mcp",
            "https://a.example:8443/v1/mcp",
            "https://a.example/v1/mc",
            "https://a.example/v1/mcp/more",
            "https://a.example/v1/mcp?tenant=1",
            "https://a.example/v1/mcp#x",
            "not a url",
        ] {
            assert!(!covers(resource, &server), "{resource}");
        }
        let tenant = url("https://a.example/v1/mcp?tenant=1");
        assert!(covers("https://a.example/v1/mcp?tenant=1", &tenant) && covers("https://a.example/v1/mcp", &tenant));
        assert!(!covers("https://a.example/v1/mcp?tenant=2", &tenant));
    }

    #[test]
    fn pinned_issuer_must_be_in_the_list() {
        let issuers = ["https://a.example".to_owned(), "https://b.example".to_owned()];
        let pinned_or = |pinned, issuers: &[String]| pinned_or(pinned, issuers, &Redactor::default());
        assert_eq!(pinned_or(None, &issuers).expect("the first"), "https://a.example");
        assert_eq!(pinned_or(Some("https://b.example/"), &issuers).expect("the second"), "https://b.example");
        let error = pinned_or(Some("https://c.example"), &issuers).expect_err("not there").to_string();
        assert!(error.contains("https://a.example") && error.contains("https://c.example"), "{error}");
        assert!(pinned_or(None, &[]).is_err());
    }

    #[test]
    fn metadata_of_another_issuer_is_refused() {
        let parse = |document: &Value, issuer: &str| {
            AuthorizationServer::new(document.clone(), issuer, &Redactor::default()).map(drop)
        };
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
