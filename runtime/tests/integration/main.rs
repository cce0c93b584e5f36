//! One program for all that needs no process of its own: each program more costs a build of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[cfg(feature = "stdio")]
mod any_bytes;
#[cfg(feature = "stdio")]
mod asking;
#[cfg(feature = "auth")]
mod auth;
#[cfg(feature = "stdio")]
mod bad_servers;
#[cfg(all(feature = "stdio", feature = "http"))]
mod beginnings;
#[cfg(feature = "http")]
mod bounds;
#[cfg(feature = "stdio")]
mod calls;
#[cfg(all(feature = "stdio", feature = "http", feature = "cassette"))]
mod cassettes;
#[path = "../common/mod.rs"]
mod common;
#[cfg(all(feature = "stdio", feature = "http"))]
mod drift;
#[cfg(feature = "stdio")]
mod events;
#[cfg(feature = "stdio")]
mod extensions;
#[cfg(feature = "stdio")]
mod fault_matrix;
#[cfg(feature = "stdio")]
mod governance;
#[cfg(feature = "stdio")]
#[path = "../harness/mod.rs"]
mod harness;
#[cfg(all(feature = "stdio", feature = "http"))]
mod http;
#[cfg(all(feature = "http", feature = "cassette"))]
mod http_calls;
#[cfg(all(feature = "stdio", feature = "http"))]
mod http_faults;
#[cfg(feature = "http")]
mod http_time;
#[cfg(feature = "stdio")]
mod lifecycle;
mod offers;
#[cfg(feature = "stdio")]
mod outcomes;
#[cfg(feature = "stdio")]
mod passing;
#[cfg(feature = "stdio")]
mod pauses;
mod reading;
#[cfg(all(feature = "stdio", feature = "http"))]
#[path = "../recorder/mod.rs"]
mod recorder;
#[cfg(feature = "stdio")]
mod secret_sources;
#[cfg(feature = "stdio")]
mod spans;
#[cfg(feature = "stdio")]
mod stdio;
#[cfg(feature = "stdio")]
mod time;
#[cfg(feature = "http")]
mod unsent;
