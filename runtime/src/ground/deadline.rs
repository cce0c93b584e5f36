//! Deadlines.

use std::future::{Future, pending};
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

/// A point in time; `None` if it is beyond the range of the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    /// No end at all.
    pub(crate) const NEVER: Self = Self(None);

    /// Returns the deadline that ends `patience` from now.
    pub(crate) fn after(patience: Duration) -> Self {
        Self::since(Instant::now(), patience)
    }

    /// Returns the deadline that ends `patience` after `start`.
    pub(crate) fn since(start: Instant, patience: Duration) -> Self {
        Self(start.checked_add(patience))
    }

    pub(crate) fn has_passed(self) -> bool {
        self.0.is_some_and(|end| end <= Instant::now())
    }

    pub(crate) fn left(self) -> Duration {
        self.0.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()))
    }

    pub(crate) fn later(self, by: Duration) -> Self {
        Self(self.0.and_then(|end| end.checked_add(by)))
    }

    pub(crate) fn earlier(self, other: Self) -> Self {
        match (self.0, other.0) {
            (Some(own), Some(other)) => Self(Some(own.min(other))),
            (own, other) => Self(own.or(other)),
        }
    }

    /// Waits until the time is up.
    pub(crate) async fn passed(self) {
        if let Some(end) = self.0 { sleep_until(end).await } else { pending().await }
    }

    /// Returns the output of a future, unless the time is up before.
    pub(crate) async fn bound<F: Future>(self, future: F) -> Option<F::Output> {
        if let Some(end) = self.0 { timeout_at(end, future).await.ok() } else { Some(future.await) }
    }
}

/// How long a request may take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Patience {
    /// The deadline without an answer or a progress report.
    pub(crate) first: Deadline,
    /// How long it may go on after a sign of progress.
    pub(crate) timeout: Duration,
    /// When it ends all the same.
    pub(crate) cap: Deadline,
}

impl Patience {
    /// Limits the total time, regardless of progress.
    pub(crate) fn strictly(timeout: Duration) -> Self {
        Self::renewed_by_progress(timeout, timeout)
    }

    /// Limits the time after each progress report, and the `total` time.
    pub(crate) fn renewed_by_progress(timeout: Duration, total: Duration) -> Self {
        let cap = Deadline::after(total);
        Self { first: Deadline::after(timeout).earlier(cap), timeout, cap }
    }

    /// Renews the timeout for the next of several requests: the answer to the previous one counts as progress.
    pub(crate) fn renewed(self) -> Self {
        Self { first: Deadline::after(self.timeout).earlier(self.cap), ..self }
    }

    /// Limits the time to an earlier deadline.
    pub(crate) fn until(self, end: Deadline) -> Self {
        Self { first: self.first.earlier(end), cap: self.cap.earlier(end), ..self }
    }

    /// Extends the limits by a time that does not count.
    pub(crate) fn without(self, elapsed: Duration) -> Self {
        Self { first: self.first.later(elapsed), cap: self.cap.later(elapsed), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn longest_duration_means_no_deadline() {
        let never = Deadline::after(Duration::MAX);
        assert_eq!(never, Deadline::NEVER);
        assert!(!never.has_passed());
        assert_eq!(never.left(), Duration::MAX);
        assert_eq!(never.bound(async { 5 }).await, Some(5));
        let soon = Deadline::after(Duration::from_secs(5));
        assert_eq!((never.earlier(soon), soon.earlier(never)), (soon, soon));
    }

    #[tokio::test]
    async fn future_past_the_deadline_yields_no_value() {
        let past = Deadline::after(Duration::ZERO);
        assert!(past.has_passed());
        assert_eq!(past.bound(std::future::pending::<()>()).await, None);
        assert_eq!(past.left(), Duration::ZERO);
    }
}
