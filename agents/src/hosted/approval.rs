//! Approvals that a provider asks the program for.

use std::fmt;

use serde_json::{Value, json};

use crate::json::text;
use crate::provider::items;

/// A call that OpenAI's own MCP client makes only after approval: an `mcp_approval_request` item of a response.
/// `Debug` omits the arguments.
///
/// ```
/// use mcp_bindgen_agents::HostedApproval;
/// use serde_json::json;
///
/// let response = json!({ "id": "resp_1", "output": [{
///     "type": "mcp_approval_request", "id": "mcpr_1", "server_label": "tracker", "name": "merge", "arguments": "{\"number\":1}",
/// }] });
/// let mut input = Vec::new();
/// for asked in HostedApproval::asked(&response) {
///     input.push(match asked.tool.as_str() {
///         "merge" => asked.approve(),
///         other => asked.decline(&format!("{other} is nothing that a model does here")),
///     });
/// }
/// assert_eq!(input[0], json!({ "type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": true }));
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct HostedApproval {
    /// The server's configured name.
    pub server: String,
    /// The tool's name on the server.
    pub tool: String,
    /// The arguments of the call, or their text if it is not JSON.
    pub arguments: Value,
    id: String,
}

impl fmt::Debug for HostedApproval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("HostedApproval");
        shown.field("server", &self.server).field("tool", &self.tool).finish_non_exhaustive()
    }
}

impl HostedApproval {
    /// Reads the approval requests of an OpenAI Responses response, in order. Items without an id, a label or a name
    /// are skipped.
    #[must_use]
    pub fn asked(response: &Value) -> Vec<Self> {
        items(response, "output").iter().filter_map(read).collect()
    }

    /// Returns the item for the next request's `input` that approves the call.
    #[must_use]
    pub fn approve(&self) -> Value {
        json!({ "type": "mcp_approval_response", "approval_request_id": self.id, "approve": true })
    }

    /// Returns the item for the next request's `input` that denies the call; the model reads the reason.
    #[must_use]
    pub fn decline(&self, reason: &str) -> Value {
        json!({ "type": "mcp_approval_response", "approval_request_id": self.id, "approve": false, "reason": reason })
    }
}

fn read(item: &Value) -> Option<HostedApproval> {
    let text = |key| text(item, key).map(str::to_owned);
    text("type").filter(|kind| kind == "mcp_approval_request")?;
    let arguments = match item.get("arguments") {
        Some(Value::String(text)) if text.trim().is_empty() => json!({}),
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
        other => other.cloned().unwrap_or_else(|| json!({})),
    };
    Some(HostedApproval { server: text("server_label")?, tool: text("name")?, arguments, id: text("id")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_reply_requests_no_approval() {
        for cut in [
            json!(null),
            json!({}),
            json!({ "output": {} }),
            json!({ "output": [null, "x", { "type": "message" }, { "type": "mcp_approval_request", "id": "a" }] }),
            json!({ "output": [{ "type": "mcp_approval_request", "name": "n", "server_label": "l", "arguments": "{}" }] }),
        ] {
            assert_eq!(HostedApproval::asked(&cut), []);
        }
    }

    #[test]
    fn approval_arguments_are_a_value_or_the_original_text() {
        for (sent, read) in [
            (json!("{\"a\":1}"), json!({ "a": 1 })),
            (json!(""), json!({})),
            (json!("{\"a\":"), json!("{\"a\":")),
            (json!({ "a": 1 }), json!({ "a": 1 })),
        ] {
            let item = json!({ "type": "mcp_approval_request", "id": "i", "name": "n", "server_label": "l", "arguments": sent });
            let asked = HostedApproval::asked(&json!({ "output": [item] }));
            assert_eq!(asked[0].arguments, read);
            assert!(!format!("{asked:?}").contains('1'));
            assert_eq!(asked[0].decline("no")["reason"], "no");
        }
    }
}
