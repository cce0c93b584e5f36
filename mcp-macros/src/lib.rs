//! The macros of `mcp-bindgen`. Use them through that crate: the code is in `mcp-bindgen-codegen`, where it can be
//! tested.

use std::path::PathBuf;

use proc_macro::TokenStream;

/// Binds MCP servers: typed parameters, results and handlers for every tool, from snapshots kept in git.
///
/// ```text
/// mcp_tools!("github");                                   // everything that mcp.toml says
/// mcp_tools!("github", tools = ["create_issue", "list_*"]);
/// mcp_tools!("github", mod = gh, prefix = "gh");          // gh::GhCreateIssueParams
/// mcp_tools!("github", path = "schemas/github.json");     // a snapshot elsewhere
/// mcp_tools!("github", crate = my_crate::mcp_bindgen);    // the library under another path
/// mcp_tools!("github", exclude = ["delete_*"], unknown = "keep", derive = ["Ord"]);
/// mcp_tools!("github", rename = { create_issue = "open_issue", "create_issue/labels" = "tags" });
/// mcp_tools!("github", "git");                            // several servers
/// mcp_tools!();                                           // every server of mcp.toml
/// ```
///
/// It reads `mcp.toml` (or `.mcp.json`) beside `Cargo.toml` or at the workspace root, the snapshot that it names, and
/// the overrides beside that. It reads no other files. A change of one of these files rebuilds the crate; new overrides
/// take effect with the next such change.
///
/// With feature `live` and the variable `MCP_BINDGEN_LIVE` (`1`, or server names separated by commas) it connects to
/// the servers once per build, and warns of every difference from the snapshot. A server that is unreachable within its
/// `connect_timeout` keeps its snapshot. docs.rs, rust-analyzer, packages that cargo unpacked, and projects with `live
/// = "never"` under `[defaults]` never connect.
///
/// Problems in the configuration are warnings at the literal. `#[deny(warnings)]` does not make them errors;
/// `#[allow(deprecated)]` on a module around the macro silences it.
#[proc_macro]
pub fn mcp_tools(input: TokenStream) -> TokenStream {
    let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    mcp_bindgen_codegen::project::expand_macro(input.into(), manifest_dir).into()
}

/// Binds a template: its actions are checked against the snapshots of the servers, and it becomes a function.
///
/// ```text
/// mcp_template!("prompts/triage.md");                     // pub mod triage { .. }
/// mcp_template!("prompts/triage.md", mod = daily);
/// mcp_template!("prompts/triage.md", snapshots = { github = "schemas/github.json" });
/// mcp_template!("prompts/triage.md", crate = my_crate::mcp_bindgen);
/// ```
///
/// The path is relative to the folder of `Cargo.toml`. The template must match the tools that `tools` and `exclude` of
/// the configuration leave, under their names in bindings. It must also match their arguments: the names, the required
/// ones, and the types. Each fault is an error at the literal, with its position in the template. The module has
///
/// - `TEMPLATE`, the text,
/// - `Vars`, with a field for every variable that the template uses but does not set. Its type is that of the argument
///   to which the template passes the variable unchanged, or any JSON value,
/// - `Clients`, with a field for every server that is called: a client, layers around one, or a test double,
/// - `run(&clients, vars)`, which also takes a `Completer` if the template has completion slots.
///
/// It reads the files that `mcp_tools!` reads, and the template; changing one of them rebuilds the crate.
#[cfg(feature = "templates")]
#[proc_macro]
pub fn mcp_template(input: TokenStream) -> TokenStream {
    let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    mcp_bindgen_codegen::project::expand_template(input.into(), manifest_dir).into()
}
