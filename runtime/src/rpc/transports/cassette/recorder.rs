//! Records one connection.

use std::sync::Mutex;

use rmcp::model::RequestId;
use serde_json::{Map, Value};

use super::Cassette;
use super::exchange::{Exchange, Heard, Request};
use crate::ground::redact::Redactor;
use crate::ground::sync::lock;
use crate::rpc::ledger::Witness;
use crate::rpc::sent::Message;

/// The method of a subscription, which stays open and has no meaningful response.
pub(super) const SUBSCRIPTION: &str = "subscriptions/listen";
/// Notifications that the client ignores on replay: other requests are meant, or other times.
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
    requests: Vec<Pending>,
    /// The messages while no request was open, which belong to the next one.
    loose: Vec<Heard>,
    questions: Vec<(Value, Heard)>,
}

struct Pending {
    id: Value,
    progress_token: Option<Value>,
    /// The position on the tape.
    place: usize,
    request: Request,
    heard: Vec<Heard>,
}

impl Recorder {
    pub(super) fn new(cassette: Cassette, redactor: Redactor) -> Self {
        Self { cassette, redactor, under_way: Mutex::default() }
    }

    fn without_secrets(&self, mut value: Value) -> Value {
        self.redactor.value(&mut value);
        value
    }

    fn outcome(&self, fields: &Map<String, Value>) -> Map<String, Value> {
        let kept = ["result", "error"].into_iter();
        kept.filter_map(|key| Some((key.to_owned(), self.without_secrets(fields.get(key)?.clone())))).collect()
    }

    fn begin(&self, id: Value, method: &str, params: Option<&Value>) {
        if method == SUBSCRIPTION {
            return;
        }
        let (request, progress_token) = Request::of(method, params, &self.redactor);
        let mut under_way = lock(&self.under_way);
        let place = self.cassette.change(|tape| {
            tape.exchanges.push(None);
            tape.exchanges.len() - 1
        });
        let heard = std::mem::take(&mut under_way.loose);
        under_way.requests.push(Pending { id, progress_token, place, request, heard });
    }
}

impl Witness for Recorder {
    fn sent(&self, message: &Message) {
        let Ok(Value::Object(mut fields)) = serde_json::to_value(message) else { return };
        let Some(id) = fields.remove("id") else { return };
        if let Some(method) = fields.get("method").and_then(Value::as_str) {
            return self.begin(id, method, fields.get("params"));
        }
        let answer = self.outcome(&fields);
        let mut under_way = lock(&self.under_way);
        if let Some(at) = under_way.questions.iter().position(|(pending, _)| *pending == id) {
            let (_, question) = under_way.questions.remove(at);
            under_way.hear(Heard { answer: Some(answer), ..question }, None);
        }
    }

    fn answered(&self, id: &RequestId, fields: &Map<String, Value>) {
        let id = serde_json::to_value(id).unwrap_or_default();
        let mut under_way = lock(&self.under_way);
        let Some(at) = under_way.requests.iter().position(|pending| pending.id == id) else { return };
        let Pending { place, request, heard, .. } = under_way.requests.remove(at);
        let exchange = Exchange { request, heard, response: self.outcome(fields) };
        self.cassette.change(|tape| {
            if let Some(slot) = tape.exchanges.get_mut(place) {
                *slot = Some(exchange);
            }
        });
    }

    fn called(&self, fields: &Map<String, Value>) {
        let method = fields.get("method").and_then(Value::as_str).unwrap_or_default();
        let mut params = fields.get("params").cloned().unwrap_or_default();
        let is_of_subscription = params.pointer("/_meta/io.modelcontextprotocol~1subscriptionId").is_some();
        if NOT_KEPT.contains(&method) || is_of_subscription || self.redactor.knows(method) {
            return;
        }
        let token = match (method, params.as_object_mut()) {
            ("notifications/progress", Some(params)) => params.remove("progressToken"),
            _ => None,
        };
        let heard = Heard { method: method.to_owned(), params: self.without_secrets(params), answer: None };
        let mut under_way = lock(&self.under_way);
        match fields.get("id") {
            Some(id) => under_way.questions.push((id.clone(), heard)),
            None => under_way.hear(heard, token.as_ref()),
        }
    }
}

impl UnderWay {
    /// Notes it with the request that it belongs to, or else the oldest.
    fn hear(&mut self, heard: Heard, token: Option<&Value>) {
        let of_token = |pending: &&mut Pending| token.is_some() && pending.progress_token.as_ref() == token;
        match (self.requests.iter_mut().find(of_token), token) {
            (Some(pending), _) => pending.heard.push(heard),
            // This is progress of an answered request.
            (None, Some(_)) => {}
            (None, None) => match self.requests.first_mut() {
                Some(pending) => pending.heard.push(heard),
                None => self.loose.push(heard),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::redact::PrivateValues;
    use serde_json::json;

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
        recorder.begin(json!(1), "tools/call", Some(&json!({ "name": "t", "arguments": data, "_meta": meta })));
        recorder.called(&object(json!({ "method": format!("notifications/{SECRET}"), "params": {} })));
        recorder.called(&object(json!({ "method": "notifications/tools/list_changed", "params": data })));
        recorder.called(&object(
            json!({ "method": "notifications/progress", "params": { "progressToken": 7, "progress": 1 } }),
        ));
        recorder.called(&object(
            json!({ "method": "notifications/progress", "params": { "progressToken": 8, "progress": 2 } }),
        ));
        recorder.called(&object(json!({ "method": "roots/list", "id": SECRET, "params": data })));
        let error = json!({ "code": -1, "message": SECRET, "data": data });
        recorder.answered(&RequestId::Number(1), &object(json!({ "error": error, SECRET: SECRET })));
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
