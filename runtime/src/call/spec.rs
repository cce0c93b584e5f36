//! Servers and tools as the bindings know them: specifications as constants.

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

impl Annotations {
    /// The hints as a server lists them: `annotations` of a tool.
    ///
    /// ```
    /// let hints = mcp_runtime::Annotations::listed(&serde_json::json!({ "readOnlyHint": true }));
    /// assert_eq!((hints.read_only, hints.destructive), (Some(true), None));
    /// ```
    #[must_use]
    pub fn listed(annotations: &serde_json::Value) -> Self {
        let hint = |key: &str| annotations.get(key).and_then(serde_json::Value::as_bool);
        Self {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
            open_world: hint("openWorldHint"),
        }
    }
}

/// A tool as its server declared it, and as overrides mend it.
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

    /// Sets the prefixed name.
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
