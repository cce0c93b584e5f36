//! A request and its response, without the parts that differ each time.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ground::redact::Redactor;
use crate::rpc::sent::{PROGRESS_TOKEN, RESERVED};

/// A request in the form in which it is recorded and compared.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub(super) struct Request {
    pub(super) method: String,
    /// The parameters; `null` if there are none.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) params: Value,
}

impl Request {
    /// Creates a request that is about to be sent, without secrets. Returns it with its progress token.
    pub(super) fn of(method: &str, params: Option<&Value>, redactor: &Redactor) -> (Self, Option<Value>) {
        let progress_token = params.and_then(|params| params.pointer("/_meta/progressToken").cloned());
        // How a conversation begins changes with the version of this library.
        let params = if begins(method) { None } else { params.cloned() };
        let mut params = params.unwrap_or_default();
        if let Value::Object(fields) = &mut params {
            if let Some(Value::Object(meta)) = fields.get_mut("_meta") {
                meta.retain(|key, _| key != PROGRESS_TOKEN && !key.starts_with(RESERVED));
                if meta.is_empty() {
                    fields.remove("_meta");
                }
            }
            if fields.is_empty() {
                params = Value::Null;
            }
        }
        redactor.value(&mut params);
        (Self { method: method.to_owned(), params }, progress_token)
    }

    /// Returns the tool, prompt, resource or task of the request.
    pub(super) fn subject(&self) -> Option<&str> {
        ["name", "uri", "taskId"].iter().find_map(|key| self.params.get(key)?.as_str())
    }

    pub(super) fn begins(&self) -> bool {
        begins(&self.method)
    }

    /// Returns its name in errors.
    pub(super) fn title(&self) -> String {
        match self.subject() {
            Some(subject) => format!("`{}` of `{}`", self.method, mcp_bindgen_model::printable(subject)),
            None => format!("`{}`", self.method),
        }
    }
}

fn begins(method: &str) -> bool {
    matches!(method, "initialize" | "server/discover")
}

/// A request, the server's messages before its response, and the response: `result` or `error`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub(super) struct Exchange {
    pub(super) request: Request,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) heard: Vec<Heard>,
    pub(super) response: Map<String, Value>,
}

/// A message that the server sent on its own.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub(super) struct Heard {
    pub(super) method: String,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) params: Value,
    /// The answer to a question: `result` or `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<Map<String, Value>>,
}
