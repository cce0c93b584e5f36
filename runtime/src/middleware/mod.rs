//! [`tower`] layers around calls, and the [`Stack`], which puts them in a fixed order.
//!
//! A [`Stack`] is a [`tower::Service`], so other tower layers can be added around it. If stacks are nested in an
//! order in which a layer cannot work (a cache around a policy, a retry around an approval), every call fails with
//! [`CallError::Denied`](crate::CallError::Denied), which names both layers.

mod attempts;
mod cache;
mod layer;
mod policy;
mod sequential;
mod stack;
#[cfg(test)]
mod tests;
mod transaction;
#[cfg(feature = "validation")]
mod validate;

pub use self::attempts::{RateLimit, Retry};
pub use self::cache::Cache;
pub use self::policy::{Approval, CallFacts, Policy, Verdict};
pub use self::sequential::SequentialDependency;
pub use self::stack::{Calls, Stack};
pub use self::transaction::Transaction;
#[cfg(feature = "validation")]
pub use self::validate::Validate;
pub use crate::call::{ApprovalAnswer, ApprovalRequest, ServiceFuture};
