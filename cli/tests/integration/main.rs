//! One program for all that needs no process of its own: each program more costs a build of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod add;
mod at_once;
mod bad_input;
mod base;
mod call_flags;
mod check;
mod checked_in;
#[path = "../common/mod.rs"]
mod common;
mod completions;
mod configuration;
mod demands;
mod diff;
mod doctor;
mod doors;
mod drift_rules;
mod edit;
mod expand;
mod files;
mod import;
mod import_secrets;
mod init;
mod learn;
mod list;
mod live;
mod offers;
mod offline;
mod overrides;
mod redaction;
mod run;
mod serve;
mod serve_operation;
mod shapes;
mod tool_names;
mod views;
