//! One program for all that needs no process of its own: each program more costs a build of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

#[path = "../common/mod.rs"]
mod common;

mod calls;
mod config_keys;
mod configuration;
mod conveniences;
mod doors;
mod drift_guard;
mod fakes;
mod fixtures;
mod governance;
mod in_process;
mod large_unions;
mod macro_errors;
mod named_keys;
mod offers;
mod overrides;
mod public_names;
mod reading;
mod readme;
mod rust_options;
mod secrets;
mod shared_types;
mod unions;
