//! The transport that replays a cassette.
//!
//! `send` and `close` act when they are called, so dropping their futures changes nothing; `receive` is cancel safe.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::CassetteError;
use super::difference::differences;
use super::exchange::{Exchange, Heard, Request};
use super::player::Player;
use super::recorder::SUBSCRIPTION;
use crate::ground::redact::Redactor;
use crate::ground::sync::lock;
use crate::rpc::failure::{CLOSED, Failure, WITHDRAWN};
use crate::rpc::ledger::{Ledger, Outgoing};
use crate::rpc::messages::Incoming;
use crate::rpc::sent::Message;
use crate::rpc::transports::{Sender, Sending, Sides, Transport};

/// Returns both sides of a transport that replays a cassette.
pub(crate) fn replay(player: Arc<Player>, ledger: Arc<Ledger>, redactor: Redactor) -> Sides {
    let (arriving, arrived) = unbounded_channel();
    let stage = Stage { player, redactor, arriving, waiting: HashMap::new(), questions: 0 };
    (Arc::new(ReplaySender(Mutex::new(stage))), Box::new(ReplayTransport { ledger, arrived }))
}

/// Takes requests.
struct ReplaySender(Mutex<Stage>);

/// Gives recorded answers.
struct ReplayTransport {
    ledger: Arc<Ledger>,
    arrived: UnboundedReceiver<Value>,
}

/// The state of a replay.
struct Stage {
    player: Arc<Player>,
    redactor: Redactor,
    arriving: UnboundedSender<Value>,
    /// The scenes that go on when a question of the server is answered, by its id.
    waiting: HashMap<String, Scene>,
    questions: usize,
}

/// An exchange that is being played.
struct Scene {
    id: Value,
    progress_token: Option<Value>,
    outgoing: Outgoing,
    exchange: Exchange,
    /// The number of recorded messages that were replayed.
    heard: usize,
}

impl Stage {
    fn take(&mut self, message: &Message, outgoing: Outgoing) -> Result<(), Failure> {
        if !outgoing.begin_write(None) {
            return Err(Failure::not_sent(WITHDRAWN));
        }
        outgoing.written();
        let fields = serde_json::to_value(message).map_err(|error| Failure::not_sent(error.to_string()))?;
        let Value::Object(mut fields) = fields else { return Ok(()) };
        let Some(id) = fields.remove("id") else { return Ok(()) };
        match fields.get("method").and_then(Value::as_str) {
            None => self.answered(&id, &fields),
            Some(SUBSCRIPTION) => Ok(()),
            Some("ping") => {
                self.arrive(json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
                Ok(())
            }
            Some(method) => {
                let (request, progress_token) = Request::of(method, fields.get("params"), &self.redactor);
                match self.player.next(&request) {
                    Ok(exchange) => {
                        let exchange = exchange.clone();
                        self.play(Scene { id, progress_token, outgoing, exchange, heard: 0 });
                        Ok(())
                    }
                    // No server exists that could have acted on it.
                    Err(error) => Err(refused(&outgoing, Failure::not_sent(error.to_string()), error)),
                }
            }
        }
    }

    /// Replays messages until the server asks a question, or its response is due.
    fn play(&mut self, mut scene: Scene) {
        while let Some(Heard { method, params, answer }) = scene.exchange.heard.get(scene.heard).cloned() {
            scene.heard += 1;
            let mut message =
                Map::from_iter([("jsonrpc".to_owned(), "2.0".into()), ("method".to_owned(), method.into())]);
            if !params.is_null() {
                message.insert("params".to_owned(), params);
            }
            if answer.is_some() {
                self.questions += 1;
                let id = format!("question-{}", self.questions);
                message.insert("id".to_owned(), id.clone().into());
                self.arrive(Value::Object(message));
                self.waiting.insert(id, scene);
                return;
            }
            if let (Some(token), Some(Value::Object(params))) = (&scene.progress_token, message.get_mut("params"))
                && params.contains_key("progress")
            {
                params.insert("progressToken".to_owned(), token.clone());
            }
            self.arrive(Value::Object(message));
        }
        let mut response = scene.exchange.response;
        response.insert("jsonrpc".to_owned(), "2.0".into());
        response.insert("id".to_owned(), scene.id);
        self.arrive(Value::Object(response));
    }

    /// Handles the program's answer to a question.
    fn answered(&mut self, id: &Value, fields: &Map<String, Value>) -> Result<(), Failure> {
        let Some(scene) = id.as_str().and_then(|id| self.waiting.remove(id)) else { return Ok(()) };
        let question = scene.heard.checked_sub(1).and_then(|at| scene.exchange.heard.get(at));
        let Some((question, recorded)) = question.and_then(|heard| Some((heard, heard.answer.as_ref()?))) else {
            return Ok(());
        };
        let mut now: Map<String, Value> = fields.clone();
        now.retain(|key, _| key == "result" || key == "error");
        let mut now = Value::Object(now);
        self.redactor.value(&mut now);
        let differences = differences(&Value::Object(recorded.clone()), &now);
        if differences.is_empty() {
            self.play(scene);
            return Ok(());
        }
        let request = format!("the response to `{}` from the server", question.method);
        let error = CassetteError::Changed { path: self.player.path.clone(), request, differences };
        refused(&scene.outgoing, Failure::lost(error.to_string()), error);
        Ok(())
    }

    fn arrive(&self, message: Value) {
        // The other end is here.
        let _ = self.arriving.send(message);
    }
}

fn refused(outgoing: &Outgoing, failure: Failure, error: CassetteError) -> Failure {
    let failure = failure.with_source(error);
    outgoing.failed(failure.clone());
    failure
}

impl Sender for ReplaySender {
    fn send(self: Arc<Self>, message: Message, outgoing: Outgoing) -> Sending {
        Box::pin(ready(lock(&self.0).take(&message, outgoing)))
    }
}

impl Transport for ReplayTransport {
    fn receive(&mut self) -> BoxFuture<'_, Option<Incoming>> {
        Box::pin(async move {
            loop {
                let message = self.arrived.recv().await?;
                if let Some(message) = self.ledger.received(message, None) {
                    return Some(message);
                }
            }
        })
    }

    fn close(&mut self) -> BoxFuture<'_, ()> {
        self.ledger.close(&Failure::lost(CLOSED), None);
        Box::pin(ready(()))
    }
}
