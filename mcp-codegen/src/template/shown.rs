//! Faults of a template, in the form that errors of the macros have.

use std::path::Path;

use mcp_bindgen_template::Fault;

/// A fault with its place in the file, and the line that it is about.
///
/// ```
/// # use std::path::Path;
/// let text = "Open issues:\n[[@github_list_issues|state=\"open\"]\n";
/// let faults = mcp_bindgen_codegen::template::Script::parse(text).unwrap_err();
/// assert_eq!(mcp_bindgen_codegen::template::located(&faults[0], Path::new("prompts/triage.md"), text), "\
/// `]]` or `,` and the next argument is expected here, not `]`
///  --> prompts/triage.md:2:35
///   |
/// 2 | [[@github_list_issues|state=\"open\"]
///   |                                   ^");
/// ```
#[must_use]
pub fn located(fault: &Fault, path: &Path, text: &str) -> String {
    let path = path.display().to_string();
    let rendered = fault.rendered(&path, text);
    // Its first line has the place and the message.
    let excerpt = rendered.find('\n').and_then(|end| rendered.get(end..)).unwrap_or_default();
    let (line, column) = (fault.place.line, fault.place.column);
    format!("{}\n --> {path}:{line}:{column}{excerpt}", mcp_bindgen_model::printable(&fault.message))
}
