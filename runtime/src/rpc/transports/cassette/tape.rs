//! The file: a header, a line for each exchange in the order of the requests, and a last line.

use std::path::Path;

use mcp_bindgen_model::printable;
use serde::{Deserialize, Serialize};
use serde_json::error::Category;
use serde_json::{Map, Value, json};

use super::CassetteError;
use crate::ground::redact::Redactor;
use crate::rpc::receiving::Answer;
use crate::rpc::sent::{META, MethodCall, PROGRESS_TOKEN, RESERVED};

const FORMAT: u64 = 1;

/// The contents of a file.
#[derive(Default)]
pub(super) struct Tape {
    pub(super) server: Option<String>,
    pub(super) exchanges: Vec<Exchange>,
    /// `true` if the file has all of it.
    pub(super) is_saved: bool,
}

/// A request, the server's messages before its response, and the response.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Exchange {
    pub(super) request: Call,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) heard: Vec<Call>,
    /// `None` as long as a recorded request is pending.
    pub(super) response: Option<Outcome>,
    /// `true` once a request was answered with it.
    #[serde(skip)]
    pub(super) is_played: bool,
}

/// A request of the client, or a message that the server sent on its own, without secrets and the parts that differ
/// each time.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) method: String,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) params: Value,
    /// The answer to a request of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<Outcome>,
}

/// The `result` or the `error` of a request, without secrets.
pub(super) type Outcome = Map<String, Value>;

impl Tape {
    pub(super) fn print(&self) -> String {
        let mut lines = vec![json!({ "cassette": FORMAT, "server": self.server })];
        let answered = self.exchanges.iter().filter(|exchange| exchange.response.is_some());
        lines.extend(answered.map(|exchange| json!(exchange)));
        lines.push(json!({ "end": lines.len() - 1 }));
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Parses the text of a cassette.
    ///
    /// # Errors
    /// Fails if the text is not a cassette, or is incomplete.
    pub(super) fn read(path: &Path, text: &str) -> Result<Self, CassetteError> {
        let malformed = |line, message: &str| {
            let message = message.to_owned();
            CassetteError::Malformed { path: path.to_owned(), line, message }
        };
        let truncated = |message| CassetteError::Truncated { path: path.to_owned(), message };
        let (mut tape, mut end) = (Self { is_saved: true, ..Self::default() }, None);
        let last = text.lines().count();
        for (line, text) in (1..).zip(text.lines()) {
            let read: Value = serde_json::from_str(text).map_err(|error| match error.classify() {
                Category::Eof if line == last && end.is_none() => truncated(format!("line {line} is incomplete")),
                _ => malformed(line, &error.to_string()),
            })?;
            if line == 1 {
                let format = read.get("cassette").and_then(Value::as_u64);
                let format = format.ok_or_else(|| malformed(1, "the first line has no `cassette`, its format"))?;
                // A later format may have no server.
                if format > FORMAT {
                    return Err(CassetteError::NewerFormat { path: path.to_owned(), format, known: FORMAT });
                }
                let server = read.get("server").and_then(Value::as_str);
                tape.server = Some(server.ok_or_else(|| malformed(1, "the first line has no `server`"))?.to_owned());
            } else if end.is_some() {
                return Err(malformed(line, "expected nothing after the line with `end`"));
            } else if let Some(count) = read.get("end") {
                end = Some(count.clone());
            } else {
                let exchange = Exchange::deserialize(read).ok().and_then(Exchange::reduced);
                tape.exchanges.push(exchange.ok_or_else(|| malformed(line, "expected a request with its response"))?);
            }
        }
        let count = tape.exchanges.len();
        if end.is_none_or(|end| end != count) {
            return Err(truncated(format!("it has {count} exchanges, and no end with this count")));
        }
        Ok(tape)
    }
}

impl Exchange {
    /// Keeps only the result of each response, or else its error: some servers send `"error": null` beside a result.
    /// Returns `None` if a response has neither, or the exchange has no response.
    fn reduced(mut self) -> Option<Self> {
        let answers = self.heard.iter_mut().filter_map(|heard| heard.answer.as_mut());
        for outcome in answers.chain([self.response.as_mut()?]) {
            let kept = if outcome.contains_key("result") { "result" } else { "error" };
            outcome.retain(|key, _| key == kept);
            if outcome.is_empty() {
                return None;
            }
        }
        Some(self)
    }
}

impl Call {
    pub(super) fn new(call: &MethodCall, redactor: &Redactor) -> Self {
        let mut request = Self { method: call.method.to_string(), params: Value::Null, answer: None };
        // The parameters of a handshake change with the version of this library.
        let mut params = if request.begins() { Map::new() } else { call.params.clone() };
        if let Some(Value::Object(meta)) = params.get_mut(META) {
            meta.retain(|key, _| key != PROGRESS_TOKEN && !key.starts_with(RESERVED));
            if meta.is_empty() {
                params.remove(META);
            }
        }
        if !params.is_empty() {
            request.params = params.into();
            redactor.value(&mut request.params);
        }
        request
    }

    /// Returns the tool, prompt, resource or task of the request.
    pub(super) fn subject(&self) -> Option<&str> {
        ["name", "uri", "taskId"].iter().find_map(|key| self.params.get(key)?.as_str())
    }

    pub(super) fn begins(&self) -> bool {
        matches!(&*self.method, "initialize" | "server/discover")
    }

    /// Returns its name in errors.
    pub(super) fn title(&self) -> String {
        match self.subject() {
            Some(subject) => format!("`{}` of `{}`", self.method, printable(subject)),
            None => format!("`{}`", self.method),
        }
    }
}

pub(super) fn outcome_of(answer: &Answer, redactor: &Redactor) -> Outcome {
    let (Ok(mut value) | Err(mut value)) = answer.clone().map_err(|error| json!(error));
    redactor.value(&mut value);
    Map::from_iter([(if answer.is_ok() { "result" } else { "error" }.to_owned(), value)])
}
