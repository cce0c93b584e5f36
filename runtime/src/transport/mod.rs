//! How bytes travel to a server and back.

#[cfg(feature = "cassette")]
pub(crate) mod cassette;
#[cfg(all(feature = "stdio", unix))]
mod descendants;
#[cfg(feature = "stdio")]
pub(crate) mod download;
#[cfg(feature = "stdio")]
pub(crate) mod duplex;
#[cfg(feature = "stdio")]
pub(crate) mod environment;
#[cfg(feature = "stdio")]
mod find;
#[cfg(feature = "stdio")]
mod framing;
#[cfg(all(feature = "stdio", unix))]
mod guard;
#[cfg(feature = "http")]
pub(crate) mod http;
#[cfg(feature = "stdio")]
pub(crate) mod isolation;
#[cfg(feature = "stdio")]
mod lines;
pub(crate) mod open;
#[cfg(feature = "stdio")]
mod pipe;
#[cfg(feature = "stdio")]
pub(crate) mod process;
#[cfg(feature = "stdio")]
mod program;
#[cfg(all(feature = "stdio", unix))]
mod running;
#[cfg(feature = "http")]
mod sse;
#[cfg(feature = "stdio")]
pub(crate) mod stdio;
#[cfg(feature = "stdio")]
mod writer;
