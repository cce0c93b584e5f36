//! The stream of a server's own messages, over all sessions of a connection.

use std::time::Duration;

use tokio::time::Instant;

use super::exchange::{LONGEST_PAUSE, PAUSE_BEFORE_RESUMPTION, SHORTEST_PAUSE};
use super::requests::{Conversation, Requests};

impl Requests {
    /// Listens until the connection ends.
    /// Dropped: the stream is closed, and later messages of the server are lost.
    pub(super) async fn listen(&self) {
        loop {
            let conversation = self.conversation();
            tokio::select! {
                () = self.replaced(&conversation) => {}
                () = self.listen_to(&conversation), if conversation.session.is_some() => {
                    self.replaced(&conversation).await;
                }
            }
        }
    }

    /// Listens in one session, until the server reports that it has no such stream. If the future is dropped, the
    /// stream is closed, and the id of its last event is forgotten.
    async fn listen_to(&self, conversation: &Conversation) {
        let mut last_event: Option<String> = None;
        // The server may ask for another.
        let mut shortest = PAUSE_BEFORE_RESUMPTION;
        let mut pause = shortest;
        loop {
            match self.get(conversation, last_event.as_deref()).await {
                Ok(Some(mut reader)) => {
                    let opened = Instant::now();
                    self.http.ledger.list_changes.mark_changed();
                    while let Some(Ok(event)) = reader.next().await {
                        let event = self.take_event(event, None).await;
                        let retry = event.retry.map_or(shortest, Duration::from_millis);
                        shortest = retry.clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
                        pause = shortest;
                        last_event = event.id.or(last_event);
                    }
                    if opened.elapsed() > LONGEST_PAUSE {
                        // The stream worked, even without messages.
                        pause = shortest;
                    }
                }
                Ok(None) => return,
                Err(_) => {}
            }
            self.http.ledger.list_changes.mark_unwatched();
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
