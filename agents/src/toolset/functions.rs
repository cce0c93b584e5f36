//! Functions of the program as tools: their calls, their parameters, and the service that runs them.

use std::any::Any;
use std::fmt::{self, Display};
use std::future::ready;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::__private::Offer;
use mcp_bindgen_runtime::middleware::Stack;
use mcp_bindgen_runtime::{
    CallError, CallOptions, CallTool, Client, Content, Dispatched, DynCallTool, Progress, ReadResource,
    ResourceRequest, ToolCall, ToolReply, ToolResult,
};
use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::Toolset;
use super::words::{broken, message_for_model, unknown_tool};
use crate::lock::locked;
use crate::provider::Arguments;
use crate::text::line;

/// The keys of a listed resource that a model is shown.
const SHOWN: [&str; 6] = ["uri", "uriTemplate", "name", "title", "description", "mimeType"];

/// The call that a function of the program runs for: its options, its values, and the toolset that it came through.
///
/// It calls tools as a client does, so that the handlers of bindings take it: `github_create_issue(&context, params)`.
/// Calls go through the layers of the toolset, with the [values](Self::extension) of this call, and are cancelled with
/// it. Tools that are not in the toolset are not found.
///
/// ```
/// use mcp_bindgen_agents::{FunctionContext, Toolset, ToolsetError};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Clone)]
/// struct Conversation(String);
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Note { text: String }
///
/// let toolset = Toolset::builder()
///     .function_with("take_note", "Keeps a note for later.", async |context: FunctionContext, note: Note| {
///         let Some(Conversation(id)) = context.extension() else { return Err("unknown conversation") };
///         Ok(format!("{id}: {}", note.text))
///     })
///     .build()?;
/// let toolset = toolset.with_extension(Conversation("7f3a".to_owned()));
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let reply = toolset.dispatch("take_note", r#"{"text": "milk"}"#).await;
/// assert_eq!(reply.message, "7f3a: milk");
/// # });
/// # Ok::<(), ToolsetError>(())
/// ```
#[derive(Clone)]
pub struct FunctionContext {
    call: ToolCall,
}

/// The toolset that a call came through, and the name of the tool in it.
#[derive(Clone)]
pub(super) struct Through {
    pub(super) toolset: Toolset,
    pub(super) public: String,
}

impl FunctionContext {
    /// Returns the name of the function in the toolset, or its own name if it is called without one.
    #[must_use]
    pub fn tool(&self) -> &str {
        self.through().map_or(&self.call.tool, |through| &through.public)
    }

    /// Returns the value of a type that the call carries: from [`Toolset::with_extension`], or from a layer.
    #[must_use]
    pub fn extension<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.call.extension()
    }

    /// Returns the options of the call: [`CallOptions::cancellation`] is the token that cancels it.
    pub const fn options(&self) -> &CallOptions {
        &self.call.options
    }

    /// Reports progress to the caller, if it listens; see [`Toolset::dispatch_with`].
    pub fn report(&self, progress: Progress) {
        self.call.options.report(progress);
    }

    /// Returns the toolset of the call, or `None` if a layer made it.
    #[must_use]
    pub fn toolset(&self) -> Option<&Toolset> {
        self.through().map(|through| &through.toolset)
    }

    /// Calls a tool by its name in the toolset, as [`Toolset::dispatch`] does.
    pub async fn dispatch(&self, name: &str, arguments: impl Into<Arguments> + Send) -> ToolReply {
        let arguments = arguments.into();
        match self.toolset().and_then(|toolset| Some((toolset, toolset.entry(name)?))) {
            Some((toolset, entry)) => toolset.call(entry, arguments, self.inner_options(), Some(&self.call)).await,
            None => ToolReply::failure(unknown_tool(name, self.toolset().iter().flat_map(|set| set.names()))),
        }
    }

    fn through(&self) -> Option<&Through> {
        self.call.extension()
    }

    /// Returns the options of calls that the function makes: they end with its own.
    fn inner_options(&self) -> CallOptions {
        let options = CallOptions::new().source(self.tool());
        match self.call.options.cancellation() {
            Some(token) => options.cancelled_by(token.clone()),
            None => options,
        }
    }
}

impl CallTool for FunctionContext {
    async fn call_tool(&self, mut call: ToolCall) -> Result<ToolResult, CallError> {
        let found = self.toolset().and_then(|toolset| Some((toolset, toolset.entry_of(&call.server, &call.tool)?)));
        let Some((toolset, entry)) = found else {
            return Err(CallError::tool_not_found(&*call.server, &*call.tool));
        };
        call.options = call.options.or(&self.inner_options());
        toolset.through(entry, call.with_extensions_of(&self.call)).await
    }
}

impl fmt::Debug for FunctionContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionContext").field("tool", &self.tool()).finish_non_exhaustive()
    }
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

/// The group, the name and the code of a function.
type Added = (Arc<str>, Arc<str>, Function);

/// Functions of the program, as a service that calls tools. The server of a call is the function's group, or
/// `program`; the tool is its name. [`ToolsetBuilder::functions_through`](crate::ToolsetBuilder::functions_through)
/// passes it to the closure that adds layers.
///
/// A function that fails or panics returns an error result (`isError`). A call of an unknown function fails with
/// [`CallError::ToolNotFound`], a cancelled one with [`CallError::Cancelled`].
#[derive(Clone)]
pub struct Functions {
    added: Arc<Mutex<Vec<Added>>>,
    offer: Offer,
}

impl Default for Functions {
    fn default() -> Self {
        Self { added: Arc::default(), offer: Offer::of_functions() }
    }
}

impl Functions {
    /// Returns the service of one function, whose calls are reported as events.
    pub(crate) fn alone(group: &str, name: &str, function: Function) -> Arc<dyn DynCallTool> {
        let functions = Self::default();
        functions.add(group.into(), name.into(), function);
        Arc::new(Stack::new(functions))
    }

    pub(crate) fn add(&self, group: Arc<str>, name: Arc<str>, function: Function) {
        locked(&self.added).push((group, name, function));
    }
}

impl CallTool for Functions {
    async fn call_tool(&self, mut call: ToolCall) -> Result<ToolResult, CallError> {
        let is_called = |(group, name, _): &&Added| **group == *call.server && **name == *call.tool;
        let found = locked(&self.added).iter().find(is_called).map(|(.., function)| function.clone());
        let Some(function) = found else {
            return Err(CallError::tool_not_found(&*call.server, &*call.tool));
        };
        let arguments = std::mem::take(&mut call.arguments);
        let context = FunctionContext { call: call.clone() };
        let shown = context.tool().to_owned();
        let running = contained(|| function(context, arguments));
        let outcome = match call.options.cancellation() {
            Some(token) => token.run_until_cancelled(running).await,
            None => Some(running.await),
        };
        let Some(outcome) = outcome else {
            return Err(CallError::cancelled(&*call.server, &*call.tool, Dispatched::Unknown));
        };
        let mut result = ToolResult::new(&*call.server, &*call.tool);
        match outcome.unwrap_or_else(|| Err(broken(&shown))) {
            Ok(Output::Content(content)) => result.content = content,
            Ok(Output::Value(value)) => result.structured = Some(value),
            Err(words) => {
                result.content = vec![Content::text(words)];
                result.is_error = true;
            }
        }
        Ok(result)
    }

    fn offer(&self) -> Offer {
        self.offer.clone()
    }
}

/// Returns the output of a future, or `None` if the future or its closure panics. The panic message goes only to the
/// program's panic hook, because it may contain a secret.
pub(super) async fn contained<F: Future>(begin: impl FnOnce() -> F) -> Option<F::Output> {
    // The program handles the state of a closure that panicked; it sees the error.
    AssertUnwindSafe(async { begin().await }).catch_unwind().await.ok()
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let added = locked(&self.added);
        f.debug_list().entries(added.iter().map(|(group, name, _)| (group, name))).finish()
    }
}

/// Returns the schema of a function's parameters.
///
/// # Errors
/// Fails with the actual type if the parameters are not an object.
pub(crate) fn schema_of<P: JsonSchema>() -> Result<Value, String> {
    let settings = SchemaSettings::draft2020_12().with_transform(say_that_null_is_absent);
    let schema = settings.into_generator().into_root_schema_for::<P>().to_value();
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => Ok(schema),
        // An enum of objects says so in its branches.
        None if ["oneOf", "anyOf", "allOf", "$ref"].iter().any(|key| schema.get(key).is_some()) => Ok(schema),
        Some(Value::String(kind)) => Err(format!("of type `{kind}`")),
        Some(_) => Err("of several types".to_owned()),
        None => Err("of any type".to_owned()),
    }
}

/// Declares that `null` means absence, because serde treats an absent `Option` and `null` alike. Otherwise a tool with
/// nullable optional parameters could not be strict for OpenAI, whose models always send them.
fn say_that_null_is_absent(schema: &mut Schema) {
    transform_subschemas(&mut say_that_null_is_absent, schema);
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (_, property) in properties.iter_mut().filter(|(name, _)| !required.iter().any(|key| key == *name)) {
        if let Value::Object(property) = property
            && may_be_null(property)
        {
            property.entry("default").or_insert(Value::Null);
        }
    }
}

fn may_be_null(schema: &Map<String, Value>) -> bool {
    let is_null = |kind: &Value| kind == "null";
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is_null),
        Some(kind) => is_null(kind),
        None => {
            let branches = schema.get("anyOf").and_then(Value::as_array);
            branches.is_some_and(|branches| branches.iter().any(|branch| branch.get("type").is_some_and(is_null)))
        }
    }
}

/// Returns the function as one of arguments, which are read as its parameters.
pub(crate) fn typed<P, T, E, R>(function: impl Fn(FunctionContext, P) -> R + Send + Sync + 'static) -> Function
where
    P: DeserializeOwned + 'static,
    R: Future<Output = Result<T, E>> + Send + 'static,
    T: Serialize,
    E: Display,
{
    Arc::new(move |context, arguments| match serde_json::from_value::<P>(Value::Object(arguments)) {
        Ok(parameters) => {
            let running = function(context, parameters);
            Box::pin(async move {
                let value = running.await.map_err(|error| error.to_string())?;
                let value = serde_json::to_value(value);
                value.map(Output::from).map_err(|error| format!("the function's result has no JSON form: {error}"))
            })
        }
        Err(error) => Box::pin(ready(Err(invalid_arguments(&error)))),
    })
}

/// Describes arguments that a function cannot read.
fn invalid_arguments(error: &serde_json::Error) -> String {
    format!("invalid arguments: {}", line(&error.to_string()))
}

/// Returns the two tools by which a model lists and reads the resources of a server.
pub(super) fn resource_tools(client: &Client) -> [ServerFunction; 2] {
    let server = client.name();
    let list_schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let read_schema = json!({
        "type": "object",
        "properties": { "uri": { "type": "string", "description": "The URI, as listed or made from a listed template." } },
        "required": ["uri"],
        "additionalProperties": false,
    });
    let (lists, reads) = (
        format!("Lists the resources of {server}, and templates of URIs."),
        format!("Reads a resource of {server} by its URI."),
    );
    [
        ("list_resources", lists, list_schema, with_state(client.clone(), list_resources)),
        ("read_resource", reads, read_schema, with_state(client.clone(), read_resource)),
    ]
}

async fn list_resources(client: Client, _: FunctionContext, _: Map<String, Value>) -> Result<Output, String> {
    let lists = futures_util::try_join!(client.list_resources_raw(), client.list_resource_templates_raw());
    let (resources, templates) =
        lists.map_err(|error| format!("its resources cannot be listed: {}", printable(&error.message)))?;
    let shown = |list: &[Value]| -> Vec<Value> {
        let keys = |item: &Value| SHOWN.iter().filter_map(|key| Some((*key, item.get(key)?.clone()))).collect();
        list.iter().map(keys).collect()
    };
    Ok(json!({ "resources": shown(&resources), "templates": shown(&templates) }).into())
}

async fn read_resource(
    client: Client,
    context: FunctionContext,
    arguments: Map<String, Value>,
) -> Result<Output, String> {
    let uri = arguments.get("uri").and_then(Value::as_str).unwrap_or_default();
    let request = ResourceRequest::new(client.name().to_owned(), uri).with(context.inner_options());
    let result = client.read_resource(request).await;
    let result = result.map_err(|error| message_for_model(context.tool(), &error))?;
    let block = |contents| json!({ "type": "resource", "resource": contents });
    let contents = result.contents.iter().map(|contents| Content::from_json(block(contents)));
    Ok(Output::Content(contents.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(members) => members,
            other => panic!("{other} is no object"),
        }
    }

    fn context() -> FunctionContext {
        FunctionContext { call: ToolCall::new("program", "double", Map::new()) }
    }

    #[tokio::test]
    async fn function_returns_a_value_or_an_argument_error() {
        let double = typed(async |_, numbers: std::collections::BTreeMap<String, i64>| match numbers.get("n") {
            Some(n) if *n < 0 => Err("it is negative"),
            Some(n) => Ok(n * 2),
            None => Err("there is no `n`"),
        });
        assert_eq!(double(context(), object(json!({ "n": 4 }))).await, Ok(Output::Value(json!(8))));
        assert_eq!(double(context(), object(json!({ "n": -4 }))).await, Err("it is negative".to_owned()));
        let unfit = double(context(), object(json!({ "n": "four" }))).await.unwrap_err();
        assert!(unfit.contains("invalid arguments") && unfit.contains("i64"), "{unfit}");
    }

    #[test]
    fn optional_parameters_may_be_null() {
        #[derive(schemars::JsonSchema)]
        #[allow(dead_code)]
        struct Order {
            number: u64,
            note: Option<String>,
            lines: Vec<Line>,
        }
        #[derive(schemars::JsonSchema)]
        #[allow(dead_code)]
        struct Line {
            gift: Option<bool>,
        }
        let schema = schema_of::<Order>().unwrap();
        assert!(schema.pointer("/properties/number/default").is_none());
        assert_eq!(schema.pointer("/properties/note/default"), Some(&Value::Null));
        assert_eq!(schema.pointer("/$defs/Line/properties/gift/default"), Some(&Value::Null));
        let strict = mcp_bindgen_schema::provider::strict(&schema, mcp_bindgen_schema::provider::Dialect::OpenAi);
        assert!(strict.is_ok(), "{strict:?}");
    }

    #[test]
    fn null_is_absence_by_the_type_or_by_branches_without_one() {
        let is_null = |schema: Value| may_be_null(&object(schema));
        assert!(is_null(json!({ "type": ["string", "null"] })) && is_null(json!({ "type": "null" })));
        assert!(is_null(json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] })));
        assert!(!is_null(json!({ "type": "string", "anyOf": [{ "type": "null" }] })));
        assert!(!is_null(json!({ "anyOf": [{ "type": ["string", "null"] }] })));
    }

    #[test]
    fn function_parameters_must_be_an_object() {
        assert_eq!(schema_of::<std::collections::BTreeMap<String, i64>>().unwrap()["type"], "object");
        assert_eq!(schema_of::<String>(), Err("of type `string`".to_owned()));
        assert_eq!(schema_of::<Option<i64>>(), Err("of several types".to_owned()));
        assert_eq!(schema_of::<Value>(), Err("of any type".to_owned()));
    }
}
