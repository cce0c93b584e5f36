//! Records one connection.

use std::sync::Mutex;

use rmcp::model::{ErrorData, RequestId};
use serde_json::{Map, Value, json};

use super::Cassette;
use super::tape::{Exchange, Heard, Outcome, Request};
use crate::ground::redact::Redactor;
use crate::ground::sync::lock;
use crate::rpc::ledger::{PROGRESS, SUBSCRIPTION, Witness};
use crate::rpc::sent::{Message, PROGRESS_TOKEN};

/// The method of a subscription, which stays open and has no meaningful response.
pub(super) const LISTEN: &str = "subscriptions/listen";
/// Notifications that are not recorded, because they refer to other requests or other times on replay.
const NOT_KEPT: [&str; 3] =
    ["notifications/message", "notifications/cancelled", "notifications/subscriptions/acknowledged"];

/// The witness of one connection.
pub(super) struct Recorder {
    cassette: Cassette,
    redactor: Redactor,
    under_way: Mutex<UnderWay>,
}

#[derive(Default)]
struct UnderWay {
    /// The pending requests, and the index of each on the tape.
    requests: Vec<(RequestId, usize)>,
    /// The messages while no request was open, which belong to the next one.
    loose: Vec<Heard>,
    /// The requests of the server, with their ids.
    questions: Vec<(Value, Heard)>,
}

impl Recorder {
    pub(super) fn new(cassette: Cassette, redactor: Redactor) -> Self {
        Self { cassette, redactor, under_way: Mutex::default() }
    }

    /// Records a message with the request that it belongs to, or else the oldest.
    fn hear(&self, under_way: &mut UnderWay, heard: Heard, token: Option<&Value>) {
        let mut requests = under_way.requests.iter();
        let request = match token {
            Some(token) => requests.find(|(id, _)| json!(id) == *token),
            None => requests.next(),
        };
        match request {
            Some((_, at)) => {
                if let Some(exchange) = self.cassette.tape_to_change().exchanges.get_mut(*at) {
                    exchange.heard.push(heard);
                }
            }
            None if token.is_none() => under_way.loose.push(heard),
            // This is progress of an answered request.
            None => {}
        }
    }
}

impl Witness for Recorder {
    fn sent(&self, message: &Message) {
        let mut under_way = lock(&self.under_way);
        match message {
            Message::Request { id, call } if call.method != LISTEN => {
                let (request, heard) = (Request::new(call, &self.redactor), std::mem::take(&mut under_way.loose));
                let mut tape = self.cassette.tape_to_change();
                under_way.requests.push((id.clone(), tape.exchanges.len()));
                tape.exchanges.push(Exchange { request, heard, response: None, is_played: false });
            }
            Message::Response { id, outcome } => {
                let id = json!(id);
                if let Some(at) = under_way.questions.iter().position(|(question, _)| *question == id) {
                    let (_, question) = under_way.questions.remove(at);
                    let answer = Some(Outcome::new(outcome, &self.redactor));
                    self.hear(&mut under_way, Heard { answer, ..question }, None);
                }
            }
            Message::Request { .. } | Message::Notification(_) => {}
        }
    }

    fn answered(&self, id: &RequestId, answer: &Result<Value, ErrorData>) {
        let mut under_way = lock(&self.under_way);
        let Some(pending) = under_way.requests.iter().position(|(pending, _)| pending == id) else { return };
        let (_, at) = under_way.requests.remove(pending);
        if let Some(exchange) = self.cassette.tape_to_change().exchanges.get_mut(at) {
            exchange.response = Some(Outcome::new(answer, &self.redactor));
        }
    }

    fn called(&self, fields: &Map<String, Value>) {
        let method = fields.get("method").and_then(Value::as_str).unwrap_or_default();
        let mut params = fields.get("params").cloned().unwrap_or_default();
        let is_of_subscription = params.pointer(SUBSCRIPTION).is_some();
        if NOT_KEPT.contains(&method) || is_of_subscription || self.redactor.knows(method) {
            return;
        }
        let token = match (method, &mut params) {
            (PROGRESS, Value::Object(params)) => params.remove(PROGRESS_TOKEN),
            _ => None,
        };
        self.redactor.value(&mut params);
        let heard = Heard { method: method.to_owned(), params, answer: None };
        let mut under_way = lock(&self.under_way);
        match fields.get("id") {
            Some(id) => under_way.questions.push((id.clone(), heard)),
            None => self.hear(&mut under_way, heard, token.as_ref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::redact::PrivateValues;
    use crate::rpc::sent::MethodCall;
    use rmcp::model::ErrorCode;

    const SECRET: &str = "hunter22hunter22";

    fn object(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).expect("an object")
    }

    #[test]
    fn cassette_file_contains_no_secrets_from_server_messages() {
        let mut values = PrivateValues::default();
        values.secret(SECRET);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("session.jsonl");
        let cassette = Cassette::record(&path).expect("it can be recorded");
        cassette.insert_for("server").expect("it is nobody's yet");
        let recorder = Recorder::new(cassette.clone(), Redactor::new(&values));
        let data = json!({ "k": [SECRET], SECRET: 1 });
        let meta = json!({ "progressToken": 7 });
        let call = MethodCall::with("tools/call", json!({ "name": "t", "arguments": data, "_meta": meta }));
        recorder.sent(&Message::Request { id: RequestId::Number(7), call });
        recorder.called(&object(json!({ "method": format!("notifications/{SECRET}"), "params": {} })));
        recorder.called(&object(json!({ "method": "notifications/tools/list_changed", "params": data })));
        recorder.called(&object(
            json!({ "method": "notifications/progress", "params": { "progressToken": 7, "progress": 1 } }),
        ));
        recorder.called(&object(
            json!({ "method": "notifications/progress", "params": { "progressToken": 8, "progress": 2 } }),
        ));
        recorder.called(&object(json!({ "method": "roots/list", "id": SECRET, "params": data })));
        let error = ErrorData::new(ErrorCode(-1), SECRET, Some(data));
        recorder.answered(&RequestId::Number(7), &Err(error));
        cassette.save().expect("it is written");
        let text = std::fs::read_to_string(&path).expect("a file");
        assert!(!text.contains("hunter22") && text.matches("[redacted]").count() >= 6, "{text}");
        let exchange: Value = serde_json::from_str(text.lines().nth(1).expect("a line")).expect("JSON");
        let heard: Vec<&str> =
            exchange["heard"].as_array().expect("a list").iter().filter_map(|heard| heard["method"].as_str()).collect();
        assert_eq!(heard, ["notifications/tools/list_changed", "notifications/progress"]);
        assert_eq!(exchange["heard"][1]["params"], json!({ "progress": 1 }));
        assert_eq!(exchange["request"]["params"]["_meta"], Value::Null);
    }
}
