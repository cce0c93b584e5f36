//! Messages between instances: each has a list from which it takes them.

use std::time::Duration;

use redis::cmd;
use serde::Serialize;

use super::{RedisState, RedisStateError, json};

/// How long it waits for a message at once, in seconds.
const WAIT: u64 = 2;
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

    /// Waits for the next message for this instance. While the store cannot be reached, it tries again.
    pub(crate) async fn next_message(&self) -> String {
        let mut take = cmd("BLPOP");
        take.arg(Self::key("inbox", self.id())).arg(WAIT);
        loop {
            match self.0.waiting.run::<Option<(String, String)>>(&take).await {
                Ok(Some((_, message))) => return message,
                Ok(None) => {}
                Err(error) => {
                    tracing::debug!("cannot receive messages of other instances: {error}");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}
