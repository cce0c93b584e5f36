//! A request over streamable HTTP: its POST, the session that it begins or renews, and the response until the answer.
//!
//! Everything here ends with `exchange`: dropping it closes the response, and later messages of the server are lost.
//! Dropped before the answer to `initialize`, the server may keep an unused session.

use std::sync::Arc;

use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use super::events::Reader;
use super::refusals::is_lost_session;
use super::streamable::{Conversation, Requests, SESSION, VERSION};
use super::{EVENT_STREAM, content_type, documents};
use crate::rpc::messages::{self, MAX_MESSAGE, id_of, number_of};
use crate::rpc::{Failure, Message, MethodCall, Outgoing};

/// The maximum number of attempts to resume a response.
const RESUMPTIONS: u32 = 5;
/// The minimum length of a secret session id: a shorter one would match in every text.
const SHORTEST_SECRET_SESSION: usize = 8;
const INVALID_REQUEST: i32 = -32600;

impl Requests {
    /// Sends a request and reads until the ledger has its answer.
    ///
    /// # Errors
    /// Fails if no answer can arrive any more.
    pub(super) async fn exchange(&self, request: &Message, outgoing: &Outgoing) -> Result<(), Failure> {
        let Message::Request { id, call } = request else { return Ok(()) };
        let begins = self.begins(call);
        // The requests of a handshake may overlap.
        let slot = if begins { None } else { self.slots.acquire().await.ok() };
        // The conversation is read before the request may leave, so that it goes to the session of the answer.
        let mut conversation = if begins { Conversation::default() } else { self.conversation() };
        let mut is_repeated = false;
        let response = loop {
            if !outgoing.may_leave() {
                return Ok(());
            }
            let response = self.post(request, &conversation, Some(outgoing)).await?;
            let is_lost = response.status() == StatusCode::NOT_FOUND && conversation.has_session() && !is_repeated;
            let Some(initialize) = conversation.initialize.as_ref().filter(|_| is_lost) else { break response };
            // Nothing has run: it goes to the next session, once.
            outgoing.returned();
            self.renew(initialize, &conversation).await?;
            (conversation, is_repeated) = (self.conversation(), true);
        };
        drop(slot);
        let status = response.status();
        if !status.is_success() {
            return self.refused(request, &conversation, response, outgoing).await;
        }
        outgoing.written();
        let answer = if begins {
            let (answer, begun) = self.begun(request, response).await?;
            if let Some(conversation) = begun {
                self.converse(conversation);
            }
            answer
        } else if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            // The answer comes by the stream of the server's own messages, or not at all.
            return Ok(());
        } else {
            self.answer(request, response, &conversation).await?
        };
        let _ = self.http.ledger.received(answer, Some(id));
        if outgoing.is_settled() { Ok(()) } else { Err(self.http.lost("the server responded to another request")) }
    }

    /// Reads the answer to the first request of a session, and returns it with the session, if the server agrees to a
    /// version.
    async fn begun(
        &self,
        request: &Message,
        response: reqwest::Response,
    ) -> Result<(Value, Option<Conversation>), Failure> {
        let mut next = Conversation::default();
        if let Some(mut session) = response.headers().get(SESSION).cloned() {
            session.set_sensitive(true);
            // No text shows it from here on.
            if let Some(text) = session.to_str().ok().filter(|text| text.len() >= SHORTEST_SECRET_SESSION) {
                self.http.notes.redactor().learn(text);
            }
            next.headers.insert(SESSION, session);
        }
        let answer = self.answer(request, response, &next).await?;
        let own_version = if let Message::Request { call, .. } = request { call.version() } else { None };
        let Some(version) = agreed_version(&answer, own_version) else { return Ok((answer, None)) };
        if let Ok(version) = HeaderValue::from_str(version) {
            next.headers.insert(VERSION, version);
        }
        next.initialize = own_version.is_none().then(|| Arc::new(request.clone()));
        Ok((answer, Some(next)))
    }

    /// Begins a session in the place of one that the server has forgotten, unless another request has.
    async fn renew(&self, initialize: &Message, forgotten: &Conversation) -> Result<(), Failure> {
        let _renewing = self.renewing.lock().await;
        if forgotten.replaced.is_cancelled() {
            return Ok(());
        }
        let renewal = async {
            let response = self.post(initialize, &Conversation::default(), None).await?;
            let (_, next) = self.begun(initialize, self.http.accepted(response).await?).await?;
            let next = next.ok_or_else(|| Failure::not_sent("it rejected the handshake"))?;
            let initialized = Message::Notification(MethodCall::new("notifications/initialized", Map::new()));
            self.deliver(&initialized, &next).await?;
            Ok(next)
        };
        let failed = |why: Failure| {
            Failure::not_sent(format!("the server lost the session, and cannot start another: {}", why.message))
        };
        self.converse(renewal.await.map_err(failed)?);
        Ok(())
    }

    /// Reads a response until the answer to the request, and takes the other messages. A broken event stream is
    /// resumed. It ends when its session is replaced.
    async fn answer(
        &self,
        request: &Message,
        response: reqwest::Response,
        conversation: &Conversation,
    ) -> Result<Value, Failure> {
        let kind = content_type(&response).to_owned();
        if !kind.starts_with(EVENT_STREAM) {
            let status = response.status();
            let body = documents::within(MAX_MESSAGE, response).await.map_err(|problem| self.http.lost(problem))?;
            let body = body.ok_or_else(|| self.http.lost(messages::too_large(MAX_MESSAGE)))?;
            return self.take(&body, Some(request)).await.ok_or_else(|| {
                self.http.lost(match self.http.printable(&body) {
                    text if text.is_empty() => {
                        format!("the server returned HTTP {status} without a JSON-RPC response; its body is empty")
                    }
                    text => format!("the server returned `{kind}` without a JSON-RPC response: {text}"),
                })
            });
        }
        let mut reader = Reader::new(Some(response), self.http.until.clone());
        // Counted since the last event with an id, because the server may repeat the others with each response.
        let mut resumptions = 0;
        loop {
            let event = tokio::select! {
                biased;
                event = reader.next() => event,
                () = conversation.replaced.cancelled() => {
                    return Err(self.http.lost("the session ended before the response arrived"));
                }
            };
            match event {
                Ok(Some(event)) => {
                    if event.id.is_some() {
                        resumptions = 0;
                    }
                    let data = event.data.unwrap_or_default();
                    if let Some(answer) = self.take(data.as_bytes(), Some(request)).await {
                        reader.let_end();
                        return Ok(answer);
                    }
                }
                // It may have been the answer, so nothing may be sent again.
                Ok(None) => return Ok(messages::unreadable(&Value::Null, &messages::too_large(MAX_MESSAGE))),
                Err(problem) if reader.last_event.is_none() || resumptions == RESUMPTIONS => {
                    return Err(self.http.lost(format!("{problem} before the response arrived")));
                }
                Err(problem) => {
                    resumptions += 1;
                    sleep(reader.retry).await;
                    // After a failure, it may be there again.
                    if let Ok(false) = self.open(&mut reader, conversation).await {
                        return Err(self.http.lost(format!("{problem}, and the server refused to resume it")));
                    }
                }
            }
        }
    }

    /// Takes the messages of a text, like `HttpClient::take`.
    pub(super) async fn take(&self, text: &[u8], request: Option<&Message>) -> Option<Value> {
        self.http
            .take(text, &self.arriving, |message| request.is_some_and(|request| may_answer(message, request)))
            .await
    }

    /// Reads a response with an error status: it answers the request, or fails it.
    async fn refused(
        &self,
        request: &Message,
        conversation: &Conversation,
        response: reqwest::Response,
        outgoing: &Outgoing,
    ) -> Result<(), Failure> {
        let status = response.status();
        let has_retry_after = response.headers().contains_key(RETRY_AFTER);
        let (mut refusal, body) = self.http.refusal(response).await;
        if conversation.has_session() && status == StatusCode::BAD_REQUEST && is_lost_session(&body) {
            // The connection ends with its session, and the next call begins another one.
            let refusal = self.http.fail(refusal);
            outgoing.failed(refusal.clone());
            self.http.ledger.stop(&Failure::not_sent(refusal.message.clone()));
            self.http.until.cancel();
            return Err(refusal);
        }
        let Message::Request { id, call } = request else { return Err(self.http.fail(refusal)) };
        // A gateway may answer `{"error": "Not Found"}`, which is not an error of the protocol.
        let is_error = |body: &Value| body.get("error").is_some_and(Value::is_object);
        let error = serde_json::from_slice(&body).ok().filter(is_error).or_else(|| {
            // A server that does not know the method, or has had enough of it, is alive.
            let is_plain = call.method == "server/discover" && status.is_client_error();
            is_plain.then(|| json!({ "error": { "code": INVALID_REQUEST, "message": format!("HTTP {status}") } }))
        });
        if let Some(error) = error.filter(|_| !refusal.wants_authorization && !has_retry_after) {
            let _ = self.http.ledger.received(error, Some(id));
            if outgoing.is_settled() {
                return Ok(());
            }
        }
        if matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) && self.begins(call) {
            refusal.message.push_str("; an HTTP+SSE server requires `transport = \"sse\"`");
        }
        Err(self.http.fail(refusal))
    }
}

/// Returns `true` for a response that is not one to another request, by its id as the ledger reads it.
fn may_answer(message: &Value, request: &Message) -> bool {
    let number = message.get("id").and_then(|id| number_of(&id_of(id)?));
    let is_own = matches!(request, Message::Request { id, .. } if number_of(id) == number);
    message.get("method").is_none() && messages::is_message(message) && (is_own || number.is_none())
}

/// Returns the protocol version that a server agrees to in the answer to a handshake, or to a request that names its
/// own version.
fn agreed_version<'v>(answer: &'v Value, own: Option<&'v str>) -> Option<&'v str> {
    let result = answer.get("result")?;
    match own {
        None => result.get("protocolVersion")?.as_str(),
        Some(own) => result.get("supportedVersions")?.as_array()?.iter().any(|version| version == own).then_some(own),
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::RequestId;

    use super::*;

    #[test]
    fn response_to_another_request_is_recognized_by_its_number_also_as_text() {
        let own = Message::Request { id: RequestId::Number(7), call: MethodCall::new("ping", Map::new()) };
        let may = |id: Value| may_answer(&json!({ "jsonrpc": "2.0", "id": id, "result": {} }), &own);
        for id in [json!(7), json!(7.0), json!("7"), json!("invented"), Value::Null] {
            assert!(may(id.clone()), "{id}");
        }
        assert!(!may(json!(8)) && !may(json!(8.0)) && !may(json!("8")));
    }

    #[test]
    fn version_is_agreed_if_the_server_chooses_it_or_supports_that_of_the_request() {
        let chosen = json!({ "result": { "protocolVersion": "2025-06-18" } });
        assert_eq!(agreed_version(&chosen, None), Some("2025-06-18"));
        assert_eq!(agreed_version(&json!({ "error": {} }), None), None);
        let supports = |version| json!({ "result": { "supportedVersions": [version] } });
        assert_eq!(agreed_version(&supports("2026-07-28"), Some("2026-07-28")), Some("2026-07-28"));
        assert_eq!(agreed_version(&supports("2027-01-01"), Some("2026-07-28")), None);
    }
}
