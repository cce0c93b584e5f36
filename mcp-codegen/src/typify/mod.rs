//! The opt-in backend typify, for teams that want its validated newtypes. A tool whose schema typify does not
//! support, or converts wrongly, keeps the generator's own types.

#[cfg(feature = "typify")]
mod backend;
#[cfg(feature = "typify")]
mod prepare;
#[cfg(feature = "typify")]
mod rewrite;

use mcp_bindgen_model::Types;
use mcp_bindgen_schema::diagnostics::{BACKEND_FALLBACK, Diagnostics, Reporter};
use proc_macro2::{Ident, TokenStream};

use crate::options::Options;
use crate::plan::{Plan, ToolPlan};

/// The types of one schema, by typify.
#[derive(Debug)]
pub(crate) struct Replacement {
    /// The module of the types.
    pub(crate) module: Ident,
    pub(crate) items: TokenStream,
    /// The name of the root's type in the module.
    pub(crate) root: Ident,
    /// The type of the root's field `result`, as it is named outside the module.
    pub(crate) wrapped: Option<TokenStream>,
}

/// The types of a tool in place of the generator's own.
#[derive(Debug, Default)]
pub(crate) struct Replaced {
    pub(crate) input: Option<Replacement>,
    pub(crate) output: Option<Replacement>,
}

/// Returns the replacements for the types of each tool of the plan, in their order.
pub(crate) fn replace_types(plan: &Plan<'_>, options: &Options, diagnostics: &mut Diagnostics) -> Vec<Replaced> {
    match options.server.types {
        Types::Native => plan.tools.iter().map(|_| Replaced::default()).collect(),
        Types::Typify => by_typify(&plan.tools, options, diagnostics),
    }
}

#[cfg(feature = "typify")]
fn by_typify(tools: &[ToolPlan<'_>], options: &Options, diagnostics: &mut Diagnostics) -> Vec<Replaced> {
    let mut all = Vec::new();
    for tool in tools {
        let mut types_of = |schema, name: &str, role: &str, root| {
            let types = backend::types_of(schema, name, &format!("{}_{role}", tool.idents.handler), options);
            types.map_err(|reason| fall_back(tool, root, reason, diagnostics)).ok()
        };
        all.push(Replaced {
            input: types_of(tool.input_schema, &tool.idents.params, "input", "/inputSchema"),
            output: tool
                .output_schema
                .and_then(|schema| types_of(schema, &tool.idents.output, "output", "/outputSchema")),
        });
    }
    all
}

#[cfg(not(feature = "typify"))]
fn by_typify(tools: &[ToolPlan<'_>], _: &Options, diagnostics: &mut Diagnostics) -> Vec<Replaced> {
    if let Some(first) = tools.first() {
        let reason = "it is not enabled; enable feature `typify` of mcp-bindgen for the macro, of mcp-bindgen-codegen \
                      for build scripts, of mcp-bindgen-cli for the command line";
        fall_back(first, "", reason.to_owned(), diagnostics);
    }
    tools.iter().map(|_| Replaced::default()).collect()
}

fn fall_back(tool: &ToolPlan<'_>, root: &'static str, reason: String, diagnostics: &mut Diagnostics) {
    let mut reporter = Reporter::new(tool.wire, tool.index, root);
    reporter.say(BACKEND_FALLBACK, "", reason);
    diagnostics.extend(reporter.finish());
}
