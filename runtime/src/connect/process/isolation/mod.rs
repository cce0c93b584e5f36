//! Isolates a child process with bubblewrap.
//!
//! Isolation fails closed: if any part of it fails, bubblewrap ends before the program starts. Bubblewrap leads the
//! server's process group, and killing it kills the server's process namespace. `--new-session` would take the server
//! out of the group, and `--die-with-parent` would kill the server on a SIGTERM that it may handle. Neither is used:
//! `--new-session` protects a terminal, and the server has none.

#[cfg(target_os = "linux")]
mod bwrap;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod folders;
#[cfg(target_os = "linux")]
mod needs;
#[cfg(target_os = "linux")]
mod network;
mod refusal;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod view;
#[cfg(target_os = "linux")]
mod way;

use std::path::PathBuf;

use mcp_bindgen_model::{ServerConfig, Transport};

#[cfg(not(target_os = "linux"))]
use self::elsewhere::enforced_by;
#[cfg(not(target_os = "linux"))]
pub(crate) use self::elsewhere::{Gate, Sandbox};
#[cfg(target_os = "linux")]
pub(crate) use self::network::Gate;
#[cfg(target_os = "linux")]
pub(crate) use self::sandbox::Sandbox;
#[cfg(target_os = "linux")]
use self::sandbox::enforced_by;
use super::Program;

/// Returns the program that enforces a server's `isolation`: bubblewrap, from a system folder. Returns `None` for a
/// server without isolation. Does not start anything.
///
/// # Errors
/// Fails like connecting, with the next step after `; `: bubblewrap is not installed, a user other than root can
/// replace it, or the isolation contradicts itself.
pub fn bubblewrap(config: &ServerConfig) -> Result<Option<PathBuf>, String> {
    let (Some(isolation), Transport::Stdio { command, args, cwd }) = (&config.isolation, &config.transport) else {
        return Ok(None);
    };
    let program = Program { command, args, cwd: cwd.as_deref(), env: &config.env, inherit_env: &config.inherit_env };
    enforced_by(isolation, &program).map(Some).map_err(|(_, message)| message)
}
