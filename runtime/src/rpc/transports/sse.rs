//! HTTP+SSE, the transport of protocol 2024-11-05: an event stream with the server's messages, and a POST for each
//! message to it, to the endpoint in the first event.
//!
//! The end of a stream ends the connection: another stream is a new session, which needs a new handshake.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::HeaderMap;
use http::header::ACCEPT;
use reqwest::Url;
use tokio_util::sync::DropGuard;

use super::http::events::{Reader, Sse};
use super::http::{EVENT_STREAM, HttpClient, bodies, content_type, on_runtime};
use crate::rpc::failure::{CLOSED, Failure};
use crate::rpc::ledger::Outgoing;
use crate::rpc::messages::{self, Incoming, MAX_MESSAGE};
use crate::rpc::sent::Message;
use crate::rpc::transports::{Sender, Sending, Sides, Transport};

/// The receiving side; dropping it ends the requests.
pub(crate) struct SseTransport {
    http: HttpClient,
    events: Reader,
    arrived: VecDeque<Incoming>,
    _life: DropGuard,
}

impl SseTransport {
    /// Opens the stream and waits for the endpoint. Dropping the future closes the stream, and the session with it.
    pub(crate) async fn connect(url: Url, http: HttpClient) -> Result<Sides, Failure> {
        let failed = |problem| http.fail(Failure::not_sent(problem));
        let life = http.until.clone().drop_guard();
        let request = http.client.get(url).header(ACCEPT, EVENT_STREAM);
        let response = http.accepted(http.send(request, HeaderMap::new(), None).await?).await?;
        let kind = content_type(&response);
        if !kind.starts_with(EVENT_STREAM) {
            return Err(failed(format!(
                "the server returned `{kind}` instead of an event stream; for streamable HTTP remove `transport = \
                 \"sse\"`"
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
        let sender = SseSender { http: http.clone(), endpoint };
        let transport = Self { http, events, arrived: VecDeque::new(), _life: life };
        Ok((Arc::new(sender), Box::new(transport)))
    }

    /// Returns the next message. Cancel safe.
    async fn next_message(&mut self) -> Option<Incoming> {
        loop {
            if let Some(message) = self.arrived.pop_front() {
                return Some(message);
            }
            match self.events.next().await {
                Ok(Some(event)) if !matches!(event.event.as_deref(), None | Some("" | "message")) => {}
                Ok(Some(event)) => {
                    let messages = messages::parse_all(event.data.unwrap_or_default().as_bytes()).into_iter();
                    self.arrived.extend(messages.filter_map(|message| self.http.ledger.received(message, None)));
                }
                Ok(None) => self.http.notes.problem(messages::too_large(MAX_MESSAGE)),
                Err(problem) => {
                    self.http.ledger.close(&Failure::lost(problem.clone()), None);
                    self.http.notes.problem(problem);
                    return None;
                }
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
                let response = self.http.send(request, HeaderMap::new(), Some(&outgoing)).await?;
                // Read, so that its connection can serve again.
                bodies::beginning(self.http.accepted(response).await?).await;
                outgoing.written();
                Ok(())
            };
            self.http.run(&outgoing, exchange).await
        })
    }
}

impl Transport for SseTransport {
    fn receive(&mut self) -> BoxFuture<'_, Option<Incoming>> {
        Box::pin(self.next_message())
    }

    fn close(&mut self) -> BoxFuture<'_, ()> {
        self.http.ledger.close(&Failure::lost(CLOSED), None);
        self.http.until.cancel();
        Box::pin(std::future::ready(()))
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
    use super::*;

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
