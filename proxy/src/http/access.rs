//! Access control: `Host` against DNS rebinding, `Origin` against foreign web pages, and the token. The transport's
//! section on security requires the first two of local servers.

use std::net::IpAddr;

use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::http::response;
use hyper::{HeaderMap, Method, StatusCode};

use super::bearer::{Bearer, Borne};
use super::body::{Answer, empty, text};
use super::options::Checked;
use super::origin::{Host, Origin};

/// The rules.
pub(super) struct Access {
    bearer: Option<Bearer>,
    hosts: Vec<Host>,
    origins: Vec<Origin>,
}

impl Access {
    pub(super) fn new(options: &Checked) -> Self {
        Self { bearer: options.bearer.clone(), hosts: options.hosts.clone(), origins: options.origins.clone() }
    }

    /// Takes from a request what says who sent it, so that nothing behind this door can pass it on.
    ///
    /// # Errors
    /// The answer to one that may not ask, or that only asks whether it may.
    pub(super) fn admit(&self, request: &mut Parts, local: Option<IpAddr>) -> Result<(), Answer> {
        if !self.host_is_allowed(request, local) {
            tracing::warn!(target: "mcp_bindgen_proxy", "a request for a host that is not allowed was refused");
            return Err(text(StatusCode::FORBIDDEN, "Forbidden: the `Host` of the request is not allowed"));
        }
        if !self.origin_is_allowed(&request.headers) {
            tracing::warn!(target: "mcp_bindgen_proxy", "a request of an origin that is not allowed was refused");
            return Err(text(StatusCode::FORBIDDEN, "Forbidden: the `Origin` of the request is not allowed"));
        }
        // Browsers ask without the token whether they may ask with it.
        if request.method == Method::OPTIONS && request.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD) {
            return Err(preflight(&request.headers));
        }
        let borne = self.bearer.as_ref().map_or(Borne::Right, |bearer| bearer.borne(&request.headers));
        request.headers.remove(header::AUTHORIZATION);
        request.headers.remove(header::COOKIE);
        match borne {
            Borne::Right => Ok(()),
            Borne::Nothing => Err(unauthorized("Bearer realm=\"mcp\"")),
            Borne::Wrong => Err(unauthorized("Bearer realm=\"mcp\", error=\"invalid_token\"")),
        }
    }

    fn host_is_allowed(&self, request: &Parts, local: Option<IpAddr>) -> bool {
        let mut hosts = request.headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().ok(),
            _ => None,
        };
        // Where the line of the request names a host as well, as for a proxy of the web, it has to be an allowed one too.
        let target = request.uri.authority().map(|authority| authority.as_str());
        let Some(host) = host else { return false };
        [Some(host), target].into_iter().flatten().all(|host| {
            Host::parse(host).is_some_and(|host| {
                let is_where_it_came = host.address().is_some() && host.address() == local.map(|ip| ip.to_canonical());
                host.is_loopback() || is_where_it_came || self.hosts.iter().any(|allowed| host.is_of(allowed))
            })
        })
    }

    fn origin_is_allowed(&self, headers: &HeaderMap) -> bool {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        match (origins.next(), origins.next()) {
            // No page of a browser: those always say it when they send what pages may not send unasked.
            (None, _) => true,
            (Some(origin), None) => {
                let origin = origin.to_str().ok().and_then(Origin::parse);
                origin.is_some_and(|origin| origin.is_loopback() || self.origins.contains(&origin))
            }
            _ => false,
        }
    }
}

fn unauthorized(challenge: &'static str) -> Answer {
    let mut answer = text(StatusCode::UNAUTHORIZED, "Unauthorized: missing or invalid token");
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    answer
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
pub(super) fn share(answer: &mut response::Response<super::body::Body>, origin: Option<HeaderValue>) {
    let Some(origin) = origin else { return };
    let headers = answer.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("mcp-session-id, www-authenticate"));
    headers.append(header::VARY, HeaderValue::from_name(HeaderName::from_static("origin")));
}
