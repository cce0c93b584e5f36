//! Several servers, served again as one.

mod session;

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
}
