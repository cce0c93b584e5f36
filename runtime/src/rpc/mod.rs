//! A session with a server, and the outcome of each request.

mod clock;
pub(crate) mod failure;
pub(crate) mod handlers;
pub(crate) mod ledger;
pub(crate) mod messages;
pub(crate) mod notes;
pub(crate) mod notices;
pub(crate) mod questions;
pub(crate) mod receiving;
pub(crate) mod request;
pub(crate) mod sent;
pub(crate) mod server_requests;
pub(crate) mod session;
#[cfg(feature = "stdio")]
#[cfg(test)]
mod simulation;
pub(crate) mod subscriptions;
pub(crate) mod ticket;
pub(crate) mod transports;
pub(crate) mod unknown;
