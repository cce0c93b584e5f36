//! The names that bindings have in Rust.

use mcp_bindgen_model::Viewed;
use mcp_bindgen_schema::diagnostics::{Diagnostic, Listed};

use crate::plan::Declared;

/// The names of a tool in Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolBinding {
    /// The server's name.
    pub server: String,
    /// The index of the tool in the snapshot's list.
    pub index: usize,
    /// The tool's name on the server.
    pub tool: String,
    /// The prefixed name, which models, templates and the command line use. `parse` accepts it too.
    pub prefixed: String,
    /// The module.
    pub module: String,
    /// The client type of the module.
    pub client_type: String,
    /// The type of the parameters.
    pub params_type: String,
    /// Its inner types: `GithubCreateIssueParamsLabelsItem`. A type that several tools share is listed with the
    /// first.
    pub params_inner_types: Vec<String>,
    /// The type of the structured result, if there is an `outputSchema`.
    pub output_type: Option<String>,
    /// Its inner types.
    pub output_inner_types: Vec<String>,
    /// The type that the handler and the method return; without the wrapper, if the result has one.
    pub returns: String,
    /// The handler function.
    pub handler: String,
    /// The method of the client type.
    pub method: String,
    /// The variant of the call type.
    pub variant: String,
    /// The view of the tool, and the tool without it.
    pub viewed: Option<Viewed>,
    /// The changes by overrides, if any.
    pub overridden: Option<OverrideBinding>,
    /// The diagnostics about the tool.
    pub diagnostics: Vec<Diagnostic>,
}

/// The names of a prompt or a resource template in Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OfferBinding {
    /// The server's name.
    pub server: String,
    /// The kind: a prompt or a resource template.
    pub listed: Listed,
    /// The index in the snapshot's list.
    pub index: usize,
    /// The name on the server.
    pub name: String,
    /// The URI template.
    pub uri_template: Option<String>,
    /// The module.
    pub module: String,
    /// The type of the arguments, or of the variables.
    pub params_type: String,
    /// The type that handler and method return.
    pub returns: &'static str,
    /// The handler function.
    pub handler: String,
    /// The method of the client type.
    pub method: String,
    /// The diagnostics about it.
    pub diagnostics: Vec<Diagnostic>,
}

/// The changes of a tool by overrides.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OverrideBinding {
    /// `true` if the `inputSchema` differs from the server's.
    pub input_schema: bool,
    /// `true` if the `outputSchema` differs from the server's.
    pub output_schema: bool,
    /// The number of results that the `outputSchema` was learned from.
    pub learned_from: Option<u64>,
}

impl OverrideBinding {
    pub(crate) fn of(declared: Declared<'_>) -> Option<Self> {
        let Declared { input, output, learned_from, .. } = declared;
        let binding = Self { input_schema: input.is_some(), output_schema: output.is_some(), learned_from };
        (binding.input_schema || binding.output_schema).then_some(binding)
    }
}
