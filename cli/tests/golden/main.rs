//! Compares the output and exit code of every command with transcripts in `tests/goldens`. A unit test of the
//! program's arguments checks that no command is missing.
//!
//! `SNAPSHOTS=overwrite cargo test -p mcp-bindgen-cli --test golden` writes them anew; read the difference.

#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod auth;
mod broken;
mod calls;
#[path = "../common/mod.rs"]
mod common;
mod exits;
mod help;
mod machine;
mod projects;
mod proxy;
mod session;
mod snapshots;
