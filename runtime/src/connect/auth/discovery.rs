//! Discovers the authorization server of a resource.
//!
//! `discover`, `resource` and `authorization_server` only read: dropping them loses nothing.

use url::Url;

use super::challenge::BearerChallenge;
use super::fetch::{Fetch, quoted};
use super::metadata::{AuthorizationServer, Resource, is_same_issuer};
use crate::ground::redact::Redactor;

/// The discovered metadata of a server.
pub(super) struct Found {
    /// The resource that tokens are requested for.
    pub(super) resource: String,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) server: AuthorizationServer,
}

/// Returns the authorization server of a resource: the one that the program names, or the first one.
pub(super) async fn discover(
    fetch: &Fetch,
    challenge: &BearerChallenge,
    pinned: Option<&str>,
) -> Result<Found, String> {
    let Some(resource) = resource(fetch, challenge).await? else {
        // Protocol 2025-03-26: the server is its own authorization server.
        let issuer = fetch.server.origin().ascii_serialization();
        pinned_or(pinned, std::slice::from_ref(&issuer), &fetch.redactor)?;
        let help = "if it takes a key, set `headers.Authorization`";
        let none = "the server requires authorization and publishes no OAuth metadata (RFC 9728, RFC 8414)";
        let server = published(fetch, &issuer).await.map_err(|error| format!("{none}: {error}; {help}"))?;
        let server = server.ok_or_else(|| format!("{none}; {help}"))?;
        return Ok(Found { resource: fetch.identifier(), scopes: None, server });
    };
    if !covers(&resource.identifier, &fetch.server) {
        return Err(format!(
            "the server's metadata is for another resource, {}; it may be an attack, and is not used",
            quoted(&resource.identifier, &fetch.redactor)
        ));
    }
    let issuer = pinned_or(pinned, &resource.issuers, &fetch.redactor)?;
    let server = authorization_server(fetch, &issuer).await?;
    Ok(Found { resource: resource.identifier, scopes: resource.scopes, server })
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

async fn resource(fetch: &Fetch, challenge: &BearerChallenge) -> Result<Option<Resource>, String> {
    let mut places = Vec::new();
    if let Some(named) = &challenge.resource_metadata {
        let url = fetch.server.join(named).map_err(|_| "`resource_metadata` of the server is not a URL")?;
        places.push(fetch.allowed(url.as_str(), "the server's metadata")?);
    }
    places.extend(resource_places(&fetch.server));
    places.dedup();
    fetch.document(&places).await?.as_ref().map(Resource::parse).transpose()
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
    let Some(document) = fetch.document(&issuer_places(&base)).await? else { return Ok(None) };
    let server = AuthorizationServer::parse(&document, issuer, &fetch.redactor)?;
    let endpoints =
        [Some(&server.token_endpoint), server.authorization_endpoint.as_ref(), server.registration_endpoint.as_ref()];
    for endpoint in endpoints.into_iter().flatten() {
        fetch.allowed(endpoint, "an endpoint of the authorization server")?;
    }
    Ok(Some(server))
}

/// Returns the URLs of a resource's metadata, the likeliest first.
fn resource_places(server: &Url) -> Vec<Url> {
    let path = server.path().trim_end_matches('/');
    let mut places = vec![at(server, &format!("/.well-known/oauth-protected-resource{path}"))];
    if !path.is_empty() {
        places.push(at(server, "/.well-known/oauth-protected-resource"));
    }
    places
}

/// Returns the URLs of an issuer's metadata, in the order of the protocol.
fn issuer_places(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut places = vec![
        at(issuer, &format!("/.well-known/oauth-authorization-server{path}")),
        at(issuer, &format!("/.well-known/openid-configuration{path}")),
    ];
    if !path.is_empty() {
        places.push(at(issuer, &format!("{path}/.well-known/openid-configuration")));
    }
    places
}

fn at(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
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

#[cfg(test)]
mod tests {
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
}
