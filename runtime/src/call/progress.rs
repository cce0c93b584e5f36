//! Progress that a server reports while a call is under way (`notifications/progress`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

/// The limit on unread reports; more are dropped.
const UNREAD: usize = 64;

/// Hears of progress.
pub(crate) type Listener = Arc<dyn Fn(Progress) + Send + Sync>;

/// One report of progress.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// How far it is, in a unit of the server's own; it grows from report to report.
    pub progress: f64,
    /// The total, if the server knows it.
    pub total: Option<f64>,
    /// The server's description of it.
    pub message: Option<String>,
}

impl Progress {
    /// Creates a report without a total and a message.
    #[must_use]
    pub const fn new(progress: f64) -> Self {
        Self { progress, total: None, message: None }
    }

    /// Sets the total.
    #[must_use]
    pub fn of(self, total: f64) -> Self {
        Self { total: Some(total), ..self }
    }

    /// Sets the description.
    #[must_use]
    pub fn message(self, message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), ..self }
    }

    /// Reads the parameters of a `notifications/progress`.
    pub(crate) fn from_params(params: &Value) -> Option<Self> {
        Some(Self {
            progress: params.get("progress")?.as_f64()?,
            total: params.get("total").and_then(Value::as_f64),
            message: params.get("message").and_then(Value::as_str).map(str::to_owned),
        })
    }

    /// Tells a listener of the program's. One that panics must not take the connection with it.
    pub(crate) fn tell(self, listener: &Listener) {
        if catch_unwind(AssertUnwindSafe(|| listener(self))).is_err() {
            tracing::warn!("a progress listener panicked");
        }
    }
}

/// The reports of one call; see [`CallOptions::progress_stream`](super::CallOptions::progress_stream).
#[derive(Debug)]
pub struct ProgressStream {
    reports: mpsc::Receiver<Progress>,
}

impl ProgressStream {
    /// Waits for the next report; returns `None` when the call is over.
    pub async fn next(&mut self) -> Option<Progress> {
        self.reports.recv().await
    }
}

pub(super) fn listen() -> (Listener, ProgressStream) {
    let (sender, reports) = mpsc::channel(UNREAD);
    let listener = move |progress| {
        // A full channel or a dropped reader does not stop the call.
        let _ = sender.try_send(progress);
    };
    (Arc::new(listener), ProgressStream { reports })
}
