//! Generates typed Rust from an MCP tool list.
//!
//! The macro, build scripts and the command line call [`Bindings::generate`]: equal snapshots and options give equal
//! tokens. Programs use this crate through `mcp-bindgen`.

mod bindings;
#[cfg(feature = "build-script")]
pub mod build_script;
mod conditions;
#[cfg(feature = "format")]
mod described;
mod emit;
#[cfg(feature = "format")]
mod format;
mod live;
mod markdown;
mod names;
mod options;
mod overrides;
mod paths;
mod patterns;
mod plan;
pub mod project;
mod rules;
mod rust_path;
mod table;
#[cfg(feature = "templates")]
pub mod template;
mod typify;

pub use bindings::{Bindings, PlannedBindings};
#[cfg(feature = "build-script")]
pub use build_script::Builder;
#[cfg(feature = "format")]
pub use described::{Coverage, OfferBinding, OverrideBinding, ToolBinding, ToolSchemas};
#[cfg(feature = "format")]
pub use format::{format, format_file, format_types};
pub use markdown::opening_sentence;
pub use mcp_bindgen_schema::diagnostics::{CODES, Code, Diagnostic, Diagnostics, Listed, Severity};
pub use options::{Options, is_module_name};
pub use overrides::{apply_overrides, snapshot_for_bindings};
#[doc(hidden)]
pub use paths::relative;
pub use patterns::{Idle, IdlePattern};
#[cfg(feature = "format")]
pub use plan::{AlikePlace, AlikeShapes};
pub use rules::RuleFault;
