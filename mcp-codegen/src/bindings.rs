use mcp_bindgen_model::{Snapshot, UnknownKeys};
use proc_macro2::TokenStream;

use crate::described::{OfferBinding, ToolBinding};
use crate::emit;
use crate::options::Options;
use crate::patterns::tool_names;
use crate::plan::{AlikeShapes, Plan};
use crate::planned::PlannedBindings;
use crate::rules::RuleFault;
use crate::typify::replace_types;
use mcp_bindgen_schema::diagnostics::Diagnostics;

/// Generates the bindings of a server.
#[derive(Debug)]
pub struct Bindings;

/// Counts of the properties with a declared `type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coverage {
    /// Properties whose schema declares a `type`.
    pub declared: usize,
    /// Those that are [`serde_json::Value`] in Rust.
    pub untyped: usize,
}

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
        let plan = Plan::new(snapshot, options);
        let mut diagnostics = plan.diagnostics.clone();
        let replaced = replace_types(&plan, options, &mut diagnostics);
        (emit::module(&plan, &replaced, snapshot, options), diagnostics)
    }

    /// Plans the bindings, for programs that need several facts about them.
    #[must_use]
    pub fn plan<'s>(snapshot: &'s Snapshot, options: &Options) -> PlannedBindings<'s> {
        PlannedBindings::new(snapshot, options)
    }

    /// Returns the names that [`generate`](Self::generate) gives to each bound tool.
    #[must_use]
    pub fn describe(snapshot: &Snapshot, options: &Options) -> (Vec<ToolBinding>, Diagnostics) {
        let planned = PlannedBindings::new(snapshot, options);
        (planned.tools(), planned.into_diagnostics())
    }

    /// Returns the names of the bound prompts and resource templates. `tools` and `exclude` do not affect them.
    #[must_use]
    pub fn offers(snapshot: &Snapshot, options: &Options) -> Vec<OfferBinding> {
        PlannedBindings::new(snapshot, options).offers()
    }

    /// Returns the rules (`derive`, `rename` and the like) that do not fit these tools. [`generate`](Self::generate)
    /// ignores them; the macro, build scripts and the command line report them as errors first.
    #[must_use]
    pub fn faults(snapshot: &Snapshot, options: &Options) -> Vec<RuleFault> {
        if options.rules.is_empty() && options.unknown == UnknownKeys::Ignore {
            return Vec::new();
        }
        Plan::new(snapshot, options).faults
    }

    /// Returns the shapes that occur in several places of a server, which `shared` could make one type, and those
    /// that it does.
    ///
    /// ```
    /// use mcp_bindgen_codegen::{Bindings, Options};
    /// use mcp_bindgen_model::Snapshot;
    ///
    /// let place = r#"{"type": "object", "properties": {"place": {"type": "object", "properties": {"x": {"type": "number"}}}}}"#;
    /// let list = format!(r#"{{"tools": [{{"name": "go", "inputSchema": {place}, "outputSchema": {place}}}]}}"#);
    /// let shapes = Bindings::alike_shapes(&Snapshot::parse(&list)?, &Options::new("demo"));
    /// assert_eq!(shapes[0].suggested, "Place");
    /// assert_eq!(shapes[0].places[0].place, "go/place");
    /// assert_eq!(shapes[0].places[1].place, "go/$output/place");
    /// # Ok::<(), mcp_bindgen_model::FileError>(())
    /// ```
    #[must_use]
    pub fn alike_shapes(snapshot: &Snapshot, options: &Options) -> Vec<AlikeShapes> {
        // Whether undeclared keys are kept, or values checked, makes no difference to what the schemas say.
        let options = options.clone().unknown(UnknownKeys::Ignore).checked(false);
        Plan::new(snapshot, &options).alike_shapes(&options, &tool_names(snapshot))
    }

    /// Counts the properties that declare a type, and those without a type in Rust.
    #[must_use]
    pub fn coverage(snapshot: &Snapshot, options: &Options) -> Coverage {
        let plan = Plan::new(snapshot, options);
        let schemas = plan.tools.iter().flat_map(|tool| std::iter::once(&tool.input).chain(&tool.output));
        schemas.fold(Coverage::default(), |all, schema| {
            let (declared, untyped) = schema.coverage();
            Coverage { declared: all.declared + declared, untyped: all.untyped + untyped }
        })
    }
}
