//! Tools for agents on MCP servers: tools as models take them, calls that always answer, prompts whose sections declare
//! the servers that they need, and templates whose actions call tools.
//!
//! Programs use this crate through `mcp-bindgen`, with its feature `agents`.
//!
//! # Toolsets
//!
//! A [`Toolset`] is what one model is told of: tools of bindings, tools of servers that nothing was bound of, and functions of
//! the program, side by side. Whatever servers call their tools, models know them by names that every provider takes and that
//! no two tools have; whatever schemas they have, each is sent in the words of the provider, strictly where that can be. One
//! tool that cannot be said costs no other: [`Definitions::diagnostics`] says what became of it.
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
//! // What the server listed when its snapshot was taken: nothing is connected until a tool is called.
//! let snapshot = Snapshot::parse(text)?;
//! // Policies, approvals and the like are layers below the set, whoever makes a call.
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
//! A model's reply goes to [`Provider::calls`], its calls to [`Toolset::turn`], and what comes of them by
//! [`Answers::results`] into the next request: for each call there is a result, whatever became of it. Lists that are too
//! long for a context are [`deferred`](Toolset::deferred) behind two tools. Where several conversations call through the same
//! layers, [`Toolset::with_extension`] tells them apart, and [`ToolsetBuilder::functions_through`] puts layers around
//! functions. What goes into a request is plain JSON, so that it fits whatever client of a provider a program has.
//!
//! # Sections
//!
//! A [`Prompt`] is made of [`Section`]s, which declare what they need: text, parameters, functions, servers and the layers
//! around them. One that is shown as a summary costs little; what it declares is neither started nor told of before the model
//! opens it. [`Prompt::render`] gives the text of a turn, and [`RenderedPrompt::toolset`] the tools that are there with it.
//! [`McpSection`] makes a section of whatever a server lists.
//!
//! # Templates
//!
//! A [`Template`] is text whose actions call tools of a toolset in the order of the text, and whose open places a [`Completer`]
//! fills. It is checked against the tools before anything runs; see [`template`].
//!
//! # Hosted servers
//!
//! Some providers call MCP servers themselves. [`HostedServers`] says which of the servers with `hosted = true` a provider can be
//! handed as their configuration demands, and prints them for its request; each of the others is named with the reason, and
//! stays with the program's own client. Layers of the program do not reach what a provider calls itself.

mod hosted;
mod jinja;
mod json;
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
    Cost, Deferred, Definitions, DiagnosticKind, FunctionContext, Functions, NameStyle, NothingPinned, ToolCost,
    ToolDiagnostic, Toolset, ToolsetBuilder, ToolsetError, ToolsetFault, message_for_model,
};
