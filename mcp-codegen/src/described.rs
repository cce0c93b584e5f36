//! Descriptions of bindings: names in Rust, schemas, and code for readers. The macro does not compile them.

use mcp_bindgen_model::{Snapshot, UnknownKeys, Viewed};
use mcp_bindgen_schema::diagnostics::{Diagnostic, Diagnostics, Listed};
use mcp_bindgen_schema::{Document, SchemaId, Shape};
use proc_macro2::TokenStream;

use crate::bindings::{Bindings, PlannedBindings};
use crate::format::format_for_readers;
use crate::names::ident;
use crate::options::Options;
use crate::patterns::tool_names;
use crate::plan::{AlikeShapes, Declared, Offer, OfferKind, Plan, SchemaPlan, ToolPlan};
use crate::table::Table;
use crate::typify::Replaced;

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

/// Counts of the properties with a declared `type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coverage {
    /// Properties whose schema declares a `type`.
    pub declared: usize,
    /// Those that are [`serde_json::Value`] in Rust.
    pub untyped: usize,
}

/// The schemas of a bound tool, as parsed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolSchemas<'p, 's> {
    /// The index of the tool in the snapshot's list.
    pub index: usize,
    /// The schema of its arguments.
    pub input: &'p Document<'s>,
    /// The schema of its structured result, if there is an `outputSchema`.
    pub output: Option<&'p Document<'s>>,
}

impl Bindings {
    /// Returns the names that [`generate`](Self::generate) gives to each bound tool.
    #[must_use]
    pub fn describe(snapshot: &Snapshot, options: &Options) -> (Vec<ToolBinding>, Diagnostics) {
        let planned = Self::plan(snapshot, options);
        (planned.tools(), planned.diagnostics)
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
        // Options for undeclared keys and checks do not change the declared types.
        let options = options.clone().unknown(UnknownKeys::Ignore).checked(false);
        Plan::new(snapshot, &options).alike_shapes(&options, &tool_names(snapshot))
    }

    /// Counts the properties that declare a type, and those without a type in Rust.
    #[must_use]
    pub fn coverage(snapshot: &Snapshot, options: &Options) -> Coverage {
        let plan = Plan::new(snapshot, options);
        let mut coverage = Coverage::default();
        for schema in plan.tools.iter().flat_map(ToolPlan::schemas) {
            let Document { shapes, schemas, .. } = &schema.document;
            let declares = |id: &SchemaId| schemas.source(*id).is_some_and(|source| source.contains_key("type"));
            for id in &schema.order {
                let Shape::Struct(object) = shapes.get(*id) else { continue };
                for field in object.fields.iter().filter(|field| field.schemas.iter().any(declares)) {
                    coverage.declared += 1;
                    coverage.untyped += usize::from(matches!(shapes.get(field.slot.shape), Shape::Anything));
                }
            }
        }
        coverage
    }
}

impl<'s> PlannedBindings<'s> {
    /// Returns the names of each bound tool, in the order of the list.
    #[must_use]
    pub fn tools(&self) -> Vec<ToolBinding> {
        let plan = &self.plan;
        let mut by_tool: Table<Vec<Diagnostic>> = Table::default();
        for diagnostic in self.diagnostics.iter().filter(|diagnostic| diagnostic.listed == Listed::Tool) {
            by_tool.push(diagnostic.index, diagnostic.clone());
        }
        let name = |name: &str| ident(name).to_string();
        self.each(|index, tool, replaced| ToolBinding {
            server: plan.server.clone(),
            index,
            tool: tool.wire.to_owned(),
            prefixed: tool.idents.prefixed.clone(),
            module: plan.module.to_string(),
            client_type: name(&plan.own.client_type),
            params_type: name(&tool.idents.params),
            params_inner_types: inner_types(&tool.input, replaced.input.is_some()),
            output_type: tool.output.as_ref().map(|_| name(&tool.idents.output)),
            output_inner_types: tool
                .output
                .as_ref()
                .map(|output| inner_types(output, replaced.output.is_some()))
                .unwrap_or_default(),
            returns: tool.returned(plan, replaced),
            handler: name(&tool.idents.handler),
            method: name(&tool.idents.method),
            variant: name(&tool.idents.variant),
            viewed: tool.declared.viewed.cloned(),
            overridden: OverrideBinding::of(tool.declared),
            diagnostics: by_tool.remove(index).unwrap_or_default(),
        })
    }

    /// Returns the names of the bound prompts and resource templates. `tools` and `exclude` do not affect them.
    #[must_use]
    pub fn offers(&self) -> Vec<OfferBinding> {
        let plan = &self.plan;
        let binding = |offer: &Offer<'_>| {
            let (uri_template, returns) = match offer.kind {
                OfferKind::Prompt(_) => (None, "PromptResult"),
                OfferKind::Template { uri_template, .. } => (Some(uri_template.to_owned()), "ResourceResult"),
            };
            let is_ours =
                |diagnostic: &&Diagnostic| diagnostic.listed == offer.listed() && diagnostic.index == offer.index;
            OfferBinding {
                server: plan.server.clone(),
                listed: offer.listed(),
                index: offer.index,
                name: offer.wire.to_owned(),
                uri_template,
                module: plan.module.to_string(),
                params_type: offer.idents.params.clone(),
                returns,
                handler: offer.idents.handler.clone(),
                method: offer.idents.method.clone(),
                diagnostics: plan.diagnostics.iter().filter(is_ours).cloned().collect(),
            }
        };
        plan.offers.iter().map(binding).collect()
    }

    /// Returns the schemas of each bound tool, in the order of the list.
    #[must_use]
    pub fn schemas(&self) -> Vec<ToolSchemas<'_, 's>> {
        self.each(|index, tool, _| ToolSchemas {
            index,
            input: &tool.input.document,
            output: tool.output.as_ref().map(|output| &output.document),
        })
    }

    /// Returns the formatted code of each tool for readers: its types, their constructors, and its handler, without
    /// trait implementations. The numbers are the indexes of the tools in the list; a type that several tools share
    /// is with the first.
    ///
    /// ```
    /// use mcp_bindgen_codegen::{Bindings, Options};
    /// use mcp_bindgen_model::Snapshot;
    ///
    /// let snapshot = Snapshot::parse(r#"{"tools": [{"name": "ping", "inputSchema": {"type": "object"}}]}"#)?;
    /// let sources = Bindings::plan(&snapshot, &Options::new("demo")).tool_sources();
    /// assert_eq!(sources[0].0, 0);
    /// assert!(sources[0].1.contains("pub struct DemoPingParams"));
    /// # Ok::<(), mcp_bindgen_model::FileError>(())
    /// ```
    #[must_use]
    pub fn tool_sources(&self) -> Vec<(usize, String)> {
        let private = &self.options.private_path();
        let mut source = String::new();
        self.each(|index, tool, replaced| {
            // The other places of a tool directly follow.
            if index == tool.index {
                let mut tokens = TokenStream::new();
                tool.items(&self.plan, replaced, private, &mut tokens);
                source = format_for_readers(tokens).unwrap_or_default();
            }
            (index, source.clone())
        })
    }

    /// Returns a value for each bound tool, in the order of the list. A tool may be in several places of it; they are
    /// passed to `of` one after another, its own index first.
    fn each<'p, T>(&'p self, mut of: impl FnMut(usize, &'p ToolPlan<'s>, &'p Replaced) -> T) -> Vec<T> {
        let mut all = Table::default();
        for (tool, replaced) in self.plan.tools.iter().zip(&self.replaced) {
            for index in std::iter::once(tool.index).chain(tool.repeats.iter().copied()) {
                all.insert(index, of(index, tool, replaced));
            }
        }
        all.values()
    }
}

/// Returns the types inside of a schema's own, in the order in which they are written. typify's are in a module of its
/// own.
fn inner_types(schema: &SchemaPlan<'_>, is_replaced: bool) -> Vec<String> {
    let root = schema.document.root;
    let inner = schema.order.iter().filter(|id| !is_replaced && **id != root).filter_map(|id| schema.name(*id));
    inner.map(|name| ident(name).to_string()).collect()
}
