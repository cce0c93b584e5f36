//! The language of templates, and its checks against tools.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

mod beside_minijinja;
mod checks;
mod grammar;
mod harness;
mod large;
mod malformed;
mod printed;
