//! Rules and people that allow a call or deny it.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::layer::{Around, Below, Globs};
use crate::call::{ApprovalAnswer, ApprovalRequest, Approver, Passage, wait};
use crate::ground::contained::{Panicked, contained};
use crate::ground::redact::debug_as;
use crate::ground::task::Boxed;
use crate::{Annotations, CallError, Caller, ToolCall, ToolResult};

const PATIENCE: Duration = Duration::from_secs(30);

/// The facts about a call, for policies and approvals.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CallFacts<'c> {
    /// The server's name.
    pub server: &'c str,
    /// The tool's wire name.
    pub tool: &'c str,
    /// The arguments as JSON.
    pub arguments: &'c Map<String, Value>,
    /// The hints about the tool's behaviour. They come from the server, and are not guaranteed. Taken from bindings,
    /// or from the server's list if a toolset, a template or a proxy makes the call; unknown for a call by name,
    /// unless [`ToolCall::described`] sets them.
    pub annotations: Annotations,
    /// The caller on whose behalf the call is made, if it is known.
    pub caller: Option<&'c Caller>,
    call: &'c ToolCall,
}

impl<'c> CallFacts<'c> {
    /// Creates the facts of a call.
    #[must_use]
    pub fn of(call: &'c ToolCall) -> Self {
        Self {
            server: &call.server,
            tool: &call.tool,
            arguments: &call.arguments,
            annotations: call.annotations(),
            caller: call.caller().map(|caller| &**caller),
            call,
        }
    }

    /// Returns the data that the program attached to the call, as [`ToolCall::extension`].
    #[must_use]
    pub fn extension<T: Any + Send + Sync>(&self) -> Option<&'c T> {
        self.call.extension()
    }
}

/// The verdict of a [`Policy`] on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may be made.
    Allow,
    /// It may not, and why.
    Deny(String),
}

impl Verdict {
    /// Creates a [`Deny`](Self::Deny).
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny(reason.into())
    }
}

#[derive(Clone)]
enum Rule {
    /// Allows the tools that the globs name and no others, or denies them.
    Names {
        globs: Globs,
        are_allowed: bool,
    },
    Sync(Arc<dyn Fn(&CallFacts<'_>) -> Verdict + Send + Sync>),
    Async(Arc<dyn Fn(ToolCall) -> Boxed<Verdict> + Send + Sync>),
}

/// Allows calls, or denies them with [`CallError::Denied`]. A policy that panics or exceeds its timeout denies the
/// call.
///
/// ```
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_runtime::Client;
/// use mcp_bindgen_runtime::middleware::{Policy, Stack, Verdict};
///
/// let client = Client::new(ServerConfig::stdio("files", "my-mcp-server"));
/// let stack = Stack::new(client).policy(Policy::deny(["delete_*"])).policy(Policy::new(|call| {
///     match call.arguments.get("path").and_then(|path| path.as_str()) {
///         Some(path) if path.starts_with("/etc") => Verdict::deny("nothing of the system"),
///         _ => Verdict::Allow,
///     }
/// }));
/// # let _ = stack;
/// ```
#[derive(Clone)]
#[must_use]
pub struct Policy {
    rule: Rule,
    patience: Duration,
}

impl Policy {
    /// Creates a policy from a rule. The rule runs on the task of the call, and must not block.
    pub fn new(rule: impl Fn(&CallFacts<'_>) -> Verdict + Send + Sync + 'static) -> Self {
        Self { rule: Rule::Sync(Arc::new(rule)), patience: PATIENCE }
    }

    /// Creates a policy from an asynchronous rule, which may take up to [`patience`](Self::patience). That time does
    /// not count against the call. The rule gets a copy of the call's arguments and extensions.
    ///
    /// ```
    /// use mcp_bindgen_runtime::middleware::{Policy, Verdict};
    ///
    /// async fn quota_left(_tool: &str) -> u32 { 1 }
    ///
    /// let policy = Policy::new_async(async |call| match quota_left(&call.tool).await {
    ///     0 => Verdict::deny("the quota is used up"),
    ///     _ => Verdict::Allow,
    /// });
    /// # let _ = policy;
    /// ```
    pub fn new_async<V>(rule: impl Fn(ToolCall) -> V + Send + Sync + 'static) -> Self
    where
        V: Future<Output = Verdict> + Send + 'static,
    {
        Self { rule: Rule::Async(Arc::new(move |call| Box::pin(rule(call)))), patience: PATIENCE }
    }

    /// Allows the tools that the globs name, and no others.
    pub fn allow(globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { rule: Rule::Names { globs: Globs::new(globs), are_allowed: true }, patience: PATIENCE }
    }

    /// Denies the tools that the globs name.
    pub fn deny(globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { rule: Rule::Names { globs: Globs::new(globs), are_allowed: false }, patience: PATIENCE }
    }

    /// Allows only tools that the bindings mark as read-only (`readOnlyHint`).
    pub fn read_only() -> Self {
        Self::new(|call| match call.annotations.read_only {
            Some(true) => Verdict::Allow,
            Some(false) | None => Verdict::deny("the policy only allows tools marked read-only"),
        })
    }

    /// Sets the timeout of an asynchronous rule; 30 seconds by default.
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Returns `true` if the policy may allow a call of this tool, judging by the name.
    pub(super) fn admits(&self, tool: &str) -> bool {
        match &self.rule {
            Rule::Names { globs, are_allowed } => globs.name(tool) == *are_allowed,
            Rule::Sync(_) | Rule::Async(_) => true,
        }
    }
}

debug_as!(Policy, "Policy(..)");

impl Around for Policy {
    async fn around(&self, call: ToolCall, below: Below<'_>) -> Result<ToolResult, CallError> {
        let verdict = match &self.rule {
            Rule::Names { .. } if self.admits(&call.tool) => Verdict::Allow,
            Rule::Names { globs, are_allowed } => {
                let verb = if *are_allowed { "only allows" } else { "denies" };
                Verdict::deny(format!("the policy {verb} {}", globs.listed()))
            }
            Rule::Sync(rule) => {
                contained(|| rule(&CallFacts::of(&call))).map_err(|Panicked| call.panicked("the policy"))?
            }
            Rule::Async(rule) => {
                let mut copy = call.clone();
                copy.passage = Passage::default();
                let verdict = wait::decision(&call, "the policy", self.patience, || rule(copy)).await?;
                let late = || Verdict::deny(format!("the policy did not decide within {:?}", self.patience));
                verdict.unwrap_or_else(late)
            }
        };
        match verdict {
            Verdict::Allow => below.call(call).await,
            Verdict::Deny(reason) => Err(call.denied(reason)),
        }
    }
}

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
    which: Arc<dyn Fn(&CallFacts<'_>) -> bool + Send + Sync>,
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
    pub fn of_destructive<A>(ask: impl Fn(ApprovalRequest) -> A + Send + Sync + 'static) -> Self
    where
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
    async fn around(&self, mut call: ToolCall, below: Below<'_>) -> Result<ToolResult, CallError> {
        if contained(|| (self.which)(&CallFacts::of(&call))).unwrap_or(true) {
            self.approver.approve(&call, None).await?;
            let approved = call.canonical();
            call.passage.approve(approved);
        }
        below.call(call).await
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
