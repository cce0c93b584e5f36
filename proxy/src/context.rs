//! One request of a client.

use mcp_bindgen_runtime::__private::rpc::Session;
use rmcp::model::{ProtocolVersion, RequestId};
use serde_json::{Map, Value};

use super::visit::Visit;

/// The keys of `_meta` by which a request without a session says what a session has agreed on.
pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The key of a result that has the name of its server.
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// A request, besides its method and parameters.
pub(crate) struct Context {
    pub(crate) id: RequestId,
    /// The session of the client.
    pub(crate) session: Session,
    pub(crate) meta: Map<String, Value>,
    /// Whether its version is 2026-07-28 or later.
    pub(crate) is_modern: bool,
    pub(crate) visit: Visit,
}

/// Returns `true` for versions without sessions. Versions are dates: their order is that of their text.
pub(crate) fn is_modern(version: &str) -> bool {
    version >= ProtocolVersion::V_2026_07_28.as_str()
}
