//! Receives the server's messages, and answers its requests, until the connection ends.

use std::future::pending;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::background::Background;
use super::failure::{CLOSED, Failure};
use super::ledger::Ledger;
use super::messages::Incoming;
use super::questions::Questions;
use super::server_requests::Answers;
use super::transports::{Sender, Sides, Transport};

const UNREAD: &str = "the server keeps sending requests without reading the responses";

/// The receiving side of a session; dropping it ends the session.
pub(crate) struct Receiving {
    transport: Box<dyn Transport>,
    sender: Arc<dyn Sender>,
    questions: Questions,
    ledger: Arc<Ledger>,
    background: Arc<Background>,
}

impl Receiving {
    pub(super) fn new(
        (sender, transport): Sides,
        ledger: Arc<Ledger>,
        background: Arc<Background>,
        answers: Arc<Answers>,
    ) -> Self {
        Self { transport, sender, questions: Questions::new(answers), ledger, background }
    }

    /// Receives until nothing more comes. Cancel safe.
    pub(crate) async fn until_end(&mut self) {
        loop {
            let has_room = self.questions.has_room();
            let arrived = async {
                match has_room {
                    true => self.transport.receive().await,
                    false => pending().await,
                }
            };
            let stuck = self.questions.stuck();
            tokio::select! {
                biased;
                answer = self.questions.next() => {
                    let Some((answer, size)) = answer else { continue };
                    let outgoing = self.ledger.queued(&answer);
                    self.questions.send(size, self.sender.clone().send(answer, outgoing));
                }
                incoming = arrived => match incoming {
                    Some(Incoming::Question(question)) => self.questions.ask(question),
                    Some(Incoming::Cancelled(id)) => self.questions.cancel(&id),
                    None => return,
                },
                () = stuck => return self.ledger.close(&Failure::lost(UNREAD), None),
            }
        }
    }

    /// The same until the connection is to be closed, and closes it.
    /// Dropped before the end: the session ends at once. A child process is killed, a session over HTTP is not
    /// deleted.
    pub(crate) async fn run(mut self, hang_up: CancellationToken) {
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
        self.background.end();
        self.ledger.close(&Failure::lost(CLOSED), None);
    }
}
