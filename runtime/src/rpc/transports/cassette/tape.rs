//! The file: a header, a line for each exchange in the order of the requests, and a last line.

use std::path::Path;

use mcp_bindgen_model::printable;
use rmcp::model::ErrorData;
use serde::{Deserialize, Serialize};
use serde_json::error::Category;
use serde_json::{Map, Value, json};

use super::CassetteError;
use crate::ground::redact::Redactor;
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
    pub(super) request: Request,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) heard: Vec<Heard>,
    /// `None` as long as a recorded request is pending.
    pub(super) response: Option<Outcome>,
    /// `true` once a request was answered with it.
    #[serde(skip)]
    pub(super) is_played: bool,
}

/// A request without secrets and the parts that differ each time.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) method: String,
    /// The parameters; `null` if there are none.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) params: Value,
}

/// A message that the server sent on its own.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Heard {
    pub(super) method: String,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) params: Value,
    /// The answer to a request of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<Outcome>,
}

/// The outcome of a request, without secrets.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", try_from = "Map<String, Value>")]
pub(super) enum Outcome {
    Result(Value),
    Error(Value),
}

impl TryFrom<Map<String, Value>> for Outcome {
    type Error = &'static str;

    /// Takes the result if there is an error beside it, as from servers that send `"error": null`.
    fn try_from(mut fields: Map<String, Value>) -> Result<Self, &'static str> {
        let result = fields.remove("result").map(Self::Result);
        result.or_else(|| fields.remove("error").map(Self::Error)).ok_or("it has neither `result` nor `error`")
    }
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "it is not a request with its response")]
enum Line {
    Head {
        cassette: u64,
        /// The name of the server. A later format may have none.
        #[serde(default)]
        server: Value,
    },
    Exchange(Exchange),
    End {
        end: usize,
    },
}

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
        let malformed = |line, message: String| CassetteError::Malformed { path: path.to_owned(), line, message };
        let truncated = |message| CassetteError::Truncated { path: path.to_owned(), message };
        let mut tape = Self { is_saved: true, ..Self::default() };
        let last = text.lines().count();
        let mut end = None;
        for (line, text) in (1..).zip(text.lines()) {
            let read = serde_json::from_str(text).map_err(|error| match error.classify() {
                Category::Eof if line == last && end.is_none() => truncated(format!("line {line} is incomplete")),
                Category::Data if line == 1 => malformed(1, "the first line has no `cassette`, its format".to_owned()),
                _ => malformed(line, error.to_string()),
            })?;
            match (read, tape.server.is_some(), end) {
                (Line::Head { cassette: format, .. }, ..) if format > FORMAT => {
                    return Err(CassetteError::NewerFormat { path: path.to_owned(), format, known: FORMAT });
                }
                (Line::Head { server: Value::String(server), .. }, false, None) => tape.server = Some(server),
                (Line::Head { .. }, false, None) => {
                    return Err(malformed(line, "the first line has no `server`".to_owned()));
                }
                (Line::Exchange(exchange), true, None) if exchange.response.is_some() => tape.exchanges.push(exchange),
                (Line::End { end: count }, true, None) => end = Some(count),
                _ => {
                    return Err(malformed(line, "expected a header, exchanges, and the end, in this order".to_owned()));
                }
            }
        }
        let count = tape.exchanges.len();
        if end != Some(count) {
            return Err(truncated(format!("it has {count} exchanges, and no end with this count")));
        }
        Ok(tape)
    }
}

impl Request {
    pub(super) fn new(call: &MethodCall, redactor: &Redactor) -> Self {
        let mut request = Self { method: call.method.to_string(), params: Value::Null };
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

impl Outcome {
    pub(super) fn new(answer: &Result<Value, ErrorData>, redactor: &Redactor) -> Self {
        let (Ok(mut value) | Err(mut value)) = answer.clone().map_err(|error| json!(error));
        redactor.value(&mut value);
        if answer.is_ok() { Self::Result(value) } else { Self::Error(value) }
    }
}
