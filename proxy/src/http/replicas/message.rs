//! The messages between instances.

use std::net::IpAddr;

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
    caller: ForwardedCaller,
}

#[derive(Debug, Serialize, Deserialize)]
struct ForwardedCaller {
    principal: Option<String>,
    groups: Vec<String>,
    scopes: Vec<String>,
    access: Vec<String>,
    session: Option<String>,
    address: Option<IpAddr>,
}

impl Forwarded {
    pub(in crate::http) fn new(method: &str, headers: &HeaderMap, body: String, caller: &Caller) -> Self {
        let Caller { principal, groups, scopes, access, session, address, .. } = caller.clone();
        let caller = ForwardedCaller { principal, groups, scopes, access, session, address };
        Self { method: method.to_owned(), headers: texts(headers), body, caller }
    }

    pub(in crate::http) fn caller(&self) -> Caller {
        let ForwardedCaller { principal, groups, scopes, access, session, address } = &self.caller;
        let mut caller = Caller::unknown();
        caller.principal.clone_from(principal);
        caller.groups.clone_from(groups);
        caller.scopes.clone_from(scopes);
        caller.access.clone_from(access);
        caller.session.clone_from(session);
        caller.address = *address;
        caller
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
