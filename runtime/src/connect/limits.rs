//! The limits of a server: calls in a time, calls at once, failing starts.

use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use lru::LruCache;

use mcp_bindgen_model::Rate;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::ConnectError;
use crate::ground::limiter::Limiter;
use crate::ground::recent::{Moments, recent};
use crate::ground::redact::debug_as;
use crate::ground::sync::lock;
use crate::ground::task::Boxed;

/// The shared limits of one server for several clients. They include `limit` of its configuration,
/// [`ClientOptions::max_concurrent_requests`](crate::ClientOptions::max_concurrent_requests), and the failing starts of
/// a child process. Clones of a client share limits without this. The first client sets the limits.
///
/// ```
/// use mcp_bindgen_model::{Rate, ServerConfig};
/// use mcp_bindgen_runtime::{Client, ClientOptions, SharedLimits};
///
/// let limits = SharedLimits::new();
/// let server = ServerConfig::stdio("files", "my-mcp-server").limit(Rate::parse("10/s").expect("it is a rate"));
/// let client = || Client::with_options(server.clone(), ClientOptions::new().shared_limits(limits.clone()));
/// let (one, other) = (client(), client());
/// # let _ = (one, other);
/// ```
#[derive(Clone, Default)]
pub struct SharedLimits(Arc<Limits>);

/// The answer of a counter: the time until the next turn, if none is left, or an error.
type Counting = Boxed<Result<Result<(), Duration>, String>>;
type Counter = dyn Fn(String, Rate) -> Counting + Send + Sync;

/// The number of callers whose turns are remembered.
const MOST_CALLERS: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();
/// The maximum number of failing starts in [`WINDOW`].
const MOST_STARTS: usize = 5;
const WINDOW: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Limits {
    /// The limits that the first client set: the rate, and a permit for each concurrent call.
    set: OnceLock<(Option<Limiter>, Option<Semaphore>)>,
    failing: Mutex<Failing>,
    /// Counts in place of these limits.
    counter: OnceLock<Box<Counter>>,
    /// The turns that callers took, by rule and principal.
    turns: OnceLock<Mutex<LruCache<(usize, String), Moments>>>,
}

impl SharedLimits {
    /// Creates unused limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the limits, unless a client has done so before.
    pub(crate) fn set(&self, rate: Option<Rate>, at_once: Option<usize>) {
        let places = |most: usize| Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS));
        self.0.set.get_or_init(|| (rate.map(Limiter::new), at_once.map(places)));
    }

    /// Counts the turns of rates in a shared counter, for clients of several programs. The counter receives the name of
    /// a rate. It returns the time until the next turn if none is left.
    #[doc(hidden)]
    #[must_use]
    pub fn counted_by<C>(self, counter: impl Fn(String, Rate) -> C + Send + Sync + 'static) -> Self
    where
        C: Future<Output = Result<Result<(), Duration>, String>> + Send + 'static,
    {
        // Limits that are in use already keep their counter.
        let _ = self.0.counter.set(Box::new(move |name, rate| Box::pin(counter(name, rate))));
        self
    }

    /// Takes a turn of a caller, if the rate of the server's rule allows it. Returns the time until the next turn
    /// otherwise. Cancel safe.
    ///
    /// # Errors
    /// Fails if the counter fails.
    pub(crate) async fn try_turn(
        &self,
        server: &str,
        (rule, caller): (usize, &str),
        rate: Rate,
    ) -> Result<Result<(), Duration>, String> {
        match self.0.counter.get() {
            Some(counter) => counter(format!("{server}:{rule}:{caller}"), rate).await,
            None => {
                let mut turns = lock(self.0.turns.get_or_init(|| Mutex::new(recent(MOST_CALLERS))));
                let taken = turns.get_or_insert_mut((rule, caller.to_owned()), Moments::default);
                Ok(taken.note(rate))
            }
        }
    }

    /// Waits until the limits allow another call. The call counts until the permit is dropped. Cancel safe.
    ///
    /// # Errors
    /// Fails if the counter fails.
    pub(crate) async fn turn(&self, server: &str) -> Result<Option<SemaphorePermit<'_>>, String> {
        let Some((limiter, places)) = self.0.set.get() else { return Ok(None) };
        // It is never closed.
        let place = if let Some(places) = places { places.acquire().await.ok() } else { None };
        match (limiter, self.0.counter.get()) {
            (Some(limiter), Some(counter)) => {
                while let Err(wait) = counter(server.to_owned(), limiter.rate()).await? {
                    tokio::time::sleep(wait).await;
                }
            }
            (Some(limiter), None) => limiter.turn().await,
            (None, _) => {}
        }
        Ok(place)
    }

    /// Counts a start.
    ///
    /// # Errors
    /// Fails with the last error and the time of the next start, if too many starts failed.
    pub(crate) fn begin_start(&self) -> Result<(), ConnectError> {
        let failing = &mut *lock(&self.0.failing);
        let most = if failing.last.is_some() { MOST_STARTS } else { usize::MAX };
        let Err(left) = failing.starts.note_within(most, WINDOW) else { return Ok(()) };
        let Some(mut error) = failing.last.clone() else { return Ok(()) };
        error.message = format!(
            "not started again for {} s, because it ended at each of the last {MOST_STARTS} starts: {}",
            left.as_secs() + 1,
            error.message
        );
        Err(error.with_retry_after(Some(left)))
    }

    /// Records the error of a start, which later starts repeat.
    pub(crate) fn start_failed(&self, error: &ConnectError) {
        lock(&self.0.failing).last = Some(error.clone());
    }

    /// Resets the count of starts, because the server has worked.
    pub(crate) fn worked(&self) {
        *lock(&self.0.failing) = Failing::default();
    }
}

debug_as!(SharedLimits, "SharedLimits(..)");

/// The starts of a server since it last worked: it answered a request after its handshake, or lasted a few seconds.
#[derive(Default)]
struct Failing {
    starts: Moments,
    last: Option<ConnectError>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnectErrorKind;

    #[tokio::test(start_paused = true)]
    async fn callers_have_turns_of_their_own_and_new_ones_after_the_period() {
        let limits = SharedLimits::new();
        let rate = Rate::parse("2/s").expect("a rate");
        let turn = async |caller| limits.try_turn("s", (0, caller), rate).await.expect("it is counted here");
        assert_eq!(turn("a").await, Ok(()));
        tokio::time::advance(Duration::from_millis(400)).await;
        assert_eq!(turn("a").await, Ok(()));
        assert_eq!(turn("a").await, Err(Duration::from_millis(600)));
        assert_eq!(turn("b").await, Ok(()));
        tokio::time::advance(Duration::from_millis(600)).await;
        assert_eq!(turn("a").await, Ok(()));
        assert_eq!(turn("a").await, Err(Duration::from_millis(400)), "the second turn still counts");
    }

    #[tokio::test(start_paused = true)]
    async fn starts_stop_after_five_failures_a_minute_with_the_last_error() {
        let starts = SharedLimits::new();
        let mut counted = Vec::new();
        for second in 0..180 {
            match starts.begin_start() {
                Ok(()) => {
                    counted.push(second);
                    starts.start_failed(&ConnectError::new("s", ConnectErrorKind::Spawn, "exit status 3"));
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
        assert!((0..5).all(|_| starts.begin_start().is_ok()));
    }

    #[tokio::test(start_paused = true)]
    async fn limits_are_those_of_the_first_client() {
        let limits = SharedLimits::new();
        assert!(limits.turn("s").await.expect("it is counted here").is_none(), "there are none");
        limits.set(Some(Rate::parse("1/s").expect("a rate")), Some(1));
        limits.set(None, Some(2));
        let begun = tokio::time::Instant::now();
        let place = limits.turn("s").await.expect("it is counted here").expect("a place");
        let another = tokio::time::timeout(Duration::from_secs(9), limits.turn("s")).await;
        assert!(another.is_err(), "one call at once");
        drop(place);
        assert!(limits.turn("s").await.expect("it is counted here").is_some());
        assert!(begun.elapsed() < Duration::from_secs(10), "the rate is kept meanwhile");
        limits.turn("s").await.expect("it is counted here");
        assert!(begun.elapsed() >= Duration::from_secs(10));
    }

    #[tokio::test(start_paused = true)]
    async fn counter_of_several_programs_takes_the_place_of_the_rates() {
        let counted = Arc::new(Mutex::new(Vec::new()));
        let names = counted.clone();
        let limits = SharedLimits::new().counted_by(move |name, _| {
            lock(&names).push(name);
            std::future::ready(Ok(Ok(())))
        });
        let rate = Rate::parse("1/h").expect("a rate");
        limits.set(Some(rate), None);
        for _ in 0..2 {
            limits.turn("s").await.expect("it is counted");
            assert_eq!(limits.try_turn("s", (7, "ada"), rate).await, Ok(Ok(())));
        }
        assert_eq!(*lock(&counted), ["s", "s:7:ada", "s", "s:7:ada"]);
    }

    #[tokio::test(start_paused = true)]
    async fn clients_with_shared_limits_count_failing_starts_together() {
        let (one, other) = (SharedLimits::new(), SharedLimits::new());
        for limits in [&one, &one.clone()].repeat(3).into_iter().take(MOST_STARTS) {
            limits.begin_start().expect("there are more");
            limits.start_failed(&ConnectError::new("s", ConnectErrorKind::Spawn, "exit status 3"));
        }
        assert!(one.begin_start().is_err() && other.begin_start().is_ok());
    }
}
