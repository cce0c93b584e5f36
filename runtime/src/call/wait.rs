//! Waiting before a call is made.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::Instant;

use super::passage::Limit;
use crate::ground::contained::{Panicked, contained_async};
use crate::ground::deadline::Deadline;
use crate::{CallError, Dispatched, ToolCall};

/// Waits on the clock of the call, within a `limit`, and subtracts the time from the call's limits.
pub(crate) async fn within<F: Future>(call: &mut ToolCall, limit: Limit, future: F) -> Result<F::Output, CallError> {
    let (start, given) = (Instant::now(), call.options.given_total().map(Limit::after).unwrap_or_default());
    let limit = given.earlier(call.passage.limit()).earlier(limit);
    let output = until(call, || limit.end, future).await?;
    call.options.spend(start.elapsed());
    output.ok_or_else(|| call.late(limit))
}

/// Waits for a closure of the program to decide about the call, for at most `patience`. This is the time of a person:
/// only the deadline of the call's passage and its cancellation end it earlier; the time limits in its options do not.
/// Returns `None` after `patience`.
///
/// # Errors
/// Fails if the call is denied because the closure, which `who` names, panics.
pub(crate) async fn decision<F: Future>(
    call: &ToolCall,
    who: &str,
    patience: Duration,
    ask: impl FnOnce() -> F,
) -> Result<Option<F::Output>, CallError> {
    let limit = call.passage.limit();
    let end = || Deadline::after(patience).earlier(limit.end);
    match until(call, end, contained_async(ask)).await? {
        Some(decision) => decision.map(Some).map_err(|Panicked| call.panicked(who)),
        None if limit.end.has_passed() => Err(call.late(limit)),
        None => Ok(None),
    }
}

/// Returns the output of a future, unless the deadline passes or the call is cancelled before.
async fn until<F: Future>(
    call: &ToolCall,
    end: impl FnOnce() -> Deadline,
    future: F,
) -> Result<Option<F::Output>, CallError> {
    let mut future = pin!(call.options.unless_cancelled(future));
    let cancelled = || CallError::cancelled(&*call.server, &*call.tool, Dispatched::No);
    // Most futures are ready at once, and need no timer.
    if let Some(output) = future.as_mut().now_or_never() {
        return output.ok_or_else(cancelled).map(Some);
    }
    // Boxed because it is rare: otherwise the futures of all calls would be several times as large.
    let output = Box::pin(end().bound(future)).await;
    output.map(|output| output.ok_or_else(cancelled)).transpose()
}
