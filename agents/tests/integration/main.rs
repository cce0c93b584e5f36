//! One program for all that needs no process of its own: each program more costs a build of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod dispatch;
mod dispatch_harness;
mod functions;
mod hosted;
mod mcp_section;
mod offers;
mod opening;
mod replies;
mod results;
mod run;
mod section_servers;
mod sections;
mod skills;
mod support;
mod template;
mod toolset;
mod toolset_corpus;
mod toolset_layers;
