//! What decides about calls, or stands between a program and its servers: layers of [`tower`], and the [`Stack`] that
//! has them in the one order that makes sense.
//!
//! Each layer is a [`tower::Layer`] over any `Service<ToolCall, Response = ToolResult, Error = CallError>`, such as
//! [`Client`](crate::Client). In a [`tower::ServiceBuilder`] their order is the program's; an order in which a layer could
//! not do what it is for (a policy inside of a cache, an approval inside of a retry) makes every call fail with
//! [`CallError::Denied`](crate::CallError::Denied), which says what stands in what.

mod approval;
mod calls;
mod demands;
mod events;
mod layer;
mod policy;
mod stack;

pub(crate) use self::approval::Approver;
pub use self::approval::{ApprovalAnswer, ApprovalRequest};
pub use self::calls::Calls;
pub use self::layer::{Layered, ServiceFuture};
pub use self::policy::{CallFacts, Policy, Verdict};
pub use self::stack::Stack;
