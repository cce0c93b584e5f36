//! Growing pauses between attempts.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Pauses that double, up to a longest one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    next: Duration,
    longest: Duration,
}

impl Backoff {
    pub(crate) const fn new(first: Duration, longest: Duration) -> Self {
        Self { next: first, longest }
    }

    /// Returns the next pause.
    pub(crate) fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = pause.saturating_mul(2).min(self.longest);
        pause
    }
}

/// Lengthens a pause randomly by up to a half, so that clients that failed together do not retry together.
pub(crate) fn with_jitter(pause: Duration) -> Duration {
    let share = u32::try_from(RandomState::new().hash_one(0_u8) % 500).unwrap_or_default();
    pause.saturating_add(pause / 1000 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_millis(350));
        assert_eq!([(); 4].map(|()| backoff.pause().as_millis()), [100, 200, 350, 350]);
    }

    #[test]
    fn jitter_lengthens_a_pause_by_at_most_a_half() {
        let pause = Duration::from_secs(2);
        let jittered: Vec<Duration> = (0..100).map(|_| with_jitter(pause)).collect();
        assert!(jittered.iter().all(|jittered| (pause..pause * 3 / 2).contains(jittered)), "{jittered:?}");
        assert!(jittered.iter().any(|other| *other != jittered[0]), "{jittered:?}");
        assert_eq!(with_jitter(Duration::ZERO), Duration::ZERO);
    }
}
