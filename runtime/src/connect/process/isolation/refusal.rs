//! Why a server is not started in its bounds.

#[cfg(target_os = "linux")]
use std::path::Path;

use crate::ConnectErrorKind;

/// The kind of a refusal, and its message.
pub(crate) type Refusal = (ConnectErrorKind, String);

/// Returns a path in a message.
#[cfg(target_os = "linux")]
pub(super) fn shown(path: &Path) -> String {
    mcp_bindgen_model::printable(&path.to_string_lossy())
}
