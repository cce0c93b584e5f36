//! Waiting before a call is made.

use std::future::Future;

use tokio::time::Instant;

use crate::session::deadline::Deadline;
use crate::session::request::cancelled;
use crate::{CallError, Dispatched, ToolCall};

/// Waits on the clock of somebody else, who is asked about the call: only what bounds all of it, and its cancellation, end
/// that.
pub(super) async fn aside<F: Future>(call: &ToolCall, future: F) -> Result<F::Output, CallError> {
    let limit = call.passage.limit();
    bounded(call, limit.end, future).await.and_then(|given| given.ok_or_else(|| late(call, limit.after)))
}

/// Waits on the clock of the call, which has so much less time afterwards.
pub(super) async fn within<F: Future>(call: &mut ToolCall, future: F) -> Result<F::Output, CallError> {
    let (start, given, limit) = (Instant::now(), call.options.given_total(), call.passage.limit());
    let own = given.map_or(Deadline::NEVER, |time| Deadline::since(start, time));
    let outcome = bounded(call, own.earlier(limit.end), future).await?;
    let Some(outcome) = outcome else {
        return Err(late(call, given.filter(|_| own.has_passed()).unwrap_or(limit.after)));
    };
    call.options.spend(start.elapsed());
    Ok(outcome)
}

async fn bounded<F: Future>(call: &ToolCall, end: Deadline, future: F) -> Result<Option<F::Output>, CallError> {
    tokio::select! {
        biased;
        () = cancelled(call.options.cancellation()) => {
            let (server, tool) = (call.server.to_string(), call.tool.to_string());
            Err(CallError::Cancelled { server, tool, dispatched: Dispatched::No })
        }
        given = end.bound(future) => Ok(given),
    }
}

fn late(call: &ToolCall, after: std::time::Duration) -> CallError {
    CallError::timeout(&*call.server, &*call.tool, after, Dispatched::No)
}
