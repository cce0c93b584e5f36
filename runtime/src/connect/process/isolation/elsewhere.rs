//! Systems without isolation.

use std::path::PathBuf;

use mcp_bindgen_model::Isolation;
use tokio::process::Command;

use super::Refusal;
use crate::ConnectErrorKind as Kind;
use crate::connect::process::Program;

/// A sandbox, which cannot exist on this system.
pub(crate) enum Sandbox {}

impl Sandbox {
    pub(crate) fn new(_isolation: &Isolation, _program: &Program<'_>) -> Result<Self, Refusal> {
        Err(refusal())
    }

    pub(super) fn enforced_by(_isolation: &Isolation, _program: &Program<'_>) -> Result<PathBuf, Refusal> {
        Err(refusal())
    }

    pub(crate) fn command(&self) -> Command {
        match *self {}
    }

    /// Matches on a sandbox that cannot exist, so it is never called.
    pub(crate) async fn refusal(&self) -> Option<Refusal> {
        match *self {}
    }
}

fn refusal() -> Refusal {
    let message = "its `isolation` requires Linux; run the server there, or remove `isolation`";
    (Kind::Unsupported, message.to_owned())
}
