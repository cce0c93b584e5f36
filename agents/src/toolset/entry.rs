//! A tool of a toolset, and its schema in the words of providers.

use std::sync::{Arc, OnceLock};

use mcp_bindgen_model::{View, pointer_key, printable};
use mcp_bindgen_runtime::validate::{UnusableSchema, Validator, Violation};
use mcp_bindgen_runtime::{Annotations, Client, DynCallTool, ServerSpec, ToolResult, ToolSpec};
use mcp_bindgen_schema::names::{SECTIONS, SET_CALLS};
use mcp_bindgen_schema::provider::{Dialect, Lost, NotStrict, Nulls, Rewrite, loose, strict};
use mcp_bindgen_schema::{WRAPPER_FIELD, descriptions, visible_texts};
use serde_json::{Value, json};

use super::Toolset;
use super::answers::Answers;
use crate::Provider;
use crate::json::object;
use crate::text::{line, plain, sentence};

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
    pub(super) rewrites: Rewrites,
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
    /// Like tools of several servers, of which an argument picks one.
    Joined { argument: String, tools: Vec<Arc<Entry>> },
    /// A call of a tool of another set, whose reply it has.
    Caller(Toolset),
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
        let tool = object([
            ("name", Some(name.into())),
            ("title", self.title.as_deref().map(Value::from)),
            ("description", self.description.as_deref().map(Value::from)),
            ("inputSchema", Some((*self.input_schema).clone())),
            ("annotations", Some(self.annotations.to_json()).filter(|hints| *hints != json!({}))),
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

    /// Returns `true` for the tool of a server, and `false` for functions and the tools of the toolset itself.
    pub(super) fn is_of_server(&self) -> bool {
        matches!(self.handler, Handler::Server { .. })
    }

    /// Returns `true` if programs may call it: what answers models with words alone has no result.
    pub(crate) fn has_results(&self) -> bool {
        !matches!(self.handler, Handler::Caller(_) | Handler::Joined { .. })
    }

    /// Returns the services that its calls go through.
    pub(super) fn callers(&self) -> Vec<&dyn DynCallTool> {
        match &self.handler {
            Handler::Server { caller, .. } | Handler::Function(caller) => vec![&**caller],
            Handler::Joined { tools, .. } => tools.iter().flat_map(|entry| entry.callers()).collect(),
            Handler::Caller(_) => Vec::new(),
        }
    }

    /// Returns the description in one safe line, or an empty string if it is missing.
    pub(crate) fn sentence(&self) -> String {
        let said = self.description.as_deref().map(sentence).filter(|sentence| !sentence.is_empty());
        said.or_else(|| self.title.as_deref().map(sentence)).unwrap_or_default()
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

    /// Returns a strict schema, which only allows a model to send valid values.
    pub(super) fn strict(&self, provider: Provider) -> Result<&Ready, &NotStrict> {
        let (rewritten, dialect) = self.rewrites.of(provider);
        rewritten.strict.get_or_init(|| strict(&self.input_schema, dialect).map(Ready::of)).as_ref()
    }

    /// Returns a schema that the provider accepts.
    pub(super) fn loose(&self, provider: Provider) -> &Ready {
        let (rewritten, dialect) = self.rewrites.of(provider);
        rewritten.loose.get_or_init(|| Ready::of(loose(&self.input_schema, dialect)))
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
            let unusable = |error: &UnusableSchema| {
                let why = printable(&error.to_string());
                tracing::debug!("arguments are not validated, because the schema is unusable: {why}");
            };
            Validator::new(&self.input_schema).inspect_err(unusable).ok()
        };
        self.validator.get_or_init(made).as_ref()
    }
}

/// The rewritten schemas so far.
#[derive(Default)]
pub(super) struct Rewrites {
    open_ai: Rewritten,
    anthropic: Rewritten,
    gemini: Rewritten,
}

#[derive(Default)]
pub(super) struct Rewritten {
    pub(super) strict: OnceLock<Result<Ready, NotStrict>>,
    loose: OnceLock<Ready>,
}

impl Rewrites {
    pub(super) fn of(&self, provider: Provider) -> (&Rewritten, Dialect) {
        let rewritten = match provider {
            Provider::OpenAiChat | Provider::OpenAiResponses => &self.open_ai,
            Provider::Anthropic => &self.anthropic,
            Provider::Gemini => &self.gemini,
        };
        (rewritten, provider.format().facts().dialect)
    }
}

/// A rewrite as it is sent.
pub(super) struct Ready {
    pub(super) rewrite: Rewrite,
    /// The losses that the schema does not mention, in words.
    pub(super) unsaid: Vec<String>,
    /// `true` if no part of the schema could be sent.
    pub(super) is_any_object: bool,
}

impl Ready {
    pub(super) fn of(mut rewrite: Rewrite) -> Self {
        // Every provider requires this at the root; otherwise the whole request fails.
        let is_object = rewrite.schema.get("type").is_some_and(|kind| kind == "object");
        let is_any_object = !is_object || !rewrite.schema.get("properties").is_none_or(Value::is_object);
        if is_any_object {
            rewrite.schema = json!({ "type": "object", "properties": {} });
            rewrite.is_strict = false;
        }
        if let Value::Object(root) = &mut rewrite.schema {
            root.entry("properties").or_insert_with(|| json!({}));
        }
        visible_texts(&mut rewrite.schema);
        let said = descriptions(&rewrite.schema).join("\n").to_lowercase();
        let unsaid = rewrite.lost.iter().filter_map(|lost| words(lost, &said)).collect();
        Self { rewrite, unsaid, is_any_object }
    }
}

/// Describes a loss, unless the schema already does.
fn words(lost: &Lost, said: &str) -> Option<String> {
    let words = plain(lost.words.as_deref()?);
    (!words.is_empty() && !said.contains(&words.to_lowercase())).then(|| match place(&lost.pointer) {
        place if place.is_empty() => words,
        place => format!("{place}: {words}"),
    })
}

/// Returns a place of a schema as a model knows it: `order.items[]`.
fn place(pointer: &str) -> String {
    let mut place = String::new();
    let mut segments = pointer.split('/').skip(1);
    while let Some(segment) = segments.next() {
        match segment {
            "properties" => {
                let dot = if place.is_empty() { "" } else { "." };
                let name = pointer_key(segments.next().unwrap_or_default());
                place = format!("{place}{dot}{}", line(&name));
            }
            "items" => place.push_str("[]"),
            _ => {}
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_keywords_are_cleaned() {
        let mut schema = json!({
            "description": "of\u{202e}all",
            "properties": {
                "description": { "title": "a\u{200b}b", "enum": ["x\u{200b}"], "default": { "description": "y\u{200b}" } },
                "de\u{200b}": { "items": { "anyOf": [{ "description": "z\u{7}" }] } }
            }
        });
        visible_texts(&mut schema);
        let cleaned = json!({
            "description": "ofall",
            "properties": {
                "description": { "title": "ab", "enum": ["x\u{200b}"], "default": { "description": "y\u{200b}" } },
                "de\u{200b}": { "items": { "anyOf": [{ "description": "z" }] } }
            }
        });
        assert_eq!(schema, cleaned);
    }

    #[test]
    fn schema_pointers_are_shown_as_argument_paths() {
        assert_eq!(place("/properties/order/properties/items/items/properties/a~1b"), "order.items[].a/b");
        assert_eq!(place(""), "");
        assert_eq!(place("/anyOf/1/properties/x"), "x");
    }
}
