//! The caller of a request, and its place.

use std::fmt;
use std::sync::Arc;

use mcp_bindgen_runtime::Caller;
use rmcp::model::RequestId;

/// The caller of a request, and the place that the request holds.
#[derive(Clone, Default)]
pub(crate) struct Visit {
    pub(crate) caller: Caller,
    /// Gives up the place of the request, because a person is asked now.
    leave: Option<Arc<dyn Fn() + Send + Sync>>,
}

/// Finds who sent a request that is not answered yet.
pub(crate) type Visits = Box<dyn Fn(&RequestId) -> Option<Visit> + Send + Sync>;

impl Visit {
    pub(crate) fn new(caller: Caller, leave: impl Fn() + Send + Sync + 'static) -> Self {
        Self { caller, leave: Some(Arc::new(leave)) }
    }

    /// Gives up the place of the request: from now on it counts as an open approval.
    pub(crate) fn leave(&self) {
        if let Some(leave) = &self.leave {
            leave();
        }
    }
}

impl fmt::Debug for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visit").field("caller", &self.caller).finish_non_exhaustive()
    }
}
