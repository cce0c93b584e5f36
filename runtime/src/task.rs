//! Futures for tokio's tasks.

use std::pin::Pin;

/// A boxed future: tokio compiles the code of a task once for each type of future that is spawned.
pub(crate) type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(crate) fn task(future: impl Future<Output = ()> + Send + 'static) -> Task {
    Box::pin(future)
}
