//! Futures for tokio's tasks.

use std::pin::Pin;

/// A boxed future: tokio compiles the code of a task once for each type of future that is spawned.
pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

pub(crate) fn task(future: impl Future<Output = ()> + Send + 'static) -> Boxed<()> {
    Box::pin(future)
}
