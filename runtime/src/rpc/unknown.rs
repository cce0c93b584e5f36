//! Recognizes errors about unknown tools, prompts and resources.

/// Returns `true` if a message is exactly an SDK's text for an unknown `tool`, `prompt` or `resource`.
pub(crate) fn names_unknown(kind: &str, name: &str, message: &str) -> bool {
    let text = message.trim().trim_start_matches("MCP error -32602: ").trim_end_matches('.');
    let text = text.replace(['`', '\'', '"', ':'], "");
    let name = name.replace(['`', '\'', '"', ':'], "");
    [format!("Unknown {kind} {name}"), format!("{kind} {name} not found"), format!("{kind} not found {name}")]
        .iter()
        .any(|words| words.eq_ignore_ascii_case(&text))
}

#[cfg(test)]
mod tests {
    use super::names_unknown;

    #[test]
    fn unknown_tool_error_is_recognized_for_every_sdk() {
        for message in [
            "MCP error -32602: Tool find not found",
            "Unknown tool: find",
            "Unknown tool: 'find'",
            "tool not found: find",
            "tool `find` not found.",
        ] {
            assert!(names_unknown("tool", "find", message), "{message}");
        }
        for message in ["Tool hammer not found in the shed", "find: tool not found", "not found", "Unknown tool: other"]
        {
            assert!(!names_unknown("tool", "find", message), "{message}");
        }
        assert!(names_unknown("resource", "note:///x", "Unknown resource: note:///x"));
        assert!(!names_unknown("prompt", "find", "Unknown tool: find"));
    }
}
