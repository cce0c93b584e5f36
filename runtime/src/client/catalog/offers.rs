//! Prompts and resources of a server: the requests for them, and their contents.

use std::borrow::Cow;
use std::future::Future;
use std::mem;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::passed_on;
use crate::call::{joined, object, string, take, take_list};
use crate::client::Subject;
use crate::connect::connection::Listing;
use crate::connect::rounds::Ask;
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
    /// The arguments; the protocol only allows strings.
    pub arguments: Map<String, Value>,
    /// The options of this request.
    pub options: CallOptions,
}

impl PromptRequest {
    /// Creates a request for a prompt by its name.
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
        let (result, connection) = self.ask(Subject::Prompt, &prompt, ask, &options).await?;
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
        self.declared_list(&*self.connection().await?, Listing::Prompts).await
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
    #[inline]
    pub fn text(&self) -> String {
        joined(&mut self.messages.iter().filter_map(|message| message.content.as_text()))
    }

    /// Returns the `result` of a `prompts/get` response, with everything that the server sent.
    #[must_use]
    #[inline]
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

/// A request to read a resource.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResourceRequest {
    /// The server's name.
    pub server: Cow<'static, str>,
    /// The resource's URI.
    pub uri: String,
    /// The options of this request.
    pub options: CallOptions,
}

impl ResourceRequest {
    /// Creates a request to read a resource by its URI.
    pub fn new(server: impl Into<Cow<'static, str>>, uri: impl Into<String>) -> Self {
        Self { server: server.into(), uri: uri.into(), options: CallOptions::new() }
    }

    /// Sets options, and keeps earlier ones that these do not set.
    #[must_use]
    pub fn with(mut self, options: CallOptions) -> Self {
        self.options = options.or(&self.options);
        self
    }
}

/// Anything that can read resources: a [`Client`], a layer around one, a fake in a test.
pub trait ReadResource: Send + Sync {
    /// Reads a resource.
    ///
    /// # Errors
    /// Fails with [`CallError::ResourceNotFound`], and with any error of the request.
    fn read_resource(&self, request: ResourceRequest)
    -> impl Future<Output = Result<ResourceResult, CallError>> + Send;
}

passed_on!(ReadResource::read_resource(ResourceRequest) -> ResourceResult);

impl ReadResource for Client {
    async fn read_resource(&self, request: ResourceRequest) -> Result<ResourceResult, CallError> {
        let ResourceRequest { uri, options, .. } = request;
        self.admit_resource(&uri)?;
        let (result, connection) = self.ask(Subject::Resource, &uri, Ask::resource(&uri), &options).await?;
        let redactor = connection.link.notes.redactor().clone();
        Ok(ResourceResult { redactor, ..ResourceResult::from_json(self.name(), uri, result) })
    }
}

impl Client {
    /// Reads a resource.
    ///
    /// ```no_run
    /// # async fn run(client: mcp_bindgen_runtime::Client) -> Result<(), mcp_bindgen_runtime::CallError> {
    /// let readme = client.read("file:///README.md").await?;
    /// println!("{}", readme.text());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails like [`ReadResource::read_resource`].
    pub async fn read(&self, uri: impl Into<String>) -> Result<ResourceResult, CallError> {
        self.read_resource(ResourceRequest::new(self.name().to_owned(), uri)).await
    }

    /// Returns the resources as the server sent them, or an empty list if it does not declare the capability.
    ///
    /// # Errors
    /// Fails like [`list_tools_raw`](Self::list_tools_raw).
    pub async fn list_resources_raw(&self) -> Result<Vec<Value>, ConnectError> {
        self.declared_list(&*self.connection().await?, Listing::Resources).await
    }

    /// Returns the resource templates as the server sent them, or an empty list if it does not declare the capability.
    ///
    /// # Errors
    /// Fails like [`list_tools_raw`](Self::list_tools_raw).
    pub async fn list_resource_templates_raw(&self) -> Result<Vec<Value>, ConnectError> {
        self.declared_list(&*self.connection().await?, Listing::ResourceTemplates).await
    }

    /// Returns the skills (SEP-2640) as the server sent them, or an empty list if it does not declare the extension.
    ///
    /// # Errors
    /// Fails like [`list_tools_raw`](Self::list_tools_raw).
    pub async fn list_skills_raw(&self) -> Result<Vec<Value>, ConnectError> {
        self.declared_list(&*self.connection().await?, Listing::Skills).await
    }
}

/// The contents of a resource, exactly as the server sent them. `Debug` is without the secrets of the server's configuration.
#[derive(Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ResourceResult {
    /// The server's name.
    #[serde(skip)]
    pub server: String,
    /// The URI that was read.
    #[serde(skip)]
    pub uri: String,
    /// Its contents; a folder may have several.
    pub contents: Vec<ResourceContents>,
    /// `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
    /// The other members that the server sent.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
    #[serde(skip)]
    redactor: Redactor,
}

impl ResourceResult {
    /// Reads the `result` of a `resources/read` response. Nothing in it can make this fail.
    pub fn from_json(server: impl Into<String>, uri: impl Into<String>, result: Value) -> Self {
        let named = Self { server: server.into(), uri: uri.into(), ..Self::default() };
        let Value::Object(mut fields) = result else {
            return Self { contents: vec![ResourceContents::Other(result)], ..named };
        };
        Self {
            contents: take_list(&mut fields, "contents", ResourceContents::from_json),
            meta: take(&mut fields, "_meta", object),
            extra: fields,
            ..named
        }
    }

    /// Returns the texts, joined by newlines.
    #[must_use]
    #[inline]
    pub fn text(&self) -> String {
        joined(&mut self.contents.iter().filter_map(ResourceContents::as_text))
    }

    /// Returns the `result` of a `resources/read` response, with everything that the server sent.
    #[must_use]
    #[inline]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

debug_redacted!(ResourceResult { server, uri, contents, meta, extra });

/// A part of a resource's contents. `extra` has its other members: `mimeType`, `_meta`, keys of the server.
/// Serialized as the server sent it, except for the order of keys.
///
/// ```
/// use mcp_bindgen_runtime::ResourceContents;
///
/// let sent = serde_json::json!({ "uri": "file:///a.bin", "mimeType": "application/octet-stream", "blob": "AP8=" });
/// let contents = ResourceContents::from_json(sent.clone());
/// assert_eq!(contents.mime_type(), Some("application/octet-stream"));
/// assert_eq!(contents.bytes().as_deref(), Some([0, 255].as_slice()));
/// assert_eq!(serde_json::to_value(&contents)?, sent);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ResourceContents {
    /// Text.
    #[non_exhaustive]
    Text {
        /// The URI of the resource.
        uri: String,
        /// The other keys.
        #[serde(flatten)]
        extra: Map<String, Value>,
        /// The text.
        text: String,
    },
    /// Bytes.
    #[non_exhaustive]
    Blob {
        /// The URI of the resource.
        uri: String,
        /// The other keys.
        #[serde(flatten)]
        extra: Map<String, Value>,
        /// The bytes, in base64.
        blob: String,
    },
    /// Contents in a form that this version does not know, as sent.
    Other(Value),
}

impl ResourceContents {
    /// Reads one part, or the `resource` of a content block.
    #[must_use]
    pub fn from_json(contents: Value) -> Self {
        let Value::Object(mut fields) = contents else { return Self::Other(contents) };
        let is_text = |key: &str| fields.get(key).is_some_and(Value::is_string);
        if !is_text("uri") || is_text("text") == is_text("blob") {
            return Self::Other(Value::Object(fields));
        }
        let mut text_of = |key: &str| take(&mut fields, key, string);
        let uri = text_of("uri").unwrap_or_default();
        match text_of("text") {
            Some(text) => Self::Text { uri, text, extra: fields },
            None => Self::Blob { uri, blob: text_of("blob").unwrap_or_default(), extra: fields },
        }
    }

    /// Returns the URI of the resource.
    #[must_use]
    pub fn uri(&self) -> Option<&str> {
        match self {
            Self::Text { uri, .. } | Self::Blob { uri, .. } => Some(uri),
            Self::Other(contents) => contents.get("uri")?.as_str(),
        }
    }

    /// Returns the text of a text part.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            Self::Blob { .. } | Self::Other(_) => None,
        }
    }

    /// Returns the bytes; those of text in UTF-8. Returns `None` if they are not valid base64.
    #[must_use]
    pub fn bytes(&self) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::Text { text, .. } => Some(Cow::Borrowed(text.as_bytes())),
            Self::Blob { blob, .. } => BASE64_STANDARD.decode(blob).ok().map(Cow::Owned),
            Self::Other(_) => None,
        }
    }

    /// Returns the media type, if the server sent one.
    #[must_use]
    pub fn mime_type(&self) -> Option<&str> {
        self.other("mimeType")?.as_str()
    }

    /// Returns `_meta` of this part.
    #[must_use]
    pub fn meta(&self) -> Option<&Value> {
        self.other("_meta")
    }

    fn other(&self, key: &str) -> Option<&Value> {
        match self {
            Self::Text { extra, .. } | Self::Blob { extra, .. } => extra.get(key),
            Self::Other(contents) => contents.get(key),
        }
    }
}
