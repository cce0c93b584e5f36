//! Pages for operators of the proxy: `/healthz`, `/readyz` and `/metrics`.

use hyper::StatusCode;
use hyper::header::{self, HeaderValue};
use serde_json::{Map, json};

use super::body::{Answer, json as json_answer, text, with_header};
use crate::shared::Shared;

/// The process works.
pub(super) const HEALTH: &str = "/healthz";
/// It takes requests, and which servers are connected.
pub(super) const READINESS: &str = "/readyz";
/// Metrics as Prometheus reads them.
pub(super) const METRICS: &str = "/metrics";

/// Status 503 while the proxy closes, and if no server can be reached. Names of servers are for callers who are let in.
pub(super) fn readiness(proxy: &Shared, is_closing: bool, is_let_in: bool) -> Answer {
    let servers = proxy.servers();
    let has_any = servers.iter().any(|(_, state)| *state != "failed");
    let is_ready = !is_closing && has_any;
    let servers: Map<_, _> = servers.iter().map(|(name, state)| (name.to_string(), json!(state))).collect();
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let page = if is_let_in { json!({ "ready": is_ready, "servers": servers }) } else { json!({ "ready": is_ready }) };
    json_answer(status, &page)
}

pub(super) fn metrics(metrics: String) -> Answer {
    let format = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    with_header(text(StatusCode::OK, metrics), header::CONTENT_TYPE, format)
}
