//! HTTP+SSE, the transport of protocol 2024-11-05: an event stream with the server's messages, and a POST for each
//! message to it, to the endpoint in the first event.
//!
//! The end of a stream ends the connection: another stream is a new session, which needs a new handshake.

use std::future::ready;
use std::sync::Arc;

use futures_util::FutureExt;
use http::HeaderMap;
use http::header::ACCEPT;
use reqwest::Url;
use tokio::sync::mpsc;

use super::http::events::{Reader, Sse};
use super::http::{EVENT_STREAM, HttpClient, HttpTransport, MESSAGES_UNDER_WAY, content_type, on_runtime};
use crate::ground::task::task;
use crate::rpc::messages::{self, MAX_MESSAGE};
use crate::rpc::{Failure, Incoming, Message, Outgoing, Sender, Sending, Sides};

/// Opens the stream and waits for the endpoint. Dropping the future closes the stream, and the session with it.
pub(crate) async fn connect(url: Url, http: HttpClient) -> Result<Sides, Failure> {
    let failed = |problem| http.fail(Failure::not_sent(problem));
    let request = http.client.get(url).header(ACCEPT, EVENT_STREAM);
    let response = http.accepted(http.send(request, HeaderMap::new(), None).await?).await?;
    let kind = content_type(&response);
    if !kind.starts_with(EVENT_STREAM) {
        return Err(failed(format!(
            "the server returned `{kind}` instead of an event stream; for streamable HTTP remove `transport = \"sse\"`"
        )));
    }
    let base = response.url().clone();
    let mut events = Reader::new(Some(response), http.until.clone());
    let endpoint = loop {
        match events.next().await {
            Ok(Some(Sse { event: Some(kind), data: Some(data), .. })) if kind == "endpoint" => {
                break endpoint(&base, &data).map_err(failed)?;
            }
            Ok(_) => {}
            Err(problem) => return Err(failed(format!("{problem} before the server sent its endpoint"))),
        }
    };
    let (arriving, arrived) = mpsc::channel(MESSAGES_UNDER_WAY);
    let sender = Arc::new(SseSender { http: http.clone(), endpoint });
    let (listening, leaving) = (task(listen(http.clone(), events, arriving)).fuse(), task(ready(())));
    Ok((sender, Box::new(HttpTransport { _life: http.until.clone().drop_guard(), http, arrived, listening, leaving })))
}

/// Reads the messages of the server until the stream ends. Messages to it are still sent: they may end a handshake.
async fn listen(http: HttpClient, mut events: Reader, arriving: mpsc::Sender<Incoming>) {
    loop {
        match events.next().await {
            Ok(Some(event)) if !matches!(event.event.as_deref(), None | Some("" | "message")) => {}
            Ok(Some(event)) => {
                drop(http.take(event.data.unwrap_or_default().as_bytes(), &arriving, |_| false).await);
            }
            Ok(None) => http.notes.problem(messages::too_large(MAX_MESSAGE)),
            Err(problem) => {
                http.ledger.close(&Failure::lost(problem.clone()), None);
                return http.notes.problem(problem);
            }
        }
    }
}

/// The sending side.
struct SseSender {
    http: HttpClient,
    endpoint: Url,
}

impl Sender for SseSender {
    fn send(self: Arc<Self>, message: Message, outgoing: Outgoing) -> Sending {
        on_runtime(self.http.runtime.clone(), async move {
            let exchange = async {
                if !outgoing.may_leave() {
                    return Ok(());
                }
                let request = self.http.post(&self.endpoint, &message)?;
                self.http.accept(self.http.send(request, HeaderMap::new(), Some(&outgoing)).await?).await?;
                outgoing.written();
                Ok(())
            };
            self.http.run(&outgoing, exchange).await
        })
    }
}

/// Returns the URL for messages. They carry the configured headers with their secrets, so the origin must match.
fn endpoint(base: &Url, text: &str) -> Result<Url, String> {
    let endpoint = base.join(text.trim()).map_err(|error| format!("the server's endpoint is not a URL: {error}"))?;
    if endpoint.origin() != base.origin() {
        let origin = endpoint.origin().ascii_serialization();
        return Err(format!("the server's endpoint has another origin, {origin}, which is not trusted"));
    }
    Ok(endpoint)
}

#[cfg(test)]
mod tests {
    use rmcp::model::RequestId;
    use serde_json::{Map, Value, json};

    use super::super::http::streamable::tests::http;
    use super::*;
    use crate::rpc::MethodCall;
    use crate::rpc::request::Terms;

    #[tokio::test]
    async fn response_is_read_although_requests_before_it_wait_for_room() {
        let http = http(None);
        let call = MethodCall::new("tools/call", Map::new());
        let request = Message::Request { id: RequestId::Number(0), call };
        let (_, outgoing) = http.ledger.admit((0, &request), 100, Terms::default()).expect("there is room");
        assert!(outgoing.begin_write(None));
        outgoing.written();
        let mut batch = vec![json!({ "id": "a", "method": "ping" }); MESSAGES_UNDER_WAY + 1];
        batch.push(json!({ "id": 0, "result": {} }));
        let response = http::Response::new(format!("data: {}\n\n", Value::from(batch)));
        let events = Reader::new(Some(response.into()), http.until.clone());
        let (arriving, _arrived) = mpsc::channel(MESSAGES_UNDER_WAY);
        assert!(listen(http.clone(), events, arriving).now_or_never().is_none());
        assert!(outgoing.is_settled());
    }

    #[test]
    fn sse_endpoint_must_have_the_same_origin() {
        let base = Url::parse("https://h.example/mcp/sse?key=1").expect("a URL");
        let found = |text| endpoint(&base, text).map(|url| url.to_string());
        assert_eq!(found("/messages?session=1").as_deref(), Ok("https://h.example/messages?session=1"));
        assert_eq!(found(" messages\n").as_deref(), Ok("https://h.example/mcp/messages"));
        assert_eq!(found("https://h.example:443/m").as_deref(), Ok("https://h.example/m"));
        for elsewhere in
            ["http://h.example/m", "https://h.example:8443/m", "//evil.example/m", "file:///etc", "http://"]
        {
            assert!(found(elsewhere).is_err(), "{elsewhere}");
        }
    }
}
