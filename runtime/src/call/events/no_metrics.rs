//! Replaces metrics if feature `metrics` is off.

use std::time::Duration;

use super::event::CallOutcome;
use super::observer::Observer;
use crate::{CallError, ConnectionState, ToolResult};

pub(super) const ARE_KEPT: bool = false;

pub(super) fn state_changed(_: &str, _: ConnectionState) {}

pub(super) fn session_ended(_: &Observer, _: Duration, _: bool) {}

pub(super) fn call_ended(_: &str, _: &str, _: bool, _: CallOutcome) {}

pub(super) fn request_ended(_: &Observer, _: bool, _: Duration, _: String, _: &Result<ToolResult, CallError>) {}
