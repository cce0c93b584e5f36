//! Pauses between attempts to subscribe.

use std::time::Duration;

use tokio::time::sleep;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// Growing pauses between attempts. An attempt longer than the longest pause resets them.
pub(super) struct Pauses {
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl Pauses {
    /// Waits after an attempt of this duration.
    pub(super) async fn after(&mut self, lasted: Duration) {
        if lasted > LONGEST {
            self.next = FIRST;
        }
        sleep(self.next).await;
        self.next = (self.next * 2).min(LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_until_an_attempt_lasts() {
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
