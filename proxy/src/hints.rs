//! The hints of a server about its tools, for the layers around its client.

use mcp_bindgen_runtime::{Annotations, ToolCall};
use serde_json::Value;

use super::attached::{Attached, Kind};

/// The call with what is listed of the tool.
pub(super) fn described(call: ToolCall, attached: &Attached) -> ToolCall {
    let listed = attached.known(Kind::Tools).unwrap_or_default();
    // Lists are in the order of names.
    let found = listed.binary_search_by(|tool| tool.get("name").and_then(Value::as_str).cmp(&Some(&*call.tool)));
    let hints = found.ok().and_then(|index| listed.get(index)?.get("annotations"));
    match hints {
        Some(hints) => call.described(Annotations::listed(hints)),
        None => call,
    }
}
