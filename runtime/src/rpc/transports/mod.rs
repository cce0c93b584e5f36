//! How messages travel: over a pair of streams, over HTTP, from a recording.

#[cfg(feature = "cassette")]
pub(crate) mod cassette;
#[cfg(feature = "stdio")]
pub(crate) mod duplex;
#[cfg(feature = "stdio")]
mod framing;
#[cfg(feature = "http")]
pub(crate) mod http;
#[cfg(feature = "stdio")]
pub(crate) mod lines;
#[cfg(feature = "stdio")]
pub(crate) mod pipe;
#[cfg(feature = "http")]
pub(crate) mod sse;
#[cfg(feature = "stdio")]
pub(crate) mod writer;
