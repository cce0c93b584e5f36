//! Closures of the program's, which may panic.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;

/// A caught panic. Its message goes only to the program's panic hook, because it may contain a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Panicked;

/// Runs a closure, and returns its panic as an error.
pub(crate) fn contained<T>(run: impl FnOnce() -> T) -> Result<T, Panicked> {
    // The program handles the state of a closure that panicked; it sees the error.
    catch_unwind(AssertUnwindSafe(run)).map_err(|_| Panicked)
}

/// Runs a closure's future, and returns a panic of the one or the other as an error.
pub(crate) async fn contained_async<F: Future>(begin: impl FnOnce() -> F) -> Result<F::Output, Panicked> {
    AssertUnwindSafe(contained(begin)?).catch_unwind().await.map_err(|_| Panicked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panics_of_closures_and_futures_are_caught() {
        assert_eq!(contained(|| 5), Ok(5));
        assert_eq!(contained(|| -> u8 { panic!("on purpose") }), Err(Panicked));
        assert_eq!(contained_async(|| async { 5 }).await, Ok(5));
        let late = contained_async(|| async {
            tokio::task::yield_now().await;
            panic!("on purpose")
        });
        assert_eq!(late.await, Err::<(), _>(Panicked));
        let at_once = contained_async(|| -> std::future::Ready<u8> { panic!("on purpose") });
        assert_eq!(at_once.await, Err(Panicked));
    }
}
