use mcp_bindgen_model::Snapshot;
use mcp_bindgen_schema::names::PrefixedNames;

use crate::names::{Style, ToolNames, tools as names_of_tools};
use crate::options::Options;
use crate::patterns::tool_names;

/// The names of a tool in Rust.
#[derive(Clone, Debug)]
pub(crate) struct ToolIdents {
    /// `create_issue`
    pub(crate) method: String,
    /// `CreateIssue`
    pub(crate) variant: String,
    /// `github_create_issue`
    pub(crate) handler: String,
    /// `github_create_issue` as models know the tool; see [`mcp_bindgen_schema::names::PrefixedNames`].
    pub(crate) prefixed: String,
    /// `GithubCreateIssueParams`
    pub(crate) params: String,
    /// `GithubCreateIssueOutput`
    pub(crate) output: String,
    /// The name has a suffix, because another tool's reads the same.
    pub(crate) renamed: bool,
}

impl ToolIdents {
    /// Creates the names of all tools; `given` has those that the user chose.
    pub(crate) fn all(
        tools: &[&str],
        given: &[Option<String>],
        prefix: Option<&str>,
        prefixed: Vec<String>,
    ) -> Vec<Self> {
        let names = names_of_tools(tools, given);
        let lead = prefix.map(|prefix| format!("{prefix}_")).unwrap_or_default();
        let type_lead = prefix.map(|prefix| Style::Pascal.apply(prefix)).unwrap_or_default();
        tools
            .iter()
            .zip(given)
            .zip(names)
            .zip(prefixed)
            .map(|(((tool, given), ToolNames { method, variant }), prefixed)| {
                let base = format!("{type_lead}{variant}");
                let base =
                    if base.starts_with(|first: char| first.is_ascii_digit()) { format!("N{base}") } else { base };
                Self {
                    handler: format!("{lead}{method}"),
                    prefixed,
                    params: format!("{base}Params"),
                    output: format!("{base}Output"),
                    renamed: given.is_none() && method != Style::Snake.apply(tool),
                    method,
                    variant,
                }
            })
            .collect()
    }
}

/// Returns the prefixed name of each tool, by key. Tools that only the macro or build script excludes count.
pub(super) fn prefixed(snapshot: &Snapshot, options: &Options, keys: &[&str], given: &[Option<String>]) -> Vec<String> {
    let mut names = PrefixedNames::clone(&options.beside);
    let renames = keys.iter().zip(given).filter_map(|(key, given)| Some((*key, given.as_deref()?)));
    names.add(&options.server.name, &options.server.prefix, renames);
    let listed = tool_names(snapshot).into_iter().filter(|tool| options.is_named(tool));
    names.add_snapshot(&options.server.name, keys.iter().copied().chain(listed));
    names.tools(&options.server.name, keys)
}
