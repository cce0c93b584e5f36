//! From the configuration of a server to a session with it.

pub(crate) mod ask;
#[cfg(feature = "auth")]
pub(crate) mod auth;
pub(crate) mod connection;
pub(crate) mod establish;
pub(crate) mod handshake;
pub(crate) mod kept_lists;
#[cfg(feature = "keyring")]
mod keyring;
pub(crate) mod limits;
pub(crate) mod open;
pub(crate) mod options;
#[cfg(feature = "stdio")]
pub(crate) mod process;
pub(crate) mod resolve;
mod rounds;
pub(crate) mod secrets;
pub(crate) mod stores;
