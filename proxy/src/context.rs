//! The caller of a request, and the protocol version.

use std::any::Any;
use std::sync::{Arc, Mutex};

use mcp_bindgen_runtime::Caller;
use rmcp::model::{ProtocolVersion, RequestId};

use super::lock::lock;

/// The keys of `_meta` in which a request without a session carries what a session negotiates.
pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The key of a result that has the name of its server.
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Returns `true` for versions without sessions. Versions are dates: their order is that of their text.
pub(crate) fn is_modern(version: &str) -> bool {
    version >= ProtocolVersion::V_2026_07_28.as_str()
}

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
    /// Creates a request of a caller, with all that it holds.
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
