//! Subscribing to changes, with pauses between the attempts.

use std::convert::Infallible;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::connect::connection::Connection;
use crate::ground::backoff::Backoff;
use crate::rpc::request::RequestError;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// Growing pauses between attempts. An attempt longer than the longest pause resets them.
pub(super) struct Pauses(Backoff);

impl Default for Pauses {
    fn default() -> Self {
        Self(Backoff::new(FIRST, LONGEST))
    }
}

impl Pauses {
    /// Waits after an attempt of this duration.
    pub(super) async fn after(&mut self, lasted: Duration) {
        if lasted > LONGEST {
            *self = Self::default();
        }
        sleep(self.0.pause()).await;
    }
}

/// Returns `true` if the server of a connection declares that it reports changes of a list.
pub(super) fn reports_changes(connection: &Connection, list: &str) -> bool {
    let pointer = format!("/capabilities/{list}/listChanged");
    connection.handshake.pointer(&pointer) == Some(&Value::Bool(true))
}

/// Listens again and again, with pauses, and runs `ended` after each: changes in between were not reported.
pub(super) async fn listen_again<L: Future<Output = Result<(), RequestError>>>(
    what: &str,
    listen: impl Fn() -> L,
    ended: impl Fn(),
) -> Infallible {
    let mut pauses = Pauses::default();
    loop {
        let begun = Instant::now();
        if let Err(error) = listen().await {
            tracing::debug!("cannot receive changes to {what}: {error}");
        }
        pauses.after(begun.elapsed()).await;
        ended();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_until_an_attempt_lasts_a_minute() {
        let mut pauses = Pauses::default();
        let mut waited = Vec::new();
        for lasted in [0, 0, 0, 0, 0, 0, 0, 61, 0] {
            let begun = Instant::now();
            pauses.after(Duration::from_secs(lasted)).await;
            waited.push(begun.elapsed().as_secs());
        }
        assert_eq!(waited, [1, 2, 4, 8, 16, 32, 60, 1, 2]);
    }
}
