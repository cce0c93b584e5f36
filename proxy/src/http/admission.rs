//! Access control: `Host` against DNS rebinding, `Origin` against foreign web pages, and the token. The transport's
//! section on security requires the first two of local servers.

use std::net::IpAddr;
use std::time::Duration;

use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode};
use mcp_bindgen_runtime::Caller;
use serde_json::json;

use super::auth::NotAuthenticated;
use super::body::{Answer, empty, json as json_answer, text, with_header};
use super::headers;
use super::options::HttpOptions;
use super::origin::{Host, Origin};

/// The place of the metadata of the protected resource.
const METADATA: &str = "/.well-known/oauth-protected-resource";

/// How often it is looked whether the token of a stream is still good.
const BETWEEN_LOOKS: Duration = Duration::from_secs(2);

impl HttpOptions {
    /// Lets in requests for an allowed host, of an allowed origin.
    ///
    /// # Errors
    /// The answer to one that is not let in, or that only asks whether it may.
    pub(super) fn admit(&self, request: &Parts, local: Option<IpAddr>) -> Result<(), Answer> {
        let refused = |header: &str| {
            tracing::warn!(target: "mcp_bindgen_proxy", "refused a request, because its `{header}` is not allowed");
            Err(text(StatusCode::FORBIDDEN, format!("Forbidden: the `{header}` of the request is not allowed")))
        };
        if !self.host_is_allowed(request, local) {
            return refused("Host");
        }
        if !self.origin_is_allowed(&request.headers) {
            return refused("Origin");
        }
        // Browsers ask without the token whether they may ask with it.
        if request.method == Method::OPTIONS && request.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD) {
            return Err(preflight(&request.headers));
        }
        Ok(())
    }

    /// Takes from a request what says who sent it, so that nothing behind this handler can pass it on.
    ///
    /// # Errors
    /// The answer to one whose sender may not ask.
    pub(super) async fn authenticate(&self, request: &mut Parts) -> Result<Caller, Answer> {
        let principal = self.authentication.authenticate(&request.headers).await;
        request.headers.remove(header::AUTHORIZATION);
        request.headers.remove(header::COOKIE);
        principal.map_err(|why| self.refused(request, why))
    }

    /// Returns a future that waits until the token of a long-lived request becomes invalid, or `None` if tokens never
    /// do.
    pub(super) fn revocation(&self, request: &Parts) -> Option<impl Future<Output = ()> + Send + 'static> {
        let is_lasting = request.method == Method::GET
            || request.headers.get(headers::METHOD).is_some_and(|method| method == "subscriptions/listen");
        if !is_lasting || !self.authentication.has_names() {
            return None;
        }
        let token = request.headers.get(header::AUTHORIZATION)?.clone();
        let authentication = self.authentication.clone();
        Some(async move {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, token)]);
            loop {
                tokio::time::sleep(BETWEEN_LOOKS).await;
                if let Err(NotAuthenticated::Invalid | NotAuthenticated::MissingScopes(_)) =
                    authentication.authenticate(&headers).await
                {
                    return;
                }
            }
        })
    }

    fn refused(&self, request: &Parts, why: NotAuthenticated) -> Answer {
        let unauthorized = || text(StatusCode::UNAUTHORIZED, "Unauthorized: missing or invalid token");
        let (answer, error) = match why {
            NotAuthenticated::Nothing => (unauthorized(), String::new()),
            NotAuthenticated::Invalid => (unauthorized(), ", error=\"invalid_token\"".to_owned()),
            NotAuthenticated::MissingScopes(scopes) => (
                text(StatusCode::FORBIDDEN, "Forbidden: the token does not have the required scopes"),
                format!(", error=\"insufficient_scope\", scope=\"{}\"", scopes.join(" ")),
            ),
            NotAuthenticated::Unavailable => {
                let said = "Service Unavailable: the keys of the authorization server are unavailable";
                return text(StatusCode::SERVICE_UNAVAILABLE, said);
            }
        };
        let resource = self.authentication.resource().map(|(_, _, audience)| {
            format!(", resource_metadata=\"{}{METADATA}{}\"", self.origin(request, audience), self.path)
        });
        let challenge = format!("Bearer realm=\"mcp\"{}{error}", resource.unwrap_or_default());
        match HeaderValue::from_str(&challenge) {
            Ok(challenge) => with_header(answer, header::WWW_AUTHENTICATE, challenge),
            Err(_) => answer,
        }
    }

    /// Returns the metadata of the protected resource (RFC 9728), if a request asks for it.
    pub(super) fn metadata(&self, request: &Parts) -> Option<Answer> {
        let path = request.uri.path().strip_prefix(METADATA).filter(|path| ["", &self.path].contains(path));
        let (issuer, scopes, audience) = path.and_then(|_| self.authentication.resource())?;
        let mut metadata = json!({
            "resource": format!("{}{}", self.origin(request, audience), self.path),
            "authorization_servers": [issuer],
            "bearer_methods_supported": ["header"],
        });
        if let (false, Some(members)) = (scopes.is_empty(), metadata.as_object_mut()) {
            members.insert("scopes_supported".to_owned(), scopes.into());
        }
        Some(json_answer(StatusCode::OK, &metadata))
    }

    /// Returns the origin that clients know the proxy by: of the audience, if that is the URL of the endpoint, else of the
    /// request.
    fn origin(&self, request: &Parts, audience: &str) -> String {
        let is_url = audience.starts_with("http://") || audience.starts_with("https://");
        match audience.strip_suffix(&self.path).filter(|_| is_url) {
            Some(origin) => origin.to_owned(),
            None => {
                let host = request.headers.get(header::HOST).and_then(|host| host.to_str().ok());
                format!("http://{}", host.unwrap_or_default())
            }
        }
    }

    fn host_is_allowed(&self, request: &Parts, local: Option<IpAddr>) -> bool {
        // If the request line names a host too, as for a web proxy, that host must also be allowed.
        let target = request.uri.authority().map(|authority| authority.as_str());
        let Ok(Some(host)) = headers::one(&request.headers, header::HOST.as_str()) else { return false };
        [Some(host), target].into_iter().flatten().all(|host| {
            Host::parse(host).is_some_and(|host| {
                let is_where_it_came = host.address().is_some() && host.address() == local.map(|ip| ip.to_canonical());
                host.is_loopback() || is_where_it_came || self.hosts.iter().any(|allowed| host.is_of(allowed))
            })
        })
    }

    fn origin_is_allowed(&self, headers: &HeaderMap) -> bool {
        match headers::one(headers, header::ORIGIN.as_str()) {
            // No page of a browser: those always say it when they send what pages may not send unasked.
            Ok(None) => true,
            Ok(Some(origin)) => {
                Origin::parse(origin).is_some_and(|origin| origin.is_loopback() || self.origins.contains(&origin))
            }
            Err(_) => false,
        }
    }
}

fn preflight(asked: &HeaderMap) -> Answer {
    let mut answer = empty(StatusCode::NO_CONTENT);
    let headers = answer.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    // Arguments may be headers of any name (`Mcp-Param-..`).
    if let Some(names) = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    answer
}

/// Lets the page that asked read the answer. Its origin was admitted before.
pub(super) fn share(answer: &mut Answer, origin: Option<HeaderValue>) {
    let Some(origin) = origin else { return };
    let headers = answer.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("mcp-session-id, www-authenticate"));
    headers.append(header::VARY, HeaderValue::from_name(HeaderName::from_static("origin")));
}
