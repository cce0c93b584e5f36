//! The limits of a server: calls in a time, calls at once, failing starts.

use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use lru::LruCache;

use mcp_bindgen_model::Rate;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::start_limit::StartLimit;
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

#[derive(Default)]
struct Limits {
    limiter: OnceLock<Option<Limiter>>,
    /// One place for each call at a time.
    places: OnceLock<Option<Semaphore>>,
    starts: StartLimit,
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
        self.0.limiter.get_or_init(|| rate.map(Limiter::new));
        let places = |most: usize| Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS));
        self.0.places.get_or_init(|| at_once.map(places));
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

    pub(crate) fn starts(&self) -> &StartLimit {
        &self.0.starts
    }

    /// Waits until the limits allow another call. The call counts until the permit is dropped. Cancel safe.
    ///
    /// # Errors
    /// Fails if the counter fails.
    pub(crate) async fn turn(&self, server: &str) -> Result<Option<SemaphorePermit<'_>>, String> {
        let place = match self.0.places.get() {
            // It is never closed.
            Some(Some(places)) => places.acquire().await.ok(),
            _ => None,
        };
        if let Some(Some(limiter)) = self.0.limiter.get() {
            match self.0.counter.get() {
                Some(counter) => {
                    while let Err(wait) = counter(server.to_owned(), limiter.rate()).await? {
                        tokio::time::sleep(wait).await;
                    }
                }
                None => limiter.turn().await,
            }
        }
        Ok(place)
    }
}

debug_as!(SharedLimits, "SharedLimits(..)");

#[cfg(test)]
mod tests {
    use super::*;

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
}
