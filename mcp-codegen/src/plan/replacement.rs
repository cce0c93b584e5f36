//! Types that another backend makes in the place of the generator's own.

use mcp_model::Types;
use proc_macro2::{Ident, TokenStream};

use super::ToolPlan;
use crate::diagnostics::Diagnostics;
use crate::options::Options;

/// The types of one schema, by another backend.
#[derive(Debug)]
pub(crate) struct Replacement {
    /// The module that they stand in.
    pub(crate) module: Ident,
    pub(crate) items: TokenStream,
    /// The name of the root's type in the module.
    pub(crate) root: Ident,
    /// The type of the root's field `result`, as it is named outside the module.
    pub(crate) wrapped: Option<TokenStream>,
}

pub(super) fn replace_types(tools: &mut [ToolPlan<'_>], options: &Options, diagnostics: &mut Diagnostics) {
    match options.types {
        Types::Native => {}
        Types::Typify => by_typify(tools, options, diagnostics),
    }
}

#[cfg(feature = "typify")]
use crate::typify::replace as by_typify;

#[cfg(not(feature = "typify"))]
fn by_typify(tools: &mut [ToolPlan<'_>], _: &Options, diagnostics: &mut Diagnostics) {
    let Some(first) = tools.first() else { return };
    let mut reporter = crate::diagnostics::Reporter::new(first.wire, first.index, "");
    reporter.say(
        crate::diagnostics::BACKEND_FALLBACK,
        "",
        "it is not built in, and no tool has its types; enable feature `typify` of mcp-bindgen for the macro, of \
         mcp-codegen for build scripts, of mcp-bindgen-cli for the command line",
    );
    diagnostics.append(reporter.finish());
}
