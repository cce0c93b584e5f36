//! Failed requests, and the consequence for their calls.

use std::error::Error;
use std::iter::successors;
use std::time::{Duration, SystemTime};

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use serde_json::Value;

use crate::Dispatched;
use crate::rpc::failure::Failure;

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        let is_unsent = error.is_connect() || error.is_builder();
        let dispatched = if is_unsent { Dispatched::No } else { Dispatched::Unknown };
        Self { is_final: error.is_redirect(), ..Self::new(dispatched, describe(&error)) }
    }
}

/// Returns the causes of an error without its URL, which may hold a secret.
pub(crate) fn describe(error: &reqwest::Error) -> String {
    let causes = successors(error.source(), |&cause| cause.source()).map(ToString::to_string);
    // hyper's own layers only name the client's side.
    let mut causes: Vec<String> = causes.filter(|text| !text.starts_with("client error")).collect();
    causes.dedup();
    let causes = causes.join(": ");
    let failed = if error.is_connect() {
        "could not connect:"
    } else if error.is_redirect() {
        "the server redirects"
    } else {
        "the request failed:"
    };
    format!("{failed} {causes}{}", tls_help(&causes))
}

/// Returns the key that helps with a TLS error, found by its words, because HTTP/2 does not keep the error itself.
fn tls_help(causes: &str) -> &'static str {
    let (_, alert) = causes.split_once("received fatal alert: ").unwrap_or_default();
    match alert {
        _ if causes.contains("invalid peer certificate") => {
            "; if the server is right, set `ca` to the certificate of its authority"
        }
        "CertificateRequired" => "; the server requires a client certificate: set `client_cert`",
        "HandshakeFailure" => "; the server may require a client certificate: `client_cert`",
        _ if alert.contains("Certificate") || matches!(alert, "DecryptError" | "UnknownCA") => {
            "; the server does not accept the client certificate (`client_cert`)"
        }
        _ => "",
    }
}

/// Describes an HTTP status that is not a success. `text` is the printable part of the body or the challenge;
/// `credentials` names the credentials of the request.
pub(super) fn refusal(status: StatusCode, headers: &HeaderMap, text: &str, credentials: Option<&str>) -> Failure {
    let message = match (status, credentials) {
        (StatusCode::UNAUTHORIZED, Some(credentials)) => {
            format!("the server does not accept {credentials} (HTTP {status})")
        }
        (StatusCode::UNAUTHORIZED, None) => format!(
            "the server requires authorization (HTTP {status}); set `headers.Authorization`, or use OAuth \
             (`ClientOptions::authorization`, feature `auth`)"
        ),
        _ if text.is_empty() => format!("HTTP {status}"),
        _ => format!("HTTP {status}: {text}"),
    };
    // A status that is not listed may come from a gateway that has passed the request on: the outcome is unknown.
    let (dispatched, can_help) = match status.as_u16() {
        401 | 403 | 405 | 413 | 415 => (Dispatched::No, false),
        404 | 429 => (Dispatched::No, true),
        408 | 409 | 425 => (Dispatched::Unknown, true),
        _ => (Dispatched::Unknown, status.is_server_error()),
    };
    Failure {
        wants_authorization: matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN),
        is_final: !can_help,
        http_status: Some(status.as_u16()),
        retry_after: retry_after(headers),
        ..Failure::new(dispatched, message)
    }
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
    let names_session = |text: &str| text.to_ascii_lowercase().contains("session");
    let Ok(json) = serde_json::from_slice::<Value>(body) else { return names_session(&String::from_utf8_lossy(body)) };
    let answers_a_request = json.get("id").is_some_and(|id| !id.is_null());
    let error = json.pointer("/error/message").or_else(|| json.get("error")).and_then(Value::as_str);
    !answers_a_request && error.is_some_and(names_session)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn retry_after_is_parsed_from_seconds_or_a_date() {
        let parsed = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_str(value).expect("a value"));
            refusal(StatusCode::TOO_MANY_REQUESTS, &headers, "", None).retry_after
        };
        assert_eq!(parsed("7"), Some(Duration::from_secs(7)));
        assert_eq!(parsed("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(60));
        assert!(parsed(&soon).is_some_and(|wait| (50..=60).contains(&wait.as_secs())));
        assert_eq!(parsed("soon"), None);
    }

    #[test]
    fn refusal_repeats_the_text_of_the_server_if_there_is_any() {
        let message = |text| refusal(StatusCode::BAD_GATEWAY, &HeaderMap::new(), text, None).message;
        assert_eq!(message(""), "HTTP 502 Bad Gateway");
        assert_eq!(message("later"), "HTTP 502 Bad Gateway: later");
    }

    #[test]
    fn error_of_tls_names_the_key_that_helps() {
        for (cause, expected) in [
            ("invalid peer certificate: UnknownIssuer", "set `ca`"),
            ("received fatal alert: CertificateRequired", "requires a client certificate: set `client_cert`"),
            ("received fatal alert: HandshakeFailure", "may require a client certificate"),
            ("received fatal alert: BadCertificate", "does not accept the client certificate"),
            ("received fatal alert: DecryptError", "does not accept the client certificate"),
            ("received fatal alert: UnknownCA", "does not accept the client certificate"),
        ] {
            assert!(tls_help(cause).contains(expected), "{cause}");
        }
        for cause in ["received fatal alert: ProtocolVersion", "connection refused"] {
            assert_eq!(tls_help(cause), "", "{cause}");
        }
    }

    /// A call that counts as not dispatched may be sent again, and would run twice if the server had begun.
    #[test]
    fn outcome_is_known_only_if_the_call_cannot_have_run() {
        let status = |code| {
            let status = StatusCode::from_u16(code).expect("a status");
            refusal(status, &HeaderMap::new(), "", None)
        };
        for error in [401, 403, 404, 405, 413, 415, 429].map(status) {
            assert_eq!(error.dispatched, Dispatched::No, "{error:?}");
        }
        for code in [301, 302, 303, 400, 402, 406, 408, 409, 418, 422, 425, 500, 501, 502, 503, 504, 529] {
            assert_eq!(status(code).dispatched, Dispatched::Unknown, "{code}");
        }
    }

    #[test]
    fn session_is_lost_only_if_the_error_refers_to_no_request() {
        assert!(is_lost_session(br#"{"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#));
        assert!(is_lost_session(b"Invalid session"));
        assert!(is_lost_session(br#"{"error":"Invalid session"}"#));
        assert!(!is_lost_session(br#"{"error":{"code":-1,"message":"no such tenant","data":"session"},"session":1}"#));
        assert!(!is_lost_session(br#"{"id":3,"error":{"code":-32602,"message":"no session with this name"}}"#));
        assert!(!is_lost_session(br#"{"id":null,"error":{"code":-32700,"message":"parse error"}}"#));
        assert!(!is_lost_session(br#"[{"id":3,"error":{"code":-32602,"message":"no session with this name"}}]"#));
    }
}
