//! Approval of calls.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::CallFacts;
use super::layer::{Around, Called, Globs};
use crate::call::{ApprovalAnswer, ApprovalRequest, Approver};
use crate::ground::contained::contained;
use crate::ground::redact::debug_as;
use crate::{Annotations, CallError, ToolCall, ToolResult};

type Which = dyn Fn(&CallFacts<'_>) -> bool + Send + Sync;

/// Asks for approval of calls: once for each call, regardless of its attempts. If the answer is negative or too late,
/// or the handler panics, the call ends with [`CallError::Denied`]. Concurrent calls are asked about concurrently.
///
/// An approval also counts for `approve` of the server's configuration.
/// [`ClientOptions::on_approval`](crate::ClientOptions::on_approval) only handles calls that no layer approved.
///
/// ```
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_runtime::Client;
/// use mcp_bindgen_runtime::middleware::{Approval, ApprovalAnswer, Stack};
///
/// let client = Client::new(ServerConfig::stdio("files", "my-mcp-server"));
/// let stack = Stack::new(client).approval(Approval::of_destructive(async |request| {
///     match request.arguments.get("path").and_then(|path| path.as_str()) {
///         Some(path) if path.starts_with("/tmp/") => ApprovalAnswer::Approve,
///         _ => ApprovalAnswer::Decline("only below /tmp".to_owned()),
///     }
/// }));
/// # let _ = stack;
/// ```
#[derive(Clone)]
pub struct Approval {
    which: Arc<Which>,
    approver: Approver,
}

impl Approval {
    /// Creates an approval for calls of the tools that match the globs.
    pub fn of<F, A>(globs: impl IntoIterator<Item = impl Into<String>>, ask: F) -> Self
    where
        F: Fn(ApprovalRequest) -> A + Send + Sync + 'static,
        A: Future<Output = ApprovalAnswer> + Send + 'static,
    {
        let globs = Globs::new(globs);
        Self::of_those(move |call| globs.name(call.tool), ask)
    }

    /// Asks about tools that may destroy something: every tool that is not marked read-only, idempotent or additive
    /// (`destructiveHint: false`). By the protocol's defaults this includes tools without hints, and calls by name
    /// whose tool is unknown. The hints come from the server: for an untrusted server, approve by name.
    pub fn of_destructive<F, A>(ask: F) -> Self
    where
        F: Fn(ApprovalRequest) -> A + Send + Sync + 'static,
        A: Future<Output = ApprovalAnswer> + Send + 'static,
    {
        Self::of_those(|call| may_destroy(call.annotations), ask)
    }

    /// Asks about the calls for which the closure returns `true`, or panics.
    pub fn of_those<F, A>(which: impl Fn(&CallFacts<'_>) -> bool + Send + Sync + 'static, ask: F) -> Self
    where
        F: Fn(ApprovalRequest) -> A + Send + Sync + 'static,
        A: Future<Output = ApprovalAnswer> + Send + 'static,
    {
        Self { which: Arc::new(which), approver: Approver::new(ask) }
    }

    /// Sets the timeout of an answer; five minutes by default. It does not count against the call.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.approver.patience = patience;
        self
    }
}

fn may_destroy(hints: Annotations) -> bool {
    hints.read_only != Some(true) && hints.destructive != Some(false) && hints.idempotent != Some(true)
}

debug_as!(Approval, "Approval(..)");

impl Around for Approval {
    async fn around(self: Arc<Self>, mut call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        if contained(|| (self.which)(&CallFacts::of(&call))).unwrap_or(true) {
            self.approver.approve(&call, None).await?;
            let approved = call.canonical();
            call.passage.approve(approved);
        }
        below(call).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_without_hints_counts_as_destructive() {
        let hints = |read_only, destructive, idempotent| Annotations {
            read_only,
            destructive,
            idempotent,
            ..Annotations::default()
        };
        assert!(may_destroy(hints(None, None, None)));
        assert!(may_destroy(hints(Some(false), Some(true), Some(false))));
        assert!(may_destroy(hints(Some(false), None, None)));
        assert!(!may_destroy(hints(Some(true), None, None)));
        assert!(!may_destroy(hints(None, Some(false), None)));
        assert!(!may_destroy(hints(None, Some(true), Some(true))));
    }
}
