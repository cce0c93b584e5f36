//! One program for all that needs no process of its own: each program more costs a build of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod config;
mod drift_rules;
mod network;
mod overrides;
mod rust;
mod secrets;
mod server;
mod snapshot;
mod uri_template;
mod views;
