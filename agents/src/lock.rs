//! Locks that a panic elsewhere does not break.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex whose value is whole at any time.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
