//! Printing a tool's answer on stdout.

use mcp_bindgen_runtime::{Content, ToolResult};
use serde_json::{Value, json};

use super::files::blob;
use crate::exit::Failure;
use crate::output::{Output, joined};

/// `is_written`: whether what is no text went to files.
pub(super) fn print(result: &ToolResult, is_written: bool, output: &mut Output) -> Result<(), Failure> {
    if output.json() {
        // The result as it came, with where it came from; `isError` is there whether the server said it or not.
        let of = json!({ "server": result.server, "tool": result.tool, "isError": result.is_error });
        return Ok(output.data_json(&joined(of, result.to_json()))?);
    }
    for content in &result.content {
        if !(is_written && blob(content).is_some()) {
            output.data(&described(content))?;
        }
    }
    // Servers repeat structured results as text; where one does not, this is the only place to see it.
    if result.content.is_empty()
        && let Some(structured) = &result.structured
    {
        output.data_json(structured)?;
    }
    Ok(())
}

pub(in crate::commands) fn described(content: &Content) -> String {
    if let Some(blob) = blob(content) {
        return blob.described();
    }
    match content {
        Content::Text { text, .. } => text.clone(),
        Content::Resource { resource, .. } => match resource.get("text").and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => format!("[resource {}]", resource.get("uri").and_then(Value::as_str).unwrap_or_default()),
        },
        Content::ResourceLink { uri, .. } => format!("[link {uri}]"),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}
