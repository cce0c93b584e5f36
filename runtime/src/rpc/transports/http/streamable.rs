//! Streamable HTTP.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, timeout};
use tokio_util::sync::DropGuard;

use super::events::{LONGEST_PAUSE, Reader};
use super::param_headers::ParamHeaders;
use super::requests::{Conversation, Requests};
use super::{HttpClient, on_runtime};
use crate::ground::task::{Boxed, task};
use crate::rpc::failure::{CLOSED, Failure};
use crate::rpc::ledger::Outgoing;
use crate::rpc::messages::{self, Incoming, MAX_MESSAGE};
use crate::rpc::sent::Message;
use crate::rpc::transports::{Sender, Sending, Sides, Transport};

/// Messages beyond this many wait in their connections.
const MESSAGES_UNDER_WAY: usize = 16;
const REQUESTS_UNDER_WAY: usize = 16;
/// The time for a server to accept a message without a response.
const PATIENCE_FOR_ACCEPTANCE: Duration = Duration::from_secs(30);

/// The receiving side; dropping it ends all requests.
struct StreamableTransport {
    requests: Arc<Requests>,
    arrived: mpsc::Receiver<Incoming>,
    /// Reads the server's own messages, once the session has begun.
    listening: Boxed<()>,
    _life: DropGuard,
}

/// Returns both sides of a transport to this URL.
pub(crate) fn connect(
    url: reqwest::Url,
    http: HttpClient,
    param_headers: Arc<ParamHeaders>,
    max_concurrent_requests: Option<usize>,
) -> Sides {
    let life = http.until.clone().drop_guard();
    let (arriving, arrived) = mpsc::channel(MESSAGES_UNDER_WAY);
    let slots = max_concurrent_requests.unwrap_or(REQUESTS_UNDER_WAY).clamp(1, Semaphore::MAX_PERMITS);
    let (slots, (latest, renewing, begun)) = (Semaphore::new(slots), Default::default());
    let requests = Arc::new(Requests { http, url, param_headers, latest, renewing, slots, arriving, begun });
    let listening = task(listen(requests.clone()));
    let transport = StreamableTransport { requests: requests.clone(), arrived, listening, _life: life };
    (requests, Box::new(transport))
}

impl Sender for Requests {
    fn send(self: Arc<Self>, message: Message, outgoing: Outgoing) -> Sending {
        on_runtime(self.http.runtime.clone(), async move {
            let exchange = async {
                match &message {
                    Message::Request { .. } => self.exchange(&message, &outgoing).await,
                    Message::Notification(notification) => match &*notification.method {
                        // Without a handshake, dropping its response cancels a request.
                        "notifications/cancelled" if self.conversation().initialize.is_none() => Ok(()),
                        "notifications/initialized" => self.notify(&message).await.inspect(|()| self.begun.cancel()),
                        _ => self.notify(&message).await,
                    },
                    Message::Response { .. } => self.notify(&message).await,
                }
            };
            self.http.run(&outgoing, exchange).await
        })
    }
}

impl Requests {
    /// Sends a message that needs no answer. Dropping the future acts like dropping `deliver`.
    async fn notify(&self, message: &Message) -> Result<(), Failure> {
        let conversation = self.conversation();
        let late = |_| self.http.lost(format!("the server did not accept it within {PATIENCE_FOR_ACCEPTANCE:?}"));
        timeout(PATIENCE_FOR_ACCEPTANCE, self.deliver(message, &conversation)).await.map_err(late)?
    }

    /// Listens in one session until it is replaced. If the future is dropped, the stream is closed, and the id of its
    /// last event is forgotten.
    async fn listen_to(&self, conversation: &Arc<Conversation>) {
        let mut reader = Reader::new(None, self.http.until.clone());
        loop {
            match self.open(&mut reader, conversation).await {
                Ok(true) => {
                    let opened = Instant::now();
                    self.http.ledger.list_changes.mark_changed();
                    while let Ok(event) = reader.next().await {
                        match event {
                            Some(event) => drop(self.take(event.data.unwrap_or_default().as_bytes(), None).await),
                            None => self.http.notes.problem(messages::too_large(MAX_MESSAGE)),
                        }
                    }
                    if opened.elapsed() > LONGEST_PAUSE {
                        // The stream worked, even without messages.
                        reader.failures = 0;
                    }
                }
                // The server does not offer this stream.
                Ok(false) => return self.replaced(Some(conversation)).await,
                Err(_) => {}
            }
            self.http.ledger.list_changes.mark_unwatched();
            reader.pause().await;
        }
    }
}

/// Reads the stream of the server's own messages, over all sessions of a connection. Dropping the future closes the
/// stream, and later messages of the server are lost.
async fn listen(requests: Arc<Requests>) {
    requests.begun.cancelled().await;
    loop {
        let conversation = requests.conversation();
        tokio::select! {
            () = requests.replaced(Some(&conversation)) => {}
            () = requests.listen_to(&conversation), if conversation.has_session() => {}
        }
    }
}

impl Transport for StreamableTransport {
    fn receive(&mut self) -> BoxFuture<'_, Option<Incoming>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                // The session was lost.
                () = self.requests.http.until.cancelled() => {
                    self.requests.http.ledger.close(&Failure::lost(CLOSED), None);
                    None
                }
                message = self.arrived.recv() => message,
                () = &mut self.listening => None,
            }
        })
    }

    fn close(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.requests.http.ledger.close(&Failure::lost(CLOSED), None);
            self.requests.delete().await;
            self.requests.http.until.cancel();
        })
    }
}
