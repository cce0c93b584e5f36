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
pub(crate) async fn awaited<T: Clone>(value: &mut watch::Receiver<T>, mut is_wanted: impl FnMut(&T) -> bool) -> T {
    loop {
        let current = value.borrow_and_update().clone();
        if is_wanted(&current) {
            return current;
        }
        changed(value).await;
    }
}

/// Waits for a change, and forever if the sender is gone. Cancel safe.
async fn changed<T>(value: &mut watch::Receiver<T>) {
    if value.changed().await.is_err() {
        pending().await
    }
}

/// Waits for the next value, and forever if the sender is gone. Cancel safe.
pub(crate) async fn next<T: Clone>(value: &mut watch::Receiver<Option<T>>) -> T {
    changed(value).await;
    let next = value.borrow().clone();
    if let Some(next) = next { next } else { pending().await }
}
