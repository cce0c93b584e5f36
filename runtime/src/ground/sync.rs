//! Locks that a panic does not poison, and values that others change.

use std::any::Any;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::watch;

/// A value in a broadcast channel. Its type is erased, because a channel of each other type would be compiled again.
pub(crate) type Erased = Arc<dyn Any + Send + Sync>;

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
pub(crate) async fn awaited<T: Clone>(
    value: &mut watch::Receiver<T>,
    is_wanted: &mut (dyn FnMut(&T) -> bool + Send),
) -> T {
    let wanted = value.wait_for(is_wanted).await.map(|wanted| wanted.clone());
    if let Ok(wanted) = wanted { wanted } else { pending().await }
}

/// Adds one to a counter, and wakes those that watch it.
pub(crate) fn count(counter: &watch::Sender<u64>) {
    counter.send_modify(|count| *count += 1);
}
