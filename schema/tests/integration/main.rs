//! One program for all that needs no process of its own: each program more costs a build of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

mod alike;
mod drafts;
mod drift;
mod drift_classes;
mod drift_interface;
mod drift_patterns;
mod drift_rules;
mod drift_small;
mod flags;
mod infer;
mod limits;
mod opaque;
mod provider;
