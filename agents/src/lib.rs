//! Tools for agents on MCP servers: tools in the form of model APIs, and calls that always return a result. Prompts
//! have sections that declare the servers that they need, and templates have actions that call tools.
//!
//! Programs use this crate through `mcp-bindgen`, with its feature `agents`.
//!
//! # Toolsets
//!
//! A [`Toolset`] holds the tools of one model: tools of bindings, tools of servers without bindings, and functions of
//! the program. Each tool has a unique name that every provider accepts. Each schema is translated for the provider, in
//! strict mode if possible. A tool that cannot be translated does not affect the others; [`Definitions::diagnostics`]
//! lists such tools.
//!
//! ```
//! use mcp_bindgen_agents::{Provider, Toolset};
//! use mcp_bindgen_model::Snapshot;
//! use mcp_bindgen_runtime::Client;
//! use mcp_bindgen_runtime::middleware::{Policy, Stack};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct FindOrder {
//!     /// The number of the order.
//!     number: u64,
//! }
//!
//! # let client = Client::new(mcp_bindgen_model::ServerConfig::stdio("files", "my-mcp-server"));
//! # let text = r#"{ "tools": [
//! #     { "name": "read_file", "description": "Reads a file.", "inputSchema": { "type": "object", "properties": { "path": { "type": "string" } } } },
//! #     { "name": "delete_file", "inputSchema": { "type": "object" } } ] }"#;
//! // A snapshot holds the listed tools: the client connects when the first tool is called.
//! let snapshot = Snapshot::parse(text)?;
//! // Policies, approvals and similar layers are below the set, so they apply to every caller.
//! let files = Stack::new(client).policy(Policy::deny(["delete_*"]));
//!
//! let toolset = Toolset::builder()
//!     .server("files", &snapshot.tools, files) // `.bindings(&files::SERVER, files)`, `.live(files).await?`
//!     .function("find_order", "Finds an order of our shop.", async |find: FindOrder| match find.number {
//!         7 => Ok("on its way"),
//!         other => Err(format!("there is no order {other}")),
//!     })
//!     .build()?;
//! assert_eq!(toolset.names().collect::<Vec<_>>(), ["files_read_file", "find_order"]);
//!
//! let definitions = toolset.definitions(Provider::Anthropic);
//! assert_eq!(definitions.tools.len(), 2); // `tools` of the request
//!
//! let reader = toolset.subset(["files/read_*"])?; // for an agent that needs no more
//! assert_eq!(reader.summary(), "files (1 tool)\n- files_read_file: Reads a file.\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Provider::calls`] reads the calls in a model's reply, [`Toolset::turn`] makes them, and [`Answers::results`]
//! formats the results for the next request. Each call gets a result, whatever its outcome. [`Toolset::deferred`] puts
//! a list that is too long for a context behind two tools. If several conversations share layers,
//! [`Toolset::with_extension`] separates them. [`ToolsetBuilder::functions_through`] puts layers around functions.
//! Requests are plain JSON, so any client of a provider works.
//!
//! # Sections
//!
//! A [`Prompt`] consists of [`Section`]s that declare their needs: text, parameters, functions, servers, and the layers
//! around them. A section that is shown as a summary costs little: its servers are not started, and its tools are not
//! shown, until the model opens it. [`Prompt::render`] returns the text of a turn, and [`RenderedPrompt::toolset`] the
//! tools for it. [`McpSection`] makes a section from the lists of any server.
//!
//! # Templates
//!
//! A [`Template`] is text with actions, which call tools of a toolset in order, and with slots, which a [`Completer`]
//! fills. It is checked against the tools before any call; see [`template`].
//!
//! # Hosted servers
//!
//! Some providers call MCP servers themselves. [`HostedServers`] selects the servers with `hosted = true` that a
//! provider can call under their configured limits, and formats them for its request. It names each other server with
//! the reason; the program's own client calls those. Layers of the program do not apply to calls of a provider.

mod hosted;
mod jinja;
mod json;
mod lock;
mod provider;
mod run;
mod sections;
mod skills;
pub mod template;
mod text;
mod toolset;

/// Items that only generated code needs. They change whenever generated code does, and no program should name them.
#[doc(hidden)]
pub mod __private {
    pub use crate::template::generated::*;
}

pub use hosted::{
    HostedApproval, HostedDeclarations, HostedNote, HostedNoteKind, HostedServers, NotHosted, NotHostedReason,
};
pub use provider::{Answered, Answers, Arguments, ModelCall, Provider, RunEvent, UnreadableArguments};
pub use run::{Answer, Model, Reply, Run, RunError, RunTools, run};
pub use sections::*;
pub use skills::{Skill, SkillError, SkillFile};
pub use template::{Completer, CompletionRequest, RenderedTemplate, Template, TemplateError, TemplateRun};
#[cfg(feature = "tokens")]
pub use toolset::TOKENIZER;
pub use toolset::{
    Cost, Deferred, Definitions, DiagnosticKind, FunctionContext, Functions, NameStyle, ToolCost, ToolDiagnostic,
    Toolset, ToolsetBuilder, ToolsetError, ToolsetFault, message_for_model,
};
