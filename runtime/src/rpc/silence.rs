//! When a server is no longer there: timeouts, and no sign of it between them.

use std::time::Duration;

use tokio::time::Instant;

/// A connection on which nothing came for so many timeouts is given up.
pub(super) const TIMEOUTS_WITHOUT_A_SIGN: u32 = 3;

/// How long nothing has come from the server though something was asked.
#[derive(Default)]
pub(super) struct Silence {
    since: Option<Instant>,
    timeouts: u32,
    last_timeout: Option<Instant>,
}

impl Silence {
    /// Something is asked from now on, if not before.
    pub(super) fn begins(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    /// Notes a timeout of a request that was admitted then. Calls that ran side by side count as one.
    pub(super) fn has_lasted(&mut self, admitted: Instant, timeout: Duration) -> bool {
        if self.last_timeout.is_none_or(|last| last <= admitted) {
            self.timeouts += 1;
            self.last_timeout = Some(Instant::now());
        }
        let lasted = self.since.is_some_and(|since| since.elapsed() >= timeout.saturating_mul(TIMEOUTS_WITHOUT_A_SIGN));
        lasted && self.timeouts >= TIMEOUTS_WITHOUT_A_SIGN
    }
}
