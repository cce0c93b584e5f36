//! Servers, tools, prompts and resource templates as the bindings know them: specifications as constants.

use mcp_bindgen_model::{Hint, View};
use serde_json::{Map, Value};

/// Defines builder methods, each of which sets one field.
macro_rules! setters {
    (owned: $($(#[$attribute:meta])* $name:ident($value:ident: $type:ty): $($field:ident).+ = $set:expr;)*) => {
        $(
            $(#[$attribute])*
            pub fn $name(mut self, $value: $type) -> Self {
                self.$($field).+ = $set;
                self
            }
        )*
    };
    ($($(#[$attribute:meta])* $name:ident($value:ident: $type:ty): $($field:ident).+ = $set:expr;)*) => {
        $(
            $(#[$attribute])*
            pub const fn $name(mut self, $value: $type) -> Self {
                self.$($field).+ = $set;
                self
            }
        )*
    };
}
pub(crate) use setters;

/// A server in bindings: its name, its configuration, and the facts of its snapshot.
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
    /// The client capabilities of the snapshot, as JSON text: a server's list may depend on them.
    pub client_capabilities: Option<&'static str>,
    /// The tools that were bound.
    pub tools: &'static [ToolSpec],
}

impl ServerSpec {
    /// Creates a server with a name and nothing else.
    pub const fn new(name: &'static str) -> Self {
        Self { name, config: None, folder: None, protocol_version: None, client_capabilities: None, tools: &[] }
    }

    setters! {
        /// Sets how to reach the server.
        config(json: &'static str): config = Some(json);
        /// Sets the folder that relative paths of the configuration are relative to.
        folder(path: &'static str): folder = Some(path);
        /// Sets the protocol version of the snapshot.
        protocol_version(version: &'static str): protocol_version = Some(version);
        /// Sets the client capabilities of the snapshot.
        client_capabilities(json: &'static str): client_capabilities = Some(json);
        /// Sets the bound tools.
        tools(tools: &'static [ToolSpec]): tools = tools;
    }
}

/// A server's description of a tool's behaviour (`annotations`). These are untrusted hints, not promises.
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

impl Annotations {
    /// Creates the hints as a server lists them: `annotations` of a tool.
    ///
    /// ```
    /// let hints = mcp_bindgen_runtime::Annotations::listed(&serde_json::json!({ "readOnlyHint": true }));
    /// assert_eq!((hints.read_only, hints.destructive), (Some(true), None));
    /// ```
    #[must_use]
    pub fn listed(annotations: &Value) -> Self {
        // `ALL` has the order of the fields.
        let [read_only, destructive, idempotent, open_world] =
            Hint::ALL.map(|hint| annotations.get(hint.wire()).and_then(Value::as_bool));
        Self { read_only, destructive, idempotent, open_world }
    }

    /// Returns the hints in the form of a server's list.
    #[doc(hidden)]
    #[must_use]
    pub fn to_json(self) -> Value {
        let hints = Hint::ALL.iter().zip([self.read_only, self.destructive, self.idempotent, self.open_world]);
        hints.filter_map(|(hint, value)| Some((hint.wire(), value?))).collect()
    }
}

/// A tool as its server declared it, or as overrides and views have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The wire name.
    pub name: &'static str,
    /// The prefixed name, by which models, templates and the command line know the tool: no other tool of the configuration
    /// has it.
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
    /// The server's schemas, if overrides or a view changed them.
    declared_input: Option<&'static str>,
    declared_output: Option<Option<&'static str>>,
    /// The view as JSON text; and title, description and annotations of the server.
    view: Option<(&'static str, &'static str)>,
}

impl ToolSpec {
    /// Creates a tool with its wire name and its `inputSchema` as JSON text.
    pub const fn new(name: &'static str, input_schema: &'static str) -> Self {
        Self {
            name,
            prefixed: name,
            title: None,
            description: None,
            input_schema,
            output_schema: None,
            annotations: Annotations { read_only: None, destructive: None, idempotent: None, open_world: None },
            declared_input: None,
            declared_output: None,
            view: None,
        }
    }

    /// Returns the `inputSchema` that the server declares, which digests refer to.
    #[must_use]
    pub const fn declared_input_schema(&self) -> &'static str {
        if let Some(schema) = self.declared_input { schema } else { self.input_schema }
    }

    /// Returns the `outputSchema` that the server declares, which digests refer to.
    #[must_use]
    pub const fn declared_output_schema(&self) -> Option<&'static str> {
        if let Some(schema) = self.declared_output { schema } else { self.output_schema }
    }

    /// Sets the view of the tool, as JSON text, and an object with the title, description and annotations that the
    /// server declares.
    #[must_use]
    pub const fn viewed(mut self, view: &'static str, declared: &'static str) -> Self {
        self.view = Some((view, declared));
        self
    }

    /// Returns the view of the tool.
    #[must_use]
    pub fn view(&self) -> Option<View> {
        let (view, _) = self.view?;
        View::from_json(&serde_json::from_str(view).ok()?).ok()
    }

    /// Returns arguments without those that the view sets or hides.
    pub(crate) fn visible(&self, mut arguments: Map<String, Value>) -> Map<String, Value> {
        if let Some(view) = self.view() {
            view.hidden_arguments().for_each(|argument| drop(arguments.shift_remove(argument)));
        }
        arguments
    }

    /// Returns the title, description and annotations that the server declares, if a view changed them.
    pub(crate) fn declared_texts(&self) -> Option<Map<String, Value>> {
        let (_, texts) = self.view?;
        serde_json::from_str(texts).ok()
    }

    setters! {
        /// Sets the prefixed name.
        prefixed(name: &'static str): prefixed = name;
        /// Sets the title.
        title(title: &'static str): title = Some(title);
        /// Sets the description.
        description(description: &'static str): description = Some(description);
        /// Sets `outputSchema`, as JSON text.
        output_schema(schema: &'static str): output_schema = Some(schema);
        /// Sets the `inputSchema` that the server declares, if overrides changed it.
        with_declared_input_schema(schema: &'static str): declared_input = Some(schema);
        /// Sets the `outputSchema` that the server declares, or its absence, if overrides changed it.
        with_declared_output_schema(schema: Option<&'static str>): declared_output = Some(schema);
        /// Sets the hints about behaviour.
        #[doc(hidden)]
        hints(hints: Annotations): annotations = hints;
        /// Sets `readOnlyHint`.
        read_only(hint: bool): annotations.read_only = Some(hint);
        /// Sets `destructiveHint`.
        destructive(hint: bool): annotations.destructive = Some(hint);
        /// Sets `idempotentHint`.
        idempotent(hint: bool): annotations.idempotent = Some(hint);
        /// Sets `openWorldHint`.
        open_world(hint: bool): annotations.open_world = Some(hint);
    }
}

/// A prompt as its server declared it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptSpec {
    /// The wire name.
    pub name: &'static str,
    /// The title, for people.
    pub title: Option<&'static str>,
    /// The description, as sent.
    pub description: Option<&'static str>,
    /// Its arguments.
    pub arguments: &'static [PromptArgumentSpec],
}

impl PromptSpec {
    /// Creates a prompt with its wire name and nothing else.
    pub const fn new(name: &'static str) -> Self {
        Self { name, title: None, description: None, arguments: &[] }
    }

    setters! {
        /// Sets the title.
        title(title: &'static str): title = Some(title);
        /// Sets the description.
        description(description: &'static str): description = Some(description);
        /// Sets the arguments of the prompt.
        arguments(arguments: &'static [PromptArgumentSpec]): arguments = arguments;
    }
}

/// An argument of a prompt: a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptArgumentSpec {
    /// The wire name.
    pub name: &'static str,
    /// The title, for people.
    pub title: Option<&'static str>,
    /// The description, as sent.
    pub description: Option<&'static str>,
    /// `true` if the argument is required.
    pub is_required: bool,
}

impl PromptArgumentSpec {
    /// Creates an argument that may be left out.
    pub const fn new(name: &'static str) -> Self {
        Self { name, title: None, description: None, is_required: false }
    }

    /// Makes the argument required.
    pub const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    setters! {
        /// Sets the title.
        title(title: &'static str): title = Some(title);
        /// Sets the description.
        description(description: &'static str): description = Some(description);
    }
}

/// A resource template as its server declared it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceTemplateSpec {
    /// The name.
    pub name: &'static str,
    /// The template of its URIs (RFC 6570).
    pub uri_template: &'static str,
    /// The title, for people.
    pub title: Option<&'static str>,
    /// The description, as sent.
    pub description: Option<&'static str>,
    /// The media type of all its resources, if they have one.
    pub mime_type: Option<&'static str>,
}

impl ResourceTemplateSpec {
    /// Creates a template with its name.
    pub const fn new(name: &'static str, uri_template: &'static str) -> Self {
        Self { name, uri_template, title: None, description: None, mime_type: None }
    }

    setters! {
        /// Sets the title.
        title(title: &'static str): title = Some(title);
        /// Sets the description.
        description(description: &'static str): description = Some(description);
        /// Sets the media type.
        mime_type(mime_type: &'static str): mime_type = Some(mime_type);
    }
}
