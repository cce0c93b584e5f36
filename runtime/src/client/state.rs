//! The state of a connection.

use std::sync::Arc;

use tokio::sync::watch;

use crate::ConnectError;
use crate::call::events::{ConnectionState, Observer};
use crate::client::catalog::changes::Changes;
use crate::client::catalog::drift::Reported;
use crate::connect::limits::SharedLimits;
use crate::rpc::notices::Notices;
use crate::rpc::subscriptions::Subscriptions;

/// Sees every change of a [`ConnectionState`]; of several in quick succession the last.
///
/// ```no_run
/// # async fn run(client: mcp_bindgen_runtime::Client) {
/// let mut watch = client.watch_state();
/// while let Some(state) = watch.changed().await {
///     println!("{}: {state:?}", client.name());
/// }
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct StateWatch(watch::Receiver<Stamped>);

impl StateWatch {
    /// Returns the state now.
    #[must_use]
    pub fn current(&self) -> ConnectionState {
        self.0.borrow().state
    }

    /// Waits until the state differs from the last one; returns `None` once all clients and connections are gone.
    pub async fn changed(&mut self) -> Option<ConnectionState> {
        self.0.changed().await.ok()?;
        Some(self.0.borrow_and_update().state)
    }
}

/// A state, and the number of the keeper that it is of.
#[derive(Clone, Copy, Debug)]
struct Stamped {
    keeper: u64,
    state: ConnectionState,
}

/// The state of a connection as it is published.
pub(super) struct Status {
    state: watch::Sender<Stamped>,
    pub(super) observer: Arc<Observer>,
    pub(super) tools: Changes,
    pub(super) resources: Arc<Subscriptions>,
    /// The subscribers to notifications.
    pub(super) notices: Arc<Notices>,
    pub(super) limits: SharedLimits,
    /// The drift of tools that was reported.
    pub(super) drift: Arc<Reported>,
}

impl Status {
    pub(super) fn new(observer: Observer, limits: SharedLimits) -> Self {
        let observer = Arc::new(observer);
        let state = Stamped { keeper: 0, state: ConnectionState::Disconnected };
        Self {
            state: watch::Sender::new(state),
            tools: Changes::new(observer.clone()),
            resources: Arc::default(),
            notices: Arc::default(),
            limits,
            drift: Arc::new(Reported::new(observer.clone())),
            observer,
        }
    }

    /// Publishes the state of a keeper, with the error of a failed attempt. Updates from older keepers are ignored.
    pub(super) fn publish(&self, keeper: u64, state: ConnectionState, error: Option<&ConnectError>) {
        self.state.send_if_modified(|last| {
            let is_new = keeper >= last.keeper && state != last.state && last.state != ConnectionState::ShutDown;
            if is_new {
                *last = Stamped { keeper, state };
                // Before the next change can be noted.
                self.observer.state_changed(state, error);
            }
            is_new
        });
    }

    pub(super) fn current(&self) -> ConnectionState {
        self.state.borrow().state
    }

    pub(super) fn watch(&self) -> StateWatch {
        StateWatch(self.state.subscribe())
    }
}
