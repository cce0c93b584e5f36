//! Waits until a rate allows another call.

use mcp_bindgen_model::Rate;
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::recent::Moments;

/// Lets through as many callers in a time as a rate allows, in the order in which they come.
#[derive(Debug)]
pub(crate) struct Limiter {
    rate: Rate,
    /// When the last ones were let through.
    passed: Mutex<Moments>,
}

impl Limiter {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, passed: Mutex::default() }
    }

    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }

    /// Waits for a turn. Cancel safe: a dropped future takes no turn.
    pub(crate) async fn turn(&self) {
        let mut passed = self.passed.lock().await;
        while let Err(wait) = passed.note(self.rate) {
            sleep(wait).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn rate_limit_holds_in_every_window() {
        let limiter = Arc::new(Limiter::new(Rate::parse("10/s").expect("a rate")));
        let start = Instant::now();
        let turns = (0..64).map(|_| {
            let limiter = limiter.clone();
            async move {
                limiter.turn().await;
                start.elapsed()
            }
        });
        let mut turns = futures_util::future::join_all(turns).await;
        turns.sort_unstable();
        assert!(turns.windows(11).all(|window| window[10] - window[0] >= Duration::from_secs(1)), "{turns:?}");
        assert_eq!(turns[63].as_secs(), 6);
        let within = || tokio::time::timeout(Duration::from_millis(1), limiter.turn());
        for _ in 64..70 {
            within().await.expect("four of ten were taken");
        }
        within().await.expect_err("the rate is reached");
        tokio::time::sleep(Duration::from_secs(1)).await;
        within().await.expect("whoever gave up took no turn");
    }
}
