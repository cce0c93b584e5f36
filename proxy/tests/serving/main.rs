//! A proxy as it is served: who may ask, what clients that misbehave can do, and what stands side by side.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod access;
mod balanced;
mod crowd;
mod hostile;
#[cfg(feature = "jwt")]
mod jwt;
#[cfg(feature = "redis")]
mod replicas;
mod secrets;
mod streams;
mod support;
mod team;
mod toolset;
