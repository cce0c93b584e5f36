use mcp_model::{Snapshot, UnknownKeys};
use proc_macro2::TokenStream;

use crate::emit;
use crate::names::ident;
use crate::options::Options;
use crate::patterns::tool_names;
use crate::plan::{AlikeShapes, Plan};
use crate::rules::RuleFault;
use crate::typify::replace_types;
use mcp_schema::diagnostics::{Diagnostic, Diagnostics};

/// The one entry to the generator.
#[derive(Debug)]
pub struct Bindings;

/// What a tool is called in Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolBinding {
    /// The server's name.
    pub server: String,
    /// The place of the tool in the snapshot's list.
    pub index: usize,
    /// The wire name.
    pub tool: String,
    /// The name with the prefix, as `parse` takes it; the wire name where that is another tool's.
    pub prefixed: String,
    /// The module.
    pub module: String,
    /// The type of the parameters.
    pub params_type: String,
    /// The type of the structured result, where there is an `outputSchema`.
    pub output_type: Option<String>,
    /// The type that handler and method return: what is in the wrapper where the result is in one. `None` where
    /// typify makes that type.
    pub returns: Option<String>,
    /// The handler function.
    pub handler: String,
    /// The method of the client type.
    pub method: String,
    /// The variant of the call type.
    pub variant: String,
    /// What there is to say about the tool.
    pub diagnostics: Vec<Diagnostic>,
}

/// How many properties with a declared `type` have one in Rust.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coverage {
    /// Properties whose schema declares a `type`.
    pub declared: usize,
    /// Those of them that became [`serde_json::Value`] all the same.
    pub untyped: usize,
}

impl Bindings {
    /// Generates the module of a server.
    ///
    /// Never fails: what cannot be typed becomes `serde_json::Value` at the smallest place, with a diagnostic.
    ///
    /// ```
    /// use mcp_codegen::{Bindings, Options};
    /// use mcp_model::Snapshot;
    ///
    /// let snapshot = Snapshot::parse(r#"{"tools": [{"name": "ping", "inputSchema": {"type": "object"}}]}"#)?;
    /// let (tokens, diagnostics) = Bindings::generate(&snapshot, &Options::new("demo"));
    /// assert!(tokens.to_string().contains("pub async fn demo_ping"));
    /// assert!(diagnostics.is_empty());
    /// # Ok::<(), mcp_model::FileError>(())
    /// ```
    #[must_use]
    pub fn generate(snapshot: &Snapshot, options: &Options) -> (TokenStream, Diagnostics) {
        let plan = Plan::new(snapshot, options);
        let mut diagnostics = plan.diagnostics.clone();
        let replaced = replace_types(&plan, options, &mut diagnostics);
        (emit::module(&plan, &replaced, snapshot, options), diagnostics)
    }

    /// The names that [`generate`](Self::generate) gives, for every tool of the list that is bound.
    #[must_use]
    pub fn describe(snapshot: &Snapshot, options: &Options) -> (Vec<ToolBinding>, Diagnostics) {
        let plan = Plan::new(snapshot, options);
        let mut tools = Vec::new();
        for (tool, parsed_as) in plan.tools.iter().zip(plan.parsed_as()) {
            for index in std::iter::once(&tool.index).chain(&tool.repeats) {
                let diagnostics = plan.diagnostics.iter().filter(|said| said.index == *index).cloned().collect();
                tools.push(ToolBinding {
                    server: plan.server.clone(),
                    index: *index,
                    tool: tool.wire.to_owned(),
                    prefixed: parsed_as.last().map_or(tool.wire, |key| *key).to_owned(),
                    module: plan.module.to_string(),
                    params_type: ident(&tool.idents.params).to_string(),
                    output_type: tool.output.as_ref().map(|_| ident(&tool.idents.output).to_string()),
                    returns: tool.returned(options.types),
                    handler: ident(&tool.idents.handler).to_string(),
                    method: ident(&tool.idents.method).to_string(),
                    variant: ident(&tool.idents.variant).to_string(),
                    diagnostics,
                });
            }
        }
        tools.sort_by_key(|tool| tool.index);
        (tools, plan.diagnostics)
    }

    /// What of `derive`, `rename`, `extern` and `shared` cannot hold for these tools. [`generate`](Self::generate) does
    /// without it: macro, build scripts and the command line ask here first, and refuse.
    #[must_use]
    pub fn faults(snapshot: &Snapshot, options: &Options) -> Vec<RuleFault> {
        if options.rules.is_empty() && options.unknown == UnknownKeys::Ignore {
            return Vec::new();
        }
        Plan::new(snapshot, options).faults
    }

    /// The shapes that stand in several places of a server, which `shared` could make one type, and those that it does.
    ///
    /// ```
    /// use mcp_codegen::{Bindings, Options};
    /// use mcp_model::Snapshot;
    ///
    /// let place = r#"{"type": "object", "properties": {"place": {"type": "object", "properties": {"x": {"type": "number"}}}}}"#;
    /// let list = format!(r#"{{"tools": [{{"name": "go", "inputSchema": {place}, "outputSchema": {place}}}]}}"#);
    /// let shapes = Bindings::alike_shapes(&Snapshot::parse(&list)?, &Options::new("demo"));
    /// assert_eq!(shapes[0].suggested, "Place");
    /// assert_eq!(shapes[0].places[0].place, "go/place");
    /// assert_eq!(shapes[0].places[1].place, "go/$output/place");
    /// # Ok::<(), mcp_model::FileError>(())
    /// ```
    #[must_use]
    pub fn alike_shapes(snapshot: &Snapshot, options: &Options) -> Vec<AlikeShapes> {
        // Whether undeclared keys are kept makes no difference to what the schemas say.
        let options = options.clone().unknown(UnknownKeys::Ignore);
        Plan::new(snapshot, &options).alike_shapes(&options, &tool_names(snapshot))
    }

    /// Counts the properties that declare a type, and those that have none in Rust.
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
