//! The open requests of a server, which pause the deadlines of calls.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;

use crate::ground::sync::lock;

/// The open requests of a server, each with its number.
#[derive(Default)]
pub(crate) struct OpenRequests {
    numbers: Mutex<Numbers>,
    changed: Notify,
}

#[derive(Default)]
struct Numbers {
    /// The number of questions so far.
    count: u64,
    /// The numbers of those that are open, sorted.
    open: Vec<u64>,
}

impl OpenRequests {
    /// Adds a question, and returns its number.
    pub(crate) fn ask(&self) -> u64 {
        let number = {
            let Numbers { count, open } = &mut *lock(&self.numbers);
            *count += 1;
            open.push(*count);
            *count
        };
        self.changed.notify_waiters();
        number
    }

    pub(crate) fn close(&self, number: u64) {
        lock(&self.numbers).open.retain(|open| *open != number);
        self.changed.notify_waiters();
    }

    fn has_one_after(&self, number: u64) -> bool {
        lock(&self.numbers).open.last().is_some_and(|last| *last > number)
    }
}

/// The questions that may belong to a request, with a limit on their total delay: a server that asks again and again
/// must not extend it forever.
pub(crate) struct ServerRequests {
    open: Arc<OpenRequests>,
    /// The number of the last question before the request; the request ignores questions up to it.
    before: u64,
    pub(super) allowance: Duration,
}

impl ServerRequests {
    /// Creates the list of questions that are asked from now on.
    pub(crate) fn new(open: Arc<OpenRequests>, allowance: Duration) -> Self {
        let before = lock(&open.numbers).count;
        Self { open, before, allowance }
    }

    /// Waits until a question is open that may delay the request, or until none is. Cancel safe.
    pub(super) async fn until(&self, is_open: bool) {
        until(&self.open.changed, &|| self.open.has_one_after(self.before) == is_open).await;
    }
}

/// Waits until a condition holds, which is checked again after each notification. Cancel safe.
pub(super) async fn until(changed: &Notify, holds: &(dyn Fn() -> bool + Sync)) {
    loop {
        let mut notified = pin!(changed.notified());
        // From here on, no change is missed.
        notified.as_mut().enable();
        if holds() {
            return;
        }
        notified.await;
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::Instant;

    use super::*;
    use crate::ground::deadline::Patience;
    use crate::rpc::request::Terms;
    use crate::rpc::ticket::Ticket;

    async fn runs_out(questions: ServerRequests) -> Duration {
        let patience = Patience::strictly(Duration::from_millis(10));
        let ticket = Ticket::new(0, 1, 0, Terms { questions: Some(questions), ..patience.into() });
        let start = Instant::now();
        tokio::time::timeout(Duration::from_secs(20), ticket.runs_out())
            .await
            .expect("time does not stand still for ever");
        start.elapsed()
    }

    fn questions(open: &Arc<OpenRequests>) -> ServerRequests {
        ServerRequests::new(open.clone(), Duration::from_millis(60))
    }

    #[tokio::test]
    async fn open_question_pauses_the_timeout_for_a_bounded_time() {
        let open = Arc::<OpenRequests>::default();
        let questions = questions(&open);
        assert!(open.ask() > 0);
        let elapsed = runs_out(questions).await;
        assert!(elapsed >= Duration::from_millis(70), "{elapsed:?}");
    }

    #[tokio::test]
    async fn question_older_than_the_request_does_not_pause_its_timeout() {
        let open = Arc::<OpenRequests>::default();
        assert!(open.ask() > 0);
        let questions = ServerRequests::new(open.clone(), Duration::from_secs(60));
        assert!(runs_out(questions).await < Duration::from_secs(20), "it is about another");
    }

    #[tokio::test]
    async fn repeated_questions_pause_the_timeout_for_a_bounded_total() {
        let open = Arc::<OpenRequests>::default();
        let questions = questions(&open);
        let asking = async {
            loop {
                let number = open.ask();
                tokio::time::sleep(Duration::from_millis(5)).await;
                open.close(number);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let elapsed = tokio::select! {
            elapsed = runs_out(questions) => elapsed,
            () = asking => Duration::ZERO,
        };
        assert!(elapsed > Duration::from_millis(10), "{elapsed:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn progress_extends_the_timeout_up_to_the_cap() {
        const SECOND: Duration = Duration::from_secs(1);
        for (reports, seconds) in [(0, 2), (1, 3), (9, 5)] {
            let ticket = Ticket::new(0, 1, 0, Patience::renewed_by_progress(2 * SECOND, 5 * SECOND).into());
            let start = Instant::now();
            let reporting = async {
                for _ in 0..reports {
                    tokio::time::sleep(SECOND).await;
                    *lock(&ticket.progress) = Some(Instant::now());
                }
                pending().await
            };
            tokio::select! {
                () = reporting => {}
                () = ticket.runs_out() => {}
            }
            assert_eq!(start.elapsed().as_secs(), seconds, "{reports} reports");
        }
    }

    #[test]
    fn closed_question_is_no_longer_open() {
        let open = OpenRequests::default();
        let [first, second] = [(); 2].map(|()| open.ask());
        open.close(second);
        assert!(open.has_one_after(0) && !open.has_one_after(first));
        open.close(first);
        assert!(!open.has_one_after(0));
    }
}
