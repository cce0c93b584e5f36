//! Servers as child processes.

#[cfg(unix)]
mod descendants;
pub(crate) mod download;
pub(crate) mod environment;
mod find;
#[cfg(unix)]
mod guard;
pub(crate) mod isolation;
#[cfg(unix)]
mod running;
pub(crate) mod stdio;
pub(crate) mod tree;

use std::collections::BTreeMap;

/// The program to start.
pub(crate) struct Program<'a> {
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) cwd: Option<&'a str>,
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) inherit_env: &'a [String],
}
