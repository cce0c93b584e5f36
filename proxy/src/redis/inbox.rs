//! Messages between instances: each has a list from which it takes them.

use std::time::Duration;

use redis::cmd;
use serde::Serialize;

use super::connection::Waiting;
use super::{RedisState, RedisStateError, json};

/// How long it waits for a message at once, in seconds.
const WAIT: u64 = 2;
/// The maximum number of messages in one read.
const BATCH: usize = 200;
/// Messages for an instance that is gone are dropped after this time, in seconds.
const KEPT: u64 = 60;
const PAUSE: Duration = Duration::from_millis(200);

impl RedisState {
    /// Sends a message to an instance.
    pub(crate) async fn send(&self, instance: &str, message: &impl Serialize) -> Result<(), RedisStateError> {
        let key = Self::key("inbox", instance);
        self.0.connection.run::<u64>(cmd("RPUSH").arg(&key).arg(json(message)?)).await?;
        self.0.connection.run(cmd("EXPIRE").arg(&key).arg(KEPT)).await
    }

    /// Takes back a message that an instance has not taken; `false` if it has.
    pub(crate) async fn take_back(&self, instance: &str, message: &impl Serialize) -> Result<bool, RedisStateError> {
        let key = Self::key("inbox", instance);
        self.0.connection.run(cmd("LREM").arg(key).arg(1).arg(json(message)?)).await
    }

    /// Returns the messages for this instance.
    pub(crate) fn inbox(&self) -> Inbox {
        Inbox { state: self.clone(), connection: None }
    }
}

/// The messages for an instance.
pub(crate) struct Inbox {
    state: RedisState,
    connection: Option<Waiting>,
}

impl Inbox {
    /// Waits for messages. While the store cannot be reached, it tries again.
    pub(crate) async fn next(&mut self) -> Vec<String> {
        loop {
            match self.take().await {
                Ok(messages) if messages.is_empty() => {}
                Ok(messages) => return messages,
                Err(error) => {
                    tracing::debug!("cannot receive messages of other instances: {error}");
                    self.connection = None;
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    async fn take(&mut self) -> Result<Vec<String>, RedisStateError> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(self.state.0.connection.waiting().await?),
        };
        let key = RedisState::key("inbox", self.state.id());
        let first: Option<(String, String)> = connection.run(cmd("BLPOP").arg(&key).arg(WAIT)).await?;
        let Some((_, first)) = first else { return Ok(Vec::new()) };
        let mut messages = vec![first];
        let more: Option<Vec<String>> = connection.run(cmd("LPOP").arg(&key).arg(BATCH)).await?;
        messages.extend(more.unwrap_or_default());
        Ok(messages)
    }
}
