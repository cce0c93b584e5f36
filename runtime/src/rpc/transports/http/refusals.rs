//! Failed requests, and the consequence for their calls.

use std::error::Error;
use std::time::{Duration, SystemTime};

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::statuses::meaning;
use crate::Dispatched;
use crate::rpc::failure::Failure;

/// A request that failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct HttpError {
    pub(super) kind: HttpErrorKind,
    pub(super) message: String,
}

#[derive(Clone, Debug)]
pub(crate) enum HttpErrorKind {
    /// The request never reached the server.
    NotSent,
    /// No authorization is available for the request.
    Unauthorized,
    /// The request had no effect.
    Refused,
    /// The outcome is unknown.
    Lost,
    /// The outcome is unknown, and another attempt would end alike.
    Redirected,
    /// The server may have forgotten the session, or may have refused the request for another reason.
    SessionLost(StatusCode),
    /// The server answered with an HTTP status that is not a success.
    Status { status: StatusCode, retry_after: Option<Duration> },
}

impl HttpError {
    pub(crate) fn new(kind: HttpErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(crate) fn not_sent(message: impl Into<String>) -> Self {
        Self::new(HttpErrorKind::NotSent, message)
    }

    pub(crate) fn lost(message: impl Into<String>) -> Self {
        Self::new(HttpErrorKind::Lost, message)
    }

    /// Returns the status that the server refused it with.
    pub(crate) fn status(&self) -> Option<u16> {
        match self.kind {
            HttpErrorKind::Status { status, .. } | HttpErrorKind::SessionLost(status) => Some(status.as_u16()),
            _ => None,
        }
    }

    /// Returns the delay that the server requested before the next attempt.
    fn retry_after(&self) -> Option<Duration> {
        match self.kind {
            HttpErrorKind::Status { retry_after, .. } => retry_after,
            _ => None,
        }
    }

    /// Returns `true` if the server requires authorization.
    fn is_auth(&self) -> bool {
        match self.kind {
            HttpErrorKind::Unauthorized => true,
            HttpErrorKind::Status { status, .. } => matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN),
            _ => false,
        }
    }

    /// Returns `true` if another attempt would end alike.
    pub(crate) fn is_final(&self) -> bool {
        match self.kind {
            HttpErrorKind::Status { status, .. } => !meaning(status).1,
            HttpErrorKind::Redirected | HttpErrorKind::SessionLost(_) => true,
            _ => false,
        }
    }

    /// Returns the consequence for the request.
    pub(crate) fn failure(&self) -> Failure {
        let dispatched = match self.kind {
            HttpErrorKind::NotSent | HttpErrorKind::Unauthorized | HttpErrorKind::Refused => Dispatched::No,
            HttpErrorKind::Status { status, .. } => meaning(status).0,
            HttpErrorKind::Lost | HttpErrorKind::Redirected | HttpErrorKind::SessionLost(_) => Dispatched::Unknown,
        };
        let failure = Failure::new(dispatched, self.to_string()).with_source(self.clone());
        Failure { wants_authorization: self.is_auth(), retry_after: self.retry_after(), ..failure }
    }
}

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> Self {
        let kind = if error.is_connect() || error.is_builder() {
            HttpErrorKind::NotSent
        } else if error.is_redirect() {
            HttpErrorKind::Redirected
        } else {
            HttpErrorKind::Lost
        };
        Self::new(kind, describe(&error))
    }
}

/// Returns the causes of an error without its URL, which may hold a secret.
pub(crate) fn describe(error: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        // hyper's own layers only name the client's side.
        if causes.last() != Some(&text) && !text.starts_with("client error") {
            causes.push(text);
        }
        source = cause.source();
    }
    let what = if error.is_connect() {
        "could not connect"
    } else if error.is_redirect() {
        "the server redirects"
    } else {
        "the request failed"
    };
    let separator = if error.is_redirect() { " " } else { ": " };
    let causes = format!("{}{}", if causes.is_empty() { "" } else { separator }, causes.join(": "));
    let help = tls_help(&causes).map(|help| format!("; {help}")).unwrap_or_default();
    format!("{what}{causes}{help}")
}

/// Returns the key that helps with a TLS error, found by its words, because HTTP/2 does not keep the error itself.
fn tls_help(causes: &str) -> Option<&'static str> {
    const REFUSALS: [&str; 7] = [
        "BadCertificate",
        "CertificateExpired",
        "CertificateRevoked",
        "CertificateUnknown",
        "DecryptError",
        "UnknownCA",
        "UnsupportedCertificate",
    ];
    let (_, alert) = causes.split_once("received fatal alert: ").unwrap_or_default();
    match alert {
        _ if causes.contains("invalid peer certificate") => {
            Some("if the server is right, set `ca` to the certificate of its authority")
        }
        "CertificateRequired" => Some("the server requires a client certificate: set `client_cert`"),
        "HandshakeFailure" => Some("the server may require a client certificate: `client_cert`"),
        _ if REFUSALS.contains(&alert) => Some("the server does not accept the client certificate (`client_cert`)"),
        _ => None,
    }
}

/// Describes an HTTP status that is not a success. `said` is the printable part of the body or the challenge;
/// `credentials` names the credentials of the request.
pub(super) fn refusal(status: StatusCode, headers: &HeaderMap, said: &str, credentials: Option<&str>) -> HttpError {
    let message = match (status, credentials) {
        (StatusCode::UNAUTHORIZED, Some(credentials)) => {
            format!("the server does not accept {credentials} (HTTP {status})")
        }
        (StatusCode::UNAUTHORIZED, None) => format!(
            "the server requires authorization (HTTP {status}); set `headers.Authorization`, or use OAuth \
             (`ClientOptions::authorization`, feature `auth`)"
        ),
        _ if said.is_empty() => format!("HTTP {status}"),
        _ => format!("HTTP {status}: {said}"),
    };
    HttpError::new(HttpErrorKind::Status { status, retry_after: retry_after(headers) }, message)
}

/// Seconds or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

/// Recognizes restarted servers, which answer 400 for an unknown session although the protocol requires 404.
pub(super) fn is_lost_session(body: &[u8]) -> bool {
    let said = match serde_json::from_slice::<Value>(body) {
        Ok(body) if body.get("id").is_some_and(|id| !id.is_null()) => return false,
        Ok(body) => body.pointer("/error/message").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase(),
        Err(_) => String::from_utf8_lossy(body).to_ascii_lowercase(),
    };
    said.contains("session")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn retry_after_is_parsed_from_seconds_or_a_date() {
        let told = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_str(value).expect("a value"));
            refusal(StatusCode::TOO_MANY_REQUESTS, &headers, "", None).retry_after()
        };
        assert_eq!(told("7"), Some(Duration::from_secs(7)));
        assert_eq!(told("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(60));
        assert!(told(&soon).is_some_and(|wait| (50..=60).contains(&wait.as_secs())));
        assert_eq!(told("soon"), None);
    }

    /// A call that counts as not dispatched may be sent again, and would run twice if the server had begun.
    #[test]
    fn outcome_is_known_only_if_the_call_cannot_have_run() {
        let status = |code| {
            let status = StatusCode::from_u16(code).expect("a status");
            refusal(status, &HeaderMap::new(), "", None)
        };
        let error = |kind| HttpError::new(kind, "");
        let without_effect = [HttpErrorKind::NotSent, HttpErrorKind::Unauthorized, HttpErrorKind::Refused].map(error);
        for error in without_effect.into_iter().chain([401, 403, 404, 405, 413, 415, 429].map(status)) {
            assert_eq!(error.failure().dispatched, Dispatched::No, "{error:?}");
        }
        let unknown = [301, 302, 303, 400, 402, 406, 408, 409, 418, 422, 425, 500, 501, 502, 503, 504, 529];
        for error in [error(HttpErrorKind::Lost)].into_iter().chain(unknown.map(status)) {
            assert_eq!(error.failure().dispatched, Dispatched::Unknown, "{error:?}");
        }
    }

    #[test]
    fn session_is_lost_only_if_the_error_refers_to_no_request() {
        assert!(is_lost_session(br#"{"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#));
        assert!(is_lost_session(b"Invalid session"));
        assert!(!is_lost_session(br#"{"id":3,"error":{"code":-32602,"message":"no session with this name"}}"#));
        assert!(!is_lost_session(br#"{"id":null,"error":{"code":-32700,"message":"parse error"}}"#));
    }
}
