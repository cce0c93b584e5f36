//! Servers as child processes.

#[cfg(unix)]
mod descendants;
pub(crate) mod download;
pub(crate) mod environment;
mod find;
#[cfg(unix)]
mod guard;
pub(crate) mod isolation;
pub(crate) mod program;
#[cfg(unix)]
mod running;
pub(crate) mod stdio;
pub(crate) mod tree;
