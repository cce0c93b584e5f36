//! Connects to MCP servers and calls their tools.
//!
//! Programs use this crate through `mcp-bindgen`, whose generated code stands on it.

// Without a transport some of the parts are not used.
#![cfg_attr(not(feature = "stdio"), allow(dead_code))]

mod arguments;
mod call_value;
mod client;
mod connection;
mod conversions;
mod decode;
mod error;
mod establish;
mod format;
mod handler;
#[doc(hidden)]
pub mod json_schema;
mod list;
mod options;
mod request;
mod result;
mod servers;
mod tool;
mod transport;
#[cfg(feature = "validate")]
pub mod validate;
pub mod wire;

pub use arguments::AsArguments;
#[doc(hidden)]
pub use call_value::{deserialize_call, serialize_call};
pub use client::Client;
pub use decode::{decode, decode_wrapped};
pub use error::{CallError, ConnectError, ConnectErrorKind};
pub use handler::{ElicitationAnswer, ElicitationRequest};
pub use options::ClientOptions;
pub use result::{Content, ToolResult};
pub use servers::Servers;
pub use tool::*;
pub use wire::Nullable;
