//! Requests to URLs from metadata, with limits on targets and sizes.
//!
//! Dropping `document`, `post` or `send` ends the request; a server may have acted on a POST.

use std::net::IpAddr;
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::Value;
use url::Url;

use crate::ground::address::{is_public, is_this_machine};
use crate::ground::redact::{LONGEST_MESSAGE, Redactor};
use crate::rpc::transports::http::documents::exchange;
use crate::rpc::transports::http::network::{Network, shared};
use crate::rpc::transports::http::refusals::describe;

const LONGEST_QUOTE: usize = 200;
const LONGEST_BODY: usize = 128 * 1024;
const PATIENCE: Duration = Duration::from_secs(20);

/// Requests on behalf of the client of one server.
pub(super) struct Fetch {
    /// The server, without a fragment.
    pub(super) server: Url,
    /// The redactor of the authorization, which learns every secret before it is sent.
    pub(super) redactor: Redactor,
    network: Network,
}

/// The distance of an address. A server at a distant address may not redirect to a nearer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    Public,
    Private,
    Loopback,
}

/// The error of an endpoint.
pub(super) struct Refusal {
    pub(super) message: String,
    /// The error code, if the endpoint would refuse the same request again.
    pub(super) code: Option<String>,
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Self { message, code: None }
    }
}

impl From<Refusal> for String {
    fn from(refusal: Refusal) -> Self {
        refusal.message
    }
}

impl Fetch {
    pub(super) fn new(server: &str, redactor: Redactor, network: Network) -> Result<Self, String> {
        let mut server = Url::parse(server).map_err(|error| format!("`url` is not a URL: {error}"))?;
        server.set_fragment(None);
        if !server.username().is_empty() || server.password().is_some() {
            return Err("`url` contains a user or a password, which OAuth replaces; remove them".to_owned());
        }
        if !is_safe(&server) {
            return Err("OAuth requires https; change `url`".to_owned());
        }
        Ok(Self { server, redactor, network })
    }

    /// Returns the default identifier of the server: its URL without parts that may be secret.
    pub(super) fn identifier(&self) -> String {
        let mut url = self.server.clone();
        url.set_query(None);
        url.to_string()
    }

    /// Parses `url` and checks that requests may go there. It must use https, or stay on this machine. A distant server
    /// must not name a nearer one.
    pub(super) fn allowed(&self, url: &str, what: &str) -> Result<Url, String> {
        let refused = |why: &str| format!("{what} is at {}, {why}", quoted(url, &self.redactor));
        let parsed = Url::parse(url).map_err(|_| refused("which is not a URL"))?;
        if !is_safe(&parsed) {
            return Err(refused("which does not use https"));
        }
        if near(&parsed) > near(&self.server) {
            return Err(refused("which is an address of this machine or network, unlike the server"));
        }
        Ok(parsed)
    }

    /// Returns a message that may repeat texts of servers and of the program, without secrets.
    pub(super) fn shown(&self, message: &str) -> String {
        self.redactor.shown_line(message, LONGEST_MESSAGE)
    }

    /// Returns the JSON document at the first of these URLs that has one, or `None` if all report that they have none.
    ///
    /// # Errors
    /// Fails with the error of the first unreadable URL, if none has a document.
    pub(super) async fn document(&self, places: &[Url]) -> Result<Option<Value>, String> {
        let mut failure = None;
        for url in places {
            let why = match self.send(Method::GET, url, |request| request).await {
                // Servers that answer every path with a page have no metadata there.
                Ok((status, body)) if status.is_success() && body.is_object() => return Ok(Some(body)),
                Ok((status, _)) if status.is_success() || status.is_client_error() => continue,
                Ok((status, _)) => format!("HTTP {status}"),
                Err(error) => error,
            };
            failure.get_or_insert_with(|| format!("failed to read {}: {why}", quoted(url.as_str(), &self.redactor)));
        }
        failure.map_or(Ok(None), Err)
    }

    /// Sends a POST request with content of a type, and returns the JSON of a successful response. `endpoint` names the
    /// URL in errors.
    pub(super) async fn post(
        &self,
        url: &str,
        endpoint: &str,
        content_type: &str,
        content: String,
        authorization: Option<String>,
    ) -> Result<Value, Refusal> {
        let url = self.allowed(url, endpoint)?;
        let failed = |why| format!("{endpoint} at {} failed: {why}", url.host_str().unwrap_or_default());
        let fill = |post: RequestBuilder| {
            let post = post.header(CONTENT_TYPE, content_type).body(content);
            authorization.into_iter().fold(post, |post, header| post.header(AUTHORIZATION, header))
        };
        let (status, body) = self.send(Method::POST, &url, fill).await.map_err(failed)?;
        if status.is_success() {
            return Ok(body);
        }
        let (code, description) = (text(&body, "error"), text(&body, "error_description"));
        let reasons = code.iter().chain(&description).map(|reason| format!(": {}", quoted(reason, &self.redactor)));
        let message = failed(format!("HTTP {}{}", status.as_u16(), reasons.collect::<String>()));
        let is_final = |code: &String| status.is_client_error() && code != "temporarily_unavailable";
        Err(Refusal { message, code: code.filter(is_final) })
    }

    /// Sends a request with the HTTP client of the transport, and returns the status and the JSON of the response, or
    /// null if it has none.
    async fn send(
        &self,
        method: Method,
        url: &Url,
        fill: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<(StatusCode, Value), String> {
        let client = shared(url.as_str(), &self.network)?;
        let request = fill(client.request(method, url.clone()).header(ACCEPT, "application/json"));
        let failed = |error: &reqwest::Error| match error.is_redirect() {
            true => "it redirects, which is not followed".to_owned(),
            false => describe(error),
        };
        let (status, body) = exchange(request, LONGEST_BODY, PATIENCE, |_| true, failed).await?;
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    }
}

/// Returns untrusted text for a message, without secrets, and short enough that the rest of the message stays.
pub(super) fn quoted(text: &str, redactor: &Redactor) -> String {
    redactor.shown_line(text, LONGEST_QUOTE)
}

/// Returns a text of a JSON object, unless it is missing or empty.
pub(super) fn text(document: &Value, key: &str) -> Option<String> {
    document.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Returns `true` if nobody else can read what is sent to a URL.
fn is_safe(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && near(url) == Nearness::Loopback)
}

fn near(url: &Url) -> Nearness {
    let host = url.host_str().unwrap_or_default();
    match host.trim_matches(['[', ']']).parse::<IpAddr>().map(|address| address.to_canonical()) {
        _ if is_this_machine(host) => Nearness::Loopback,
        Ok(address) if address.is_unspecified() => Nearness::Loopback,
        Ok(address) if !is_public(address) => Nearness::Private,
        _ => Nearness::Public,
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn fetch(server: &str) -> Result<Fetch, String> {
        Fetch::new(server, Redactor::default(), Network::default())
    }

    #[test]
    fn public_server_cannot_direct_requests_to_private_addresses() {
        let allowed = |server, url| fetch(server).expect(server).allowed(url, "it").is_ok();
        let far = "https://mcp.example.com/mcp";
        assert!(allowed(far, "https://auth.example.com/"));
        for url in [
            "http://auth.example.com/",
            "https://localhost/",
            "https://x.localhost./",
            "http://127.0.0.1:631/",
            "https://10.0.0.1/",
            "https://169.254.169.254/latest",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://[fd00::1]/",
            "https://0.0.0.0/",
            "file:///etc/passwd",
            "data:,x",
            "x",
        ] {
            assert!(!allowed(far, url), "{url}");
        }
        let here = "http://localhost:3000/mcp";
        for url in ["http://127.0.0.1:9000/", "https://10.0.0.1/", "https://auth.example.com/"] {
            assert!(allowed(here, url), "{url}");
        }
        assert!(!allowed(here, "http://auth.example.com/"));
        assert!(allowed("https://10.1.2.3/mcp", "https://10.0.0.1/"));
        assert!(!allowed("https://10.1.2.3/mcp", "https://localhost/"));
    }

    #[test]
    fn identifier_is_the_url_without_query_and_fragment() {
        let identifier = |server| fetch(server).expect(server).identifier();
        assert_eq!(identifier("https://mcp.example.com/mcp?key=hunter22#x"), "https://mcp.example.com/mcp");
        assert_eq!(identifier("https://mcp.example.com:8443"), "https://mcp.example.com:8443/");
    }

    #[test]
    fn oauth_requires_https_except_on_loopback() {
        for server in ["http://mcp.example.com/mcp", "http://10.0.0.1/mcp", "ftp://localhost.example"] {
            assert!(fetch(server).is_err(), "{server}");
        }
        assert_eq!(
            fetch("http://[::1]:8080/mcp#x").map(|fetch| fetch.server.to_string()).ok().as_deref(),
            Some("http://[::1]:8080/mcp")
        );
    }

    /// Returns requests to a server that gives these answers, one after another, and its URL.
    async fn answered(answers: &'static [(u16, &'static str)]) -> (Fetch, Url) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let fetch = fetch(&format!("http://{}/mcp", listener.local_addr().expect("an address"))).expect("a server");
        tokio::spawn(async move {
            for (status, body) in answers {
                let (mut stream, _) = listener.accept().await.expect("a connection");
                let mut request = Vec::new();
                while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                    assert!(stream.read_buf(&mut request).await.expect("a request") > 0);
                }
                let head = format!("HTTP/1.1 {status} Some\r\nConnection: close\r\nContent-Length: {}", body.len());
                stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await.expect("written");
            }
        });
        let url = fetch.server.clone();
        (fetch, url)
    }

    #[tokio::test]
    async fn first_document_counts_and_pages_and_client_errors_mean_that_there_is_none() {
        let document = async |answers: &'static [(u16, &'static str)]| {
            let (fetch, url) = answered(answers).await;
            let found = fetch.document(&vec![url; answers.len()]).await;
            found.map(|found| found.map(|found| found.to_string()))
        };
        let one = r#"{"a":1}"#;
        assert_eq!(document(&[(404, r#"{"error":"no"}"#), (200, r#"{"a":1}"#)]).await, Ok(Some(one.to_owned())));
        assert_eq!(document(&[(200, "[]"), (200, "<html>"), (200, r#"{"a":1}"#)]).await, Ok(Some(one.to_owned())));
        assert_eq!(document(&[(503, "{}"), (200, r#"{"a":1}"#)]).await, Ok(Some(one.to_owned())));
        assert_eq!(document(&[(404, ""), (200, "[]")]).await, Ok(None));
        for answers in [&[(503, "{}"), (404, "")], &[(404, ""), (503, "{}")]] {
            let error = document(answers).await.expect_err("it may have one");
            assert!(error.contains("HTTP 503"), "{error}");
        }
    }

    #[tokio::test]
    async fn refusal_is_final_with_a_client_error_that_is_not_temporary() {
        let code = async |answers| {
            let (fetch, url) = answered(answers).await;
            let refusal = fetch
                .post(url.as_str(), "the endpoint", "text/plain", String::new(), None)
                .await
                .expect_err("it refuses");
            assert!(refusal.message.contains("the endpoint at 127.0.0.1 failed: HTTP"), "{}", refusal.message);
            refusal.code
        };
        assert_eq!(code(&[(400, r#"{"error":"invalid_grant"}"#)]).await.as_deref(), Some("invalid_grant"));
        assert_eq!(code(&[(400, r#"{"error":"temporarily_unavailable"}"#)]).await, None);
        assert_eq!(code(&[(503, r#"{"error":"invalid_grant"}"#)]).await, None);
        assert_eq!(code(&[(400, "{}")]).await, None);
    }
}
