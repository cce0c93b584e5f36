//! Whether the actions of a template fit the tools that there are.

mod accepts;
mod explain;
mod leaves;
mod tools;
mod values;

pub use tools::{Tool, Tools};
pub use values::Takes;
