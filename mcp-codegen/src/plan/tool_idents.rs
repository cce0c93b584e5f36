use crate::names::{Style, ToolNames, tools as names_of_tools};

/// What a tool is called in Rust.
#[derive(Clone, Debug)]
pub(crate) struct ToolIdents {
    /// `create_issue`
    pub(crate) method: String,
    /// `CreateIssue`
    pub(crate) variant: String,
    /// `github_create_issue`, also the name by which `parse` knows the tool.
    pub(crate) handler: String,
    /// `GithubCreateIssueParams`
    pub(crate) params: String,
    /// `GithubCreateIssueOutput`
    pub(crate) output: String,
    /// The name has a suffix, because another tool's reads the same.
    pub(crate) renamed: bool,
}

impl ToolIdents {
    /// The names of all tools; `given` has those that the user chose.
    pub(crate) fn all(tools: &[&str], given: &[Option<String>], prefix: Option<&str>) -> Vec<Self> {
        let names = names_of_tools(tools, given);
        let lead = prefix.map(|prefix| format!("{prefix}_")).unwrap_or_default();
        let type_lead = prefix.map(|prefix| Style::Pascal.apply(prefix)).unwrap_or_default();
        tools
            .iter()
            .zip(given)
            .zip(names)
            .map(|((tool, given), ToolNames { method, variant })| {
                let base = format!("{type_lead}{variant}");
                let base =
                    if base.starts_with(|first: char| first.is_ascii_digit()) { format!("N{base}") } else { base };
                Self {
                    handler: format!("{lead}{method}"),
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
