//! What decides about calls, or stands between a program and its servers: layers of [`tower`], and the [`Stack`] that
//! has them in the one order that makes sense.
//!
//! Each layer is a [`tower::Layer`] over any `Service<ToolCall, Response = ToolResult, Error = CallError>`, such as
//! [`Client`](crate::Client). In a [`tower::ServiceBuilder`] their order is the program's; an order in which a layer could
//! not do what it is for (a policy inside of a cache, an approval inside of a retry) makes every call fail with
//! [`CallError::Denied`](crate::CallError::Denied), which says what stands in what.

mod approval;
mod cache;
mod calls;

mod demands;
mod events;
mod layer;
mod limits;
mod policy;
mod retry;
mod sequential;
mod stack;
mod tools;
mod transaction;
#[cfg(feature = "validation")]
mod validate;

pub use self::approval::Approval;
pub use self::cache::Cache;
pub use self::calls::Calls;
pub use self::layer::Layered;
pub use self::limits::{TotalCap, TryTimeout};
pub use self::policy::{CallFacts, Policy, Verdict};
pub use self::retry::Retry;
pub use self::sequential::SequentialDependency;
pub use self::stack::Stack;
pub use self::transaction::Transaction;
#[cfg(feature = "validation")]
pub use self::validate::Validate;
pub use crate::call::{ApprovalAnswer, ApprovalRequest, ServiceFuture};
