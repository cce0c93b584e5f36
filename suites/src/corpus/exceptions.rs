//! The tools that are known not to be exact, each with its reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mcp_samples::Fallible;

/// List and tool, and the reason.
pub(crate) type Exceptions = BTreeMap<(String, String), String>;

/// Reads lines of `LIST | TOOL | REASON`; `#` begins a comment.
pub(crate) fn read(path: &Path) -> Fallible<Exceptions> {
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    lines
        .map(|(number, line)| {
            let mut parts = line.splitn(3, " | ").map(|part| part.trim().to_owned());
            let parts = (parts.next(), parts.next(), parts.next().filter(|reason| !reason.is_empty()));
            let (Some(list), Some(tool), Some(reason)) = parts else {
                return Err(format!("{}:{}: expected LIST | TOOL | REASON", path.display(), number + 1).into());
            };
            Ok(((list, tool), reason))
        })
        .collect()
}
