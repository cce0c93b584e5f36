//! Which approvals were used.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;
use std::time::SystemTime;

use futures_util::future::{BoxFuture, ready};

use super::claims::LIFETIME;
use crate::lock::lock;

/// Records which approvals were used, so that each counts once. Instances of a proxy with the same clients share a
/// store, such as a database table with a unique key.
///
/// ```
/// use std::time::SystemTime;
/// use mcp_bindgen_proxy::{ApprovalStore, MemoryApprovalStore};
///
/// # async fn run() -> Result<(), mcp_bindgen_proxy::ApprovalStoreError> {
/// let store = MemoryApprovalStore::default();
/// let expires = SystemTime::now() + std::time::Duration::from_secs(60);
/// assert!(store.spend("7f3a", expires).await?);
/// assert!(!store.spend("7f3a", expires).await?);
/// # Ok(())
/// # }
/// ```
pub trait ApprovalStore: fmt::Debug + Send + Sync {
    /// Marks an approval as used. Returns `true` if it was unused; of two concurrent callers, only one receives `true`.
    /// The store may forget it after it has expired.
    ///
    /// # Errors
    /// Fails if the store is unavailable; the call is then denied.
    fn spend<'a>(&'a self, approval: &'a str, expires: SystemTime) -> BoxFuture<'a, Result<bool, ApprovalStoreError>>;
}

/// The error of an approval store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApprovalStoreError {
    message: String,
}

impl ApprovalStoreError {
    /// Creates an error with a reason, for the proxy's log. Clients do not see it.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

/// An approval store in memory, for a single instance.
#[derive(Debug, Default)]
pub struct MemoryApprovalStore {
    /// The times at which used approvals expire.
    spent: Mutex<HashMap<String, SystemTime>>,
}

impl ApprovalStore for MemoryApprovalStore {
    fn spend<'a>(&'a self, approval: &'a str, expires: SystemTime) -> BoxFuture<'a, Result<bool, ApprovalStoreError>> {
        let (mut spent, now) = (lock(&self.spent), SystemTime::now());
        // Clocks may be set back, so those that have expired are kept for a while.
        spent.retain(|_, expires| now.duration_since(*expires).unwrap_or_default() < LIFETIME);
        let is_first = spent.insert(approval.to_owned(), expires).is_none();
        Box::pin(ready(Ok(is_first && expires > now)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn only_expired_approvals_are_removed() {
        let store = MemoryApprovalStore::default();
        let now = SystemTime::now();
        let (past, later) = (now - 2 * LIFETIME, now + Duration::from_secs(600));
        assert_eq!(store.spend("kept", later).await, Ok(true));
        for number in 0..10_000 {
            assert_eq!(store.spend(&format!("of before {number}"), past).await, Ok(false));
        }
        assert_eq!(store.spend("kept", later).await, Ok(false));
        let spent = lock(&store.spent);
        assert!(spent.len() <= 2, "{} are remembered", spent.len());
    }

    #[tokio::test]
    async fn approval_is_not_used_again_when_it_expires() {
        let store = MemoryApprovalStore::default();
        let expires = SystemTime::now() + Duration::from_secs(2);
        assert_eq!(store.spend("used", expires).await, Ok(true));
        while SystemTime::now() < expires {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(store.spend("used", expires).await, Ok(false));
        assert_eq!(store.spend("unused", expires).await, Ok(false), "it has expired");
    }
}
