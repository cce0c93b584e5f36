//! A model behind a provider's API.

use serde_json::{Map, Value};

use super::Listener;
use crate::Provider;

/// A model behind a provider's API, for [`run`](super::run()).
pub trait Model: Sync {
    /// The reason why it cannot be asked.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Returns the format of requests and replies.
    fn provider(&self) -> Provider;

    /// Returns the model's name in the API, if it is known: some formats of results depend on it, see
    /// [`Provider::results_for`](crate::Provider::results_for).
    fn name(&self) -> Option<&str> {
        None
    }

    /// Sends a request, and returns the body of the response.
    ///
    /// The request has instructions, messages and tools in the provider's format; add the model and other options. For a
    /// streamed response pass each event to [`Reply::push`] and return [`Reply::finish`]; otherwise the second argument is not
    /// needed.
    ///
    /// # Errors
    /// Fails if there is no response, or if it is an error.
    fn reply(
        &self,
        request: Map<String, Value>,
        reply: Reply,
    ) -> impl Future<Output = Result<Value, Self::Error>> + Send;
}

/// A streamed reply: it is put together from the events of a stream.
///
/// ```
/// use mcp_bindgen_agents::{Provider, Reply};
/// use serde_json::json;
///
/// let mut reply = Reply::of(Provider::OpenAiChat);
/// for text in ["Hel", "lo"] {
///     reply.push(&json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }));
/// }
/// reply.push(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }));
/// assert_eq!(Provider::OpenAiChat.text(&reply.finish()), "Hello");
/// ```
pub struct Reply {
    provider: Provider,
    listener: Option<Listener>,
    whole: Value,
}

impl Reply {
    /// Creates an empty reply, for programs without a [`Run`](super::Run).
    #[must_use]
    pub fn of(provider: Provider) -> Self {
        Self { provider, listener: None, whole: Value::Null }
    }

    pub(super) fn new(provider: Provider, listener: Listener) -> Self {
        Self { listener: Some(listener), ..Self::of(provider) }
    }

    /// Adds an event of the stream: its data as JSON. Unknown events are ignored.
    pub fn push(&mut self, event: &Value) {
        let events = (self.provider.format().add)(&mut self.whole, event);
        if let Some(listener) = &self.listener {
            events.into_iter().for_each(|event| listener(event));
        }
    }

    /// Returns the whole reply, in the form of a response that is not streamed. If the stream broke off, its last call is
    /// unfinished and will not be made.
    #[must_use]
    pub fn finish(self) -> Value {
        self.whole
    }
}
