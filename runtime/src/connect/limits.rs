//! The limits of a server: calls in a time, calls at once, failing starts.

use std::fmt;
use std::sync::{Arc, OnceLock};

use mcp_bindgen_model::Rate;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::starts::Starts;
use crate::ground::limiter::Limiter;

/// The limits of one server for several clients, which then count together: `limit` of its configuration,
/// [`ClientOptions::max_concurrent_requests`](crate::ClientOptions::max_concurrent_requests), and the starts of a child
/// process that fail. Clones of a client count together without this. The first client decides what the limits are.
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

#[derive(Default)]
struct Limits {
    limiter: OnceLock<Option<Limiter>>,
    /// One place for each call at a time.
    places: OnceLock<Option<Semaphore>>,
    starts: Starts,
}

impl SharedLimits {
    /// Creates limits that nobody has used.
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

    pub(crate) fn starts(&self) -> &Starts {
        &self.0.starts
    }

    /// Waits until the limits allow another call; it is over when the permit is dropped.
    /// Cancel safe.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        let place = match self.0.places.get() {
            // It is never closed.
            Some(Some(places)) => places.acquire().await.ok(),
            _ => None,
        };
        if let Some(Some(limiter)) = self.0.limiter.get() {
            limiter.turn().await;
        }
        place
    }
}

impl fmt::Debug for SharedLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedLimits(..)")
    }
}
