//! Receives the messages of the other side, and answers its requests, until the connection ends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::failure::CLOSED;
use super::questions::{PATIENCE, Questions};
use super::{Failure, Incoming, Ledger, Respond, Session, Sides, Transport};
use crate::ground::redact::Redactor;

const UNREAD: &str = "the server keeps sending requests without reading the responses";

/// The receiving side of a session; dropping it ends the session.
pub struct Receiving {
    transport: Box<dyn Transport>,
    questions: Questions,
    session: Session,
}

/// Creates a session and its receiving side, which must be polled.
pub(crate) fn open(
    (sender, transport): Sides,
    ledger: Arc<Ledger>,
    responder: Arc<dyn Respond>,
    stamp: Option<Map<String, Value>>,
) -> (Session, Receiving) {
    let (ended, runtime, stamp) = (CancellationToken::new(), Handle::current(), stamp.map(Arc::new));
    let session = Session { ledger, sender, ended, runtime, stamp };
    let receiving = Receiving { transport, questions: Questions::new(responder), session: session.clone() };
    (session, receiving)
}

/// Serves a client over a transport that is created for it, and answers its requests. Returns the receiving side, which
/// the current runtime must poll.
///
/// # Errors
/// Fails if the transport cannot be created.
pub fn serve(
    transport: impl FnOnce(Arc<Ledger>) -> io::Result<Sides>,
    responder: Arc<dyn Respond>,
) -> io::Result<Receiving> {
    let ledger = Ledger::new(Duration::MAX, Redactor::default());
    Ok(open(transport(ledger.clone())?, ledger, responder, None).1)
}

impl Receiving {
    /// Receives until nothing more comes. Cancel safe.
    pub(crate) async fn until_end(&mut self) {
        loop {
            let full_since = self.questions.full_since;
            let stuck = full_since.unwrap_or_else(Instant::now) + PATIENCE;
            tokio::select! {
                biased;
                () = self.questions.advance(&self.session) => {}
                incoming = self.transport.receive(), if full_since.is_none() => match incoming {
                    Some(Incoming::Question(question)) => self.questions.ask(&self.session, question),
                    Some(Incoming::Cancelled(id)) => self.questions.cancel(&id),
                    None => return self.questions.finish(&self.session).await,
                },
                () = sleep_until(stuck), if full_since.is_some() => {
                    return self.session.ledger.close(&Failure::lost(UNREAD), None);
                }
            }
        }
    }

    /// Receives until the connection ends or `hang_up` is cancelled, then closes the connection. Dropping the future
    /// ends the session at once: a child process is killed, and an HTTP session is not deleted.
    pub async fn run(mut self, hang_up: CancellationToken) {
        tokio::select! {
            biased;
            () = hang_up.cancelled() => {}
            () = self.until_end() => {}
        }
        self.transport.close().await;
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        self.session.ended.cancel();
        self.session.ledger.close(&Failure::lost(CLOSED), None);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::future::BoxFuture;
    use rmcp::model::{ErrorData, RequestId};
    use serde_json::Value;

    use super::*;
    use crate::ground::task::Boxed;
    use crate::rpc::{Message, OpenLimits, Outgoing, Question, Sender, Sending};

    /// The other side asks without an end, and reads no response.
    struct Flood;

    impl Sender for Flood {
        fn send(self: Arc<Self>, _: Message, _: Outgoing) -> Sending {
            Box::pin(pending())
        }
    }

    impl Transport for Flood {
        fn receive(&mut self) -> BoxFuture<'_, Option<Incoming>> {
            let question = Question { id: RequestId::Number(1), method: "ping".to_owned(), params: Value::Null };
            Box::pin(ready(Some(Incoming::Question(question))))
        }

        fn close(&mut self) -> BoxFuture<'_, ()> {
            Box::pin(ready(()))
        }
    }

    impl Respond for Flood {
        fn limits(&self) -> OpenLimits {
            OpenLimits { requests: 0, bytes: 0, at_the_end: Duration::ZERO }
        }

        fn at_once(&self, _: &Question) -> Option<Result<Value, ErrorData>> {
            Some(Ok(Value::Null))
        }

        fn respond(self: Arc<Self>, _: Session, _: Question) -> Boxed<Result<Value, ErrorData>> {
            Box::pin(pending())
        }
    }

    fn flooded() -> (Session, Receiving) {
        let ledger = Ledger::new(Duration::MAX, Redactor::default());
        open((Arc::new(Flood), Box::new(Flood)), ledger, Arc::new(Flood), None)
    }

    #[tokio::test(start_paused = true)]
    async fn connection_ends_after_its_patience_with_unread_responses() {
        let (session, mut receiving) = flooded();
        let start = Instant::now();
        receiving.until_end().await;
        assert_eq!(start.elapsed().as_secs(), PATIENCE.as_secs());
        assert!(!session.ledger.is_open());
    }

    #[tokio::test]
    async fn dropped_receiving_side_ends_the_session() {
        let (session, receiving) = flooded();
        assert!(session.ledger.is_open() && !session.ended.is_cancelled());
        drop(receiving);
        assert!(!session.ledger.is_open() && session.ended.is_cancelled());
    }
}
