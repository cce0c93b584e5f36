//! One request over an open connection, and what can become of it.

use std::pin::pin;
use std::sync::Arc;

use rmcp::model::{
    CancelledNotificationParam, ClientJsonRpcMessage, ClientRequest, ErrorData, GetExtensions, GetMeta, ProgressToken,
    RequestMetaObject, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::Dispatched;
use crate::call::Listener;
use crate::observe::note_request;
use crate::session::clock::{Questions, run_out};
use crate::session::deadline::Patience;
use crate::session::direct::Direct;
use crate::session::failure::Failure;
use crate::session::ledger::Ledger;
use crate::session::raw;
use crate::session::ticket::{State, Ticket};
use crate::task::task;
use crate::wire::size_of_members;

/// Why a request has no result.
#[derive(Clone, Debug)]
pub(crate) enum RequestError {
    /// No answer came in time.
    Timeout(Dispatched),
    /// The caller's token was cancelled.
    Cancelled(Dispatched),
    /// It failed below the protocol; [`Dispatched::Yes`] where the server answered with what is no answer.
    Failed(Failure),
    /// The server answered with an error.
    Rpc(ErrorData),
}

impl RequestError {
    /// The server answered, but with nothing that this client can take.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::Failed(Failure::new(Dispatched::Yes, message))
    }

    /// The same of a later request of one call: what the first one did stays done.
    pub(crate) fn after_a_round(self) -> Self {
        match self {
            Self::Timeout(Dispatched::No) => Self::Timeout(Dispatched::Unknown),
            Self::Cancelled(Dispatched::No) => Self::Cancelled(Dispatched::Unknown),
            Self::Failed(failure) if failure.dispatched == Dispatched::No => {
                Self::Failed(Failure { dispatched: Dispatched::Unknown, ..failure })
            }
            other => other,
        }
    }
}

impl std::fmt::Display for RequestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Timeout(_) => f.write_str("no answer came in time"),
            Self::Cancelled(_) => f.write_str("it was cancelled"),
            Self::Failed(failure) => f.write_str(&failure.message),
            Self::Rpc(error) => write!(f, "JSON-RPC error {}: {}", error.code.0, error.message),
        }
    }
}

/// What a request may take, and who hears of it.
pub(crate) struct Terms {
    pub(crate) patience: Patience,
    pub(crate) listener: Option<Listener>,
    pub(crate) cancellation: Option<CancellationToken>,
    /// While the server has a question open, time stands still.
    pub(crate) questions: Option<Questions>,
    /// The count of changes to the list of tools for which it was let through.
    pub(crate) list: Option<u64>,
    /// What it says of whom it is made for, where that is not this client.
    pub(crate) stamp: Option<RequestMetaObject>,
}

impl From<Patience> for Terms {
    fn from(patience: Patience) -> Self {
        Self { patience, listener: None, cancellation: None, questions: None, list: None, stamp: None }
    }
}

/// Sends a request and waits for its raw result. Dropping the future cancels the request: one that has not left never
/// will, and of another the server is told.
pub(crate) async fn request(
    peer: &Peer<RoleClient>,
    ledger: &Arc<Ledger>,
    mut request: ClientRequest,
    terms: impl Into<Terms>,
) -> Result<Value, RequestError> {
    let Terms { patience, listener, cancellation, questions, list, stamp } = terms.into();
    let ticket = ledger.admit(size_of(&request), patience.first, listener).map_err(RequestError::Failed)?;
    ticket.is_for(list);
    request.extensions_mut().insert(ticket.clone());
    let is_call = matches!(request, ClientRequest::CallToolRequest(_));
    let pending = Pending { ledger, ticket: ticket.clone(), peer };
    let outcome = tokio::select! {
        biased;
        () = cancelled(cancellation.as_ref()) => Err(RequestError::Cancelled(pending.give_up())),
        answer = pending.answer(request, stamp, run_out(&ticket, patience, questions)) => answer,
    };
    if is_call {
        note_request(ticket.id());
    }
    outcome
}

/// Like [`request`], but straight to the transport and back.
pub(crate) async fn request_directly(
    direct: &dyn Direct,
    peer: &Peer<RoleClient>,
    ledger: &Arc<Ledger>,
    mut request: ClientRequest,
    terms: Terms,
) -> Result<Value, RequestError> {
    // What it says is in the request already.
    let Terms { patience, listener, cancellation, questions, list, stamp: _ } = terms;
    let ticket = ledger.admit(size_of(&request), patience.first, listener).map_err(RequestError::Failed)?;
    ticket.is_for(list);
    let id = ticket.direct_id();
    note_request(Some(&id));
    request.extensions_mut().insert(ticket.clone());
    request.get_meta_mut().set_progress_token(ProgressToken(id.clone()));
    let message = ClientJsonRpcMessage::request(request, id.clone());
    let outgoing = ledger.queued_directly(&message, &id, &ticket);
    let mut sending = direct.send(message, outgoing);
    // Dropped before what is sent, which fails then: the server is told of a call that was given up.
    let pending = Pending { ledger, ticket: ticket.clone(), peer };
    let answer = async {
        tokio::select! {
            biased;
            () = &mut sending => {}
            () = ticket.settled() => {}
        }
        ticket.settled().await;
        pending.settled()
    };
    tokio::select! {
        biased;
        () = cancelled(cancellation.as_ref()) => Err(RequestError::Cancelled(pending.give_up())),
        answer = answer => answer,
        () = run_out(&ticket, patience, questions) => Err(pending.late()),
    }
}

/// Waits until the token is cancelled, where there is one.
pub(crate) async fn cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

/// A request that has no answer yet.
struct Pending<'l> {
    ledger: &'l Arc<Ledger>,
    ticket: Ticket,
    peer: &'l Peer<RoleClient>,
}

impl Pending<'_> {
    async fn answer(
        &self,
        request: ClientRequest,
        stamp: Option<RequestMetaObject>,
        time_is_up: impl Future<Output = ()>,
    ) -> Result<Value, RequestError> {
        let mut time_is_up = pin!(time_is_up);
        let mut options = PeerRequestOptions::no_options();
        options.meta = stamp;
        let sending = self.peer.send_request_with_option(request, options);
        let mut handle = tokio::select! {
            biased;
            sent = sending => match sent {
                Ok(handle) => handle,
                Err(_) => return Err(self.failed("the connection was closed")),
            },
            () = &mut time_is_up => return Err(self.late()),
        };
        tokio::select! {
            biased;
            answer = &mut handle.rx => self.read(answer.unwrap_or(Err(ServiceError::TransportClosed))),
            _ = self.ticket.failed() => self.read(Err(ServiceError::TransportClosed)),
            () = &mut time_is_up => Err(self.late()),
        }
    }

    /// The outcome of what went straight to the transport.
    fn settled(&self) -> Result<Value, RequestError> {
        match self.ticket.take_answer() {
            Some(answer) => answer.map_err(RequestError::Rpc),
            None => Err(self.failed("the connection was closed")),
        }
    }

    fn read(&self, answer: Result<ServerResult, ServiceError>) -> Result<Value, RequestError> {
        let has_answer = matches!(self.ticket.state(), State::Answered);
        match answer {
            Ok(result) => match raw::unwrap(result) {
                Some(result) => Ok(result),
                None => Err(RequestError::invalid("the answer did not come by way of the transport")),
            },
            Err(ServiceError::McpError(error)) if has_answer => Err(RequestError::Rpc(error)),
            // rmcp makes up errors for what it lost.
            Err(ServiceError::McpError(error)) => Err(self.failed(&error.message)),
            Err(ServiceError::TransportClosed) => Err(self.failed("the connection was closed")),
            Err(ServiceError::TransportSend(error)) => Err(self.failed(&error.error.to_string())),
            Err(other) => Err(self.failed(&other.to_string())),
        }
    }

    /// What failed, in the transport's words where it has said so.
    fn failed(&self, otherwise: &str) -> RequestError {
        match self.ticket.state() {
            // The transport does not write what is late.
            _ if self.ticket.is_late() && self.ticket.is_unsent() => self.late(),
            State::Failed(failure) => RequestError::Failed(failure),
            _ => RequestError::Failed(Failure::new(self.ledger.give_up(&self.ticket), otherwise)),
        }
    }

    fn late(&self) -> RequestError {
        let dispatched = self.ledger.time_out(&self.ticket);
        self.tell_the_server();
        RequestError::Timeout(dispatched)
    }

    fn give_up(&self) -> Dispatched {
        let dispatched = self.ledger.give_up(&self.ticket);
        self.tell_the_server();
        dispatched
    }

    /// Where the request has left, the server is told that nobody waits for it.
    fn tell_the_server(&self) {
        if matches!(self.ticket.state(), State::GivenUp(Dispatched::Unknown))
            && let (Some(id), Ok(runtime)) = (self.ticket.id(), tokio::runtime::Handle::try_current())
        {
            let why = "the caller no longer waits".to_owned();
            let cancelled = CancelledNotificationParam::new(Some(id.clone()), Some(why));
            let peer = self.peer.clone();
            // Without a runtime the connection is gone as well, and so is the server's interest.
            runtime.spawn(task(async move {
                let _ = peer.notify_cancelled(cancelled).await;
            }));
        }
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if matches!(self.ticket.state(), State::Queued | State::Writing { .. } | State::Written { .. }) {
            self.give_up();
        }
    }
}

/// About how long a request is as text. Only what a program asks can be long.
fn size_of(request: &ClientRequest) -> usize {
    const ENVELOPE: usize = 256;
    let arguments = match request {
        ClientRequest::CallToolRequest(call) => call.params.arguments.as_ref().map_or(0, size_of_members),
        ClientRequest::GetPromptRequest(get) => get.params.arguments.as_ref().map_or(0, size_of_members),
        ClientRequest::ReadResourceRequest(read) => read.params.uri.len(),
        ClientRequest::SubscribeRequest(subscribe) => subscribe.params.uri.len(),
        _ => 0,
    };
    ENVELOPE.saturating_add(arguments)
}
