//! Limits how often a child process is started that ends each time.

use std::sync::Mutex;
use std::time::Duration;

use crate::ConnectError;
use crate::ground::recent::Moments;
use crate::ground::sync::lock;

/// How many starts in [`WINDOW`] may fail.
const MOST: usize = 5;
const WINDOW: Duration = Duration::from_secs(60);

/// The starts of a server since it last worked.
#[derive(Default)]
pub(crate) struct StartLimit(Mutex<Failing>);

#[derive(Default)]
struct Failing {
    starts: Moments,
    last: Option<ConnectError>,
}

impl StartLimit {
    /// Counts a start.
    ///
    /// # Errors
    /// Fails with the last error and the time of the next start, if too many starts failed.
    pub(crate) fn begin(&self) -> Result<(), ConnectError> {
        let failing = &mut *lock(&self.0);
        let most = if failing.last.is_some() { MOST } else { usize::MAX };
        let Err(left) = failing.starts.note_within(most, WINDOW) else { return Ok(()) };
        let Some(mut error) = failing.last.clone() else { return Ok(()) };
        error.message = format!(
            "not started again for {} s, because it ended at each of the last {MOST} starts: {}",
            left.as_secs() + 1,
            error.message
        );
        Err(error.with_retry_after(Some(left)))
    }

    /// Keeps the error of a start for those who come later.
    pub(crate) fn failed(&self, error: &ConnectError) {
        lock(&self.0).last = Some(error.clone());
    }

    /// Resets the count, because the server has worked.
    pub(crate) fn worked(&self) {
        *lock(&self.0) = Failing::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnectErrorKind;

    #[tokio::test(start_paused = true)]
    async fn starts_stop_after_five_failures_a_minute_with_the_last_error() {
        let starts = StartLimit::default();
        let mut counted = Vec::new();
        for second in 0..180 {
            match starts.begin() {
                Ok(()) => {
                    counted.push(second);
                    starts.failed(&ConnectError::new("s", ConnectErrorKind::Spawn, "exit status 3"));
                }
                Err(error) => {
                    assert!(error.message.ends_with(": exit status 3"), "{error}");
                    assert!(error.retry_after().is_some_and(|left| left <= WINDOW), "{error:?}");
                }
            }
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(counted, [0, 1, 2, 3, 4, 60, 61, 62, 63, 64, 120, 121, 122, 123, 124]);
        starts.worked();
        assert!((0..5).all(|_| starts.begin().is_ok()));
    }
}
