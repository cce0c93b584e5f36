//! Sessions of clients over several instances. One instance holds a session, and others forward its requests there
//! through the shared state. Thus responses, cancellations, progress and streams are all on the instance of their call.
//! If an instance dies, another one continues its session if no server keeps state for it; otherwise the session ends.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use mcp_bindgen_runtime::Caller;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::redis::RedisState;

/// A message between instances. Numbers are those of the instance that forwards a request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Message {
    /// A request of a session that the receiver holds.
    Request(Box<Forwarded>),
    /// The client of a forwarded request is gone.
    Cancel { from: String, number: u64 },
    /// A part of an answer; `None` ends it.
    Answer { number: u64, frame: Option<Frame> },
}

/// A part of an answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Frame {
    /// The status and the headers.
    Head(u16, Headers),
    /// A part of the body.
    Part(String),
}

/// A request as it came to another instance.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Forwarded {
    pub(super) from: String,
    pub(super) number: u64,
    pub(super) method: String,
    pub(super) headers: Headers,
    pub(super) body: String,
    pub(super) caller: Caller,
}

/// Headers as text.
pub(super) type Headers = Vec<(String, String)>;

pub(super) fn texts(headers: &HeaderMap) -> Headers {
    let text = |(name, value): (&HeaderName, &HeaderValue)| Some((name.to_string(), value.to_str().ok()?.to_owned()));
    headers.iter().filter_map(text).collect()
}

pub(super) fn header_map(headers: &Headers) -> HeaderMap {
    let header = |(name, value): &(String, String)| Some((name.parse().ok()?, value.parse().ok()?));
    headers.iter().filter_map(header).collect()
}

/// This instance among others.
pub(super) struct Replicas {
    pub(super) state: RedisState,
    /// The number of the next request that is forwarded.
    pub(super) next: AtomicU64,
    /// The answers that are awaited from other instances.
    pub(super) awaited: Mutex<HashMap<u64, mpsc::Sender<Frame>>>,
}

impl Replicas {
    pub(super) fn new(state: RedisState) -> Self {
        let (next, awaited) = Default::default();
        Self { state, next, awaited }
    }
}
