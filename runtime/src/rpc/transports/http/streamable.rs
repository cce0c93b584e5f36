//! Streamable HTTP.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::param_headers::ParamHeaders;
use super::requests::Requests;
use super::{HttpClient, bodies, on_runtime};
use crate::ground::task::Boxed;
use crate::rpc::failure::{CLOSED, Failure};
use crate::rpc::ledger::{Ledger, Outgoing};
use crate::rpc::messages::Incoming;
use crate::rpc::sent::Message;
use crate::rpc::transports::{Sender, Sending, Sides, Transport};

/// Messages beyond this many wait in their connections.
const MESSAGES_UNDER_WAY: usize = 16;
const REQUESTS_UNDER_WAY: usize = 16;
/// The time for a server to accept a message without a response.
const PATIENCE_FOR_ACCEPTANCE: Duration = Duration::from_secs(30);

/// The receiving side; dropping it ends all requests.
struct StreamableTransport {
    requests: Requests,
    ledger: Arc<Ledger>,
    arrived: mpsc::Receiver<Incoming>,
    /// Reads the server's own messages, once the session has begun.
    listening: Boxed<()>,
    life: Option<DropGuard>,
}

/// The sending side.
struct StreamableSender {
    requests: Requests,
    /// Cancelled when the server knows that the session has begun.
    begun: CancellationToken,
    /// The one that drives the connection's sockets.
    runtime: Handle,
}

/// Returns both sides of a transport to this URL.
pub(crate) fn connect(
    url: reqwest::Url,
    http: HttpClient,
    param_headers: Arc<ParamHeaders>,
    max_concurrent_requests: Option<usize>,
) -> Sides {
    let (ledger, life) = (http.ledger.clone(), Some(http.until.clone().drop_guard()));
    let (arriving, arrived) = mpsc::channel(MESSAGES_UNDER_WAY);
    let slots = max_concurrent_requests.unwrap_or(REQUESTS_UNDER_WAY);
    let requests = Requests::new(http, url, param_headers, slots, arriving);
    let begun = CancellationToken::new();
    let listening = {
        let (requests, begun) = (requests.clone(), begun.clone());
        Box::pin(async move {
            begun.cancelled().await;
            requests.listen().await;
        })
    };
    let sender = StreamableSender { requests: requests.clone(), begun, runtime: Handle::current() };
    (Arc::new(sender), Box::new(StreamableTransport { requests, ledger, arrived, listening, life }))
}

impl Sender for StreamableSender {
    fn send(self: Arc<Self>, message: Message, outgoing: Outgoing) -> Sending {
        let runtime = self.runtime.clone();
        on_runtime(&runtime, async move {
            match &message {
                Message::Request { .. } => self.requests.exchange(&message, &outgoing).await,
                Message::Notification(notification) => match &*notification.method {
                    // Without a handshake, dropping its response cancels a request.
                    "notifications/cancelled" if self.requests.conversation().is_modern => Ok(()),
                    "notifications/initialized" => {
                        self.requests.notify(&message).await?;
                        self.begun.cancel();
                        Ok(())
                    }
                    _ => self.requests.notify(&message).await,
                },
                Message::Response { .. } => self.requests.notify(&message).await,
            }
        })
    }
}

impl Requests {
    /// Sends what needs no answer.
    /// Dropped: the request ends, and the server may have read it.
    async fn notify(&self, message: &Message) -> Result<(), Failure> {
        let sending = async {
            let conversation = self.conversation();
            let response = self.post_accepted(message, &conversation).await?;
            // Read, so that its connection can serve again.
            bodies::beginning(response).await;
            Ok(())
        };
        let late = |_| self.lost(format!("the server did not accept it within {PATIENCE_FOR_ACCEPTANCE:?}"));
        timeout(PATIENCE_FOR_ACCEPTANCE, self.http.or_end(sending)).await.unwrap_or_else(|error| Err(late(error)))
    }
}

impl Transport for StreamableTransport {
    fn receive(&mut self) -> BoxFuture<'_, Option<Incoming>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = self.requests.ended.cancelled() => {
                    self.ledger.close(&Failure::lost(CLOSED), None);
                    None
                }
                message = self.arrived.recv() => message,
                () = &mut self.listening => None,
            }
        })
    }

    fn close(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.ledger.close(&Failure::lost(CLOSED), None);
            self.requests.delete().await;
            self.life = None;
        })
    }
}
