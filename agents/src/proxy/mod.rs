//! Several servers, served again as one.

mod http;
mod serve_error;
mod session;
mod stdio;

pub use http::{HttpOptions, HttpServer};
pub use serve_error::ServeError;
use session::Session;

/// Several servers, served again as one. Clones are cheap.
#[derive(Clone, Debug)]
pub struct Proxy {}

impl Proxy {
    /// What speaks with one client: one for each session of a client that has sessions, one for each request of one that
    /// has none.
    pub(crate) fn session(&self) -> Session {
        Session {}
    }

    /// What the tool of this name wants, as the proxy lists it.
    pub(crate) async fn input_schema(
        &self,
        _tool: &str,
    ) -> Option<std::sync::Arc<serde_json::Map<String, serde_json::Value>>> {
        None
    }
}
