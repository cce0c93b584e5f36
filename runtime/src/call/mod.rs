//! Calls, results and errors.

mod approval;
mod call_tool;
mod caller;
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

pub(crate) use approval::Approver;
pub use approval::{ApprovalAnswer, ApprovalRequest};
pub use call_tool::{CallTool, DynCallTool, Offer, WithOptions};
pub use caller::Caller;
pub use content::Content;
#[cfg(feature = "validation")]
pub(crate) use decode::values;
pub use decode::{decode, decode_wrapped};
#[cfg(feature = "validation")]
pub(crate) use error::place;
pub use error::{CallError, Cause, ConnectError, ConnectErrorKind, Dispatched, Evidence};
pub use error_kind::CallErrorKind;
pub(crate) use options::Listener;
pub use options::{CallOptions, PassedInput, Progress, ProgressStream};
pub(crate) use passage::{LayerKind, Limit, Passage, approved_call};
pub use reply::ToolReply;
pub use result::ToolResult;
pub(crate) use result::{INPUT_REQUIRED, object, string, take, take_list};
pub use spec::{Annotations, PromptArgumentSpec, PromptSpec, ResourceTemplateSpec, ServerSpec, ToolSpec};
pub use tool::{AsArguments, Tool, TypedCall, call, parse_arguments, place_of, print_arguments, read_arguments, send};
#[doc(hidden)]
pub use tool::{encode, encode_wrapped};
pub use tool_call::{ServiceFuture, ToolCall};
