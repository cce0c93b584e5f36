//! A session with a server, and the outcome of each request.

mod clock;
pub(crate) mod failure;
pub(crate) mod handlers;
pub(crate) mod ledger;
pub(crate) mod messages;
pub(crate) mod notes;
pub(crate) mod notices;
pub(crate) mod receiving;
pub(crate) mod request;
pub(crate) mod sent;
pub(crate) mod session;
#[cfg(feature = "stdio")]
#[cfg(test)]
mod simulation;
mod ticket;
pub(crate) mod transports;

pub use self::failure::Failure;
pub use self::ledger::{Ledger, Outgoing};
pub use self::messages::{Incoming, Question};
pub use self::receiving::{IN_USE, OpenLimits, Receiving, Respond, serve};
pub use self::request::RequestError;
pub use self::sent::{Message, MethodCall};
pub use self::session::Session;
#[cfg(feature = "stdio")]
pub use self::transports::duplex::with_client;
pub use self::transports::{Sender, Sending, Sides, Transport};
