//! Attempts of calls: how long they take, how many are made in a time, and whether another one follows.

use std::sync::Arc;
use std::time::Duration;

use mcp_bindgen_model::Rate;
use tokio::time::Instant;

use super::layer::{Around, Below, Globs};
use crate::call::{Limit, wait};
use crate::ground::backoff::{Backoff, with_jitter};
use crate::ground::limiter::Limiter;
use crate::rpc::transports::is_final;
use crate::{CallError, ConnectError, ConnectErrorKind, Dispatched, ToolCall, ToolResult};

const TRIES: usize = 3;
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);
/// The extra time for a call that ends at its limit by itself, to report what was sent.
const GRACE: Duration = Duration::from_millis(20);

/// A layer that bounds how long a call may take, or each attempt of it.
pub(super) struct Bounded(pub(super) Duration);

impl Around for Bounded {
    /// Runs a call within the time. Clients and layers of this crate end in time and know what was sent; for other
    /// services that is unknown.
    async fn around(&self, mut call: ToolCall, below: Below<'_>) -> Result<ToolResult, CallError> {
        let limit = Limit::after(self.0);
        call.passage.bound(limit);
        let (server, tool) = (call.server.clone(), call.tool.clone());
        let timeout = |dispatched| CallError::timeout(server, tool, limit.after, dispatched);
        match limit.end.later(GRACE).bound(below.call(call)).await {
            Some(Err(CallError::Timeout { dispatched, .. })) if limit.end.has_passed() => Err(timeout(dispatched)),
            Some(outcome) => outcome,
            None => Err(timeout(Dispatched::Unknown)),
        }
    }
}

/// Limits the attempts of calls in a time. Further ones wait for their turn, within the time of the call. Clones count
/// together. `limit` of a server's configuration separately limits the calls of its clients.
///
/// ```
/// use mcp_bindgen_model::{Rate, ServerConfig};
/// use mcp_bindgen_runtime::Client;
/// use mcp_bindgen_runtime::middleware::{RateLimit, Stack};
///
/// let limit = RateLimit::new(Rate::parse("10/s").expect("it is a rate"));
/// let stack = Stack::new(Client::new(ServerConfig::stdio("files", "my-mcp-server"))).rate_limit(limit);
/// # let _ = stack;
/// ```
#[derive(Clone, Debug)]
pub struct RateLimit(Arc<Limiter>);

impl RateLimit {
    /// Creates a separate limit.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self(Arc::new(Limiter::new(rate)))
    }
}

impl Around for RateLimit {
    async fn around(&self, mut call: ToolCall, below: Below<'_>) -> Result<ToolResult, CallError> {
        wait::within(&mut call, Limit::default(), self.0.turn()).await?;
        below.call(call).await
    }
}

/// Retries failed calls, with pauses that double: if nothing has reached the tool, or if that is unknown and the tool
/// is marked read-only or idempotent. Answers of the server are never retried, nor are failures that another attempt
/// cannot change: denied or cancelled calls, invalid arguments or configuration, HTTP 400, 401, 403, 405, 413, 415,
/// and redirects.
///
/// The timeout of a call limits all attempts together. The final error covers all attempts: if one of them may have
/// reached the tool, [`CallError::dispatched`] is not [`No`](Dispatched::No).
///
/// ```
/// use std::time::Duration;
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_runtime::Client;
/// use mcp_bindgen_runtime::middleware::{Retry, Stack};
///
/// let client = Client::new(ServerConfig::stdio("files", "my-mcp-server"));
/// let stack = Stack::new(client).retry(Retry::new().tries(5).pauses(Duration::from_millis(50), Duration::from_secs(2)));
/// # let _ = stack;
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Retry {
    tries: usize,
    shortest: Duration,
    longest: Duration,
    repeatable: Globs,
}

impl Retry {
    /// Creates a policy with three attempts, and pauses from 100 ms to 5 s.
    pub fn new() -> Self {
        Self { tries: TRIES, shortest: SHORTEST, longest: LONGEST, repeatable: Globs::default() }
    }

    /// Sets the maximum number of attempts, including the first; at least one.
    pub fn tries(self, tries: usize) -> Self {
        Self { tries, ..self }
    }

    /// Sets the first and the longest pause. `Retry-After` of the server is respected; if it exceeds the longest
    /// pause, there is no further attempt.
    pub fn pauses(self, shortest: Duration, longest: Duration) -> Self {
        Self { shortest: shortest.min(longest), longest, ..self }
    }

    /// Treats the tools that match these globs as idempotent, whatever their hints.
    pub fn repeatable(self, globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { repeatable: Globs::new(globs), ..self }
    }

    /// Returns `true` if another attempt is safe, and may end differently.
    fn may_repeat(&self, call: &ToolCall, error: &CallError) -> bool {
        let hints = call.annotations();
        let is_repeatable =
            hints.read_only == Some(true) || hints.idempotent == Some(true) || self.repeatable.name(&call.tool);
        let may_pass = match error {
            CallError::Transport { source, .. } | CallError::OutcomeUnknown { source, .. } => {
                !source.as_ref().is_some_and(is_final)
            }
            CallError::Timeout { .. } => true,
            CallError::NotConnected { source, .. } => {
                let error = source.as_ref().and_then(|source| source.downcast_ref::<ConnectError>());
                error.is_none_or(|error| matches!(error.kind, ConnectErrorKind::Transport | ConnectErrorKind::Timeout))
            }
            _ => false,
        };
        let is_safe = match error.dispatched() {
            Dispatched::No => true,
            Dispatched::Unknown => is_repeatable,
            Dispatched::Yes => false,
        };
        may_pass && is_safe
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self::new()
    }
}

impl Around for Retry {
    async fn around(&self, mut call: ToolCall, below: Below<'_>) -> Result<ToolResult, CallError> {
        let (start, given) = (Instant::now(), call.options.clone());
        let mut backoff = Backoff::new(self.shortest, self.longest);
        let mut may_have_run = false;
        let mut tries = 1;
        loop {
            let mut error = match below.call(call.clone()).await {
                Ok(result) => return Ok(result),
                Err(error) => error,
            };
            let wanted = error.retry_after().unwrap_or_default();
            let pause = with_jitter(backoff.pause()).max(wanted);
            let spent = start.elapsed().saturating_add(pause);
            call.options = given.clone();
            call.options.spend(spent);
            let is_in_time = wanted <= self.longest
                && given.given_total().is_none_or(|total| spent < total)
                && pause < call.passage.limit().end.left();
            if tries < self.tries && is_in_time && self.may_repeat(&call, &error) {
                may_have_run |= error.dispatched() == Dispatched::Unknown;
                if call.options.unless_cancelled(tokio::time::sleep(pause)).await.is_some() {
                    tries += 1;
                    continue;
                }
                error = CallError::cancelled(error.server(), error.tool(), Dispatched::No);
            }
            return Err(if may_have_run { error.after_dispatch() } else { error });
        }
    }
}
