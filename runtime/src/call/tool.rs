//! Typed calls: the trait of parameters, the forms of arguments, and the functions for generated code.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Fuse};
use serde_json::{Error, Map, Value};

use super::decode::WRAPPER_FIELD;
use super::error::place;
use super::{CallError, CallOptions, CallTool, Content, ServerSpec, ToolCall, ToolResult, ToolSpec};
use crate::ground::wire::{Fill, Mismatch, Print, Wire, fill, nothing_read, to_value};

/// The typed parameters of one tool; generated code implements it.
pub trait Tool: Wire + Send + Sync {
    /// The wire name.
    const NAME: &'static str = Self::SPEC.name;
    /// The server that offers the tool.
    const SERVER: &'static ServerSpec;
    /// The tool as declared.
    const SPEC: &'static ToolSpec;
    /// The result of a successful call.
    type Output: Send;

    /// Reads the structured content of a result, or its text as JSON if there is no structured content.
    ///
    /// A single block of JSON text is the value, or the only item of a list value; other text blocks are ignored.
    /// Several blocks of JSON are the items of a list, unless exactly one of them fits alone. Without a block of JSON,
    /// the joined blocks may form the value. A value that is a string need not be JSON.
    ///
    /// # Errors
    /// Fails with [`CallError::Tool`] if the tool answered `isError`, and with [`CallError::Decode`] if the result does
    /// not match the tool's `outputSchema`.
    fn output(result: ToolResult) -> Result<Self::Output, CallError>;

    /// Returns the result that a server would send for this output.
    ///
    /// # Errors
    /// Fails with [`CallError::InvalidResponse`] if a number in the output has no JSON form.
    fn result(output: Self::Output) -> Result<ToolResult, CallError>;
}

impl ToolCall {
    /// Creates the call with typed parameters.
    ///
    /// # Errors
    /// Fails with [`CallError::InvalidArguments`] if the parameters do not print as a JSON object.
    pub fn of<P: Tool>(params: &P) -> Result<Self, CallError> {
        Self::typed(P::SERVER, P::SPEC, params)
    }

    fn typed(server: &'static ServerSpec, spec: &'static ToolSpec, params: &dyn Print) -> Result<Self, CallError> {
        let arguments = to_value(params).map_err(|mismatch| unfit(server, spec, &mismatch))?;
        #[cfg(feature = "validate")]
        check_arguments(server, spec, &arguments)?;
        let Value::Object(arguments) = arguments else {
            return Err(unfit(server, spec, &Mismatch::new("expected a JSON object for the arguments")));
        };
        Self::bound(server, spec, arguments).viewed(spec.view().as_ref())
    }
}

impl ToolResult {
    /// Creates the result of a server with this output of a tool: as text and, if the tool has an `outputSchema`, as
    /// structured content with its wrapper, if any.
    ///
    /// ```ignore
    /// let result = ToolResult::of::<GithubCreateIssueParams>(issue)?;
    /// ```
    ///
    /// # Errors
    /// Fails with [`CallError::InvalidResponse`] if a number in the output has no JSON form.
    pub fn of<P: Tool>(output: P::Output) -> Result<Self, CallError> {
        Ok(Self { server: P::SERVER.name.to_owned(), tool: P::NAME.to_owned(), ..P::result(output)? })
    }
}

/// Calls a tool with typed parameters and reads its result, as every generated handler does.
///
/// # Errors
/// Fails like the call itself, with [`CallError::Tool`] if the tool answered `isError`, and with [`CallError::Decode`]
/// if the result does not match its declaration.
pub async fn call<P: Tool>(client: &(impl CallTool + ?Sized), params: &P) -> Result<P::Output, CallError> {
    P::output(send(client, ToolCall::of(params)).await?)
}

/// Sends a call and returns its raw result, unless it is an error.
///
/// # Errors
/// Fails with [`CallError::Tool`] if the tool answered `isError`, and with any error of making or sending the call.
pub async fn send(
    client: &(impl CallTool + ?Sized),
    call: Result<ToolCall, CallError>,
) -> Result<ToolResult, CallError> {
    client.call_tool(call?).await?.success()
}

/// Reads the arguments of a tool.
///
/// # Errors
/// Fails with [`CallError::InvalidArguments`] if the arguments do not match, or are text that is not JSON.
pub fn parse_arguments<P: Tool>(arguments: impl AsArguments) -> Result<P, CallError> {
    read_arguments(&arguments.as_arguments())
}

/// [`parse_arguments`], once for all forms of arguments.
pub fn read_arguments<P: Tool>(arguments: &Result<Cow<'_, Value>, Error>) -> Result<P, CallError> {
    let mut params = None;
    fill_arguments(P::SERVER, P::SPEC, arguments, &mut params)?;
    params.ok_or_else(|| unfit(P::SERVER, P::SPEC, &nothing_read()))
}

/// Reads the arguments without those that a view of the tool sets.
fn fill_arguments(
    server: &'static ServerSpec,
    spec: &'static ToolSpec,
    arguments: &Result<Cow<'_, Value>, Error>,
    params: &mut dyn Fill,
) -> Result<(), CallError> {
    let unfit = |mismatch: Mismatch| unfit(server, spec, &mismatch);
    // The error shows the position in the text, and never the text.
    let not_json = |error: &Error| unfit(Mismatch::new(format!("the text is not JSON: {error}")));
    let mut arguments = Cow::Borrowed(arguments.as_deref().map_err(not_json)?);
    if let (Some(view), Value::Object(sent)) = (spec.view(), &*arguments) {
        ToolCall::bound(server, spec, sent.clone()).viewed(Some(&view)).map(drop)?;
        arguments = Cow::Owned(Value::Object(spec.visible(sent.clone())));
    }
    #[cfg(feature = "validate")]
    check_arguments(server, spec, &arguments)?;
    fill(params, &arguments).map_err(unfit)
}

fn unfit(server: &ServerSpec, spec: &ToolSpec, mismatch: &Mismatch) -> CallError {
    CallError::invalid_arguments(server.name, spec.name, &mismatch.pointer(), mismatch.message())
}

#[cfg(feature = "validate")]
fn check_arguments(server: &ServerSpec, spec: &'static ToolSpec, arguments: &Value) -> Result<(), CallError> {
    crate::call::validate::arguments(spec, arguments)
        .map_err(|refusal| CallError::invalid_arguments(server.name, spec.name, refusal.pointer(), refusal.message()))
}

/// Returns the arguments of a tool as JSON, or `null` if a number in them has no JSON form; then the call fails.
pub fn print_arguments<P: Tool>(params: &P) -> Value {
    to_value(params).unwrap_or_default()
}

/// Returns the place of a tool with this name in a list: the server's name for it, or else the one with the prefix.
#[must_use]
pub fn place_of(tools: &[ToolSpec], name: &str) -> Option<usize> {
    let place = |is: fn(&ToolSpec) -> &str| tools.iter().position(|tool| is(tool) == name);
    place(|tool| tool.name).or_else(|| place(|tool| tool.prefixed))
}

/// The arguments of a tool in any form: JSON, JSON text, or nothing, which means no arguments.
///
/// ```
/// use mcp_bindgen_runtime::AsArguments;
/// use serde_json::json;
///
/// assert_eq!(*r#"{"n": 1}"#.as_arguments()?, json!({"n": 1}));
/// for nothing in [json!(null), json!({})] {
///     assert_eq!(*nothing.as_arguments()?, json!({}));
/// }
/// assert_eq!(*().as_arguments()?, json!({}));
/// assert!("{n: 1}".as_arguments().is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
pub trait AsArguments {
    /// Returns the arguments as JSON: `{}` for `null`, for empty text and for nothing.
    ///
    /// # Errors
    /// Fails if text is not JSON.
    fn as_arguments(&self) -> Result<Cow<'_, Value>, Error>;
}

fn none<'a>() -> Cow<'a, Value> {
    Cow::Owned(Value::Object(Map::new()))
}

impl AsArguments for Value {
    fn as_arguments(&self) -> Result<Cow<'_, Value>, Error> {
        Ok(if self.is_null() { none() } else { Cow::Borrowed(self) })
    }
}

impl AsArguments for Map<String, Value> {
    fn as_arguments(&self) -> Result<Cow<'_, Value>, Error> {
        Ok(Cow::Owned(Value::Object(self.clone())))
    }
}

impl AsArguments for str {
    fn as_arguments(&self) -> Result<Cow<'_, Value>, Error> {
        let read = if self.trim().is_empty() { Value::Null } else { serde_json::from_str(self)? };
        Ok(if read.is_null() { none() } else { Cow::Owned(read) })
    }
}

impl AsArguments for String {
    fn as_arguments(&self) -> Result<Cow<'_, Value>, Error> {
        self.as_str().as_arguments()
    }
}

impl AsArguments for () {
    fn as_arguments(&self) -> Result<Cow<'_, Value>, Error> {
        Ok(none())
    }
}

impl<T: AsArguments> AsArguments for Option<T> {
    fn as_arguments(&self) -> Result<Cow<'_, Value>, Error> {
        self.as_ref().map_or_else(|| Ok(none()), T::as_arguments)
    }
}

impl<T: AsArguments + ?Sized> AsArguments for &T {
    fn as_arguments(&self) -> Result<Cow<'_, Value>, Error> {
        (**self).as_arguments()
    }
}

/// A call with typed parameters and a typed result, made when it is awaited. The methods of bindings return it.
///
/// ```ignore
/// let issue = gh.create_issue(params).await?;
/// let issue = gh.create_issue(params).within(Duration::from_secs(5)).await?;
/// let issue = gh.create_issue(params).with(CallOptions::new().on_progress(report)).await?;
/// ```
#[must_use = "a call is made when it is awaited"]
pub struct TypedCall<'c, C, P: Tool> {
    /// The parts of the call, until it is first polled.
    unmade: Option<(&'c C, P, CallOptions)>,
    /// The call, once it is polled.
    running: Option<Running<'c, P::Output>>,
}

type Running<'c, T> = Fuse<BoxFuture<'c, Result<T, CallError>>>;

impl<'c, C: CallTool, P: Tool + 'c> TypedCall<'c, C, P> {
    /// Creates a call through `client`.
    pub const fn new(client: &'c C, params: P) -> Self {
        Self { unmade: Some((client, params, CallOptions::new())), running: None }
    }

    /// Sets options, and keeps earlier ones that these do not set. Has no effect after the first poll.
    pub fn with(mut self, given: CallOptions) -> Self {
        if let Some((_, _, options)) = &mut self.unmade {
            *options = given.or(options);
        }
        self
    }

    /// Sets the timeout of the call, including connecting; see [`CallOptions::timeout`].
    pub fn within(self, timeout: Duration) -> Self {
        self.with(CallOptions::new().timeout(timeout))
    }
}

impl<'c, C: CallTool, P: Tool + 'c> Future for TypedCall<'c, C, P> {
    type Output = Result<P::Output, CallError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { unmade, running } = self.get_mut();
        if let Some((client, params, options)) = unmade.take() {
            let call = async move { P::output(client.call_tool(ToolCall::of(&params)?.with(options)).await?) };
            *running = Some(call.boxed().fuse());
        }
        // A finished call is pending forever.
        running.as_mut().map_or(Poll::Pending, |call| call.poll_unpin(context))
    }
}

/// No field is ever pinned.
impl<C, P: Tool> Unpin for TypedCall<'_, C, P> {}

impl<C, P: Tool> fmt::Debug for TypedCall<'_, C, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedCall").field("server", &P::SERVER.name).field("tool", &P::NAME).finish_non_exhaustive()
    }
}

/// Encodes an output like [`Tool::result`], in an object if the server wraps it: as text, and as structured content if
/// the server declares an `outputSchema`.
///
/// # Errors
/// Fails with [`CallError::InvalidResponse`] if a number in the output has no JSON form.
#[doc(hidden)]
pub fn encode<P: Tool>(output: &dyn Print, is_wrapped: bool) -> Result<ToolResult, CallError> {
    encoded(P::SERVER.name, P::SPEC, output, is_wrapped)
}

fn encoded(server: &str, spec: &ToolSpec, output: &dyn Print, is_wrapped: bool) -> Result<ToolResult, CallError> {
    let value = to_value(output).map_err(|mismatch| CallError::InvalidResponse {
        server: server.to_owned(),
        tool: spec.name.to_owned(),
        message: format!("the result cannot be sent{}: {}", place(&mismatch.pointer()), mismatch.message()),
    })?;
    let value = if is_wrapped { Value::from_iter([(WRAPPER_FIELD, value)]) } else { value };
    let content = vec![Content::text(value.to_string())];
    let structured = spec.declared_output_schema().is_some().then_some(value);
    Ok(ToolResult { content, structured, ..ToolResult::new(server, spec.name) })
}

/// Implements [`Tool`] for the parameters of a tool: `-> Output` for an `outputSchema`, `-> Inner = Output.field` for
/// an output in a wrapper.
#[doc(hidden)]
#[macro_export]
macro_rules! __tool {
    (@impl $params:ident [$output:ty] $server:ident $spec:expr, $result:ident => $decoded:expr, $value:ident => $encoded:expr) => {
        impl $crate::Tool for $params {
            const SERVER: &'static $crate::ServerSpec = &$server;
            const SPEC: &'static $crate::ToolSpec = &$spec;
            type Output = $output;

            fn output($result: $crate::ToolResult) -> ::core::result::Result<$output, $crate::CallError> {
                $decoded
            }

            fn result($value: $output) -> ::core::result::Result<$crate::ToolResult, $crate::CallError> {
                $encoded
            }
        }
    };
    ($params:ident of $server:ident: $spec:expr) => {
        $crate::__tool!(@impl $params [$crate::ToolResult] $server $spec,
            result => result.success(), output => ::core::result::Result::Ok(output));
    };
    ($params:ident -> $output:ident of $server:ident: $spec:expr) => {
        $crate::__tool!(@impl $params [$output] $server $spec,
            result => $crate::__private::decode(result, false),
            output => $crate::__private::encode::<Self>(&output, false));
    };
    ($params:ident -> $inner:ty = $output:ident.$field:ident of $server:ident: $spec:expr) => {
        $crate::__tool!(@impl $params [$inner] $server $spec,
            result => $crate::__private::decode(result, true).map(|output: $output| output.$field),
            output => $crate::__private::encode::<Self>(&output, true));
    };
    // Only the type of the whole output is a `Wire` type; the other types come from typify.
    ($params:ident -> $inner:ty = $output:ident::new($field:ident) of $server:ident: $spec:expr) => {
        $crate::__tool!(@impl $params [$inner] $server $spec,
            result => $crate::__private::decode(result, true).map(|output: $output| output.$field),
            output => $crate::__private::encode::<Self>(&$output::new(output), false));
    };
}
