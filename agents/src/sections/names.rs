//! Reserved and invalid names.

use mcp_bindgen_model::{is_server_name, matches_glob, printable};
use mcp_bindgen_schema::names::{PROGRAM, SECTIONS, SET_CALLS, is_accepted};

pub(super) const OPEN_SECTIONS: &str = "open_sections";
pub(super) const READ_SECTION: &str = "read_section";

/// Names that servers and tools of sections may not have, unless
/// [`PromptBuilder::reserved`](super::PromptBuilder::reserved) replaces the list: `wink`, which other toolkits for
/// prompts use for a program's own tools, and `sections`, the namespace of the tools that open sections. Servers can
/// never be named `sections` or `program`: these group tools that belong to no server.
pub const RESERVED_NAMES: [&str; 2] = ["wink", "sections"];

/// Returns the reason why a server must not have a name, if any.
pub(super) fn server_name_problem(name: &str, reserved: &[String]) -> Option<String> {
    let shown = printable(name);
    if !is_server_name(name) {
        return Some(format!("invalid server name `{shown}`: expected `^[a-z0-9][a-z0-9_-]{{0,63}}$`"));
    }
    (is_reserved(name, reserved) || [PROGRAM, SECTIONS].contains(&name))
        .then(|| format!("the name `{shown}` is reserved; rename the server"))
}

/// Returns the reason why a tool must not have a name, if any.
pub(super) fn tool_name_problem(name: &str, reserved: &[String]) -> Option<&'static str> {
    if !is_accepted(name) {
        return Some("a name that some providers refuse: expected `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`");
    }
    (is_reserved(name, reserved) || SET_CALLS.contains(&name)).then_some("a reserved name; rename it")
}

fn is_reserved(name: &str, reserved: &[String]) -> bool {
    reserved.iter().any(|glob| matches_glob(glob, name))
}
