//! Code of the program's and of others, which may panic.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

/// Returns the output of a future: `None` if it panics, or the closure that begins it. What it said then is in the hands of
/// the program's panic hook; it may be a secret.
pub(super) async fn contained<F: Future>(begin: impl FnOnce() -> F) -> Option<F::Output> {
    // The program handles the state of a closure that panicked; it sees the error.
    AssertUnwindSafe(async { begin().await }).catch_unwind().await.ok()
}
