//! What agents need of MCP servers: tools as models take them, calls that always answer, and prompts whose sections declare
//! the servers that they need.
//!
//! Programs use this crate through `mcp-bindgen`, with its feature `agents`.

#![allow(dead_code, unused_imports)]

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
    Cost, Deferred, Definitions, DiagnosticKind, NameStyle, NothingPinned, ToolCost, ToolDiagnostic, Toolset,
    ToolsetBuilder, ToolsetError, ToolsetFault,
};
