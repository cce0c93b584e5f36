//! Names: which are taken, which are none, and what models call a server's tool.

use std::collections::BTreeSet;

use mcp_model::{is_server_name, matches_glob, printable};
use mcp_runtime::Client;

use crate::toolset::names::{Wanted, prefix, public_names};
use crate::toolset::{PROGRAM, SECTIONS};

pub(super) const OPEN_SECTIONS: &str = "open_sections";
pub(super) const READ_SECTION: &str = "read_section";
/// What tools for long lists of tools are called besides; a section's tool of such a name would take their place.
const META_TOOLS: [&str; 4] = [OPEN_SECTIONS, READ_SECTION, "find_tools", "call_tool"];

/// Names that servers and tools of sections may not have unless a prompt says otherwise: `wink`, under which the toolkit
/// that this way of writing prompts comes from keeps a program's own tools, and `sections`, under which ours are that open
/// sections. Servers are never called `sections` or `program`, whatever a prompt says: sets of tools keep under those what is
/// no server's.
pub const RESERVED_NAMES: [&str; 2] = ["wink", "sections"];

/// Why a server may not have a name.
pub(super) fn server_name_problem(name: &str, reserved: &[String]) -> Option<String> {
    let shown = printable(name);
    if !is_server_name(name) {
        return Some(format!("`{shown}` is no name of a server: that is `^[a-z0-9][a-z0-9_-]{{0,63}}$`"));
    }
    (is_reserved(name, reserved) || [PROGRAM, SECTIONS].contains(&name))
        .then(|| format!("the name `{shown}` is reserved; give the server another one"))
}

/// Why a tool may not have a name.
pub(super) fn tool_name_problem(name: &str, reserved: &[String]) -> Option<&'static str> {
    if !is_tool_name(name) {
        return Some("no name that every provider takes: `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`");
    }
    (is_reserved(name, reserved) || META_TOOLS.contains(&name))
        .then_some("a name that is reserved; give it another one")
}

fn is_reserved(name: &str, reserved: &[String]) -> bool {
    reserved.iter().any(|glob| matches_glob(glob, name))
}

fn is_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// The name by which models call a tool of a server in a set where no other wants it.
pub(super) fn public_name(server: &str, client: Option<&Client>, tool: &str) -> String {
    let wanted = Wanted { identity: (server, tool), prefix: prefix(server, client), name: tool };
    public_names(&[wanted], &BTreeSet::new()).pop().unwrap_or_default()
}
