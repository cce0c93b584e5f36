//! Makes a model's call and replies to it.

use std::sync::OnceLock;

use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::validate::Violation;
use mcp_bindgen_runtime::{CallError, CallOptions, Client, ToolCall, ToolReply, ToolResult};
use serde_json::{Map, Value};

use super::context::Through;
use super::find::{Asked, asked};
use super::functions::contained;
use super::places::Places;
use super::words::{at, broken, invalid, message_for_model, suggestions, unknown_tool};
use super::{Entry, Handler, Toolset, mend};
use crate::json::names;
use crate::provider::{Arguments, with_message};

/// The caller's name, for observers.
const SOURCE: &str = "toolset";
/// More values in other case are no slip.
const MOST_MENDED: usize = 16;
/// The maximum number of argument faults in one answer to a model.
const MOST_FAULTS: usize = 8;

impl Toolset {
    /// Calls a tool by its name in the toolset. This always returns a reply: errors are messages from which a model
    /// can correct its call.
    ///
    /// - Names are looked up, never split. A name that is not in the toolset is rejected with the nearest names.
    /// - The server receives the model's arguments, including undeclared keys, but without the nulls that strict mode
    ///   forces models to send and the server does not accept.
    /// - The arguments are validated against the schema that the server declares; invalid ones are not sent. If a
    ///   schema cannot be used, the server validates. A value of an `enum` or `const` in the wrong letter case is
    ///   corrected if it is unambiguous: models change case even when a schema is enforced.
    /// - Arguments may have up to 4 MiB; see [`Arguments`].
    /// - If the server no longer knows the tool, its tools are listed once, and the call is repeated if the tool is
    ///   there. Layers see this as a second call, so an approval asks again.
    /// - The reply's `value` is the result as the server sent it. The value of a function is in its
    ///   `structuredContent`, or is a text block if it is text.
    ///
    /// Dropping the future cancels the call. The timeout is that of the client; functions of the program have none.
    ///
    /// ```
    /// # async fn run(toolset: &mcp_bindgen_agents::Toolset) {
    /// let reply = toolset.dispatch("files_read", r#"{"path": "notes.md"}"#).await;
    /// println!("{}", reply.message);
    /// # }
    /// ```
    pub fn dispatch(&self, name: &str, arguments: impl Into<Arguments>) -> impl Future<Output = ToolReply> + Send {
        self.dispatch_with(name, arguments, CallOptions::new())
    }

    /// Calls a tool like [`dispatch`](Self::dispatch), with options: a timeout, a listener for progress, a token that
    /// cancels the call, a name for the caller.
    ///
    /// ```
    /// # async fn run(toolset: &mcp_bindgen_agents::Toolset) {
    /// use mcp_bindgen_runtime::CallOptions;
    ///
    /// let options = CallOptions::new().on_progress(|progress| println!("{}", progress.progress));
    /// let reply = toolset.dispatch_with("files_index", "{}", options).await;
    /// println!("{}", reply.message);
    /// # }
    /// ```
    pub fn dispatch_with(
        &self,
        name: &str,
        arguments: impl Into<Arguments>,
        options: CallOptions,
    ) -> impl Future<Output = ToolReply> + Send {
        let arguments = arguments.into();
        async move {
            match self.entry(name) {
                Some(entry) => self.call(entry, arguments, options.or(&CallOptions::new().source(SOURCE)), None).await,
                None => ToolReply::failure(unknown_tool(name, self.names())),
            }
        }
    }

    /// Makes a model's call; `within` is the call of a function that makes this one.
    pub(super) async fn call(
        &self,
        entry: &Entry,
        arguments: Arguments,
        options: CallOptions,
        within: Option<&ToolCall>,
    ) -> ToolReply {
        let reply = match &entry.handler {
            Handler::Caller(all) => match asked(arguments) {
                Ok(Asked { name, arguments }) => return Box::pin(all.dispatch_with(&name, arguments, options)).await,
                Err(what) => Err(what),
            },
            Handler::Joined(joined) => match joined.picked(arguments) {
                Ok((picked, arguments)) => return Box::pin(self.call(picked, arguments, options, within)).await,
                Err(what) => Err(what),
            },
            Handler::Server { .. } | Handler::Function(_) => match arguments.object() {
                Ok(arguments) => self.own_reply(entry, arguments, options, within).await,
                Err(error) => Err(error.to_string()),
            },
        };
        reply.unwrap_or_else(|what| ToolReply::failure(invalid(&entry.public, &what)))
    }

    /// Makes a call of a tool that has results.
    ///
    /// # Errors
    /// Fails with a message for the model if the arguments do not fit.
    async fn own_reply(
        &self,
        entry: &Entry,
        arguments: Map<String, Value>,
        options: CallOptions,
        within: Option<&ToolCall>,
    ) -> Result<ToolReply, String> {
        let reply = match self.result_of(entry, arguments, options, within).await {
            Ok(result) => with_message(result.into()),
            Err(NoResult::Misfit(misfit)) => return Err(misfit.explained(entry)),
            Err(NoResult::Call(error)) => of_error_of_server(entry, error),
            Err(NoResult::Gone(words)) => ToolReply::failure(words),
            Err(NoResult::Broken) => ToolReply::failure(broken(&entry.public)),
        };
        // A function gets all of it.
        Ok(if within.is_some() { reply } else { self.within_limit(entry, reply) })
    }

    /// Checks arguments, and makes a call with them.
    pub(crate) async fn result_of(
        &self,
        entry: &Entry,
        arguments: Map<String, Value>,
        options: CallOptions,
        within: Option<&ToolCall>,
    ) -> Result<ToolResult, NoResult> {
        let call = self.call_of(entry, fitted(entry, arguments).map_err(NoResult::Misfit)?).with(options);
        let call = match within {
            Some(within) => call.with_extensions_of(within),
            None => call,
        };
        self.carried_out(entry, call).await
    }

    /// Makes a call of a tool through its layers. Panics are not caught.
    pub(super) async fn through(&self, entry: &Entry, call: ToolCall) -> Result<ToolResult, CallError> {
        match &entry.handler {
            Handler::Server { caller, .. } => caller.call_tool_dyn(call).await,
            Handler::Function(caller) => {
                let through = Through { toolset: self.clone(), public: entry.public.clone() };
                caller.call_tool_dyn(call.with_extension(through)).await
            }
            // It has no result, but words for a model.
            Handler::Caller(_) | Handler::Joined(_) => Err(CallError::tool_not_found(&*entry.server, &*entry.tool)),
        }
    }

    /// Makes a call. If the server does not know the tool, lists its tools again, and repeats the call once if the list
    /// has the tool.
    async fn carried_out(&self, entry: &Entry, call: ToolCall) -> Result<ToolResult, NoResult> {
        let call = call.viewed(entry.view.as_deref()).map_err(NoResult::Call)?;
        let live = match &entry.handler {
            Handler::Server { live: Some(live), .. } => Some(live),
            _ => None,
        };
        // Only a call that may be repeated is cloned.
        let again = live.map(|live| (live, call.clone()));
        let outcome = contained(|| self.through(entry, call)).await;
        let outcome = match (outcome, again) {
            (Some(Err(CallError::ToolNotFound { .. })), Some((live, call))) => {
                self.listed_anew(entry, live).await.map_err(NoResult::Gone)?;
                contained(|| self.through(entry, call)).await
            }
            (outcome, _) => outcome,
        };
        outcome.ok_or(NoResult::Broken)?.map_err(NoResult::Call)
    }

    fn call_of(&self, entry: &Entry, arguments: Map<String, Value>) -> ToolCall {
        let call = match &entry.handler {
            Handler::Server { bound: Some((server, tool)), .. } => ToolCall::bound(server, tool, arguments),
            _ => {
                ToolCall::new(entry.server.to_string(), entry.tool.to_string(), arguments).described(entry.annotations)
            }
        };
        self.carried.attached(call)
    }

    /// Asks for the list of a server that does not know the tool.
    ///
    /// # Errors
    /// Fails with a message for the model if the tool is gone.
    async fn listed_anew(&self, entry: &Entry, live: &Client) -> Result<(), String> {
        let gone = message_for_model(&entry.public, &CallError::tool_not_found(&*entry.server, &*entry.tool));
        let tools = live.list_tools_raw().await.map_err(|error| {
            format!("{gone}, and its current tools cannot be listed: {}", printable(&error.message))
        })?;
        let names: Vec<&str> = names(&tools).collect();
        if names.contains(&&*entry.tool) {
            return Ok(());
        }
        // Only tools of the set can be called.
        let others =
            self.entries().iter().filter(|other| other.server == entry.server && names.contains(&&*other.tool));
        Err(format!("{gone}{}", suggestions(&entry.public, others.map(|other| other.public.as_str()))))
    }
}

/// Why a call has no result.
#[derive(Debug)]
pub(crate) enum NoResult {
    /// The arguments do not fit, and nothing was sent.
    Misfit(Box<Misfit>),
    Call(CallError),
    /// The server no longer has the tool; the message for the model.
    Gone(String),
    /// The caller panicked; whether the call had an effect is unknown.
    Broken,
}

/// Arguments that do not fit, and why.
#[derive(Debug)]
pub(crate) struct Misfit {
    arguments: Value,
    violation: Violation,
    /// Those of the schema, once they were needed.
    places: OnceLock<Places>,
}

impl Misfit {
    /// Explains all faults to a model.
    fn explained(&self, entry: &Entry) -> String {
        let violations = entry.violations(&self.arguments, MOST_FAULTS);
        let places = self.places.get_or_init(|| Places::of(&entry.input_schema));
        mend::explained(places, &self.arguments, &violations)
    }

    /// Describes the first fault, without values.
    pub(crate) fn in_words(&self) -> String {
        let Violation { pointer, keyword, message, .. } = &self.violation;
        format!("{message}{} (`{keyword}`)", at(pointer))
    }
}

/// Returns the arguments as they go to the tool: they fit its schema, as far as that can be used.
///
/// # Errors
/// Fails with the faults of the arguments.
fn fitted(entry: &Entry, arguments: Map<String, Value>) -> Result<Map<String, Value>, Box<Misfit>> {
    let known = OnceLock::new();
    let places = || known.get_or_init(|| Places::of(&entry.input_schema));
    let check = |arguments: &Value| entry.check(arguments);
    let sent = Value::Object(arguments);
    let mut whole = sent.clone();
    entry.nulls().take_out(&mut whole);
    if let Err(violation) = check(&whole) {
        whole = if lacks_nulls_alone(&whole, &sent) && check(&sent).is_ok() {
            // A `null` that seemed redundant is required elsewhere in the schema.
            sent
        } else {
            match mended(places, &whole, &violation, check) {
                Some(mended) => mended,
                None => return Err(Box::new(Misfit { arguments: whole, violation, places: known })),
            }
        };
    }
    match whole {
        Value::Object(arguments) => Ok(arguments),
        // No step above turns the object into another value.
        _ => Ok(Map::new()),
    }
}

/// Returns `true` if nothing but nulls is gone: names that were given back are the server's, and those that were sent
/// are not.
fn lacks_nulls_alone(whole: &Value, sent: &Value) -> bool {
    match (whole, sent) {
        (Value::Object(whole), Value::Object(sent)) => {
            let is_kept = |(key, value): (&String, &Value)| match whole.get(key) {
                Some(kept) => lacks_nulls_alone(kept, value),
                None => value.is_null(),
            };
            whole.keys().all(|key| sent.contains_key(key)) && sent.iter().all(is_kept)
        }
        (Value::Array(whole), Value::Array(sent)) => {
            whole.len() == sent.len() && whole.iter().zip(sent).all(|(whole, sent)| lacks_nulls_alone(whole, sent))
        }
        _ => whole == sent,
    }
}

/// Returns corrected arguments, if only the case of letters was wrong.
fn mended<'p>(
    places: impl Fn() -> &'p Places,
    arguments: &Value,
    violation: &Violation,
    check: impl Fn(&Value) -> Result<(), Violation>,
) -> Option<Value> {
    let (mut mended, mut violation) = (arguments.clone(), violation.clone());
    for _ in 0..MOST_MENDED {
        if !mend::mend_case(&places, &mut mended, &violation) {
            return None;
        }
        match check(&mended) {
            Ok(()) => return Some(mended),
            Err(next) => violation = next,
        }
    }
    None
}

fn of_error_of_server(entry: &Entry, error: CallError) -> ToolReply {
    match error {
        CallError::Tool(result) => with_message((*result).into()),
        error => {
            let words = message_for_model(&entry.public, &error);
            let mut reply = ToolReply::from(error);
            reply.message = words;
            reply
        }
    }
}
