//! The transport of a conversation with a cassette.

use std::collections::HashMap;
use std::future::{Future, ready};
use std::io;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::service::TxJsonRpcMessage;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::CassetteError;
use super::difference::differences;
use super::exchange::{Exchange, Heard, Request};
use super::player::Player;
use super::recorder::SUBSCRIPTION;
use crate::observe::redact::Redactor;
use crate::session::failure::Failure;
use crate::session::ledger::{Ledger, Outgoing};
use crate::transport::{Incoming, Transport};

const CLOSED: &str = "the connection was closed";

/// Gives recorded answers.
pub(crate) struct ReplayTransport {
    player: Arc<Player>,
    redactor: Redactor,
    ledger: Arc<Ledger>,
    arriving: UnboundedSender<Value>,
    arrived: UnboundedReceiver<Value>,
    /// What goes on when a question of the server is answered, by its id.
    waiting: HashMap<String, Scene>,
    questions: usize,
}

/// An exchange that is being played.
struct Scene {
    id: Value,
    progress_token: Option<Value>,
    outgoing: Outgoing,
    exchange: Exchange,
    /// How much of what was heard is over.
    heard: usize,
}

impl ReplayTransport {
    pub(crate) fn new(player: Arc<Player>, ledger: Arc<Ledger>, redactor: Redactor) -> Self {
        let (arriving, arrived) = unbounded_channel();
        Self { player, redactor, ledger, arriving, arrived, waiting: HashMap::new(), questions: 0 }
    }

    fn take(&mut self, message: &TxJsonRpcMessage<RoleClient>) -> io::Result<()> {
        let outgoing = self.ledger.queued(message);
        if !outgoing.begin_write(None) {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "nobody waits for the request any more"));
        }
        outgoing.written();
        let Value::Object(mut fields) = serde_json::to_value(message)? else { return Ok(()) };
        let Some(id) = fields.remove("id") else { return Ok(()) };
        match fields.get("method").and_then(Value::as_str) {
            None => self.answered(&id, &fields),
            Some(SUBSCRIPTION) => Ok(()),
            Some("ping") => {
                self.arrive(json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
                Ok(())
            }
            Some(method) => {
                let params = fields.get("params");
                let progress_token = params.and_then(|params| params.pointer("/_meta/progressToken").cloned());
                let mut request = Request::of(method, params);
                self.redactor.value(&mut request.params);
                match self.player.next(&request) {
                    Ok(exchange) => {
                        let exchange = exchange.clone();
                        self.play(Scene { id, progress_token, outgoing, exchange, heard: 0 });
                        Ok(())
                    }
                    // There is no server that could have acted on it.
                    Err(error) => Err(refused(&outgoing, Failure::not_sent(error.to_string()), error)),
                }
            }
        }
    }

    /// Goes on until the server has a question, or its answer is there.
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

    /// The program has answered a question.
    fn answered(&mut self, id: &Value, fields: &Map<String, Value>) -> io::Result<()> {
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
        let request = format!("the answer to `{}`, which the server asks", question.method);
        let error = CassetteError::Changed { path: self.player.path(), request, differences };
        refused(&scene.outgoing, Failure::lost(error.to_string()), error);
        Ok(())
    }

    fn arrive(&self, message: Value) {
        // The other end is here.
        let _ = self.arriving.send(message);
    }
}

fn refused(outgoing: &Outgoing, failure: Failure, error: CassetteError) -> io::Error {
    let message = error.to_string();
    outgoing.failed(failure.with_source(error));
    io::Error::other(message)
}

impl Transport for ReplayTransport {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        ready(self.take(&message))
    }

    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            let message = self.arrived.recv().await?;
            if let Some(message) = self.ledger.received(message, None) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.ledger.close(&Failure::lost(CLOSED), None);
        Ok(())
    }
}
