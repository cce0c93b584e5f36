//! Isolates a child process with bubblewrap.
//!
//! Nothing runs without what was asked for: bubblewrap ends before the program begins where anything of it fails. The
//! server is in the process group that bubblewrap leads, and in a process namespace that is killed with it; so there is
//! neither `--new-session`, which would take it out of the group, nor `--die-with-parent`, which would kill it on the
//! SIGTERM that it may handle. What a session of its own is for, terminals, it has none of.

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
/// The error of connecting, with the next step behind `; `: bubblewrap is not installed, somebody else than root can replace
/// it, or the isolation contradicts itself.
pub fn bubblewrap(config: &ServerConfig) -> Result<Option<PathBuf>, String> {
    let (Some(isolation), Transport::Stdio { command, args, cwd }) = (&config.isolation, &config.transport) else {
        return Ok(None);
    };
    let program = Program { command, args, cwd: cwd.as_deref(), env: &config.env, inherit_env: &config.inherit_env };
    enforced_by(isolation, &program).map(Some).map_err(|(_, message)| message)
}
