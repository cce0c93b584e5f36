//! The caller of a request, and its place.

use std::any::Any;
use std::sync::{Arc, Mutex};

use mcp_bindgen_runtime::Caller;
use rmcp::model::RequestId;

use super::lock::lock;

/// The caller of a request, and the place that the request holds until it is answered or a person is asked. Clones hold the same
/// place.
#[derive(Clone, Default)]
pub(crate) struct Visit {
    pub(crate) caller: Caller,
    place: Arc<Mutex<Option<Box<dyn Any + Send>>>>,
}

/// Finds who sent a request that is not answered yet.
pub(crate) type Visits = Box<dyn Fn(&RequestId) -> Option<Visit> + Send + Sync>;

impl Visit {
    /// A request of a caller, with all that it holds.
    pub(crate) fn new(caller: Caller, held: impl Send + 'static) -> Self {
        Self { caller, place: Arc::new(Mutex::new(Some(Box::new(held)))) }
    }

    /// Gives up the place of the request: from now on it counts as an open approval.
    pub(crate) fn leave(&self) {
        let held = lock(&self.place).take();
        // Dropped without the lock.
        drop(held);
    }
}
