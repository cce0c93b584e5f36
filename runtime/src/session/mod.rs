//! The conversation with a server over rmcp, and what became of every request of it.

pub(crate) mod ask;
mod clock;
pub(crate) mod connection;
pub(crate) mod deadline;
pub(crate) mod direct;
pub(crate) mod eras;
pub(crate) mod failure;
pub(crate) mod ledger;
mod limits;
pub(crate) mod list_news;
pub(crate) mod notices;
pub(crate) mod raw;
pub(crate) mod request;
mod rounds;
pub(crate) mod server_requests;
mod silence;
pub(crate) mod subscriptions;
pub(crate) mod ticket;
pub(crate) mod unknown;
pub(crate) mod witness;
