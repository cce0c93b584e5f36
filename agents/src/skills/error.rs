//! Why a skill cannot be used.

use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::{CallError, ConnectError};

/// The reason why a skill cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkillError {
    /// The server cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The server refused, or did not answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The skill does not keep to the specification.
    #[error("the skill `{}` is invalid: {why}", printable(uri))]
    #[non_exhaustive]
    Invalid {
        /// Its URI.
        uri: String,
        /// The reason.
        why: String,
    },
    /// A file does not match the entry: it changed since the skill was listed, or the server is faulty.
    #[error(
        "`{}` of the skill `{}` is not the file that was listed; list the skill again",
        printable(file),
        printable(uri)
    )]
    #[non_exhaustive]
    Changed {
        /// The URI of the skill.
        uri: String,
        /// The path of the file in it.
        file: String,
    },
    /// The entry does not list the file.
    #[error("the skill `{}` does not list the file `{}`", printable(uri), printable(file))]
    #[non_exhaustive]
    Unlisted {
        /// The URI of the skill.
        uri: String,
        /// The path of the file in it.
        file: String,
    },
}
