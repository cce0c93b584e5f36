//! Checks whether the actions of a template match the available tools.

mod accepts;
mod explain;
mod tools;
mod values;

pub use tools::{Tool, Tools};
pub use values::Takes;
