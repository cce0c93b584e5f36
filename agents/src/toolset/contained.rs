//! Code of the program's and of others, which may panic.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

/// That it panicked. What it said then is in the hands of the program's panic hook; it may be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Panicked;

/// Returns the output of a future, or its panic as an error; also a panic in the closure that begins it.
pub(super) async fn contained<F: Future>(begin: impl FnOnce() -> F) -> Result<F::Output, Panicked> {
    // The program handles the state of a closure that panicked; it sees the error.
    AssertUnwindSafe(async { begin().await }).catch_unwind().await.map_err(|_| Panicked)
}
