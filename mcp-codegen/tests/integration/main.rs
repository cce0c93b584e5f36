//! One program for all that needs no process of its own: each program more costs a build of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod conditions;
mod diagnostics;
mod extern_types;
mod fixtures;
#[path = "../harness/mod.rs"]
mod harness;
mod names;
mod overrides;
#[path = "../parsed/mod.rs"]
mod parsed;
mod properties;
mod rules;
mod shared;
mod signatures;
#[path = "../squatters/mod.rs"]
mod squatters;
mod typify;
mod unreadable;
