//! What is seen of a server besides its protocol messages.

pub(crate) mod notes;
pub(crate) mod redact;
