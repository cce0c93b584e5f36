//! Replaces metrics if feature `metrics` is off.

use std::time::Duration;

use super::endpoint::Endpoint;
use super::event::CallOutcome;
use crate::{CallError, ConnectionState, ToolResult};

pub(super) const ARE_KEPT: bool = false;

pub(super) fn state_changed(_: &str, _: ConnectionState) {}

pub(super) fn session_ended(_: &str, _: &Endpoint, _: Duration, _: bool) {}

pub(super) fn call_ended(_: &str, _: &str, _: bool, _: CallOutcome) {}

pub(super) fn request_ended(
    _: (&str, &Endpoint),
    _: (&str, bool),
    _: (Duration, String),
    _: &Result<ToolResult, CallError>,
) {
}
