//! Responses to requests of a server.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use crate::rpc::clock::{Open, Questions};
use crate::rpc::handlers::{Handlers, Unanswered};

/// How many answers that take as long as they may one call waits for.
const ANSWERS_IN_ALL: u32 = 10;

/// Answers what a server asks, and knows which of its questions are open: the time of the calls that they may be about
/// stands still meanwhile.
pub(crate) struct Answers {
    handlers: Handlers,
    open: watch::Sender<Open>,
}

impl Answers {
    pub(crate) fn new(handlers: Handlers) -> Self {
        Self { handlers, open: watch::Sender::default() }
    }

    /// Returns the questions that hold up the time of a call that begins now.
    pub(crate) fn questions(&self) -> Questions {
        Questions::new(self.open.subscribe(), self.longest_in_all())
    }

    /// How long answers may hold up one call.
    pub(crate) fn longest_in_all(&self) -> Duration {
        self.handlers.longest_answer().saturating_mul(ANSWERS_IN_ALL)
    }

    /// Answers a question. Dropped before the answer: the handler is aborted, and the question is no longer open.
    pub(crate) async fn answer(&self, method: &str, params: Value) -> Result<Value, Unanswered> {
        let _open = Asked::new(&self.open);
        self.handlers.answer(method, params).await
    }
}

/// A question until it is answered, or given up.
struct Asked<'a> {
    open: &'a watch::Sender<Open>,
    number: u64,
}

impl<'a> Asked<'a> {
    fn new(open: &'a watch::Sender<Open>) -> Self {
        let mut number = 0;
        open.send_modify(|open| number = open.ask());
        Self { open, number }
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.open.send_modify(|open| open.close(self.number));
    }
}
