//! What generated code is made of: specifications as constants, a trait that ties parameters to a tool,
//! and the trait of everything that can call one.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::wire::{Wire, from_value, to_value};
use crate::{AsArguments, CallError, ToolResult};

/// A server as the bindings know it: its name, how to reach it, and what was agreed when its snapshot was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerSpec {
    /// The name in `mcp.toml`.
    pub name: &'static str,
    /// The server's entry of the configuration as one JSON object; secrets are still placeholders.
    pub config: Option<&'static str>,
    /// The folder that relative paths in `config` are relative to.
    pub folder: Option<&'static str>,
    /// The protocol version that the snapshot was taken with.
    pub protocol_version: Option<&'static str>,
    /// The client capabilities that the snapshot was taken with, as JSON text: a server's list may depend on them.
    pub client_capabilities: Option<&'static str>,
    /// The tools that were bound.
    pub tools: &'static [ToolSpec],
}

impl ServerSpec {
    /// A server with a name and nothing else.
    pub const fn new(name: &'static str) -> Self {
        Self { name, config: None, folder: None, protocol_version: None, client_capabilities: None, tools: &[] }
    }

    /// Sets how to reach the server.
    pub const fn config(mut self, json: &'static str) -> Self {
        self.config = Some(json);
        self
    }

    /// Sets the folder that relative paths of the configuration are relative to.
    pub const fn folder(mut self, path: &'static str) -> Self {
        self.folder = Some(path);
        self
    }

    /// Sets the protocol version of the snapshot.
    pub const fn protocol_version(mut self, version: &'static str) -> Self {
        self.protocol_version = Some(version);
        self
    }

    /// Sets the client capabilities of the snapshot.
    pub const fn client_capabilities(mut self, json: &'static str) -> Self {
        self.client_capabilities = Some(json);
        self
    }

    /// Sets the bound tools.
    pub const fn tools(mut self, tools: &'static [ToolSpec]) -> Self {
        self.tools = tools;
        self
    }
}

/// What a server says of a tool's behaviour (`annotations`). These are hints of a stranger, not promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Annotations {
    /// `readOnlyHint`
    pub read_only: Option<bool>,
    /// `destructiveHint`
    pub destructive: Option<bool>,
    /// `idempotentHint`
    pub idempotent: Option<bool>,
    /// `openWorldHint`
    pub open_world: Option<bool>,
}

/// A tool as its server declared it, and as overrides mend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The wire name.
    pub name: &'static str,
    /// The name with the server's prefix, by which the tool is told from those of other servers; the wire name where
    /// there is no prefix.
    pub prefixed: &'static str,
    /// The title, for people.
    pub title: Option<&'static str>,
    /// The description, as sent.
    pub description: Option<&'static str>,
    /// `inputSchema` as JSON text: the bindings', as overrides have it.
    pub input_schema: &'static str,
    /// `outputSchema` as JSON text: the bindings', as overrides have it.
    pub output_schema: Option<&'static str>,
    /// Hints about behaviour.
    pub annotations: Annotations,
    /// What the server declares, where overrides changed it.
    declared: Declared,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Declared {
    input: Option<&'static str>,
    output: Option<Option<&'static str>>,
}

impl ToolSpec {
    /// A tool with its wire name and its `inputSchema` as JSON text.
    pub const fn new(name: &'static str, input_schema: &'static str) -> Self {
        Self {
            name,
            prefixed: name,
            title: None,
            description: None,
            input_schema,
            output_schema: None,
            annotations: Annotations { read_only: None, destructive: None, idempotent: None, open_world: None },
            declared: Declared { input: None, output: None },
        }
    }

    /// Sets the name with the server's prefix.
    pub const fn prefixed(mut self, name: &'static str) -> Self {
        self.prefixed = name;
        self
    }

    /// Sets the title.
    pub const fn title(mut self, title: &'static str) -> Self {
        self.title = Some(title);
        self
    }

    /// Sets the description.
    pub const fn description(mut self, description: &'static str) -> Self {
        self.description = Some(description);
        self
    }

    /// Sets `outputSchema`, as JSON text.
    pub const fn output_schema(mut self, schema: &'static str) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// Sets the `inputSchema` that the server declares, where overrides changed it.
    pub const fn with_declared_input_schema(mut self, schema: &'static str) -> Self {
        self.declared.input = Some(schema);
        self
    }

    /// Sets the `outputSchema` that the server declares, or that it declares none, where overrides changed it.
    pub const fn with_declared_output_schema(mut self, schema: Option<&'static str>) -> Self {
        self.declared.output = Some(schema);
        self
    }

    /// The `inputSchema` that the server declares, which digests are about.
    #[must_use]
    pub const fn declared_input_schema(&self) -> &'static str {
        match self.declared.input {
            Some(schema) => schema,
            None => self.input_schema,
        }
    }

    /// The `outputSchema` that the server declares, which digests are about.
    #[must_use]
    pub const fn declared_output_schema(&self) -> Option<&'static str> {
        match self.declared.output {
            Some(schema) => schema,
            None => self.output_schema,
        }
    }

    /// Sets `readOnlyHint`.
    pub const fn read_only(mut self, hint: bool) -> Self {
        self.annotations.read_only = Some(hint);
        self
    }

    /// Sets `destructiveHint`.
    pub const fn destructive(mut self, hint: bool) -> Self {
        self.annotations.destructive = Some(hint);
        self
    }

    /// Sets `idempotentHint`.
    pub const fn idempotent(mut self, hint: bool) -> Self {
        self.annotations.idempotent = Some(hint);
        self
    }

    /// Sets `openWorldHint`.
    pub const fn open_world(mut self, hint: bool) -> Self {
        self.annotations.open_world = Some(hint);
        self
    }
}

/// The typed parameters of one tool; generated code implements it.
pub trait Tool: Wire + Send + Sync {
    /// The wire name.
    const NAME: &'static str;
    /// The server that offers the tool.
    const SERVER: &'static ServerSpec;
    /// The tool as declared.
    const SPEC: &'static ToolSpec;
    /// What a successful call gives.
    type Output: Send;

    /// Reads a result.
    ///
    /// # Errors
    /// [`CallError::Tool`] where the tool answered `isError`, [`CallError::Decode`] where the result is not what the tool's `outputSchema` promised.
    fn output(result: ToolResult) -> Result<Self::Output, CallError>;
}

/// One call: which tool of which server, with what.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The server's name.
    pub server: Cow<'static, str>,
    /// The tool's wire name.
    pub tool: Cow<'static, str>,
    /// The arguments as they go on the wire.
    pub arguments: Map<String, Value>,
    /// The tool as declared, where the caller has bindings for it.
    pub spec: Option<&'static ToolSpec>,
}

impl ToolCall {
    /// A call by names, without bindings.
    pub fn new(
        server: impl Into<Cow<'static, str>>,
        tool: impl Into<Cow<'static, str>>,
        arguments: Map<String, Value>,
    ) -> Self {
        Self { server: server.into(), tool: tool.into(), arguments, spec: None }
    }

    /// The call that typed parameters stand for.
    ///
    /// # Errors
    /// [`CallError::InvalidArguments`] where the parameters do not print as a JSON object.
    pub fn of<P: Tool>(params: &P) -> Result<Self, CallError> {
        let arguments =
            to_value(params).map_err(|error| invalid_arguments::<P>(error.pointer(), error.message().into_owned()))?;
        #[cfg(feature = "validate")]
        check_arguments::<P>(&arguments)?;
        match arguments {
            Value::Object(arguments) => Ok(Self {
                server: Cow::Borrowed(P::SERVER.name),
                tool: Cow::Borrowed(P::NAME),
                arguments,
                spec: Some(P::SPEC),
            }),
            _ => {
                let message = "the arguments of a tool are a JSON object".to_owned();
                Err(invalid_arguments::<P>(String::new(), message))
            }
        }
    }
}

/// Anything that can call a tool: a [`Client`](crate::Client), a layer around one, a fake in a test.
pub trait CallTool: Send + Sync {
    /// Calls a tool and gives its result, also where the tool answered `isError`.
    ///
    /// # Errors
    /// Every [`CallError`] but `Tool` and `Decode`.
    fn call_tool(&self, call: ToolCall) -> impl Future<Output = Result<ToolResult, CallError>> + Send;
}

impl<C: CallTool + ?Sized> CallTool for &C {
    fn call_tool(&self, call: ToolCall) -> impl Future<Output = Result<ToolResult, CallError>> + Send {
        (**self).call_tool(call)
    }
}

impl<C: CallTool + ?Sized> CallTool for Arc<C> {
    fn call_tool(&self, call: ToolCall) -> impl Future<Output = Result<ToolResult, CallError>> + Send {
        (**self).call_tool(call)
    }
}

/// Calls a tool with typed parameters and reads its result: what every generated handler does.
///
/// # Errors
/// [`CallError::Tool`] where the tool answered `isError`, [`CallError::Decode`] where the result is not what was
/// declared, and whatever the call itself met.
pub async fn call<P: Tool>(client: &(impl CallTool + ?Sized), params: &P) -> Result<P::Output, CallError> {
    P::output(call_untyped(client, params).await?)
}

/// Calls a tool with typed parameters and gives its result as it came, unless it is an error.
///
/// # Errors
/// [`CallError::Tool`] where the tool answered `isError`, and whatever the call itself met.
pub async fn call_untyped<P: Tool>(client: &(impl CallTool + ?Sized), params: &P) -> Result<ToolResult, CallError> {
    client.call_tool(ToolCall::of(params)?).await?.success()
}

/// Reads the arguments of a tool.
///
/// # Errors
/// [`CallError::InvalidArguments`] where they do not fit, or are text that is not JSON.
pub fn parse_arguments<P: Tool>(arguments: impl AsArguments) -> Result<P, CallError> {
    read_arguments(&arguments.as_arguments())
}

/// [`parse_arguments`], once for all forms of arguments.
#[doc(hidden)]
pub fn read_arguments<P: Tool>(arguments: &Result<Cow<'_, Value>, serde_json::Error>) -> Result<P, CallError> {
    // The error says where the text is wrong, and never what it says.
    let arguments = arguments
        .as_deref()
        .map_err(|error| invalid_arguments::<P>(String::new(), format!("the text is not JSON: {error}")))?;
    #[cfg(feature = "validate")]
    check_arguments::<P>(arguments)?;
    from_value(arguments).map_err(|error| invalid_arguments::<P>(error.pointer(), error.message().into_owned()))
}

fn invalid_arguments<P: Tool>(pointer: String, message: String) -> CallError {
    CallError::InvalidArguments { server: P::SERVER.name.to_owned(), tool: P::NAME.to_owned(), pointer, message }
}

#[cfg(feature = "validate")]
fn check_arguments<P: Tool>(arguments: &Value) -> Result<(), CallError> {
    crate::validate::arguments(P::SPEC, arguments)
        .map_err(|refusal| invalid_arguments::<P>(refusal.pointer().to_owned(), refusal.message()))
}

/// The arguments of a tool as JSON; a number that JSON does not have prints as `null`, and fails when it is called.
pub fn print_arguments<P: Tool>(params: &P) -> Value {
    to_value(params).unwrap_or_default()
}

/// The place of a tool with this name in a list: the server's name for it, or else the one with the prefix.
#[doc(hidden)]
#[must_use]
pub fn place_of(tools: &[ToolSpec], name: &str) -> Option<usize> {
    let place = |is: fn(&ToolSpec) -> &str| tools.iter().position(|tool| is(tool) == name);
    place(|tool| tool.name).or_else(|| place(|tool| tool.prefixed))
}

/// The error of a name that no bound tool has.
#[must_use]
pub fn tool_not_found(server: &str, tool: &str) -> CallError {
    CallError::ToolNotFound { server: server.to_owned(), tool: tool.to_owned() }
}

/// [`Tool`] for the parameters of a tool: `-> Output` where there is an `outputSchema`, `-> Inner = Output.field` where
/// the output is in a wrapper.
#[doc(hidden)]
#[macro_export]
macro_rules! __tool {
    (@impl $params:ident [$output:ty] $server:ident $spec:expr, $result:ident => $decoded:expr) => {
        impl $crate::Tool for $params {
            const NAME: &'static str = <Self as $crate::Tool>::SPEC.name;
            const SERVER: &'static $crate::ServerSpec = &$server;
            const SPEC: &'static $crate::ToolSpec = &$spec;
            type Output = $output;

            fn output($result: $crate::ToolResult) -> ::core::result::Result<$output, $crate::CallError> {
                $decoded
            }
        }
    };
    ($params:ident of $server:ident: $spec:expr) => {
        $crate::__tool!(@impl $params [$crate::ToolResult] $server $spec, result => result.success());
    };
    ($params:ident -> $output:ident of $server:ident: $spec:expr) => {
        $crate::__tool!(@impl $params [$output] $server $spec, result => $crate::decode(result));
    };
    ($params:ident -> $inner:ty = $output:ident.$field:ident of $server:ident: $spec:expr) => {
        $crate::__tool!(@impl $params [$inner] $server $spec, result => {
            $crate::decode_wrapped(result).map(|output: $output| output.$field)
        });
    };
}
