//! Notifications of a server, for programs that pass them on.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::changes::{listen_again, reports_changes};
use crate::Client;
use crate::connect::connection::Connection;
use crate::rpc::notices::{Notice, Notices, PROMPTS_CHANGED, RESOURCES_CHANGED};

/// A notification from a server.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Notification {
    /// The method: `notifications/message`, `notifications/prompts/list_changed`, `notifications/resources/list_changed`,
    /// `notifications/resources/updated`, or one that is not the protocol's.
    pub method: String,
    /// The parameters as sent, but for secrets of the server's configuration.
    pub params: Map<String, Value>,
    /// The number of notifications that were dropped before this one.
    pub missed: u64,
}

/// A stream of a server's notifications: log messages, changes of prompts and resources, updates of subscribed
/// resources, and notifications with custom methods. A slow reader blocks nothing: beyond 1,024 unread notifications
/// the oldest are dropped, and the next one has their number.
///
/// The stream does not keep a connection open, and receives from every connection of the client. A new connection
/// counts as a change of the lists.
///
/// ```no_run
/// # async fn run(client: mcp_bindgen_runtime::Client) {
/// let mut notifications = client.notifications();
/// while let Some(notification) = notifications.next().await {
///     println!("{}: {:?}", notification.method, notification.params);
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Notifications {
    notices: broadcast::Receiver<Arc<Notice>>,
    missed: u64,
}

impl Notifications {
    /// Waits for the next notification; returns `None` once the last clone of the client is gone. Cancel safe.
    pub async fn next(&mut self) -> Option<Notification> {
        loop {
            match self.notices.recv().await {
                Ok(notice) => {
                    return Some(Notification {
                        method: notice.method.clone().into_owned(),
                        params: notice.params.clone(),
                        missed: std::mem::take(&mut self.missed),
                    });
                }
                Err(RecvError::Lagged(missed)) => self.missed = self.missed.saturating_add(missed),
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

impl Client {
    /// Subscribes to the server's notifications. For tools use [`tool_changes`](Self::tool_changes), for a resource
    /// [`subscribe`](Self::subscribe).
    #[must_use]
    pub fn notifications(&self) -> Notifications {
        Notifications { notices: self.supervisor.shared.notices.subscribe(), missed: 0 }
    }
}

/// Subscribes to changes on one connection, if the server only reports them on request, once the program listens.
/// `is_another` is `true` after an earlier connection, when changes may have been missed.
pub(crate) async fn keep(connection: &Connection, notices: &Notices, is_another: bool) -> Infallible {
    let lists = [("prompts", PROMPTS_CHANGED), ("resources", RESOURCES_CHANGED)].into_iter();
    let reported = lists.filter(|(list, _)| reports_changes(connection, list));
    let lists: Vec<&str> = reported.map(|(_, method)| method).collect();
    let may_have_changed = || lists.iter().for_each(|method| notices.note(method));
    if is_another {
        may_have_changed();
    }
    if !connection.is_modern() || lists.is_empty() {
        return pending().await;
    }
    notices.wanted().await;
    listen_again("prompts and resources", || connection.listen_to_lists(&lists), may_have_changed).await
}
