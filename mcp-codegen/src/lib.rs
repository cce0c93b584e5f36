//! Turns an MCP tool list into typed Rust.
//!
//! [`Bindings::generate`] is what the macro, build scripts and the command line call: the same snapshot and options give
//! the same tokens. Programs use this crate through `mcp-bindgen`.

mod bindings;
#[cfg(feature = "build-script")]
pub mod build_script;
mod bundle;
mod diagnostics;
mod emit;
#[cfg(feature = "format")]
mod format;
mod lower;
mod names;
mod normalize;
mod options;
mod patterns;
mod plan;
pub mod project;
mod shape;
#[cfg(feature = "typify")]
mod typify;

pub use bindings::{Bindings, Coverage, ToolBinding};
pub use diagnostics::{CODES, Code, Diagnostic, Diagnostics, Severity};
#[cfg(feature = "format")]
pub use format::format;
pub use options::Options;
pub use patterns::{Idle, IdlePattern};
