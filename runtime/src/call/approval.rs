//! Requests for a person's approval of a call.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::wait;
use crate::ground::redact::debug_as;
use crate::ground::task::Boxed;
use crate::{Annotations, CallError, Caller, ToolCall};

const PATIENCE: Duration = Duration::from_secs(300);

/// A call that needs a person's approval.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The server's name.
    pub server: String,
    /// The tool's wire name.
    pub tool: String,
    /// The arguments as JSON.
    pub arguments: Map<String, Value>,
    /// The tool's hints, by its bindings or the server's list: untrusted hints, not promises.
    pub annotations: Annotations,
    /// The reason of the rule that demands the approval, if it has one.
    pub reason: Option<String>,
    /// The caller on whose behalf the call is made, if it is known.
    pub caller: Option<Arc<Caller>>,
}

/// The minimum length of a shortened text, in characters.
const SHORTEST_CUT: usize = 32;

impl ApprovalRequest {
    /// Returns the arguments to show to a person, shortened to about `longest` characters of text. All keys and items
    /// are kept: the longest texts are cut first, each with a note of its length.
    ///
    /// ```
    /// # use mcp_bindgen_runtime::{CallOptions, ToolCall, middleware::{Approval, ApprovalAnswer, ApprovalRequest}};
    /// async fn ask(request: ApprovalRequest) -> ApprovalAnswer {
    ///     println!("{} with {:#}?", request.tool, request.shown_arguments(2000));
    ///     ApprovalAnswer::Decline("nobody is here".to_owned())
    /// }
    /// # let approval = Approval::of(["write_*"], ask);
    /// ```
    #[must_use]
    #[inline]
    pub fn shown_arguments(&self, longest: usize) -> Value {
        let mut arguments = Value::Object(self.arguments.clone());
        let mut lengths = Vec::new();
        each_text(&mut arguments, &mut |text| lengths.push(text.chars().count()));
        let fits = |limit: usize| lengths.iter().map(|length| limit.min(*length)).sum::<usize>() <= longest;
        let mut limit = longest;
        while limit > SHORTEST_CUT && !fits(limit) {
            limit -= limit / 8 + 1;
        }
        each_text(&mut arguments, &mut |text| cut(text, limit.max(SHORTEST_CUT)));
        arguments
    }
}

fn each_text(value: &mut Value, act: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => act(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, act)),
        Value::Object(map) => map.values_mut().for_each(|value| each_text(value, act)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn cut(text: &mut String, limit: usize) {
    if let Some((end, _)) = text.char_indices().nth(limit) {
        let length = text.chars().count();
        text.truncate(end);
        text.push_str(&format!("… ({length} characters)"));
    }
}

/// The answer to an [`ApprovalRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// Yes.
    Approve,
    /// No, and why.
    Decline(String),
}

/// The approval handler. A panic or a missed deadline counts as a denial.
#[derive(Clone)]
pub(crate) struct Approver {
    ask: Arc<dyn Fn(ApprovalRequest) -> Boxed<ApprovalAnswer> + Send + Sync>,
    pub(crate) patience: Duration,
}

impl Approver {
    pub(crate) fn new<A: Future<Output = ApprovalAnswer> + Send + 'static>(
        ask: impl Fn(ApprovalRequest) -> A + Send + Sync + 'static,
    ) -> Self {
        Self { ask: Arc::new(move |request| Box::pin(ask(request))), patience: PATIENCE }
    }

    /// Asks for approval on a separate clock: the time that a person takes does not count as the server's time.
    pub(crate) async fn approve(&self, call: &ToolCall, reason: Option<&str>) -> Result<(), CallError> {
        let request = ApprovalRequest {
            server: call.server.to_string(),
            tool: call.tool.to_string(),
            arguments: call.arguments.clone(),
            annotations: call.annotations(),
            reason: reason.map(str::to_owned),
            caller: call.caller().cloned(),
        };
        if let Some(observer) = call.passage.observer() {
            observer.approval_asked(call);
        }
        let answer = wait::decision(call, "the approval handler", self.patience, || (self.ask)(request)).await;
        let reason = match answer {
            Ok(Some(ApprovalAnswer::Approve)) => return Ok(()),
            Ok(Some(ApprovalAnswer::Decline(reason))) | Err(CallError::Denied { reason, .. }) => reason,
            Ok(None) => format!("no answer within {:?}", self.patience),
            Err(error) => return Err(error),
        };
        Err(call.denied(format!("not approved: {reason}")))
    }
}

debug_as!(Approver, "Approver(..)");

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(arguments: Value, longest: usize) -> Value {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let (server, tool) = ("files".to_owned(), "write".to_owned());
        let (annotations, reason, caller) = (Annotations::default(), None, None);
        ApprovalRequest { server, tool, arguments, annotations, reason, caller }.shown_arguments(longest)
    }

    #[test]
    fn long_text_does_not_hide_other_arguments() {
        let long = "x".repeat(10_000);
        let found =
            shown(json!({ "content": long, "path": "/etc/passwd", "edits": [{ "old": long, "at": "/x" }] }), 200);
        let text = found["content"].as_str().unwrap_or_default();
        assert!(text.starts_with("xxx") && text.ends_with("… (10000 characters)"), "{text}");
        assert_eq!(found["path"], "/etc/passwd");
        assert_eq!(found["edits"][0]["at"], "/x");
        let printed = found.to_string();
        assert!(printed.chars().count() < 400, "{printed}");
        let many: Map<String, Value> = (0..10).map(|n| (format!("k{n}"), "y".repeat(1000).into())).collect();
        let shown = shown(Value::Object(many), 9000).to_string().matches('y').count();
        assert!((7500..=9000).contains(&shown), "{shown}");
    }

    #[test]
    fn short_arguments_are_shown_in_full() {
        for arguments in [json!({}), json!({ "a": "b", "n": 1, "deep": { "list": ["c", null] } })] {
            assert_eq!(shown(arguments.clone(), 3), arguments);
            assert_eq!(shown(arguments.clone(), 0), arguments);
        }
        let many: Map<String, Value> = (0..500).map(|n| (format!("k{n}"), "y".repeat(100).into())).collect();
        let found = shown(Value::Object(many), 100);
        assert_eq!(found.as_object().map(Map::len), Some(500));
    }
}
