//! A request over streamable HTTP: its POST, and the response stream until the result.
//!
//! `try_exchange` and `follow` end with `exchange`: dropping them closes the response, and later messages of the server
//! are lost.

use std::time::Duration;

use futures_util::FutureExt;
use http::StatusCode;
use rmcp::model::RequestId;
use tokio::time::timeout;

use super::events::Reader;
use super::requests::{Conversation, Requests};
use super::{EVENT_STREAM, NO_ANSWER, bodies, content_type};
use crate::rpc::failure::Failure;
use crate::rpc::ledger::Outgoing;
use crate::rpc::sent::Message;

/// The maximum number of attempts to resume a response, and the default pause before each.
const RESUMPTIONS: usize = 5;
pub(super) const PAUSE_BEFORE_RESUMPTION: Duration = Duration::from_secs(1);
pub(super) const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const LOOKS_FOR_THE_END: usize = 3;
/// How long a response may go on after the answer, so that its connection can be used again.
const PATIENCE_WITH_RESPONSES: Duration = Duration::from_secs(1);

impl Requests {
    /// Sends a request and reads until the ledger has its answer, or what became of it. Dropping the future ends the request.
    pub(super) async fn exchange(&self, message: &Message, outgoing: &Outgoing) -> Result<(), Failure> {
        let outcome = tokio::select! {
            biased;
            () = outgoing.abandoned() => Ok(()),
            outcome = self.http.or_end(self.try_exchange(message, outgoing)) => outcome,
        };
        outcome.inspect_err(|failure| outgoing.failed(failure.clone()))
    }

    async fn try_exchange(&self, message: &Message, outgoing: &Outgoing) -> Result<(), Failure> {
        let Some((id, _)) = message.as_request() else { return Ok(()) };
        if self.begins(message) {
            if !outgoing.may_leave() {
                return Ok(());
            }
            return self.begin(message, id, outgoing).await;
        }
        let slot = self.slots.acquire().await;
        // The conversation is read before the request may leave, so that it goes to the session of the answer.
        let mut conversation = self.conversation();
        if !outgoing.may_leave() {
            return Ok(());
        }
        let mut response = self.post(message, &conversation, Some(outgoing)).await?;
        if response.status() == StatusCode::NOT_FOUND && conversation.session.is_some() {
            // Nothing has run: it goes to the next session, once.
            outgoing.returned();
            self.renew(&conversation).await?;
            conversation = self.conversation();
            if !outgoing.may_leave() {
                return Ok(());
            }
            response = self.post(message, &conversation, Some(outgoing)).await?;
        }
        drop(slot);
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            // The answer comes by the stream of the server's own messages, or not at all.
            outgoing.written();
            return Ok(());
        }
        if !status.is_success() {
            return self.refused(message, &conversation, response, outgoing).await;
        }
        outgoing.written();
        if content_type(&response).starts_with(EVENT_STREAM) {
            return self.follow(self.reader(response), id, outgoing, &conversation).await;
        }
        let kind = content_type(&response).to_owned();
        let body = bodies::whole(response).await.map_err(|problem| self.lost(problem))?;
        self.take_text(&body, Some(id)).await;
        if outgoing.is_settled() { Ok(()) } else { Err(self.no_answer(&kind, &body)) }
    }

    /// Reads events until the response arrives, and resumes the stream if it breaks.
    async fn follow(
        &self,
        mut reader: Reader,
        id: &RequestId,
        outgoing: &Outgoing,
        conversation: &Conversation,
    ) -> Result<(), Failure> {
        let mut last_event = None;
        let mut pause = PAUSE_BEFORE_RESUMPTION;
        let mut resumptions = 0;
        loop {
            let event = tokio::select! {
                biased;
                event = reader.next() => event,
                () = self.replaced(conversation) => {
                    return Err(self.lost("the session ended before the response arrived".to_owned()));
                }
            };
            let problem = match event {
                Some(Ok(event)) => {
                    let event = self.take_event(event, Some(id)).await;
                    if outgoing.is_settled() {
                        let_end(reader);
                        return Ok(());
                    }
                    pause = event.retry.map_or(pause, Duration::from_millis).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
                    if event.id.is_some() {
                        last_event = event.id;
                        resumptions = 0;
                    }
                    continue;
                }
                Some(Err(error)) => error.to_string(),
                None => NO_ANSWER.to_owned(),
            };
            if last_event.is_none() || resumptions == RESUMPTIONS {
                return Err(self.lost(problem));
            }
            resumptions += 1;
            tokio::time::sleep(pause).await;
            match self.get(conversation, last_event.as_deref()).await {
                Ok(Some(rest)) => reader = rest,
                Ok(None) => return Err(self.lost(format!("{problem}, and refused to resume"))),
                // It may be there again.
                Err(_) => {}
            }
        }
    }
}

/// Reads the rest of a response in the background, so that its connection can be reused. The caller does not wait.
fn let_end(mut reader: Reader) {
    // Most end with their answer.
    for _ in 0..LOOKS_FOR_THE_END {
        match reader.next().now_or_never() {
            Some(Some(Ok(_))) => {}
            Some(_) => return,
            None => break,
        }
    }
    tokio::spawn(timeout(PATIENCE_WITH_RESPONSES, async move { while let Some(Ok(_)) = reader.next().await {} }));
}
