//! placeholder docs

pub use mcp_model as model;
pub use mcp_runtime::*;

#[cfg(feature = "macros")]
pub use mcp_macros::mcp_tools;
