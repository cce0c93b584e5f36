//! Whether the servers behind a proxy can be reached.

use super::attached::Attached;

/// Whether a server can be reached, by what was last known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ServerState {
    /// It was asked for its tools, and there was no answer.
    Failed,
    /// Nobody has needed it yet, or not for a while.
    Idle,
    Connected,
}

impl ServerState {
    pub(super) fn of(attached: &Attached) -> Self {
        match (attached.client.is_connected(), attached.has_failed()) {
            (true, _) => Self::Connected,
            (false, true) => Self::Failed,
            (false, false) => Self::Idle,
        }
    }

    pub(crate) const fn is_usable(self) -> bool {
        !matches!(self, Self::Failed)
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Idle => "idle",
            Self::Connected => "connected",
        }
    }
}
