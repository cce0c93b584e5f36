//! Cassettes: files with the messages of a connection, which are replayed without a server.

mod error;
mod replay;
mod tape;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::{fmt, fs, io, mem};

use rmcp::model::{ErrorData, RequestId};
use serde_json::{Map, Value, json};

pub use self::error::{CassetteError, Difference};
pub(crate) use self::replay::replay;
use self::tape::{Call, Exchange, Tape, outcome_of};
use crate::ToolResult;
use crate::ground::redact::Redactor;
use crate::ground::sync::lock;
use crate::rpc::Message;
use crate::rpc::ledger::{PROGRESS, SUBSCRIPTION, Witness};
use crate::rpc::sent::PROGRESS_TOKEN;

/// The method of a subscription, which stays open and has no meaningful response.
const LISTEN: &str = "subscriptions/listen";
/// Notifications that are not recorded, because they refer to other requests or other times on replay.
const NOT_KEPT: [&str; 3] =
    ["notifications/message", "notifications/cancelled", "notifications/subscriptions/acknowledged"];

/// Requests to a server and its responses, recorded in a file and replayed without the server. The file has a JSON
/// object on each line, no times, and no secrets of the server's configuration: it is made for git.
///
/// On replay, a request gets the response of the recorded one with the same method and parameters; several equal ones
/// are used in order. Any other request fails, and the [`source`](std::error::Error::source) of the error is a
/// [`CassetteError`] with the differences. Redacted values match anything.
///
/// ```no_run
/// # async fn run(config: mcp_bindgen_model::ServerConfig) -> Result<(), Box<dyn std::error::Error>> {
/// use mcp_bindgen_runtime::{Cassette, Client, ClientOptions};
///
/// // Once, with the server there; the file is written when the client is closed, or by `save`.
/// let cassette = Cassette::record("tests/cassettes/issues.jsonl")?;
/// let client = Client::with_options(config.clone(), ClientOptions::new().cassette(cassette.clone()));
/// client.call("list_issues", Default::default()).await?;
/// client.close().await;
/// cassette.save()?;
///
/// // From then on: nothing is started, no secret is needed.
/// let cassette = Cassette::replay("tests/cassettes/issues.jsonl")?;
/// let client = Client::with_options(config, ClientOptions::new().cassette(cassette));
/// client.call("list_issues", Default::default()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Cassette(Arc<Inner>);

struct Inner {
    path: PathBuf,
    /// `true` if the tape replaces the server; otherwise, it is recorded.
    replays: bool,
    tape: Mutex<Tape>,
}

impl Cassette {
    /// Creates a cassette that records and replaces the file. Connections that fail without a response are not
    /// recorded.
    ///
    /// # Errors
    /// Fails if there can be no such file.
    pub fn record(path: impl Into<PathBuf>) -> Result<Self, CassetteError> {
        let path = path.into();
        let made = match path.is_dir() {
            true => Err(io::ErrorKind::IsADirectory.into()),
            false => path.parent().map_or(Ok(()), fs::create_dir_all),
        };
        made.map_err(|error| CassetteError::Write { path: path.clone(), message: error.to_string() })?;
        Ok(Self(Arc::new(Inner { path, replays: false, tape: Mutex::default() })))
    }

    /// Creates a cassette that replays a file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is truncated, or has a newer format than this version knows.
    pub fn replay(path: impl Into<PathBuf>) -> Result<Self, CassetteError> {
        let path = path.into();
        let text = fs::read_to_string(&path)
            .map_err(|error| CassetteError::Read { path: path.clone(), message: error.to_string() })?;
        let tape = Mutex::new(Tape::read(&path, &text)?);
        Ok(Self(Arc::new(Inner { path, replays: true, tape })))
    }

    /// Returns the path of the cassette file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns the results of a tool in a replayed cassette, in the order of the calls, for any arguments and without
    /// protocol errors. Empty while recording.
    ///
    /// ```no_run
    /// let cassette = mcp_bindgen_runtime::Cassette::replay("tests/cassettes/issues.jsonl")?;
    /// for result in cassette.results("list_issues") {
    ///     println!("{}", result.text());
    /// }
    /// # Ok::<(), mcp_bindgen_runtime::CassetteError>(())
    /// ```
    #[must_use]
    pub fn results(&self, tool: &str) -> Vec<ToolResult> {
        let tape = lock(&self.0.tape);
        let server = tape.server.as_deref().unwrap_or_default();
        let is_call = |call: &Call| call.method == "tools/call" && call.subject() == Some(tool);
        let calls = tape.exchanges.iter().filter(|exchange| self.replays() && is_call(&exchange.request));
        let results = calls.filter_map(|exchange| exchange.response.as_ref()?.get("result"));
        results.map(|result| ToolResult::from_json(server, tool, result.clone())).collect()
    }

    /// Returns the name of the recorded server, if anything was recorded.
    #[must_use]
    pub fn server(&self) -> Option<String> {
        lock(&self.0.tape).server.clone()
    }

    /// Writes the recording so far, replacing the file atomically; does nothing on replay. Closing a client, or
    /// dropping its last clone, does the same, but can only log errors.
    ///
    /// # Errors
    /// Fails if the file cannot be written; the old one is then still there.
    pub fn save(&self) -> Result<(), CassetteError> {
        self.0.save()
    }

    /// Returns `true` if a recording replaces the server.
    pub(crate) fn replays(&self) -> bool {
        self.0.replays
    }

    /// Makes it the cassette of a server.
    ///
    /// # Errors
    /// Fails if it is the cassette of another server.
    pub(crate) fn insert_for(&self, server: &str) -> Result<(), CassetteError> {
        let mut tape = lock(&self.0.tape);
        let recorded = tape.server.get_or_insert_with(|| server.to_owned()).clone();
        if recorded == server {
            return Ok(());
        }
        Err(CassetteError::OtherServer { path: self.0.path.clone(), recorded, server: server.to_owned() })
    }

    /// Returns the recorder of one connection, if it records.
    pub(crate) fn witness(&self, redactor: &Redactor) -> Option<Arc<dyn Witness>> {
        let recorder = || Recorder { cassette: self.clone(), redactor: redactor.clone(), under_way: Mutex::default() };
        (!self.replays()).then(|| Arc::new(recorder()) as _)
    }

    /// Returns the tape, which the caller changes.
    fn tape_to_change(&self) -> MutexGuard<'_, Tape> {
        let mut tape = lock(&self.0.tape);
        tape.is_saved = false;
        tape
    }
}

impl Inner {
    fn save(&self) -> Result<(), CassetteError> {
        let mut tape = lock(&self.tape);
        if tape.is_saved || tape.server.is_none() {
            return Ok(());
        }
        mcp_bindgen_model::write_if_changed(&self.path, tape.print().as_bytes())
            .map_err(|error| CassetteError::Write { path: self.path.clone(), message: error.to_string() })?;
        tape.is_saved = true;
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Err(error) = self.save() {
            tracing::error!("{error}");
        }
    }
}

impl fmt::Debug for Cassette {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cassette").field("path", &self.0.path).field("replays", &self.0.replays).finish_non_exhaustive()
    }
}

/// The witness of one connection, which records it.
struct Recorder {
    cassette: Cassette,
    redactor: Redactor,
    under_way: Mutex<UnderWay>,
}

#[derive(Default)]
struct UnderWay {
    /// The pending requests, and the index of each on the tape.
    requests: Vec<(RequestId, usize)>,
    /// The messages while no request was open, which belong to the next one.
    loose: Vec<Call>,
    /// The requests of the server, with their ids.
    questions: Vec<(Value, Call)>,
}

impl Recorder {
    /// Records a message with the request that it belongs to, or else the oldest.
    fn hear(&self, under_way: &mut UnderWay, heard: Call, token: Option<&Value>) {
        let mut requests = under_way.requests.iter();
        match requests.find(|(id, _)| token.is_none_or(|token| json!(id) == *token)) {
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
                let (request, heard) = (Call::new(call, &self.redactor), mem::take(&mut under_way.loose));
                let mut tape = self.cassette.tape_to_change();
                under_way.requests.push((id.clone(), tape.exchanges.len()));
                tape.exchanges.push(Exchange { request, heard, response: None, is_played: false });
            }
            Message::Response { id, outcome } => {
                let id = json!(id);
                if let Some(at) = under_way.questions.iter().position(|(question, _)| *question == id) {
                    let (_, question) = under_way.questions.remove(at);
                    let answer = Some(outcome_of(outcome, &self.redactor));
                    self.hear(&mut under_way, Call { answer, ..question }, None);
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
            exchange.response = Some(outcome_of(answer, &self.redactor));
        }
    }

    fn called(&self, fields: &Map<String, Value>) {
        let method = fields.get("method").and_then(Value::as_str).unwrap_or_default();
        let mut params = fields.get("params").cloned().unwrap_or_default();
        let is_of_subscription = params.pointer(SUBSCRIPTION).is_some();
        if NOT_KEPT.contains(&method) || is_of_subscription || self.redactor.knows(method) {
            return;
        }
        let progress = params.as_object_mut().filter(|_| method == PROGRESS);
        let token = progress.and_then(|params| params.remove(PROGRESS_TOKEN));
        self.redactor.value(&mut params);
        let heard = Call { method: method.to_owned(), params, answer: None };
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
    use crate::rpc::MethodCall;
    use rmcp::model::ErrorCode;

    const SECRET: &str = "hunter22hunter22";

    fn object(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).expect("an object")
    }

    fn recorder(cassette: &Cassette, values: &PrivateValues) -> Recorder {
        Recorder { cassette: cassette.clone(), redactor: Redactor::new(values), under_way: Mutex::default() }
    }

    #[test]
    fn cassette_is_written_once_it_has_a_server_and_only_after_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("session.jsonl");
        let cassette = Cassette::record(&path).expect("it can be recorded");
        cassette.save().expect("nothing to do");
        assert!(!path.exists() && cassette.server().is_none());
        cassette.insert_for("server").expect("it is nobody's yet");
        assert_eq!(cassette.server().as_deref(), Some("server"));
        cassette.save().expect("it is written");
        fs::remove_file(&path).expect("a file");
        cassette.save().expect("nothing to do");
        assert!(!path.exists());
    }

    #[test]
    fn messages_of_other_times_or_subscriptions_are_not_recorded() {
        let folder = tempfile::tempdir().expect("a folder");
        let cassette = Cassette::record(folder.path().join("session.jsonl")).expect("it can be recorded");
        let recorder = recorder(&cassette, &PrivateValues::default());
        let subscription = json!({ "_meta": { "io.modelcontextprotocol/subscriptionId": 1 } });
        for (method, params) in [
            ("notifications/message", json!({ "level": "info", "data": 1 })),
            ("notifications/tools/list_changed", subscription),
            // Of an answered request.
            ("notifications/progress", json!({ "progressToken": 9, "progress": 1 })),
            ("notifications/prompts/list_changed", json!({})),
        ] {
            recorder.called(&object(json!({ "method": method, "params": params })));
        }
        for (number, method) in (1..).zip([LISTEN, "tools/list"]) {
            let (id, call) = (RequestId::Number(number), MethodCall::new(method, Map::new()));
            recorder.sent(&Message::Request { id: id.clone(), call });
            recorder.answered(&id, &Ok(json!({})));
        }
        let tape = lock(&cassette.0.tape);
        let [exchange] = tape.exchanges.as_slice() else { panic!("there are {}", tape.exchanges.len()) };
        let heard: Vec<&str> = exchange.heard.iter().map(|heard| &*heard.method).collect();
        assert_eq!((&*exchange.request.method, heard), ("tools/list", vec!["notifications/prompts/list_changed"]));
    }

    #[test]
    fn debug_output_of_a_cassette_shows_its_path() {
        let cassette = Cassette::record("session.jsonl").expect("it can be recorded");
        assert_eq!(format!("{cassette:?}"), r#"Cassette { path: "session.jsonl", replays: false, .. }"#);
    }

    #[test]
    fn cassette_file_contains_no_secrets_from_server_messages() {
        let mut values = PrivateValues::default();
        values.secret(SECRET);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("session.jsonl");
        let cassette = Cassette::record(&path).expect("it can be recorded");
        cassette.insert_for("server").expect("it is nobody's yet");
        let recorder = recorder(&cassette, &values);
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
