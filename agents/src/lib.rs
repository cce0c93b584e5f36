//! What agents need of MCP servers: tools as models take them, calls that always answer, and prompts whose sections declare
//! the servers that they need.
//!
//! Programs use this crate through `mcp-bindgen`, with its feature `agents`.

#![allow(dead_code, unused_imports)]

mod provider;
mod sections;
mod toolset;

pub use provider::{Answered, Answers, Arguments, ModelCall, Provider, UnreadableArguments};
pub use toolset::{Deferred, NothingPinned, Toolset};
