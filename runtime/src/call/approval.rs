//! Whom calls are shown before they are made.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::wait;
use crate::ground::contained::{Panicked, contained_async};
use crate::ground::task::Boxed;
use crate::{Annotations, CallError, ToolCall};

const PATIENCE: Duration = Duration::from_secs(300);

/// A call that somebody is asked to approve.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The server's name.
    pub server: String,
    /// The tool's wire name.
    pub tool: String,
    /// The arguments as they go on the wire.
    pub arguments: Map<String, Value>,
    /// The tool's hints in the bindings: hints of a stranger, not promises.
    pub annotations: Annotations,
}

/// The answer to an [`ApprovalRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// Yes.
    Approve,
    /// No, and why.
    Decline(String),
}

/// Whom calls are shown before they are made. Only a yes is a yes: a panic, and no answer in time, are none.
#[derive(Clone)]
pub(crate) struct Approver {
    ask: Arc<dyn Fn(ApprovalRequest) -> Boxed<ApprovalAnswer> + Send + Sync>,
    pub(crate) patience: Duration,
}

impl Approver {
    pub(crate) fn new<F, A>(ask: F) -> Self
    where
        F: Fn(ApprovalRequest) -> A + Send + Sync + 'static,
        A: Future<Output = ApprovalAnswer> + Send + 'static,
    {
        Self { ask: Arc::new(move |request| Box::pin(ask(request))), patience: PATIENCE }
    }

    /// Asks, on a clock of its own: what a person takes does not count as the server's time.
    pub(crate) async fn approve(&self, call: &ToolCall) -> Result<(), CallError> {
        let request = ApprovalRequest {
            server: call.server.to_string(),
            tool: call.tool.to_string(),
            arguments: call.arguments.clone(),
            annotations: call.annotations(),
        };
        if let Some(observer) = call.passage.observer() {
            observer.approval_asked(call);
        }
        let answer = contained_async(|| (self.ask)(request));
        let reason = match wait::aside(call, self.patience, answer).await? {
            Some(Ok(ApprovalAnswer::Approve)) => return Ok(()),
            Some(Ok(ApprovalAnswer::Decline(reason))) => reason,
            Some(Err(Panicked)) => {
                let (server, tool) = (&*call.server, &*call.tool);
                tracing::error!(server, tool, "what asks for approvals panicked; the call is denied");
                "what asks for approvals panicked".to_owned()
            }
            None => format!("nobody answered within {:?}", self.patience),
        };
        Err(CallError::denied(&*call.server, &*call.tool, format!("not approved: {reason}")))
    }
}

impl fmt::Debug for Approver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Approver(..)")
    }
}
