//! The options of a call, and the progress that a server reports meanwhile (`notifications/progress`).

use std::fmt;
use std::future::poll_fn;
use std::ops::{Deref, DerefMut};
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::Poll;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::caller::Caller;
use super::spec::setters;
use crate::ground::contained::contained;
use crate::ground::task::cancelled;

/// Options of one call: its time, its progress, its cancellation, its `_meta`.
///
/// Dropping a call's future cancels it, with or without options.
///
/// ```
/// use std::time::Duration;
/// use mcp_bindgen_runtime::CallOptions;
///
/// let options = CallOptions::new()
///     .timeout(Duration::from_secs(10))
///     .cap(Duration::from_secs(300))
///     .on_progress(|progress| println!("{} of {:?}", progress.progress, progress.total));
/// # let _ = options;
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
#[must_use]
pub struct CallOptions {
    given: LazyGiven,
}

/// The options, which are allocated when the first one is set: most calls set none, and calls are moved often.
#[derive(Clone, Default)]
struct LazyGiven(Option<Box<Given>>);

impl Deref for LazyGiven {
    type Target = Given;

    fn deref(&self) -> &Given {
        static NOTHING: LazyLock<Given> = LazyLock::new(Given::default);
        self.0.as_deref().unwrap_or(&NOTHING)
    }
}

impl DerefMut for LazyGiven {
    fn deref_mut(&mut self) -> &mut Given {
        self.0.get_or_insert_default()
    }
}

/// The options that are set.
#[derive(Clone, Default)]
pub(crate) struct Given {
    pub(crate) timeout: Option<Duration>,
    pub(crate) cap: Option<Duration>,
    pub(crate) progress: Option<Listener>,
    pub(crate) cancellation: Option<CancellationToken>,
    pub(crate) meta: Option<Arc<Map<String, Value>>>,
    pub(crate) source: Option<Arc<str>>,
    pub(crate) caller: Option<Arc<Caller>>,
    pub(crate) input: Option<PassedInput>,
    pub(crate) capabilities: Option<Arc<Value>>,
    pub(crate) is_remote: bool,
    pub(crate) is_template: bool,
}

impl CallOptions {
    /// Creates empty options: the call has the configured timeout.
    pub const fn new() -> Self {
        Self { given: LazyGiven(None) }
    }

    pub(crate) fn given(&self) -> &Given {
        &self.given
    }

    setters! { owned:
        /// Sets the timeout of the whole call, from the first poll of its future and including connecting. Time for
        /// requests to the user does not count.
        timeout(timeout: Duration): given.timeout = Some(timeout);

        /// Lets progress restart the timeout, up to this total.
        cap(cap: Duration): given.cap = Some(cap);

        /// Calls a listener with the call's progress. It runs between messages of the connection: a slow listener delays
        /// them.
        on_progress(listener: impl Fn(Progress) + Send + Sync + 'static): given.progress = Some(Arc::new(listener));

        /// Cancels the call when the token is cancelled; it then ends with [`CallError::Cancelled`](super::CallError::Cancelled).
        cancelled_by(token: CancellationToken): given.cancellation = Some(token);

        /// Names the caller for observers: [`CallSource::Named`](crate::events::CallSource::Named) in events, and an
        /// attribute of spans. The name is never sent.
        ///
        /// ```
        /// use mcp_bindgen_runtime::CallOptions;
        ///
        /// let options = CallOptions::new().source("triage agent");
        /// # let _ = options;
        /// ```
        source(name: impl Into<String>): given.source = Some(name.into().into());

        /// Sets the caller on whose behalf the call is made.
        caller(caller: impl Into<Arc<Caller>>): given.caller = Some(caller.into());

        /// Returns the server's requests for input to the caller, instead of passing them to the client's handlers: the
        /// result of the call is then the request as sent (2026-07-28, `input_required`). Pass the answers with the next
        /// call and the same arguments.
        ///
        /// Such a result is not the tool's: it is not cached, not validated, does not count as a success for other
        /// layers, and events report [`CallOutcome::InputRequired`](crate::events::CallOutcome::InputRequired). Tasks are
        /// still awaited. Servers of older versions send requests during the call, so the client's handlers answer them;
        /// answers in a call to such a server make it fail with
        /// [`CallError::InvalidArguments`](super::CallError::InvalidArguments).
        ///
        /// ```no_run
        /// # async fn run(client: mcp_bindgen_runtime::Client, ask: impl AsyncFn(&serde_json::Value) -> serde_json::Map<String, serde_json::Value>) -> Result<(), mcp_bindgen_runtime::CallError> {
        /// use mcp_bindgen_runtime::{CallOptions, CallTool, PassedInput, ToolCall};
        ///
        /// let call = ToolCall::new("trips", "book", Default::default());
        /// let mut result = client.call_tool(call.clone().with(CallOptions::new().pass_input(PassedInput::new()))).await?;
        /// while result.needs_input() {
        ///     let answers = ask(&result.to_json()["inputRequests"]).await;
        ///     let state = result.extra.get("requestState").and_then(|state| state.as_str());
        ///     let input = PassedInput::new().responses(answers).state(state.map(str::to_owned));
        ///     result = client.call_tool(call.clone().with(CallOptions::new().pass_input(input))).await?;
        /// }
        /// # Ok(())
        /// # }
        /// ```
        pass_input(input: PassedInput): given.input = Some(input);

        /// Declares these client capabilities for this call, instead of the client's: an object like the protocol's
        /// `ClientCapabilities`. Use this for calls on behalf of others, with different capabilities than this program.
        /// It only affects servers of 2026-07-28, which receive them with every request; older ones receive those of
        /// [`ClientOptions::capabilities`](crate::ClientOptions::capabilities) once for each connection.
        client_capabilities(capabilities: impl Into<Value>): given.capabilities = Some(Arc::new(capabilities.into()));
    }

    /// Returns the call's progress as a stream. An unread stream never blocks the call: excess items are dropped.
    ///
    /// ```no_run
    /// # async fn run(client: mcp_bindgen_runtime::Client) -> Result<(), mcp_bindgen_runtime::CallError> {
    /// use mcp_bindgen_runtime::{CallOptions, CallTool, ToolCall};
    ///
    /// let (options, mut progress) = CallOptions::new().progress_stream();
    /// let call = ToolCall::new("files", "index", Default::default()).with(options);
    /// let reports = async { while let Some(report) = progress.next().await { println!("{}", report.progress) } };
    /// let (result, ()) = tokio::join!(client.call_tool(call), reports);
    /// # result.map(drop)
    /// # }
    /// ```
    #[inline]
    pub fn progress_stream(self) -> (Self, ProgressStream) {
        let (sender, reports) = mpsc::channel(UNREAD);
        // A full channel or a dropped reader does not stop the call.
        let listener = move |progress| drop(sender.try_send(progress));
        (self.on_progress(listener), ProgressStream(reports))
    }

    /// Adds a key to the call's `_meta`. Keys that the client sets (`progressToken`, `io.modelcontextprotocol/..`) make
    /// the call fail with [`CallError::InvalidArguments`](super::CallError::InvalidArguments). The exception is
    /// `io.modelcontextprotocol/logLevel`, which requests log messages from servers of 2026-07-28.
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        Arc::make_mut(self.given.meta.get_or_insert_default()).insert(key.into(), value.into());
        self
    }

    /// Marks a call as made by an action of a template.
    #[doc(hidden)]
    pub fn of_template(mut self) -> Self {
        self.given.is_template = true;
        self.source("template")
    }

    /// Marks a call as made for a template that is not a local file: the client only makes it if `remote_use` of the
    /// server's configuration names the tool.
    #[doc(hidden)]
    pub fn remote(mut self) -> Self {
        self.given.is_remote = true;
        self
    }

    /// Returns these options, with those of `defaults` for the ones that are not set.
    pub fn or(self, defaults: &Self) -> Self {
        let given = match (self.given.0, &defaults.given.0) {
            (Some(own), Some(defaults)) => Some(Box::new(own.or(defaults))),
            (own, defaults) => own.or_else(|| defaults.clone()),
        };
        Self { given: LazyGiven(given) }
    }

    /// Subtracts elapsed time from the time limits of the call.
    pub(crate) fn spend(&mut self, elapsed: Duration) {
        // Smaller remainders would turn round numbers into odd ones.
        if elapsed >= Duration::from_millis(1)
            && let Some(given) = &mut self.given.0
        {
            given.timeout = given.timeout.map(|time| time.saturating_sub(elapsed));
            given.cap = given.cap.map(|time| time.saturating_sub(elapsed));
        }
    }

    /// Returns the total time limit of the call, if its options set one.
    pub(crate) fn given_total(&self) -> Option<Duration> {
        self.given.cap.or(self.given.timeout)
    }

    /// Returns `true` if the server or the client's rules must see this call itself, so that a cached result does not
    /// answer it.
    pub(crate) fn bypass_caches(&self) -> bool {
        let Given { meta, input, is_remote, .. } = &*self.given;
        *is_remote || meta.is_some() || input.as_ref().is_some_and(|input| !input.is_empty())
    }

    /// Returns the token that cancels the call, if there is one.
    #[must_use]
    pub fn cancellation(&self) -> Option<&CancellationToken> {
        self.given.cancellation.as_ref()
    }

    /// Returns the output of a future, unless the call is cancelled before.
    pub(crate) async fn unless_cancelled<F: Future>(&self, future: F) -> Option<F::Output> {
        let (mut cancelled, mut future) = (pin!(cancelled(self.cancellation())), pin!(future));
        poll_fn(|context| match cancelled.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => future.as_mut().poll(context).map(Some),
        })
        .await
    }

    /// Passes progress to the call's listener, if there is one: for services that run tools themselves.
    pub fn report(&self, progress: Progress) {
        if let Some(listener) = &self.given.progress {
            progress.tell(listener);
        }
    }

    /// Returns the caller's data that a server's answer may depend on: its capabilities, and whether it answers
    /// requests for input.
    pub(crate) fn asker(&self) -> Option<Value> {
        let Given { capabilities, input, .. } = self.given();
        (capabilities.is_some() || input.is_some())
            .then(|| serde_json::json!([capabilities.as_deref(), input.is_some()]))
    }
}

impl Given {
    fn or(self, defaults: &Self) -> Self {
        let defaults = defaults.clone();
        let meta = match (self.meta, defaults.meta) {
            (Some(own), Some(mut all)) => {
                Arc::make_mut(&mut all).extend(Map::clone(&own));
                Some(all)
            }
            (own, given) => own.or(given),
        };
        Self {
            timeout: self.timeout.or(defaults.timeout),
            cap: self.cap.or(defaults.cap),
            progress: self.progress.or(defaults.progress),
            cancellation: self.cancellation.or(defaults.cancellation),
            meta,
            source: self.source.or(defaults.source),
            caller: self.caller.or(defaults.caller),
            input: self.input.or(defaults.input),
            capabilities: self.capabilities.or(defaults.capabilities),
            is_remote: self.is_remote || defaults.is_remote,
            is_template: self.is_template || defaults.is_template,
        }
    }
}

impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("timeout", &self.given.timeout)
            .field("cap", &self.given.cap)
            .field("progress", &self.given.progress.is_some())
            .field("cancellation", &self.given.cancellation.is_some())
            .field("meta", &self.given.meta.as_deref().map(|meta| meta.keys().collect::<Vec<_>>()))
            .field("source", &self.given.source)
            .field("caller", &self.given.caller)
            .field("input", &self.given.input)
            .field("client_capabilities", &self.given.capabilities)
            .field("remote", &self.given.is_remote)
            .finish_non_exhaustive()
    }
}

/// The answers of a caller that passes on a server's requests, for
/// [`CallOptions::pass_input`](super::CallOptions::pass_input): empty for the first call, later the answers to the
/// requests in the last result.
///
/// ```
/// use mcp_bindgen_runtime::PassedInput;
/// use serde_json::json;
///
/// let answers = json!({ "name": { "action": "accept", "content": { "name": "Ada" } } });
/// let input = PassedInput::new().responses(answers.as_object().cloned()).state("opaque".to_owned());
/// # let _ = input;
/// ```
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct PassedInput {
    /// `inputResponses` of the protocol: the answers, by the keys of `inputRequests`.
    pub responses: Option<Map<String, Value>>,
    /// `requestState`, as the server sent it.
    pub state: Option<String>,
}

impl PassedInput {
    /// Creates an input without responses.
    pub const fn new() -> Self {
        Self { responses: None, state: None }
    }

    /// Sets the answers, by the keys of `inputRequests`.
    pub fn responses(self, responses: impl Into<Option<Map<String, Value>>>) -> Self {
        Self { responses: responses.into(), ..self }
    }

    /// Sets the `requestState` that came with the questions.
    pub fn state(self, state: impl Into<Option<String>>) -> Self {
        Self { state: state.into(), ..self }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.responses.is_none() && self.state.is_none()
    }
}

/// Omits the responses, which may be secret.
impl fmt::Debug for PassedInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answered = self.responses.as_ref().map(|answers| answers.keys().collect::<Vec<_>>());
        f.debug_struct("PassedInput").field("responses", &answered).field("state", &self.state.is_some()).finish()
    }
}

/// The limit on unread reports; more are dropped.
const UNREAD: usize = 64;

/// A function that receives progress.
pub(crate) type Listener = Arc<dyn Fn(Progress) + Send + Sync>;

/// One report of progress.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The progress so far, in a unit of the server's own; it grows from report to report.
    pub progress: f64,
    /// The total, if the server knows it.
    pub total: Option<f64>,
    /// The server's description of it.
    pub message: Option<String>,
}

impl Progress {
    /// Creates a report without a total and a message.
    #[must_use]
    pub const fn new(progress: f64) -> Self {
        Self { progress, total: None, message: None }
    }

    /// Sets the total.
    #[must_use]
    pub fn of(self, total: f64) -> Self {
        Self { total: Some(total), ..self }
    }

    /// Sets the description.
    #[must_use]
    pub fn message(self, message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), ..self }
    }

    /// Reads the parameters of a `notifications/progress`.
    pub(crate) fn from_params(params: &Value) -> Option<Self> {
        Some(Self {
            progress: params.get("progress")?.as_f64()?,
            total: params.get("total").and_then(Value::as_f64),
            message: params.get("message").and_then(Value::as_str).map(str::to_owned),
        })
    }

    /// Calls a listener of the program. Its panic does not end the connection.
    pub(crate) fn tell(self, listener: &Listener) {
        if contained(|| listener(self)).is_err() {
            tracing::warn!("a progress listener panicked");
        }
    }
}

/// The reports of one call; see [`CallOptions::progress_stream`].
#[derive(Debug)]
pub struct ProgressStream(mpsc::Receiver<Progress>);

impl ProgressStream {
    /// Waits for the next report; returns `None` when the call is over.
    pub async fn next(&mut self) -> Option<Progress> {
        self.0.recv().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_a_call_override_defaults() {
        let all = CallOptions::new().timeout(Duration::from_secs(1)).meta("a", 1).meta("b", 1);
        let own = CallOptions::new().cap(Duration::from_secs(9)).meta("b", 2);
        let both = own.or(&all);
        assert_eq!(both.given().timeout, Some(Duration::from_secs(1)));
        assert_eq!(both.given().cap, Some(Duration::from_secs(9)));
        let meta = serde_json::to_value(both.given().meta.as_deref()).expect("it prints");
        assert_eq!(meta, serde_json::json!({ "a": 1, "b": 2 }));
    }

    #[test]
    fn debug_output_omits_meta_values() {
        let shown = format!("{:?}", CallOptions::new().meta("key", "hunter22"));
        assert!(shown.contains("key") && !shown.contains("hunter22"), "{shown}");
    }

    #[test]
    fn remote_flag_survives_merging_of_options() {
        let remote = CallOptions::new().remote();
        assert!(CallOptions::new().timeout(Duration::ZERO).or(&remote).given().is_remote);
        assert!(remote.or(&CallOptions::new().timeout(Duration::ZERO)).given().is_remote);
        assert!(!CallOptions::new().given().is_remote);
    }

    #[test]
    fn debug_output_omits_input_responses() {
        let answers = serde_json::json!({ "who": { "action": "accept", "content": { "pin": "hunter22" } } });
        let input = PassedInput::new().responses(answers.as_object().cloned()).state("hunter22".to_owned());
        let shown = format!("{:?}", CallOptions::new().pass_input(input));
        assert!(shown.contains("who") && !shown.contains("hunter22"), "{shown}");
    }
}
