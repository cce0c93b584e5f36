//! The requests of one client that were not answered yet.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;

/// The error for a request whose id another one has that is under way.
pub(super) const IN_USE: &str = "duplicate request id: a request with this id is pending";

/// The requests of a client that are under way, each with what is held as long as it is. Clones are the same.
pub(super) struct UnderWay<H>(Arc<Mutex<HashMap<RequestId, H>>>);

impl<H> UnderWay<H> {
    /// Notes a request; false where one with its id is under way.
    pub(super) fn begin(&self, id: RequestId, held: H) -> bool {
        match self.requests().entry(id) {
            Entry::Vacant(free) => {
                free.insert(held);
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    pub(super) fn end(&self, id: &RequestId) {
        let held = self.requests().remove(id);
        // Dropped without the lock.
        drop(held);
    }

    /// Notes what the client is sent: an answer ends its request.
    pub(super) fn sent(&self, message: &ServerJsonRpcMessage) {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(id) = id {
            self.end(id);
        }
    }

    /// Notes what the client sends: a request that it takes back is not answered.
    pub(super) fn received(&self, message: &ClientJsonRpcMessage) {
        if let JsonRpcMessage::Notification(notification) = message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(id) = &cancelled.params.request_id
        {
            self.end(id);
        }
    }

    pub(super) fn contains(&self, id: &RequestId) -> bool {
        self.requests().contains_key(id)
    }

    pub(super) fn len(&self) -> usize {
        self.requests().len()
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<RequestId, H>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<H> Clone for UnderWay<H> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<H> Default for UnderWay<H> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

/// A transport that notes what ends of what is under way.
pub(super) struct Noted<T, H> {
    pub(super) transport: T,
    pub(super) under_way: UnderWay<H>,
}

impl<T: Transport<RoleServer>, H: Send + 'static> Transport<RoleServer> for Noted<T, H> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.under_way.sent(&message);
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let message = self.transport.receive().await?;
        self.under_way.received(&message);
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}
