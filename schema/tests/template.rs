//! The language of templates, and its checks against tools.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

#[path = "template/beside_minijinja.rs"]
mod beside_minijinja;
#[path = "template/checks.rs"]
mod checks;
#[path = "template/grammar.rs"]
mod grammar;
#[path = "template/harness.rs"]
mod harness;
#[path = "template/large.rs"]
mod large;
#[path = "template/malformed.rs"]
mod malformed;
#[path = "template/printed.rs"]
mod printed;
