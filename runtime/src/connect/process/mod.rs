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
use std::io::{Error, ErrorKind};
use std::path::Path;

use mcp_bindgen_model::{Isolation, ServerConfig, Transport};

use self::isolation::Refusal;
use crate::ConnectErrorKind as Kind;

/// The program to start.
#[derive(Clone, Copy)]
pub(crate) struct Program<'a> {
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) cwd: Option<&'a str>,
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) inherit_env: &'a [String],
    pub(crate) isolation: Option<&'a Isolation>,
}

impl<'a> Program<'a> {
    /// Returns the program of a server, if it is a child process.
    pub(crate) fn of(config: &'a ServerConfig) -> Option<Self> {
        let ServerConfig { transport: Transport::Stdio { command, args, cwd }, .. } = config else { return None };
        let (env, inherit_env, isolation) = (&config.env, &config.inherit_env, config.isolation.as_ref());
        Some(Self { command, args, cwd: cwd.as_deref(), env, inherit_env, isolation })
    }

    /// Returns the reason why the system did not start it.
    fn not_started(&self, error: &Error) -> Refusal {
        let command = self.command;
        let message = match (error.kind(), self.cwd) {
            (ErrorKind::NotFound, Some(cwd)) if !Path::new(cwd).is_dir() => {
                format!("failed to start `{command}`: the folder `{cwd}` (cwd) does not exist")
            }
            _ => format!("failed to start `{command}`: {error}"),
        };
        (Kind::Spawn, message)
    }
}
