//! Makes a model's calls and replies to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::{BoxFuture, join};
use futures_util::stream::{self, StreamExt};
use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::{CallError, CallOptions, Client, ToolCall, ToolReply, ToolResult};
use serde_json::{Map, Value};

use super::find::asked;
use super::functions::{Through, contained};
use super::mend::{Misfit, fitted};
use super::words::{broken, invalid, message_for_model, suggestions, unfinished, unknown_tool};
use super::{Entry, Handler, Toolset};
use crate::json::names;
use crate::provider::{Answers, Arguments, ModelCall, with_message};

/// The caller's name, for observers.
const SOURCE: &str = "toolset";
/// How many calls of a turn are under way at once.
const MOST_AT_ONCE: usize = 16;

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

    /// Makes the calls of one turn, as returned by [`Provider::calls`](crate::Provider::calls), and answers each, in
    /// the order of the calls. Append [`Answers::results`] to the conversation.
    ///
    /// - Calls of read-only tools run concurrently, up to 16 at once. Calls of one idempotent tool run one after
    ///   another, but concurrently with other tools, so that the last one determines the outcome. All other calls run
    ///   one after another in order, across all servers, because a later call may depend on an earlier one.
    /// - A failed call does not stop later ones.
    /// - A call with the same id, name and arguments as an earlier one is the same call: it is made once, and both
    ///   get its answer. A call with the same id only is separate.
    /// - [Unfinished](ModelCall::is_unfinished) calls are not made.
    ///
    /// Dropping the future cancels the pending calls; the others are never made.
    ///
    /// ```
    /// use mcp_bindgen_agents::{Provider, Toolset};
    /// use serde_json::Value;
    ///
    /// /// The conversation after the reply.
    /// async fn answer(toolset: &Toolset, conversation: &mut Vec<Value>, reply: &Value) {
    ///     let calls = Provider::Anthropic.calls(reply);
    ///     conversation.extend(toolset.turn(calls).await.results(Provider::Anthropic));
    /// }
    /// ```
    pub async fn turn(&self, calls: Vec<ModelCall>) -> Answers {
        Self::turn_by(calls, |_| self).await
    }

    /// Makes the calls of one turn like [`turn`](Self::turn), each by the toolset for its tool's name.
    pub(super) async fn turn_by<'t>(calls: Vec<ModelCall>, set_of: impl Fn(&str) -> &'t Self) -> Answers {
        // The first of the calls that each is the same as.
        let first = |(place, call): (usize, &ModelCall)| {
            let same = |other: &ModelCall| !call.id.is_empty() && other == call;
            calls.iter().take(place).position(same).unwrap_or(place)
        };
        let first: Vec<usize> = calls.iter().enumerate().map(first).collect();
        // Calls of one lane are made one after another.
        let mut lanes: BTreeMap<Lane, Vec<BoxFuture<'_, (usize, ToolReply)>>> = BTreeMap::new();
        for (place, call) in calls.iter().enumerate().filter(|(place, _)| first.get(*place) == Some(place)) {
            let set = set_of(&call.name);
            let lane = match call.is_unfinished {
                true => Lane::Own(place),
                false => set.lane(place, &call.name, &call.arguments),
            };
            lanes.entry(lane).or_default().push(Box::pin(async move {
                if call.is_unfinished {
                    return (place, ToolReply::failure(unfinished(&call.name)));
                }
                (place, set.dispatch(&call.name, call.arguments.clone()).await)
            }));
        }
        let ordered = lanes.remove(&Lane::OfAll).unwrap_or_default();
        let others = stream::iter(lanes.into_values()).map(one_by_one).buffer_unordered(MOST_AT_ONCE).collect();
        let (mut replies, more): (Vec<_>, Vec<Vec<_>>) = join(one_by_one(ordered), others).await;
        replies.extend(more.into_iter().flatten());
        let reply_of = |place: &usize| replies.iter().find(|(of, _)| of == place).map(|(_, reply)| reply.clone());
        let answered = calls.iter().zip(&first).filter_map(|(call, first)| Some(call.answered(reply_of(first)?)));
        answered.collect()
    }

    /// Returns the lane of a call at a place of a turn, according to the annotations of its tool.
    fn lane(&self, place: usize, name: &str, arguments: &Arguments) -> Lane {
        let Some(entry) = self.entry(name) else { return Lane::Own(place) };
        match (&entry.handler, entry.annotations.read_only, entry.annotations.idempotent) {
            (Handler::Caller(all), ..) => match asked(arguments.clone()) {
                Ok((name, arguments)) => all.lane(place, &name, &arguments),
                Err(_) => Lane::Own(place),
            },
            (_, Some(true), _) => Lane::Own(place),
            (_, _, Some(true)) => Lane::OfTool(entry.public.clone()),
            _ => Lane::OfAll,
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
        let reply = self.reply(entry, arguments, options, within).await;
        reply.unwrap_or_else(|what| ToolReply::failure(invalid(&entry.public, &what)))
    }

    /// Makes a model's call like [`call`](Self::call).
    ///
    /// # Errors
    /// Fails with a message for the model if the arguments do not fit.
    async fn reply(
        &self,
        entry: &Entry,
        arguments: Arguments,
        options: CallOptions,
        within: Option<&ToolCall>,
    ) -> Result<ToolReply, String> {
        let arguments = match &entry.handler {
            Handler::Caller(all) => {
                let (name, arguments) = asked(arguments)?;
                let all = Toolset { carried: self.carried.clone(), ..all.clone() };
                return Ok(Box::pin(all.dispatch_with(&name, arguments, options)).await);
            }
            Handler::Joined { argument, tools } => {
                let (picked, arguments) = picked(argument, tools, arguments)?;
                return Ok(Box::pin(self.call(picked, arguments, options, within)).await);
            }
            Handler::Server { .. } | Handler::Function(_) => arguments.object().map_err(|error| error.to_string())?,
        };
        let reply = match self.result_of(entry, arguments, options, within).await {
            Ok(result) => with_message(result.into()),
            Err(NoResult::Misfit(misfit)) => return Err(misfit.explained(entry)),
            Err(NoResult::Call(CallError::Tool(result))) => with_message((*result).into()),
            Err(NoResult::Call(error)) => {
                let message = message_for_model(&entry.public, &error);
                let mut reply = ToolReply::from(error);
                reply.message = message;
                reply
            }
            Err(NoResult::Gone(words)) => ToolReply::failure(words),
            Err(NoResult::Broken) => ToolReply::failure(broken(&entry.public)),
        };
        // A function gets all of it.
        Ok(if within.is_some() { reply } else { self.within_limit(entry, reply) })
    }

    /// Checks arguments, and makes a call with them. If the server does not know the tool, lists its tools again, and
    /// repeats the call once if the list has the tool.
    pub(crate) async fn result_of(
        &self,
        entry: &Entry,
        arguments: Map<String, Value>,
        options: CallOptions,
        within: Option<&ToolCall>,
    ) -> Result<ToolResult, NoResult> {
        let arguments = fitted(entry, arguments).map_err(NoResult::Misfit)?;
        let (bound, live) = match &entry.handler {
            Handler::Server { bound, live, .. } => (*bound, live.as_ref()),
            _ => (None, None),
        };
        let call = match bound {
            Some((server, tool)) => ToolCall::bound(server, tool, arguments),
            None => {
                ToolCall::new(entry.server.to_string(), entry.tool.to_string(), arguments).described(entry.annotations)
            }
        };
        let values = self.carried.as_deref().into_iter().chain(within);
        let call = values.fold(call.with(options), ToolCall::with_extensions_of);
        let call = call.viewed(entry.view.as_deref()).map_err(NoResult::Call)?;
        // Only a call that may be repeated is cloned.
        let again = live.map(|live| (live, call.clone()));
        let mut outcome = contained(|| self.through(entry, call)).await;
        if let Some((live, call)) = again
            && matches!(outcome, Some(Err(CallError::ToolNotFound { .. })))
        {
            self.listed_anew(entry, live).await.map_err(NoResult::Gone)?;
            outcome = contained(|| self.through(entry, call)).await;
        }
        outcome.ok_or(NoResult::Broken)?.map_err(NoResult::Call)
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
            Handler::Caller(_) | Handler::Joined { .. } => Err(CallError::tool_not_found(&*entry.server, &*entry.tool)),
        }
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

/// The calls of a turn that are made one after another.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    /// A call alone, by its place: it may overtake all others.
    Own(usize),
    /// Those of one tool, by its public name.
    OfTool(String),
    /// All for which an order holds.
    OfAll,
}

/// Returns the tool that the arguments pick, and its own arguments.
///
/// # Errors
/// Fails with a message for the model if they pick none.
fn picked<'t>(argument: &str, tools: &'t [Arc<Entry>], arguments: Arguments) -> Result<(&'t Entry, Arguments), String> {
    let mut arguments = arguments.object().map_err(|error| error.to_string())?;
    let server = arguments.shift_remove(argument).unwrap_or_default();
    let picked = tools.iter().find(|entry| server == *entry.server);
    let picked = picked.ok_or_else(|| {
        let servers: Vec<String> = tools.iter().map(|entry| format!("`{}`", entry.server)).collect();
        format!("expected one of {} at `/{argument}`", servers.join(", "))
    })?;
    Ok((picked, arguments.into()))
}

async fn one_by_one<T>(futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut done = Vec::with_capacity(futures.len());
    for future in futures {
        done.push(future.await);
    }
    done
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
