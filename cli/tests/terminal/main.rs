//! The program where somebody sits at a terminal: what moves, what is asked, what ends it, and what is seen of it.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod asked;
mod bars;
mod call;
mod colours;
#[path = "../common/mod.rs"]
mod common;
#[cfg(target_os = "linux")]
mod completion;
#[cfg(target_os = "linux")]
mod ending;
#[cfg(target_os = "linux")]
mod ending_at_once;
mod pipes;
mod screen;
