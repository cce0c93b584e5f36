//! Rules that allow a call or deny it.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use tower::ServiceExt;

use super::layer::{Around, Below};
use crate::call::Place;
use crate::{Annotations, CallError, ToolCall, ToolResult};

/// What a policy, or whoever approves calls, is told of one.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CallFacts<'c> {
    /// The server's name.
    pub server: &'c str,
    /// The tool's wire name.
    pub tool: &'c str,
    /// The arguments as they go on the wire.
    pub arguments: &'c Map<String, Value>,
    /// What the bindings know of the tool's behaviour: hints of a stranger, not promises. All unknown for calls without
    /// bindings.
    pub annotations: Annotations,
}

impl<'c> CallFacts<'c> {
    /// The facts of a call.
    #[must_use]
    pub fn of(call: &'c ToolCall) -> Self {
        Self {
            server: &call.server,
            tool: &call.tool,
            arguments: &call.arguments,
            annotations: call.spec.map(|spec| spec.annotations).unwrap_or_default(),
        }
    }
}

/// What a [`Policy`] says of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may be made.
    Allow,
    /// It may not, and why.
    Deny(String),
}

impl Verdict {
    /// [`Deny`](Self::Deny).
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny(reason.into())
    }
}

type Rule = dyn Fn(&CallFacts<'_>) -> Verdict + Send + Sync;

/// Allows calls or denies them.
pub struct Policy {
    rule: Box<Rule>,
}

impl Policy {
    /// A policy by a rule.
    pub fn new(rule: impl Fn(&CallFacts<'_>) -> Verdict + Send + Sync + 'static) -> Self {
        Self { rule: Box::new(rule) }
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Policy(..)")
    }
}

impl Around for Vec<Arc<Policy>> {
    const PLACE: Place = Place::Policy;

    async fn around<S: Below>(self: Arc<Self>, call: ToolCall, below: S) -> Result<ToolResult, CallError> {
        for policy in &*self {
            if let Verdict::Deny(reason) = (policy.rule)(&CallFacts::of(&call)) {
                return Err(CallError::denied(call.server, call.tool, reason));
            }
        }
        below.oneshot(call).await
    }
}
