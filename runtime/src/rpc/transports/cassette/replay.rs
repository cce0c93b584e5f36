//! The transport that replays a cassette.
//!
//! A request is answered while its future is polled, and dropping that ends its exchange. `close` acts when it is
//! called, and `receive` is cancel safe.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::future::ready;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use mcp_bindgen_model::printable;
use rmcp::model::RequestId;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::error::differences;
use super::tape::{Call, Exchange, Outcome, outcome_of};
use super::{Cassette, CassetteError, LISTEN};
use crate::ground::redact::Redactor;
use crate::ground::sync::lock;
use crate::rpc::failure::WITHDRAWN;
use crate::rpc::ledger::PROGRESS;
use crate::rpc::sent::PROGRESS_TOKEN;
use crate::rpc::{Failure, Incoming, Ledger, Message, MethodCall, Outgoing, Sender, Sending, Sides, Transport};

/// The most names that an error lists.
const MOST_NAMES: usize = 20;

/// Returns both sides of a transport that replays a cassette.
pub(crate) fn replay(cassette: Cassette, ledger: Arc<Ledger>, redactor: Redactor) -> Sides {
    let (arriving, arrived) = unbounded_channel();
    let sender = ReplaySender { cassette, ledger, redactor, arriving, questions: Mutex::default() };
    (Arc::new(sender), Box::new(arrived))
}

/// Takes requests, and gives recorded answers.
struct ReplaySender {
    cassette: Cassette,
    ledger: Arc<Ledger>,
    redactor: Redactor,
    arriving: UnboundedSender<Incoming>,
    /// The requests of the server that the program has not answered.
    questions: Mutex<HashMap<RequestId, oneshot::Sender<Outcome>>>,
}

impl ReplaySender {
    /// Replays the messages of the recorded exchange, and then its response.
    async fn play(&self, id: &RequestId, call: &MethodCall) -> Result<(), Failure> {
        match &*call.method {
            LISTEN => return Ok(()),
            "ping" => {
                self.arrive(json!({ "id": id, "result": {} }));
                return Ok(());
            }
            _ => {}
        }
        let exchange = self.next(&Call::new(call, &self.redactor));
        // No server exists that could have acted on it.
        let exchange = exchange.map_err(|error| Failure::not_sent(error.to_string()).with_source(error))?;
        for (number, Call { method, mut params, answer }) in exchange.heard.into_iter().enumerate() {
            let Some(recorded) = answer else {
                if let (PROGRESS, Value::Object(params)) = (&*method, &mut params) {
                    params.insert(PROGRESS_TOKEN.to_owned(), json!(id));
                }
                self.arrive(json!({ "method": method, "params": params }));
                continue;
            };
            let question = RequestId::String(format!("question-{id}-{number}").into());
            let (answering, answered) = oneshot::channel();
            lock(&self.questions).insert(question.clone(), answering);
            self.arrive(json!({ "id": question, "method": method, "params": params }));
            let Ok(now) = answered.await else { return Ok(()) };
            let differences = differences(&json!(recorded), &json!(now));
            if !differences.is_empty() {
                let request = format!("the response to `{method}` from the server");
                let error = CassetteError::Changed { path: self.cassette.path().to_owned(), request, differences };
                return Err(Failure::lost(error.to_string()).with_source(error));
            }
        }
        let mut response = exchange.response.unwrap_or_default();
        response.insert("id".to_owned(), json!(id));
        self.arrive(response.into());
        Ok(())
    }

    /// Returns the recorded exchange for the request; equal requests use up their exchanges in order. A conversation
    /// may begin more often than it did in the recording, and then begins like the last one.
    ///
    /// # Errors
    /// Fails with the nearest exchange if none matches.
    fn next(&self, request: &Call) -> Result<Exchange, CassetteError> {
        let (path, title) = (self.cassette.path().to_owned(), request.title());
        let mut tape = lock(&self.cassette.0.tape);
        let of_method = tape.exchanges.iter_mut().filter(|exchange| exchange.request.method == request.method);
        let similar = of_method.filter(|exchange| exchange.request.subject() == request.subject());
        let compared = (0..).zip(similar).map(|(at, exchange)| {
            let differences = differences(&exchange.request.params, &request.params);
            // The first that is not played, or else the last.
            let order = (differences.len(), exchange.is_played.then_some(Reverse(at)));
            (order, differences, exchange)
        });
        let message = match compared.min_by_key(|(order, ..)| *order) {
            Some((_, differences, _)) if !differences.is_empty() => {
                return Err(CassetteError::Changed { path, request: title, differences });
            }
            Some((.., exchange)) if !exchange.is_played || request.begins() => {
                exchange.is_played = true;
                return Ok(exchange.clone());
            }
            Some(_) => "each recorded response was used once".to_owned(),
            None => {
                let of_method = tape.exchanges.iter().filter(|exchange| exchange.request.method == request.method);
                let names: BTreeSet<&str> = of_method.filter_map(|exchange| exchange.request.subject()).collect();
                let names = names.into_iter().take(MOST_NAMES).map(|name| format!("`{}`", printable(name)));
                match names.collect::<Vec<_>>().join(", ") {
                    none if none.is_empty() => "it was not recorded".to_owned(),
                    names => format!("recorded were {names}"),
                }
            }
        };
        Err(CassetteError::NotRecorded { path, request: title, message })
    }

    fn arrive(&self, message: Value) {
        if let Some(incoming) = self.ledger.received(message, None) {
            // The message is lost only if the connection has ended.
            let _ = self.arriving.send(incoming);
        }
    }
}

impl Sender for ReplaySender {
    fn send(self: Arc<Self>, message: Message, outgoing: Outgoing) -> Sending {
        Box::pin(async move {
            if !outgoing.begin_write(None) {
                return Err(Failure::not_sent(WITHDRAWN));
            }
            outgoing.written();
            match message {
                Message::Request { id, call } => {
                    self.play(&id, &call).await.inspect_err(|failure| outgoing.failed(failure.clone()))
                }
                Message::Response { id, outcome } => {
                    if let Some(question) = lock(&self.questions).remove(&id) {
                        // Nobody receives it if the exchange has ended.
                        let _ = question.send(outcome_of(&outcome, &self.redactor));
                    }
                    Ok(())
                }
                Message::Notification(_) => Ok(()),
            }
        })
    }
}

/// The recorded requests of the server. No server exists to close, and the session fails its pending requests itself.
impl Transport for UnboundedReceiver<Incoming> {
    fn receive(&mut self) -> BoxFuture<'_, Option<Incoming>> {
        Box::pin(self.recv())
    }

    fn close(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::rpc::request::Terms;

    /// Returns the sending side for a cassette with these exchanges.
    fn sender(exchanges: &[Value]) -> ReplaySender {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("session.jsonl");
        let (head, end) = (json!({ "cassette": 1, "server": "server" }), json!({ "end": exchanges.len() }));
        let lines = [&head].into_iter().chain(exchanges).chain([&end]);
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        mcp_bindgen_model::write_if_changed(&path, text.as_bytes()).expect("it is written");
        let cassette = Cassette::replay(&path).expect("a cassette");
        let (arriving, _arrived) = unbounded_channel();
        let (ledger, questions) = (Ledger::new(Duration::MAX, Redactor::default()), Mutex::default());
        ReplaySender { cassette, ledger, redactor: Redactor::default(), arriving, questions }
    }

    #[test]
    fn last_handshake_is_used_again() {
        let handshake = |name| json!({ "request": { "method": "initialize" }, "response": { "result": name } });
        let sender = sender(&["first", "second"].map(handshake));
        let request = Call { method: "initialize".to_owned(), params: Value::Null, answer: None };
        let names = [(); 3].map(|()| json!(sender.next(&request).expect("a handshake").response)["result"].clone());
        assert_eq!(names, ["first", "second", "second"]);
    }

    #[tokio::test]
    async fn ping_and_subscriptions_need_no_recording() {
        let sender = Arc::new(sender(&[]));
        for (method, is_answered) in [("ping", true), (LISTEN, false)] {
            let number = sender.ledger.next_id();
            let message =
                Message::Request { id: RequestId::Number(number), call: MethodCall::with(method, Value::Null) };
            let admitted = sender.ledger.admit((number, &message), 100, Terms::default());
            let (ticket, outgoing) = admitted.expect("there is room");
            sender.clone().send(message, outgoing).await.expect("it is replayed");
            assert_eq!(ticket.state().is_final(), is_answered, "{method}");
        }
    }
}
