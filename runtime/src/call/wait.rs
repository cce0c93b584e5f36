//! Waiting before a call is made.

use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::ground::deadline::Deadline;
use crate::{CallError, Dispatched, ToolCall};

/// Waits on a separate clock, such as that of a person, for at most `patience`. Only the deadline of the call's passage
/// and its cancellation end the wait earlier; the time limits in its options do not. Returns `None` after `patience`.
pub(crate) async fn aside<F: Future>(
    call: &ToolCall,
    patience: Duration,
    future: F,
) -> Result<Option<F::Output>, CallError> {
    let mut future = pin!(future);
    if let Some(given) = at_once(call, future.as_mut())? {
        return Ok(Some(given));
    }
    // Boxed because it is rare: otherwise the futures of all calls would be several times as large.
    Box::pin(async {
        let limit = call.passage.limit();
        let patient = Deadline::after(patience).bound(future);
        bounded(call, limit.end, patient).await.and_then(|given| given.ok_or_else(|| late(call, limit.after)))
    })
    .await
}

/// Waits on the clock of the call, for at most `patience`, and subtracts the time from the call's limits. Returns
/// `None` after `patience`.
pub(crate) async fn within<F: Future>(
    call: &mut ToolCall,
    patience: Duration,
    future: F,
) -> Result<Option<F::Output>, CallError> {
    let mut future = pin!(future);
    if let Some(given) = at_once(call, future.as_mut())? {
        return Ok(Some(given));
    }
    Box::pin(async {
        let (start, given, limit) = (Instant::now(), call.options.given_total(), call.passage.limit());
        let own = given.map_or(Deadline::NEVER, |time| Deadline::since(start, time));
        let patient = Deadline::since(start, patience).bound(future);
        let outcome = bounded(call, own.earlier(limit.end), patient).await?;
        let Some(outcome) = outcome else {
            return Err(late(call, given.filter(|_| own.has_passed()).unwrap_or(limit.after)));
        };
        call.options.spend(start.elapsed());
        Ok(outcome)
    })
    .await
}

/// Polls once without a clock or a timer: most futures are ready at once.
fn at_once<F: Future>(call: &ToolCall, future: Pin<&mut F>) -> Result<Option<F::Output>, CallError> {
    if call.options.cancellation().is_some_and(CancellationToken::is_cancelled) {
        return Err(given_up(call));
    }
    Ok(future.now_or_never())
}

async fn bounded<F: Future>(call: &ToolCall, end: Deadline, future: F) -> Result<Option<F::Output>, CallError> {
    call.options.unless_cancelled(end.bound(future)).await.ok_or_else(|| given_up(call))
}

fn given_up(call: &ToolCall) -> CallError {
    CallError::cancelled(&*call.server, &*call.tool, Dispatched::No)
}

fn late(call: &ToolCall, after: Duration) -> CallError {
    CallError::timeout(&*call.server, &*call.tool, after, Dispatched::No)
}
