//! Responses to requests of a server.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::ground::on_drop::OnDrop;
use crate::ground::task::Boxed;
use crate::rpc::clock::{OpenRequests, ServerRequests};
use crate::rpc::handlers::{Answer, Handlers};
use crate::rpc::{OpenLimits, Question, Respond, Session};

/// The maximum delay of one call by answers, as a multiple of the timeout of one answer.
const ANSWERS_IN_ALL: u32 = 10;
/// Requests that may wait for the program at once, and about how many bytes they may hold.
const MOST_OPEN: OpenLimits = OpenLimits { requests: 64, bytes: 4 * 1024 * 1024, at_the_end: Duration::ZERO };

/// Answers the server's requests and tracks the open ones, which pause the timeouts of calls.
pub(crate) struct Answers {
    handlers: Handlers,
    open: watch::Sender<OpenRequests>,
}

impl Answers {
    pub(crate) fn new(handlers: Handlers) -> Self {
        Self { handlers, open: watch::Sender::default() }
    }

    /// Returns the questions that pause the timeout of a call that begins now.
    pub(crate) fn questions(&self) -> ServerRequests {
        ServerRequests::new(self.open.subscribe(), self.longest_in_all())
    }

    /// Returns the maximum time that answers may delay one call.
    pub(crate) fn longest_in_all(&self) -> Duration {
        self.handlers.longest_answer().saturating_mul(ANSWERS_IN_ALL)
    }

    /// Answers a question. Dropping the future aborts the handler and closes the question.
    pub(crate) async fn answer(&self, method: &str, params: Value) -> Answer {
        let mut number = 0;
        self.open.send_modify(|open| number = open.ask());
        let _asked = OnDrop::new(|| self.open.send_modify(|open| open.close(number)));
        self.handlers.answer(method, params).await
    }
}

impl Respond for Answers {
    fn limits(&self) -> OpenLimits {
        MOST_OPEN
    }

    fn at_once(&self, question: &Question) -> Option<Answer> {
        (question.method == "ping").then(|| Ok(json!({})))
    }

    fn respond(self: Arc<Self>, _: Session, question: Question) -> Boxed<Answer> {
        Box::pin(async move { self.answer(&question.method, question.params).await })
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use rmcp::model::RequestId;
    use tokio::time::Instant;

    use super::*;
    use crate::ground::deadline::Patience;
    use crate::rpc::clock::run_out;
    use crate::rpc::handlers::{ElicitationAnswer, answerer};
    use crate::rpc::ticket::{Ticket, TicketTerms};

    #[test]
    fn only_ping_is_answered_at_once() {
        let answers = Answers::new(Handlers::default());
        let at_once = |method: &str| {
            answers.at_once(&Question { id: RequestId::Number(1), method: method.to_owned(), params: Value::Null })
        };
        assert_eq!((at_once("ping"), at_once("roots/list")), (Some(Ok(json!({}))), None));
    }

    #[tokio::test(start_paused = true)]
    async fn questions_pause_a_call_for_at_most_ten_times_the_time_of_an_answer() {
        let mut handlers = Handlers::default();
        handlers.elicitation = answerer(|_, _| (), |()| pending(), ElicitationAnswer::print);
        let answers = Answers::new(handlers);
        for (questions, seconds) in [(0, 1), (1, 301), (2, 601), (12, 3001)] {
            let ticket = Ticket::new(0, 1, 0, TicketTerms::default());
            let (start, open) = (Instant::now(), answers.questions());
            let asking = async {
                for _ in 0..questions {
                    let _ = answers.answer("elicitation/create", Value::Null).await;
                }
                pending().await
            };
            tokio::select! {
                () = asking => {}
                () = run_out(&ticket, Patience::strictly(Duration::from_secs(1)), Some(open)) => {}
            }
            assert_eq!(start.elapsed().as_secs(), seconds, "{questions} questions");
        }
    }
}
