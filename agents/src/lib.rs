//! What agents need of MCP servers: tools as models take them, calls that always answer, and prompts whose sections declare
//! the servers that they need.
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
//! use mcp_agents::{Provider, Toolset};
//! use mcp_model::Snapshot;
//! use mcp_runtime::Client;
//! use mcp_runtime::middleware::{Policy, Stack};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct FindOrder {
//!     /// The number of the order.
//!     number: u64,
//! }
//!
//! # let client = Client::new(mcp_model::ServerConfig::stdio("files", "my-mcp-server"));
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
//! What goes into a request is plain JSON, so that it fits whatever client of a provider a program has.

mod hosted;
mod provider;
mod sections;
mod text;
mod toolset;

pub use hosted::{
    HostedApproval, HostedDeclarations, HostedNote, HostedNoteKind, HostedServers, NotHosted, NotHostedReason,
};
pub use provider::{Answered, Answers, Arguments, ModelCall, Provider, UnreadableArguments};
pub use sections::*;
#[cfg(feature = "tokens")]
pub use toolset::TOKENIZER;
pub use toolset::{
    Cost, Deferred, Definitions, DiagnosticKind, Functions, NameStyle, NothingPinned, ToolCost, ToolDiagnostic,
    Toolset, ToolsetBuilder, ToolsetError, ToolsetFault,
};
