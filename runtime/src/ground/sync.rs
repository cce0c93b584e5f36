//! Locks that a panic does not poison, and values that others change.

use std::future::pending;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::watch;

/// Locks `mutex`, also after another thread panicked with it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks `lock` for reading, also after another thread panicked with it.
pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks `lock` for writing, also after another thread panicked with it.
pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a matching value, and forever if the sender is gone. Cancel safe.
pub(crate) async fn awaited<T: Clone>(value: &mut watch::Receiver<T>, is_wanted: impl FnMut(&T) -> bool) -> T {
    let wanted = value.wait_for(is_wanted).await.map(|wanted| wanted.clone());
    if let Ok(wanted) = wanted { wanted } else { pending().await }
}

/// Waits for the next value, and forever if the sender is gone. Cancel safe.
pub(crate) async fn next<T: Clone>(value: &mut watch::Receiver<Option<T>>) -> T {
    let changed = value.changed().await;
    let next = value.borrow().clone();
    if let (Ok(()), Some(next)) = (changed, next) { next } else { pending().await }
}
