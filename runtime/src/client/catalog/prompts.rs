//! Prompts: messages that a server writes for a model.

use std::borrow::Cow;
use std::future::Future;
use std::mem;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::passed_on;
use crate::call::{object, string, take, take_list};
use crate::client::calling::Subject;
use crate::connect::ask::Ask;
use crate::connect::connection::Listing;
use crate::ground::redact::{Redactor, debug_redacted};
use crate::{CallError, CallOptions, Client, ConnectError, Content};

/// A request for a prompt, with its arguments.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PromptRequest {
    /// The server's name.
    pub server: Cow<'static, str>,
    /// The prompt's name.
    pub prompt: Cow<'static, str>,
    /// The arguments; the protocol has texts alone.
    pub arguments: Map<String, Value>,
    /// The options of this request beside them.
    pub options: CallOptions,
}

impl PromptRequest {
    /// Creates a prompt by its name.
    pub fn new(
        server: impl Into<Cow<'static, str>>,
        prompt: impl Into<Cow<'static, str>>,
        arguments: Map<String, Value>,
    ) -> Self {
        Self { server: server.into(), prompt: prompt.into(), arguments, options: CallOptions::new() }
    }

    /// Sets options, and keeps earlier ones that these do not set.
    #[must_use]
    pub fn with(mut self, options: CallOptions) -> Self {
        self.options = options.or(&self.options);
        self
    }
}

/// Anything that can get prompts: a [`Client`], a layer around one, a fake in a test.
pub trait GetPrompt: Send + Sync {
    /// Gets a prompt.
    ///
    /// # Errors
    /// Fails with [`CallError::PromptNotFound`], with [`CallError::Rpc`] if the server refuses the arguments, and with
    /// any error of the request.
    fn get_prompt(&self, request: PromptRequest) -> impl Future<Output = Result<PromptResult, CallError>> + Send;
}

passed_on!(GetPrompt::get_prompt(PromptRequest) -> PromptResult);

impl GetPrompt for Client {
    async fn get_prompt(&self, request: PromptRequest) -> Result<PromptResult, CallError> {
        let PromptRequest { prompt, arguments, options, .. } = request;
        self.admit_prompt(&prompt)?;
        let ask = Ask::prompt(&prompt, arguments);
        let (result, connection) = self.ask(Subject::Prompt(&prompt), ask, &options).await?;
        let redactor = connection.link.notes.redactor().clone();
        Ok(PromptResult { redactor, ..PromptResult::from_json(self.name(), prompt, result) })
    }
}

impl Client {
    /// Gets a prompt by its name, without bindings. The arguments of prompts are strings.
    ///
    /// ```no_run
    /// # async fn run(client: mcp_bindgen_runtime::Client) -> Result<(), mcp_bindgen_runtime::CallError> {
    /// let review = client.prompt("review", [("path", "src/lib.rs")]).await?;
    /// for message in &review.messages {
    ///     println!("{}: {:?}", message.role, message.content.as_text());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails like [`GetPrompt::get_prompt`].
    pub async fn prompt<K: Into<String>, V: Into<String>>(
        &self,
        prompt: impl Into<String>,
        arguments: impl IntoIterator<Item = (K, V)>,
    ) -> Result<PromptResult, CallError> {
        let arguments = arguments.into_iter().map(|(key, value)| (key.into(), Value::String(value.into())));
        self.get_prompt(PromptRequest::new(self.name().to_owned(), prompt.into(), arguments.collect())).await
    }

    /// Returns the prompts as the server sent them, or an empty list if it does not declare the capability.
    ///
    /// # Errors
    /// Fails like [`list_tools_raw`](Self::list_tools_raw).
    pub async fn list_prompts_raw(&self) -> Result<Vec<Value>, ConnectError> {
        self.declared_list(Listing::Prompts).await
    }
}

/// The messages of a prompt, exactly as the server sent them. `Debug` is without the secrets of the server's
/// configuration.
#[derive(Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PromptResult {
    /// The server's name.
    #[serde(skip)]
    pub server: String,
    /// The prompt's name.
    #[serde(skip)]
    pub prompt: String,
    /// The server's description of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The messages, in order.
    pub messages: Vec<PromptMessage>,
    /// `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
    /// The other members that the server sent.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
    #[serde(skip)]
    redactor: Redactor,
}

impl PromptResult {
    /// Reads the `result` of a `prompts/get` response. Nothing in it can make this fail.
    pub fn from_json(server: impl Into<String>, prompt: impl Into<String>, result: Value) -> Self {
        let named = Self { server: server.into(), prompt: prompt.into(), ..Self::default() };
        let Value::Object(mut fields) = result else {
            return Self { messages: vec![PromptMessage::from_json(result)], ..named };
        };
        Self {
            description: take(&mut fields, "description", string),
            messages: take_list(&mut fields, "messages", PromptMessage::from_json),
            meta: take(&mut fields, "_meta", object),
            extra: fields,
            ..named
        }
    }

    /// Returns the texts of all messages, joined by newlines.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.messages.iter().filter_map(|message| message.content.as_text()).collect();
        texts.join("\n")
    }

    /// Returns the `result` of a `prompts/get` response, with everything that the server sent.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

debug_redacted!(PromptResult { server, prompt, description, messages, meta, extra });

/// A message of a prompt.
///
/// ```
/// use mcp_bindgen_runtime::PromptMessage;
///
/// let sent = serde_json::json!({ "role": "user", "content": { "type": "text", "text": "Review it." } });
/// let message = PromptMessage::from_json(sent.clone());
/// assert_eq!((message.role.as_str(), message.content.as_text()), ("user", Some("Review it.")));
/// assert_eq!(serde_json::to_value(&message)?, sent);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PromptMessage {
    /// The role: `user` or `assistant`. Empty for an invalid message; then `content` has it as sent.
    pub role: String,
    /// Its content.
    pub content: Content,
    /// The other keys of the message.
    pub extra: Map<String, Value>,
}

impl PromptMessage {
    /// Reads one message.
    #[must_use]
    pub fn from_json(mut message: Value) -> Self {
        let is_message = message.get("role").and_then(Value::as_str).is_some_and(|role| !role.is_empty());
        if let Value::Object(fields) = &mut message
            && let Some(content) = is_message.then(|| fields.remove("content")).flatten()
        {
            let role = take(fields, "role", string).unwrap_or_default();
            return Self { role, content: Content::from_json(content), extra: mem::take(fields) };
        }
        Self { role: String::new(), content: Content::Other(message), extra: Map::new() }
    }
}

/// Serializes the message as the server sent it, except for the order of keys.
impl Serialize for PromptMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let (true, Content::Other(message)) = (self.role.is_empty(), &self.content) {
            return message.serialize(serializer);
        }
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("role", &self.role)?;
        fields.serialize_entry("content", &self.content)?;
        self.extra.iter().try_for_each(|(key, value)| fields.serialize_entry(key, value))?;
        fields.end()
    }
}
