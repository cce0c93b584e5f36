//! Discovers the authorization server of a resource: by `WWW-Authenticate` of a refusal (RFC 6750, RFC 9728), and by the
//! metadata that both publish.
//!
//! `discover` and `authorization_server` only read: dropping them loses nothing.

use serde_json::Value;
use url::Url;

use super::fetch::{Fetch, quoted, text};
use crate::ground::redact::Redactor;

/// The paths of a resource's metadata, the likeliest first. `*` is the path of the resource.
const RESOURCE_PATHS: &[&str] = &["/.well-known/oauth-protected-resource*", "/.well-known/oauth-protected-resource"];
/// The paths of an issuer's metadata, in the order of the protocol. `*` is the path of the issuer.
const ISSUER_PATHS: &[&str] = &[
    "/.well-known/oauth-authorization-server*",
    "/.well-known/openid-configuration*",
    "*/.well-known/openid-configuration",
];

/// The parameters of a Bearer challenge.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BearerChallenge {
    pub(super) resource_metadata: Option<String>,
    pub(super) scopes: Vec<String>,
    pub(super) error: Option<String>,
}

impl BearerChallenge {
    /// Parses the first Bearer challenge of these headers; empty if there is none.
    pub(super) fn parse(headers: &[String]) -> Self {
        headers.iter().find_map(|header| Self::of(header)).unwrap_or_default()
    }

    /// Parses the first Bearer challenge of a header.
    fn of(header: &str) -> Option<Self> {
        let separates = |c: char| c == ',' || c.is_whitespace();
        let mut found: Option<Self> = None;
        let mut rest = header;
        while let Some(start) = rest.find(|c| !separates(c)) {
            let (gap, text) = rest.split_at(start);
            let begins = rest.len() == header.len() || gap.contains(',');
            let (word, after) = text.split_at(text.find(|c| c == '=' || separates(c)).unwrap_or(text.len()));
            let Some(value) = after.trim_start().strip_prefix('=') else {
                // The scheme of the next challenge is a word without a value, at the start or after a comma.
                if begins && found.is_some() {
                    break;
                }
                found = found.or_else(|| (begins && word.eq_ignore_ascii_case("bearer")).then(Self::default));
                rest = after;
                continue;
            };
            let (value, after) = split_value(value.trim_start());
            rest = after;
            let Some(found) = &mut found else { continue };
            match word.to_ascii_lowercase().as_str() {
                "resource_metadata" => found.resource_metadata = found.resource_metadata.take().or(Some(value)),
                "scope" if found.scopes.is_empty() => {
                    found.scopes = value.split_whitespace().map(str::to_owned).collect();
                }
                "error" => found.error = found.error.take().or(Some(value)),
                _ => {}
            }
        }
        found
    }
}

/// Splits a text after the value at its start, which may be in quotation marks.
fn split_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = text.split_at(text.find(',').unwrap_or(text.len()));
        return (value.trim_end().to_owned(), rest);
    };
    let mut value = String::new();
    let mut characters = quoted.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => value.extend(characters.next()),
            other => value.push(other),
        }
    }
    (value, characters.as_str())
}

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
        let shown = quoted(issuer, redactor);
        match text(&metadata, "issuer") {
            Some(named) if is_same_issuer(&named, issuer) => Ok(Self { issuer: named, metadata }),
            Some(named) => Err(format!(
                "the metadata of the authorization server {shown} has another issuer, {}; it may be an attack, and is not \
                 used",
                quoted(&named, redactor)
            )),
            None => Err(format!("the metadata of the authorization server {shown} has no issuer")),
        }
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
    places.extend(at(&fetch.server, RESOURCE_PATHS));
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
    let Some(pinned) = pinned else { return Ok(first.clone()) };
    issuers.iter().find(|issuer| is_same_issuer(issuer, pinned)).cloned().ok_or_else(|| {
        format!(
            "the server's authorization server is {}, and `OAuth::issuer` only allows {pinned}; if it has moved, \
             register the client there",
            quoted(first, redactor)
        )
    })
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
    let metadata = fetch.document(&at(&base, ISSUER_PATHS)).await?;
    metadata.map(|metadata| AuthorizationServer::new(metadata, issuer, &fetch.redactor)).transpose()
}

/// Returns the URLs of these paths, in which `*` stands for the path of `base`. Consecutive equal URLs are returned
/// once.
fn at(base: &Url, paths: &[&str]) -> Vec<Url> {
    let own = base.path().trim_end_matches('/');
    let url = |path: &&str| {
        let mut url = base.clone();
        url.set_path(&path.replace('*', own));
        url.set_query(None);
        url.set_fragment(None);
        url
    };
    let mut urls: Vec<Url> = paths.iter().map(url).collect();
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
            texts(&at(&url("https://a.example/v1/mcp/?key=x#y"), RESOURCE_PATHS)),
            [
                "https://a.example/.well-known/oauth-protected-resource/v1/mcp",
                "https://a.example/.well-known/oauth-protected-resource"
            ]
        );
        assert_eq!(
            texts(&at(&url("https://a.example"), RESOURCE_PATHS)),
            ["https://a.example/.well-known/oauth-protected-resource"]
        );
        assert_eq!(
            texts(&at(&url("https://a.example:8443/tenant1"), ISSUER_PATHS)),
            [
                "https://a.example:8443/.well-known/oauth-authorization-server/tenant1",
                "https://a.example:8443/.well-known/openid-configuration/tenant1",
                "https://a.example:8443/tenant1/.well-known/openid-configuration"
            ]
        );
        assert_eq!(
            texts(&at(&url("https://a.example/"), ISSUER_PATHS)),
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
        let redactor = Redactor::default();
        let parse =
            |document: &Value, issuer: &str| AuthorizationServer::new(document.clone(), issuer, &redactor).map(drop);
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

    fn parse(values: &[&str]) -> BearerChallenge {
        BearerChallenge::parse(&values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn bearer_challenge_parameters_are_parsed() {
        let challenge =
            parse(&[r#"bearer realm="a, \"b\"", error="insufficient_scope", scope="files:read  files:write""#]);
        assert_eq!(challenge.error.as_deref(), Some("insufficient_scope"));
        assert_eq!(challenge.scopes, ["files:read", "files:write"]);
        assert_eq!(challenge.resource_metadata, None);
    }

    #[test]
    fn bearer_challenge_is_found_among_other_schemes_and_headers() {
        let wanted = Some("https://a.example/.well-known/x".to_owned());
        for values in [
            &[r#"Basic realm="x", Bearer resource_metadata="https://a.example/.well-known/x""#][..],
            &[r#"Basic realm="x""#, r#"Bearer resource_metadata = "https://a.example/.well-known/x""#],
            &[r#"Bearer resource_metadata=https://a.example/.well-known/x, Digest resource_metadata="no""#],
            &[r#"Negotiate abc==, Bearer resource_metadata="https://a.example/.well-known/x", Bearer scope="no""#],
        ] {
            let challenge = parse(values);
            assert_eq!(challenge.resource_metadata, wanted, "{values:?}");
            assert!(challenge.scopes.is_empty(), "{values:?}");
        }
    }

    #[test]
    fn malformed_parameters_do_not_hide_others_of_a_bearer_challenge() {
        let first =
            r#"Bearer error=invalid_token, error_description=The token expired, resource_metadata="m", scope="x""#;
        for values in [
            &[first][..],
            &[r#"Bearer scope="x"b, resource_metadata="m", error=invalid_token"#],
            &[r#"Basic realm="x"#, r#"Bearer error="invalid_token", scope="x", resource_metadata="m""#],
            &[r#"Bearer error=invalid_token, scope=x, resource_metadata=m, error=e, scope=s, resource_metadata=r"#],
        ] {
            let challenge = parse(values);
            assert_eq!(challenge.error.as_deref(), Some("invalid_token"), "{values:?}");
            assert_eq!(challenge.resource_metadata.as_deref(), Some("m"), "{values:?}");
            assert_eq!(challenge.scopes, ["x"], "{values:?}");
        }
        assert_eq!(parse(&["Bearer scope=read write, error=e"]).scopes, ["read", "write"]);
    }

    #[test]
    fn malformed_challenge_yields_no_scopes() {
        for value in ["", ",,,", "Bearer", "=", "Bearer scope=\"", r#"Basic scope="x""#, "\"", "\\"] {
            assert!(parse(&[value]).scopes.is_empty(), "{value}");
        }
    }
}
