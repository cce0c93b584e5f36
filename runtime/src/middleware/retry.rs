//! Calls that are tried again.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::layer::{Around, Called};
use super::tools::Globs;
use crate::call::LayerKind;
use crate::ground::backoff::{Backoff, with_jitter};
use crate::rpc::transports::is_final;
use crate::{CallError, CallOptions, ConnectError, ConnectErrorKind, Dispatched, ToolCall, ToolResult};

const TRIES: usize = 3;
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

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

    fn is_repeatable(&self, call: &ToolCall) -> bool {
        let hints = call.annotations();
        hints.read_only == Some(true) || hints.idempotent == Some(true) || self.repeatable.name(&call.tool)
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self::new()
    }
}

impl Around for Retry {
    const KIND: Option<LayerKind> = Some(LayerKind::Retry);

    async fn around(self: Arc<Self>, mut call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        let mut tries = Tries {
            left: self.tries.saturating_sub(1),
            given: call.options.clone(),
            start: Instant::now(),
            backoff: Backoff::new(self.shortest, self.longest),
            may_have_run: false,
            retry: self,
        };
        loop {
            let mut error = match below.call(call.clone()).await {
                Ok(result) => return Ok(result),
                Err(error) => error,
            };
            if let Some(pause) = tries.pause(&call, &error) {
                tries.may_have_run |= error.dispatched() == Dispatched::Unknown;
                call.options = tries.given.clone();
                call.options.spend(tries.start.elapsed().saturating_add(pause));
                if call.options.unless_cancelled(tokio::time::sleep(pause)).await.is_some() {
                    continue;
                }
                error = CallError::cancelled(error.server(), error.tool(), Dispatched::No);
            }
            return Err(if tries.may_have_run { error.after_dispatch() } else { error });
        }
    }
}

/// The tries of one call.
struct Tries {
    retry: Arc<Retry>,
    left: usize,
    given: CallOptions,
    start: Instant,
    backoff: Backoff,
    may_have_run: bool,
}

impl Tries {
    /// Returns the pause before another attempt, if there is one.
    fn pause(&mut self, call: &ToolCall, error: &CallError) -> Option<Duration> {
        let is_safe = match error.dispatched() {
            Dispatched::No => true,
            Dispatched::Unknown => self.retry.is_repeatable(call),
            Dispatched::Yes => false,
        };
        if self.left == 0 || !is_safe || !may_pass(error) {
            return None;
        }
        self.left -= 1;
        let wanted = error.retry_after().unwrap_or_default();
        let pause = with_jitter(self.backoff.pause()).max(wanted);
        let given = self.given.given_total().map_or(Duration::MAX, |time| time.saturating_sub(self.start.elapsed()));
        let time_left = given.min(call.passage.limit().end.left());
        (wanted <= self.retry.longest && pause < time_left).then_some(pause)
    }
}

/// Returns `true` if it may be different the next time.
fn may_pass(error: &CallError) -> bool {
    match error {
        CallError::Transport { source, .. } | CallError::OutcomeUnknown { source, .. } => {
            !source.as_ref().is_some_and(is_final)
        }
        CallError::Timeout { .. } => true,
        CallError::NotConnected { source, .. } => {
            let why = source.as_ref().and_then(|source| source.downcast_ref::<ConnectError>()).map(|error| error.kind);
            matches!(why, None | Some(ConnectErrorKind::Transport | ConnectErrorKind::Timeout))
        }
        _ => false,
    }
}
