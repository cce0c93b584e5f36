//! A connection in use, to detect idle connections.

use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_model::ServerConfig;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::client::catalog::drift::{LiveTools, Reported};
use crate::connect::connection::Connection;
use crate::ground::sync::lock;

/// The minimum lifetime of a new connection, for the callers that requested it.
const TIME_FOR_FIRST_USE: Duration = Duration::from_secs(1);

/// An open connection, and its use.
pub(super) struct Opened {
    pub(super) connection: Arc<Connection>,
    /// Its tools, and whether they are those that were bound.
    pub(super) live_tools: LiveTools,
    /// Cancelled when the connection has ended, or must end.
    pub(super) end: CancellationToken,
    activity: Mutex<Activity>,
}

struct Activity {
    users: usize,
    was_used: bool,
    since: Instant,
    is_retired: bool,
}

impl Opened {
    pub(super) fn new(connection: Connection, config: &Arc<ServerConfig>, reported: &Arc<Reported>) -> Arc<Self> {
        let connection = Arc::new(connection);
        let live_tools = LiveTools::new(config.clone(), connection.clone(), reported.clone());
        let activity = Activity { users: 0, was_used: false, since: Instant::now(), is_retired: false };
        Arc::new(Self { connection, live_tools, end: CancellationToken::new(), activity: Mutex::new(activity) })
    }

    /// Returns the connection for requests, or `None` if it must not be used any more.
    pub(super) fn lease(self: &Arc<Self>) -> Option<Lease> {
        if !self.connection.is_open() {
            // Its keeper may not have seen that yet.
            self.end.cancel();
            return None;
        }
        let mut activity = lock(&self.activity);
        if activity.is_retired {
            return None;
        }
        activity.users += 1;
        activity.was_used = true;
        drop(activity);
        Some(Lease(self.clone()))
    }

    /// Retires the connection if it has been unused for the given time. Otherwise returns the time until the next
    /// check.
    pub(super) fn retire_after(&self, idle: Duration) -> Result<(), Duration> {
        let mut activity = lock(&self.activity);
        let idle = if activity.was_used { idle } else { idle.max(TIME_FOR_FIRST_USE) };
        let left = if activity.users > 0 { idle } else { idle.saturating_sub(activity.since.elapsed()) };
        activity.is_retired = activity.users == 0 && left.is_zero();
        if activity.is_retired { Ok(()) } else { Err(left.max(Duration::from_millis(1))) }
    }

    pub(super) fn is_in_use(&self) -> bool {
        lock(&self.activity).users > 0
    }

    pub(super) fn was_used(&self) -> bool {
        lock(&self.activity).was_used
    }
}

/// An open connection that is in use until this is dropped.
pub(crate) struct Lease(Arc<Opened>);

impl Lease {
    pub(super) fn live_tools(&self) -> &LiveTools {
        &self.0.live_tools
    }
}

impl Deref for Lease {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.0.connection
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut activity = lock(&self.0.activity);
        activity.users = activity.users.saturating_sub(1);
        activity.since = Instant::now();
    }
}
