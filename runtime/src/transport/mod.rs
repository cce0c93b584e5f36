//! How bytes travel to a server and back.

#[cfg(feature = "http")]
pub(crate) mod http;
#[cfg(feature = "http")]
pub(crate) mod http_client;
pub(crate) mod notes;
pub(crate) mod open;
#[cfg(feature = "http")]
pub(crate) mod param_headers;
#[cfg(feature = "stdio")]
pub(crate) mod process;
pub(crate) mod raw;
#[cfg(feature = "stdio")]
pub(crate) mod stdio;
