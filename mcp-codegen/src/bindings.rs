//! The bindings of a server: one plan has their code and the answers to questions about them.

use mcp_bindgen_model::{Snapshot, UnknownKeys};
use mcp_bindgen_schema::Document;
use mcp_bindgen_schema::diagnostics::{Diagnostic, Diagnostics, Listed};
use proc_macro2::TokenStream;

use crate::described::{OfferBinding, OverrideBinding, ToolBinding};
use crate::emit;
#[cfg(feature = "format")]
use crate::format::format_for_readers;
use crate::names::ident;
use crate::options::Options;
use crate::patterns::tool_names;
use crate::plan::{AlikeShapes, Offer, OfferKind, Plan, SchemaPlan, ToolPlan};
use crate::rules::RuleFault;
use crate::table::Table;
use crate::typify::{Replaced, replace_types};

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

    /// Returns the names that [`generate`](Self::generate) gives to each bound tool.
    #[must_use]
    #[inline]
    pub fn describe(snapshot: &Snapshot, options: &Options) -> (Vec<ToolBinding>, Diagnostics) {
        let planned = Self::plan(snapshot, options);
        (planned.tools(), planned.diagnostics)
    }

    /// Returns the names of the bound prompts and resource templates. `tools` and `exclude` do not affect them.
    #[must_use]
    #[inline]
    pub fn offers(snapshot: &Snapshot, options: &Options) -> Vec<OfferBinding> {
        Self::plan(snapshot, options).offers()
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
    #[inline]
    pub fn alike_shapes(snapshot: &Snapshot, options: &Options) -> Vec<AlikeShapes> {
        // Options for undeclared keys and checks do not change the declared types.
        let options = options.clone().unknown(UnknownKeys::Ignore).checked(false);
        Plan::new(snapshot, &options).alike_shapes(&options, &tool_names(snapshot))
    }

    /// Counts the properties that declare a type, and those without a type in Rust.
    #[must_use]
    #[inline]
    pub fn coverage(snapshot: &Snapshot, options: &Options) -> Coverage {
        let plan = Plan::new(snapshot, options);
        plan.tools.iter().flat_map(ToolPlan::schemas).fold(Coverage::default(), |all, schema| {
            let (declared, untyped) = schema.coverage();
            Coverage { declared: all.declared + declared, untyped: all.untyped + untyped }
        })
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
    replaced: Vec<Replaced>,
    diagnostics: Diagnostics,
    snapshot: &'s Snapshot,
    options: Options,
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

impl<'s> PlannedBindings<'s> {
    /// Returns the module of the server, as [`Bindings::generate`] does.
    pub(crate) fn module(&self) -> TokenStream {
        emit::module(&self.plan, &self.replaced, self.snapshot, &self.options)
    }

    /// Returns the diagnostics about the whole list.
    #[must_use]
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// Returns the names of each bound tool, in the order of the list.
    #[must_use]
    #[inline]
    pub fn tools(&self) -> Vec<ToolBinding> {
        let plan = &self.plan;
        let mut by_tool: Table<Vec<Diagnostic>> = Table::default();
        for said in self.diagnostics.iter().filter(|said| said.listed == Listed::Tool) {
            by_tool.push(said.index, said.clone());
        }
        let mut tools = Table::default();
        for (tool, replaced) in plan.tools.iter().zip(&self.replaced) {
            for index in tool.indexes() {
                let tool = ToolBinding {
                    server: plan.server.clone(),
                    index,
                    tool: tool.wire.to_owned(),
                    prefixed: tool.idents.prefixed.clone(),
                    module: plan.module.to_string(),
                    client_type: ident(&plan.own.client_type).to_string(),
                    params_type: ident(&tool.idents.params).to_string(),
                    params_inner_types: inner_types(&tool.input, replaced.input.is_some()),
                    output_type: tool.output.as_ref().map(|_| ident(&tool.idents.output).to_string()),
                    output_inner_types: tool
                        .output
                        .as_ref()
                        .map(|output| inner_types(output, replaced.output.is_some()))
                        .unwrap_or_default(),
                    returns: tool.returned(plan, replaced),
                    handler: ident(&tool.idents.handler).to_string(),
                    method: ident(&tool.idents.method).to_string(),
                    variant: ident(&tool.idents.variant).to_string(),
                    viewed: tool.declared.viewed.cloned(),
                    overridden: OverrideBinding::of(tool.declared),
                    diagnostics: by_tool.remove(index).unwrap_or_default(),
                };
                tools.insert(index, tool);
            }
        }
        tools.values()
    }

    /// Returns the names of the bound prompts and resource templates. `tools` and `exclude` do not affect them.
    #[must_use]
    #[inline]
    pub fn offers(&self) -> Vec<OfferBinding> {
        let plan = &self.plan;
        let binding = |offer: &Offer<'_>| {
            let (uri_template, returns) = match offer.kind {
                OfferKind::Prompt(_) => (None, "PromptResult"),
                OfferKind::Template { uri_template, .. } => (Some(uri_template.to_owned()), "ResourceResult"),
            };
            let is_ours = |said: &&Diagnostic| said.listed == offer.listed() && said.index == offer.index;
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
    #[inline]
    pub fn schemas(&self) -> Vec<ToolSchemas<'_, 's>> {
        let mut schemas = Table::default();
        for tool in &self.plan.tools {
            let (input, output) = (&tool.input.document, tool.output.as_ref().map(|output| &output.document));
            tool.indexes().for_each(|index| schemas.insert(index, ToolSchemas { index, input, output }));
        }
        schemas.values()
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
    #[cfg(feature = "format")]
    #[must_use]
    pub fn tool_sources(&self) -> Vec<(usize, String)> {
        let private = &self.options.private_path();
        let tools = self.plan.tools.iter().zip(&self.replaced);
        let mut sources = Table::default();
        for (tool, replaced) in tools {
            let mut tokens = TokenStream::new();
            tool.items(&self.plan, replaced, private, &mut tokens);
            let source = format_for_readers(tokens).unwrap_or_default();
            tool.indexes().for_each(|index| sources.insert(index, (index, source.clone())));
        }
        sources.values()
    }
}

/// Returns the types inside of a schema's own, in the order in which they are written. typify's are in a module of its
/// own.
#[inline]
fn inner_types(schema: &SchemaPlan<'_>, is_replaced: bool) -> Vec<String> {
    let root = schema.document.root;
    let inner = schema.order.iter().filter(|id| !is_replaced && **id != root).filter_map(|id| schema.name(*id));
    inner.map(|name| ident(name).to_string()).collect()
}
