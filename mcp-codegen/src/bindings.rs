//! The bindings of a server. Their code and their descriptions (`described`) come from one plan.

use mcp_bindgen_model::{Snapshot, UnknownKeys};
use mcp_bindgen_schema::diagnostics::Diagnostics;
use proc_macro2::TokenStream;

use crate::emit;
use crate::options::Options;
use crate::plan::Plan;
use crate::rules::RuleFault;
use crate::typify::{Replaced, replace_types};

/// Generates the bindings of a server.
#[derive(Debug)]
pub struct Bindings;

impl Bindings {
    /// Generates the module of a server.
    ///
    /// Never fails: the smallest possible part of a schema that has no type in Rust becomes `serde_json::Value`, with
    /// a diagnostic.
    ///
    /// ```
    /// use mcp_bindgen_codegen::{Bindings, Options};
    /// use mcp_bindgen_model::Snapshot;
    ///
    /// let snapshot = Snapshot::parse(r#"{"tools": [{"name": "ping", "inputSchema": {"type": "object"}}]}"#)?;
    /// let (tokens, diagnostics) = Bindings::generate(&snapshot, &Options::new("demo"));
    /// assert!(tokens.to_string().contains("pub async fn demo_ping"));
    /// assert!(diagnostics.is_empty());
    /// # Ok::<(), mcp_bindgen_model::FileError>(())
    /// ```
    #[must_use]
    pub fn generate(snapshot: &Snapshot, options: &Options) -> (TokenStream, Diagnostics) {
        let planned = Self::plan(snapshot, options);
        (planned.module(), planned.diagnostics)
    }

    /// Plans the bindings, for programs that need several facts about them.
    #[must_use]
    pub fn plan<'s>(snapshot: &'s Snapshot, options: &Options) -> PlannedBindings<'s> {
        let plan = Plan::new(snapshot, options);
        let mut diagnostics = plan.diagnostics.clone();
        let replaced = replace_types(&plan, options, &mut diagnostics);
        PlannedBindings { plan, replaced, diagnostics, snapshot, options: options.clone() }
    }

    /// Returns the rules (`derive`, `rename` and the like) that do not fit these tools. [`generate`](Self::generate)
    /// ignores them; the macro, build scripts and the command line report them as errors first.
    #[must_use]
    pub fn faults(snapshot: &Snapshot, options: &Options) -> Vec<RuleFault> {
        if options.rules.is_empty() && options.server.unknown == UnknownKeys::Ignore {
            return Vec::new();
        }
        Plan::new(snapshot, options).faults
    }
}

/// The planned bindings of a server, for programs that report on them. Reuse it: translating a long list of tools
/// costs more than all the methods together.
///
/// ```
/// use mcp_bindgen_codegen::{Bindings, Options};
/// use mcp_bindgen_model::Snapshot;
///
/// let snapshot = Snapshot::parse(r#"{"tools": [{"name": "ping", "inputSchema": {"type": "object"}}]}"#)?;
/// let planned = Bindings::plan(&snapshot, &Options::new("demo"));
/// assert_eq!(planned.tools()[0].handler, "demo_ping");
/// assert_eq!(planned.schemas().len(), 1);
/// assert!(planned.offers().is_empty() && planned.diagnostics().is_empty());
/// # Ok::<(), mcp_bindgen_model::FileError>(())
/// ```
#[derive(Debug)]
pub struct PlannedBindings<'s> {
    pub(crate) plan: Plan<'s>,
    pub(crate) replaced: Vec<Replaced>,
    pub(crate) diagnostics: Diagnostics,
    snapshot: &'s Snapshot,
    pub(crate) options: Options,
}

impl PlannedBindings<'_> {
    /// Returns the module of the server, as [`Bindings::generate`] does.
    pub(crate) fn module(&self) -> TokenStream {
        emit::module(&self.plan, &self.replaced, self.snapshot, &self.options)
    }

    /// Returns the diagnostics about the whole list.
    #[must_use]
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }
}
