//! From the configuration of a server to a session with it.

#[cfg(feature = "auth")]
pub(crate) mod auth;
pub(crate) mod connection;
pub(crate) mod handshake;
#[cfg(feature = "keyring")]
mod keyring;
pub(crate) mod limits;
pub(crate) mod open;
pub(crate) mod options;
#[cfg(feature = "stdio")]
pub(crate) mod process;
pub(crate) mod rounds;
pub(crate) mod secrets;
#[cfg(test)]
#[cfg(feature = "stdio")]
mod tests;
