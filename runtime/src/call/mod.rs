//! Calls, results and errors.

mod approval;
mod call_tool;
mod caller;
mod connect_error;
mod content;
mod decode;
mod error;
mod error_kind;
pub(crate) mod events;
mod options;
mod passage;
mod reply;
mod result;
pub(crate) mod spec;
mod tool;
mod tool_call;
#[cfg(feature = "validation")]
pub mod validate;
pub(crate) mod wait;

// The root of the crate lists the public names.
pub use self::{
    approval::*, call_tool::*, caller::*, connect_error::*, content::*, decode::*, error::*, error_kind::*, options::*,
    reply::*, result::*, spec::*, tool::*, tool_call::*,
};
pub(crate) use passage::{LayerKind, Limit, Passage};
