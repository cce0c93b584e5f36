//! Messages between instances: each has a list from which it takes them.

use std::time::Duration;

use redis::cmd;
use serde::Serialize;

use super::connection::Connection;
use super::{RedisState, RedisStateError, json};

/// How long it waits for a message at once, in seconds.
const WAIT: u64 = 2;
/// The time for the response to a command that waits.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
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
    /// The connection that waits for messages. After an error it is opened anew, because it does not notice by itself that
    /// the store no longer answers.
    connection: Option<Connection>,
}

impl Inbox {
    /// Waits for the next message. While the store cannot be reached, it tries again.
    pub(crate) async fn next(&mut self) -> String {
        loop {
            match self.take().await {
                Ok(Some((_, message))) => return message,
                Ok(None) => {}
                Err(error) => {
                    tracing::debug!("cannot receive messages of other instances: {error}");
                    self.connection = None;
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    async fn take(&mut self) -> Result<Option<(String, String)>, RedisStateError> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(Connection::open(&self.state.0.url, LONGEST_WAIT).await?),
        };
        let key = RedisState::key("inbox", self.state.id());
        connection.run(cmd("BLPOP").arg(key).arg(WAIT)).await
    }
}
