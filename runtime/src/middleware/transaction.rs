//! A layer that restores the program's state if a call fails.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::layer::{Around, Below, Globs};
use crate::call::{Limit, wait};
use crate::ground::contained::{Panicked, contained};
use crate::ground::on_drop::OnDrop;
use crate::ground::redact::debug_as;
use crate::ground::sync::lock;
use crate::{CallError, ToolCall, ToolResult};

/// The longest wait of a call for its turn.
const PATIENCE: Duration = Duration::from_secs(300);

/// Takes a snapshot of the program's state before a call, and restores it if the call fails.
///
/// A call fails if it ends with an error, including one with an unknown outcome
/// ([`OutcomeUnknown`](CallError::OutcomeUnknown), [`Timeout`](CallError::Timeout)), if the tool returns `is_error`,
/// or if its future is dropped. Only the program's state is restored, not the server's. A result that does not match
/// its type is not a failure, because it is read after the call.
///
/// Calls through one transaction and its clones run one after another; each waits for its turn within its own time,
/// and at most five minutes. The program must not make other changes to the state meanwhile.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_runtime::Client;
/// use mcp_bindgen_runtime::middleware::{Stack, Transaction};
///
/// let basket = Arc::new(Mutex::new(vec!["a book".to_owned()]));
/// let client = Client::new(ServerConfig::stdio("shop", "my-mcp-server"));
/// let stack = Stack::new(client).transaction(Transaction::over(&basket).tools(["order_*"]));
/// # let _ = stack;
/// ```
#[derive(Clone)]
pub struct Transaction {
    begin: Arc<dyn Fn() -> Restore + Send + Sync>,
    tools: Option<Globs>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

type Restore = Box<dyn FnOnce() + Send>;

impl Transaction {
    /// Creates a transaction from a closure that reads the state and one that writes it. A call is denied if its
    /// snapshot panics. Neither closure may block for long: they run on the task of the call, or when it is dropped.
    pub fn new<T: Send + 'static>(
        snapshot: impl Fn() -> T + Send + Sync + 'static,
        restore: impl Fn(T) + Send + Sync + 'static,
    ) -> Self {
        let restore = Arc::new(restore);
        let begin = move || -> Restore {
            let (before, restore) = (snapshot(), restore.clone());
            Box::new(move || restore(before))
        };
        Self { begin: Arc::new(begin), tools: None, turn: Arc::default() }
    }

    /// Creates a transaction over a shared value, which is cloned before each call.
    pub fn over<T: Clone + Send + 'static>(state: &Arc<Mutex<T>>) -> Self {
        let (read, written) = (state.clone(), state.clone());
        let snapshot = move || lock(&read).clone();
        let restore = move |before| *lock(&written) = before;
        Self::new(snapshot, restore)
    }

    /// Limits the transaction to tools that match the globs; the default is all tools.
    #[must_use]
    pub fn tools(mut self, globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tools = Some(Globs::new(globs));
        self
    }
}

debug_as!(Transaction, "Transaction(..)");

impl Around for Transaction {
    async fn around(&self, mut call: ToolCall, below: Below<'_>) -> Result<ToolResult, CallError> {
        let is_selected = self.tools.as_ref().is_none_or(|tools| tools.name(&call.tool));
        if !is_selected || !call.passage.enter_once(Arc::as_ptr(&self.turn).addr()) {
            return below.call(call).await;
        }
        let _turn = wait::within(&mut call, Limit::after(PATIENCE), self.turn.lock()).await?;
        let restore =
            contained(|| (self.begin)()).map_err(|Panicked| call.panicked("the snapshot of a transaction"))?;
        let (server, tool) = (call.server.clone(), call.tool.clone());
        // Dropped before the turn ends.
        let rollback = OnDrop::new(move || {
            if contained(restore).is_err() {
                let (server, tool) = (&*server, &*tool);
                tracing::error!(server, tool, "restoring the state before a call panicked; it may be partly restored");
            }
        });
        let outcome = below.call(call).await;
        if outcome.as_ref().is_ok_and(ToolResult::is_success) {
            rollback.disarm();
        }
        outcome
    }
}
