//! Futures for tokio's tasks.

use std::pin::Pin;

use tokio_util::sync::CancellationToken;

/// A boxed future: tokio compiles the code of a task once for each type of future that is spawned.
pub type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

pub(crate) fn task(future: impl Future<Output = ()> + Send + 'static) -> Boxed<()> {
    Box::pin(future)
}

/// Waits until the token is cancelled, and forever without a token.
pub(crate) async fn cancelled(token: Option<&CancellationToken>) {
    if let Some(token) = token { token.cancelled().await } else { std::future::pending().await }
}
