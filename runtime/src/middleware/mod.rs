//! Layers of [`tower`] that decide about calls, or stand between a program and its servers, and the [`Stack`] that
//! has them in the one order that makes sense.
//!
//! A [`Stack`] has them in one order. It is a [`tower::Service`], so that layers of tower go around it. A stack around another
//! one in which a layer could not do what it is for (a cache around a policy, a retry around an approval) makes every call fail with
//! [`CallError::Denied`](crate::CallError::Denied), which names both.

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
#[cfg(test)]
mod tests;
mod tools;
mod transaction;
#[cfg(feature = "validation")]
mod validate;

pub use self::approval::Approval;
pub use self::cache::Cache;
pub use self::calls::Calls;
pub use self::policy::{CallFacts, Policy, Verdict};
pub use self::retry::Retry;
pub use self::sequential::SequentialDependency;
pub use self::stack::Stack;
pub use self::transaction::Transaction;
#[cfg(feature = "validation")]
pub use self::validate::Validate;
pub use crate::call::{ApprovalAnswer, ApprovalRequest, ServiceFuture};
