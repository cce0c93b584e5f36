//! Streamable HTTP.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ErrorData, GetMeta, ServerJsonRpcMessage};
use rmcp::service::TxJsonRpcMessage;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::param_headers::ParamHeaders;
use super::refusals::HttpError;
use super::requests::Requests;
use super::{CLOSED, HttpClient, Life, UNWANTED, bodies};
use crate::session::direct::{Direct, Sending};
use crate::session::failure::Failure;
use crate::session::ledger::{Ledger, Outgoing};
use crate::transport::{Incoming, Transport};

/// What a server sends faster than it is taken waits in its connections.
const MESSAGES_UNDER_WAY: usize = 16;
const REQUESTS_UNDER_WAY: usize = 16;
/// How long a server may take to accept what it need not answer.
const PATIENCE_FOR_ACCEPTANCE: Duration = Duration::from_secs(30);

/// The transport; dropping it ends its requests.
pub(crate) struct StreamableTransport {
    requests: Requests,
    ledger: Arc<Ledger>,
    arrived: mpsc::Receiver<Incoming>,
    /// Requests of rmcp's, and the stream of the server's own messages.
    tasks: JoinSet<()>,
    /// Whether requests say of themselves what a handshake would: then dropping one is all that cancels it.
    is_modern: bool,
    life: Option<Life>,
}

impl StreamableTransport {
    pub(crate) fn new(
        url: reqwest::Url,
        http: HttpClient,
        param_headers: Arc<ParamHeaders>,
        max_concurrent_requests: Option<usize>,
        life: Life,
    ) -> Self {
        let ledger = http.ledger.clone();
        let (arriving, arrived) = mpsc::channel(MESSAGES_UNDER_WAY);
        let slots = max_concurrent_requests.unwrap_or(REQUESTS_UNDER_WAY);
        let requests = Requests::new(http, url, param_headers, slots, arriving);
        Self { requests, ledger, arrived, tasks: JoinSet::new(), is_modern: false, life: Some(life) }
    }

    pub(crate) fn direct(&self) -> impl Direct + use<> {
        Calls { requests: self.requests.clone(), runtime: Handle::try_current().ok() }
    }

    /// Sends a request on a task of its own; gives whether the server has taken it.
    fn request(&mut self, message: ClientJsonRpcMessage) -> oneshot::Receiver<Result<(), HttpError>> {
        let (requests, outgoing) = (self.requests.clone(), self.ledger.queued(&message));
        let (taken, is_taken) = oneshot::channel();
        self.tasks.spawn(crate::task::task(async move {
            let mut taken = Some(taken);
            let head = || drop(taken.take().map(|taken| taken.send(Ok(()))));
            let outcome = requests.exchange(&message, &outgoing, head).await;
            match (taken, outcome) {
                (Some(taken), Ok(())) if !outgoing.is_answered() => {
                    let _ = taken.send(Err(HttpError::NotSent(UNWANTED.to_owned())));
                }
                (Some(taken), outcome) => drop(taken.send(outcome)),
                (None, Err(_)) if super::requests::begins(&message) => requests.ended.cancel(),
                (None, Err(error)) => requests.tell_rmcp(&message, &error).await,
                (None, Ok(())) => {}
            }
        }));
        is_taken
    }
}

impl Requests {
    /// Sends what needs no answer.
    async fn notify(&self, message: &ClientJsonRpcMessage) -> Result<(), HttpError> {
        let sending = async {
            let conversation = self.conversation();
            let response = self.post(message, &conversation, None).await?;
            if !response.status().is_success() {
                return Err(self.http.refused(response).await);
            }
            // Read, so that its connection can serve again.
            bodies::beginning(response).await;
            Ok(())
        };
        let late = |_| self.lost(format!("the server has not accepted it within {PATIENCE_FOR_ACCEPTANCE:?}"));
        timeout(PATIENCE_FOR_ACCEPTANCE, self.http.until.or_end(sending)).await.unwrap_or_else(|error| Err(late(error)))
    }

    /// Ends a request for rmcp that the server has taken, and whose answer does not come.
    async fn tell_rmcp(&self, message: &ClientJsonRpcMessage, error: &HttpError) {
        if let ClientJsonRpcMessage::Request(request) = message {
            let error = ErrorData::internal_error(error.to_string(), None);
            self.hand_over(Incoming::Message(ServerJsonRpcMessage::error(error, Some(request.id.clone())))).await;
        }
    }
}

impl Transport for StreamableTransport {
    type Error = HttpError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), HttpError>> + Send + 'static {
        let sending: Pin<Box<dyn Future<Output = _> + Send>> = match &message {
            ClientJsonRpcMessage::Request(request) => {
                if super::requests::begins(&message) {
                    self.is_modern = request.request.get_meta().protocol_version().is_some();
                }
                let is_taken = self.request(message);
                Box::pin(async move { is_taken.await.unwrap_or_else(|_| Err(HttpError::Lost(CLOSED.to_owned()))) })
            }
            ClientJsonRpcMessage::Notification(notification) => {
                let requests = self.requests.clone();
                match &notification.notification {
                    ClientNotification::CancelledNotification(cancelled) if self.is_modern => {
                        if let Some(id) = &cancelled.params.request_id {
                            self.ledger.abandon(id);
                        }
                        Box::pin(std::future::ready(Ok(())))
                    }
                    ClientNotification::InitializedNotification(_) => {
                        let (begun, begins) = oneshot::channel::<()>();
                        let listening = requests.clone();
                        self.tasks.spawn(crate::task::task(async move {
                            if begins.await.is_ok() {
                                listening.listen().await;
                            }
                        }));
                        self.ledger.queued(&message);
                        Box::pin(async move {
                            requests.notify(&message).await?;
                            let _ = begun.send(());
                            Ok(())
                        })
                    }
                    _ => {
                        self.ledger.queued(&message);
                        Box::pin(async move { requests.notify(&message).await })
                    }
                }
            }
            _ => {
                let requests = self.requests.clone();
                self.ledger.queued(&message);
                Box::pin(async move { requests.notify(&message).await })
            }
        };
        sending
    }

    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            tokio::select! {
                biased;
                () = self.requests.ended.cancelled() => {
                    self.ledger.close(&Failure::lost(CLOSED), None);
                    return None;
                }
                Some(_) = self.tasks.join_next() => {}
                message = self.arrived.recv() => return message,
            }
        }
    }

    async fn close(&mut self) -> Result<(), HttpError> {
        self.ledger.close(&Failure::lost(CLOSED), None);
        self.tasks.abort_all();
        self.requests.delete().await;
        self.life = None;
        Ok(())
    }
}

/// Requests of callers.
struct Calls {
    requests: Requests,
    /// The one that drives the connection's sockets.
    runtime: Option<Handle>,
}

impl Direct for Calls {
    fn send(&self, message: ClientJsonRpcMessage, outgoing: Outgoing) -> Sending<'_> {
        let here = Handle::try_current().ok().map(|current| current.id());
        let elsewhere = self.runtime.as_ref().filter(|runtime| here != Some(runtime.id()));
        match elsewhere {
            None => Box::pin(async move {
                // The ledger has what failed.
                let _ = self.requests.exchange(&message, &outgoing, || ()).await;
            }),
            // A socket that another runtime drives would stay in the pool, and rest with it.
            Some(runtime) => {
                let requests = self.requests.clone();
                let mut tasks = JoinSet::new();
                tasks.spawn_on(
                    crate::task::task(async move {
                        let _ = requests.exchange(&message, &outgoing, || ()).await;
                    }),
                    runtime,
                );
                Box::pin(async move {
                    let _ = tasks.join_next().await;
                })
            }
        }
    }
}
