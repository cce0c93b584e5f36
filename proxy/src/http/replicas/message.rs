//! The messages between instances.

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use mcp_bindgen_runtime::Caller;
use serde::{Deserialize, Serialize};

/// A message between instances. Numbers are those of the instance that forwards a request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(in crate::http) enum Message {
    /// A request of a session that the receiver holds.
    Request { from: String, number: u64, request: Box<Forwarded> },
    /// The client of a forwarded request is gone.
    Cancel { from: String, number: u64 },
    /// The beginning of an answer.
    Head { number: u64, status: u16, headers: Vec<(String, String)> },
    /// A part of its body.
    Part { number: u64, text: String },
    /// Its end.
    End { number: u64 },
}

/// A request as it came to another instance.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::http) struct Forwarded {
    pub(in crate::http) method: String,
    pub(in crate::http) headers: Vec<(String, String)>,
    pub(in crate::http) body: String,
    pub(in crate::http) caller: Caller,
}

impl Forwarded {
    pub(in crate::http) fn new(method: &str, headers: &HeaderMap, body: String, caller: &Caller) -> Self {
        Self { method: method.to_owned(), headers: texts(headers), body, caller: caller.clone() }
    }
}

pub(in crate::http) fn texts(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |(name, value): (&HeaderName, &HeaderValue)| Some((name.to_string(), value.to_str().ok()?.to_owned()));
    headers.iter().filter_map(text).collect()
}

pub(in crate::http) fn headers(texts: &[(String, String)]) -> HeaderMap {
    let header = |(name, value): &(String, String)| {
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(value).ok()?))
    };
    texts.iter().filter_map(header).collect()
}
