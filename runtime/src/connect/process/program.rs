//! What is started as a child process.

use std::collections::BTreeMap;

/// What to start.
pub(crate) struct Program<'a> {
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) cwd: Option<&'a str>,
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) inherit_env: &'a [String],
}
