//! Isolates a child process with bubblewrap.
//!
//! Isolation fails closed: if any part of it fails, bubblewrap ends before the program starts. Bubblewrap leads the
//! server's process group, and killing it kills the server's process namespace. `--new-session` would take the server
//! out of the group, and `--die-with-parent` would kill the server on a SIGTERM that it may handle. Neither is used:
//! `--new-session` protects a terminal, and the server has none.

#[cfg(target_os = "linux")]
mod bwrap;
#[cfg(target_os = "linux")]
mod folders;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod view;

use std::path::PathBuf;

use mcp_bindgen_model::ServerConfig;

#[cfg(target_os = "linux")]
pub(crate) use self::sandbox::Sandbox;
use super::Program;
use crate::ConnectErrorKind;

/// Returns the program that enforces a server's `isolation`: bubblewrap, from a system folder. Returns `None` for a
/// server without isolation. Does not start anything.
///
/// # Errors
/// Fails like connecting, with the next step after `; `: bubblewrap is not installed, a user other than root can
/// replace it, or the isolation contradicts itself.
pub fn bubblewrap(config: &ServerConfig) -> Result<Option<PathBuf>, String> {
    let program = Program::of(config).and_then(|program| Some((program.isolation?, program)));
    let enforced = program.map(|(isolation, program)| Sandbox::enforced_by(isolation, &program)).transpose();
    enforced.map_err(|(_, message)| message)
}

/// The kind of error with which a server is not started, and the message.
pub(crate) type Refusal = (ConnectErrorKind, String);

/// A sandbox, which cannot exist on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) enum Sandbox {}

#[cfg(not(target_os = "linux"))]
impl Sandbox {
    pub(crate) fn new(_: &mcp_bindgen_model::Isolation, _: &Program<'_>) -> Result<Self, Refusal> {
        let message = "its `isolation` requires Linux; run the server there, or remove `isolation`";
        Err((ConnectErrorKind::Unsupported, message.to_owned()))
    }

    fn enforced_by(isolation: &mcp_bindgen_model::Isolation, program: &Program<'_>) -> Result<PathBuf, Refusal> {
        Self::new(isolation, program).map(|sandbox| match sandbox {})
    }

    pub(crate) fn command(&self) -> tokio::process::Command {
        match *self {}
    }

    /// Matches on a sandbox that cannot exist, so it is never called.
    pub(crate) async fn refusal(&self) -> Option<Refusal> {
        match *self {}
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use mcp_bindgen_model::Isolation;

    use super::*;

    #[test]
    fn programs_that_enforce_isolation_are_checked_without_a_start() {
        let config = ServerConfig::stdio("s", "/bin/sh");
        assert_eq!(bubblewrap(&config), Ok(None));
        // The server could replace each program, so none is accepted, be it installed or not.
        let any = Isolation::new().write(["/"]);
        let message = bubblewrap(&config.clone().isolation(any.clone())).unwrap_err();
        assert!(message.starts_with("its `isolation` "), "{message}");
        let message = bubblewrap(&config.isolation(any.domains(["x.org"]))).unwrap_err();
        assert!(message.starts_with("`network` of its `isolation` "), "{message}");
    }
}
