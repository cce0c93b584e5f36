//! A tool of a toolset.

use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use mcp_bindgen_model::{View, printable};
use mcp_bindgen_runtime::validate::{UnusableSchema, Validator, Violation};
use mcp_bindgen_runtime::{Annotations, Client, Content, DynCallTool, ServerSpec, ToolResult, ToolSpec};
use mcp_bindgen_schema::WRAPPER_FIELD;
use serde_json::{Map, Value};

use super::Toolset;
use super::answers::Answers;
use super::context::FunctionContext;
use super::rewrites::Rewrites;
use crate::json::object;
use mcp_bindgen_schema::names::{SECTIONS, SET_CALLS};
use mcp_bindgen_schema::provider::Nulls;

/// The group of the tools that a toolset adds itself.
pub(super) const TOOLS: &str = "tools";

/// One tool of a set, under the name that models know.
pub(crate) struct Entry {
    /// The name that models know.
    pub(crate) public: String,
    /// The server's configured name; the group of functions for those of the program.
    pub(crate) server: Arc<str>,
    /// The name that the server knows.
    pub(crate) tool: Arc<str>,
    pub(crate) title: Option<Arc<str>>,
    pub(crate) description: Option<Arc<str>>,
    /// The schema that the server declares, with overrides.
    pub(crate) input_schema: Arc<Value>,
    pub(crate) annotations: Annotations,
    /// The view by which it is shown.
    pub(crate) view: Option<Arc<View>>,
    /// The results that its server declares.
    pub(crate) answers: Answers,
    pub(crate) handler: Handler,
    /// The schema in the form of each provider, built on first use.
    pub(crate) rewrites: Rewrites,
    /// Made when the first call comes.
    pub(super) nulls: OnceLock<Nulls>,
    /// The same; `None` if the schema cannot be used.
    pub(super) validator: OnceLock<Option<Validator>>,
}

/// Runs a tool.
pub(crate) enum Handler {
    Server {
        caller: Arc<dyn DynCallTool>,
        /// The bindings, if any; calls are then made by `ToolCall::bound`.
        bound: Option<(&'static ServerSpec, &'static ToolSpec)>,
        /// The client, if the tools can be listed again.
        live: Option<Client>,
    },
    /// A function of the program, with the layers around it.
    Function(Arc<dyn DynCallTool>),
    /// One of several like tools, which the arguments pick.
    Joined(Joined),
    /// A call of a tool of another set, whose reply it has.
    Caller(Toolset),
}

/// A function of the program. An error is in words for the model.
pub(crate) type Function = Arc<dyn Fn(FunctionContext, Map<String, Value>) -> Running + Send + Sync>;

pub(crate) type Running = BoxFuture<'static, Result<Output, String>>;

/// The output of a function.
#[derive(Debug, PartialEq)]
pub(crate) enum Output {
    Value(Value),
    Content(Vec<Content>),
}

impl From<Value> for Output {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Content(Vec::new()),
            Value::String(text) => Self::Content(vec![Content::text(text)]),
            value => Self::Value(value),
        }
    }
}

/// Returns an async function as one that has a state, such as a client.
pub(crate) fn with_state<S, R>(
    state: S,
    run: impl Fn(S, FunctionContext, Map<String, Value>) -> R + Send + Sync + 'static,
) -> Function
where
    S: Clone + Send + Sync + 'static,
    R: Future<Output = Result<Output, String>> + Send + 'static,
{
    Arc::new(move |context, arguments| Box::pin(run(state.clone(), context, arguments)))
}

/// A function that asks a server: its name, description and parameters.
pub(crate) type ServerFunction = (&'static str, String, Value, Function);

/// Like tools, of which an argument picks one.
pub(crate) struct Joined {
    pub(super) argument: String,
    /// By their servers.
    pub(super) tools: Vec<(String, Arc<Entry>)>,
}

impl Entry {
    /// Creates a tool of which nothing else is known.
    pub(super) fn new(server: impl Into<Arc<str>>, tool: impl Into<Arc<str>>, schema: Value, handler: Handler) -> Self {
        Self {
            public: String::new(),
            server: server.into(),
            tool: tool.into(),
            title: None,
            description: None,
            input_schema: Arc::new(schema),
            annotations: Annotations::default(),
            view: None,
            answers: Answers::default(),
            handler,
            rewrites: Rewrites::default(),
            nulls: OnceLock::new(),
            validator: OnceLock::new(),
        }
    }

    /// Returns the tool as an MCP server lists it (`tools/list`), under a name and without its output schema.
    pub(super) fn listed(&self, name: &str) -> Value {
        let annotations = self.annotations.to_json();
        let has_hints = annotations.as_object().is_some_and(|hints| !hints.is_empty());
        let tool = object([
            ("name", Some(name.into())),
            ("title", self.title.as_deref().map(Value::from)),
            ("description", self.description.as_deref().map(Value::from)),
            ("inputSchema", Some((*self.input_schema).clone())),
            ("annotations", has_hints.then_some(annotations)),
        ]);
        tool.into()
    }

    /// Returns `true` for the functions with which models open and read sections.
    pub(crate) fn opens_sections(&self) -> bool {
        let is_function = matches!(self.handler, Handler::Function(_));
        is_function && *self.server == *SECTIONS && SET_CALLS.contains(&&*self.tool)
    }

    /// Returns its name without a prefix: the server's, or that of its view.
    pub(crate) fn viewed_name(&self) -> &str {
        self.view.as_ref().and_then(|view| view.name.as_deref()).unwrap_or(&self.tool)
    }

    /// Returns its identity.
    pub(crate) fn identity(&self) -> (&str, &str) {
        (&self.server, &self.tool)
    }

    /// Returns `true` if programs may call it: what answers models with words alone has no result.
    pub(crate) fn has_results(&self) -> bool {
        !matches!(self.handler, Handler::Caller(_) | Handler::Joined(_))
    }

    /// Returns its name in bindings. A set cannot use it if providers reject it or another tool has it.
    pub(crate) fn name_in_bindings(&self) -> Option<&'static str> {
        match &self.handler {
            Handler::Server { bound: Some((_, spec)), .. } => Some(spec.prefixed),
            _ => None,
        }
    }

    /// Returns `true` if the server's configuration lets a remote template call the tool. Returns `None` without a
    /// client, and thus without a configuration.
    pub(crate) fn lets_remote_use(&self) -> Option<bool> {
        match &self.handler {
            Handler::Server { caller, live: Some(_), .. } => Some(caller.offer_dyn().admits_remote(&self.tool)),
            _ => None,
        }
    }

    /// Returns the tool's value: the structured content, without the wrapper for values that are not objects. Returns
    /// `None` without structured content.
    pub(crate) fn value_of(&self, result: &ToolResult) -> Option<Value> {
        let structured = result.structured().filter(|structured| !structured.is_null())?;
        let inner = structured.get(WRAPPER_FIELD).filter(|_| self.answers.wraps());
        Some(inner.unwrap_or(structured).clone())
    }

    /// Returns the nulls that a strict model has to send, and a server does not expect.
    pub(super) fn nulls(&self) -> &Nulls {
        self.nulls.get_or_init(|| Nulls::of(&self.input_schema))
    }

    /// Checks arguments against the schema, if it is usable. A faulty schema is not an error of the model, and the
    /// server decides in the end.
    pub(super) fn check(&self, arguments: &Value) -> Result<(), Violation> {
        self.validator().map_or(Ok(()), |validator| validator.check(arguments))
    }

    /// Returns the faults of arguments, but no more than `most`.
    pub(super) fn violations(&self, arguments: &Value, most: usize) -> Vec<Violation> {
        self.validator().map_or_else(Vec::new, |validator| validator.violations(arguments, most))
    }

    fn validator(&self) -> Option<&Validator> {
        let made = || {
            let unusable = |error: UnusableSchema| {
                let why = printable(&error.to_string());
                tracing::debug!("arguments are not validated, because the schema is unusable: {why}");
            };
            Validator::new(&self.input_schema).map_err(unusable).ok()
        };
        self.validator.get_or_init(made).as_ref()
    }
}
