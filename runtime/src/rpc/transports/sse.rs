//! HTTP+SSE, the transport of protocol 2024-11-05: an event stream with the server's messages, and a POST for each
//! message to it, to the endpoint in the first event.
//!
//! The end of a stream ends the connection: another stream is a new session, which needs a new handshake.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};
use reqwest::Url;
use tokio::runtime::Handle;
use tokio_util::sync::DropGuard;

use super::http::events::{Event, Reader, Sse};
use super::http::{EVENT_STREAM, HttpClient, JSON, bodies, content_type, on_runtime};
use crate::rpc::failure::{CLOSED, Failure, WITHDRAWN};
use crate::rpc::ledger::Outgoing;
use crate::rpc::messages::{self, Incoming, MAX_MESSAGE};
use crate::rpc::sent::Message;
use crate::rpc::transports::{Sender, Sending, Sides, Transport};

/// The transport; dropping it ends its requests.
pub(crate) struct SseTransport {
    http: HttpClient,
    /// None once the transport is closed.
    events: Option<Reader>,
    arrived: VecDeque<Incoming>,
    life: Option<DropGuard>,
}

impl SseTransport {
    /// Opens the stream and waits for the endpoint.
    /// Dropped: the stream is closed, and the session with it.
    pub(crate) async fn connect(url: Url, http: HttpClient) -> Result<Sides, Failure> {
        let request = http.client.get(url).header(ACCEPT, EVENT_STREAM);
        let response = http.send_accepted(request, HeaderMap::new(), None).await?;
        if !content_type(&response).starts_with(EVENT_STREAM) {
            let kind = content_type(&response);
            let problem = format!(
                "the server returned `{kind}` instead of an event stream; for streamable HTTP remove `transport = \
                 \"sse\"`"
            );
            return Err(http.fail(Failure::not_sent(problem)));
        }
        let base = response.url().clone();
        let mut events = Some(Reader::new(response, http.until.clone(), MAX_MESSAGE));
        loop {
            match next(&mut events).await {
                Ok(Event::Whole(Sse { event: Some(kind), data: Some(data), .. })) if kind == "endpoint" => {
                    let endpoint = endpoint(&base, &data).map_err(|problem| http.fail(Failure::not_sent(problem)))?;
                    let sender = SseSender { http: http.clone(), endpoint, runtime: Handle::current() };
                    let life = Some(http.until.clone().drop_guard());
                    let transport = Self { http, events, arrived: VecDeque::new(), life };
                    return Ok((Arc::new(sender), Box::new(transport)));
                }
                Ok(_) => {}
                Err(problem) => {
                    return Err(http.fail(Failure::not_sent(format!("{problem} before it sent its endpoint"))));
                }
            }
        }
    }

    fn take(&mut self, event: Event) {
        let event = match event {
            Event::Whole(event) => event,
            Event::TooLarge => return self.http.notes.problem(messages::too_large(MAX_MESSAGE)),
        };
        if !matches!(event.event.as_deref(), None | Some("" | "message")) {
            return;
        }
        let messages = messages::parse_all(event.data.unwrap_or_default().as_bytes());
        self.arrived.extend(messages.into_iter().filter_map(|message| self.http.ledger.received(message, None)));
    }

    /// Returns the next message. Cancel safe.
    async fn next_message(&mut self) -> Option<Incoming> {
        loop {
            if let Some(message) = self.arrived.pop_front() {
                return Some(message);
            }
            match next(&mut self.events).await {
                Ok(event) => self.take(event),
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
    /// The one that drives the connection's sockets.
    runtime: Handle,
}

impl Sender for SseSender {
    fn send(self: Arc<Self>, message: Message, outgoing: Outgoing) -> Sending {
        let runtime = self.runtime.clone();
        on_runtime(&runtime, async move {
            let body = serde_json::to_vec(&message).map_err(|error| Failure::not_sent(error.to_string()))?;
            let http = &self.http;
            let request = http.client.post(self.endpoint.clone()).header(CONTENT_TYPE, JSON).body(body);
            let sending = async {
                let response = http.send_accepted(request, HeaderMap::new(), Some(&outgoing)).await?;
                // Read, so that its connection can serve again.
                bodies::beginning(response).await;
                Ok(())
            };
            if !outgoing.may_leave() {
                return Err(Failure::not_sent(WITHDRAWN));
            }
            let outcome = tokio::select! {
                outcome = http.or_end(sending) => outcome,
                // The response may arrive before this, and a caller with a response does not wait for a server that
                // hangs.
                () = outgoing.abandoned() => Ok(()),
            };
            match &outcome {
                Ok(()) => outgoing.written(),
                Err(error) => outgoing.failed(error.clone()),
            }
            outcome
        })
    }
}

impl Transport for SseTransport {
    fn receive(&mut self) -> BoxFuture<'_, Option<Incoming>> {
        Box::pin(self.next_message())
    }

    fn close(&mut self) -> BoxFuture<'_, ()> {
        self.http.ledger.close(&Failure::lost(CLOSED), None);
        self.life = None;
        self.events = None;
        Box::pin(std::future::ready(()))
    }
}

/// Returns the next event of the stream, or the reason why it ended. Cancel safe.
async fn next(events: &mut Option<Reader>) -> Result<Event, String> {
    let event = match events {
        Some(events) => events.next().await,
        None => None,
    };
    event.ok_or("the event stream ended")?.map_err(|error| format!("the event stream failed: {error}"))
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
