//! What drift calls a change. The one place that names its API.

use mcp_model::Snapshot;
use mcp_schema::Role;
use mcp_schema::drift::{self, Witness};
use serde_json::Value;

/// The classes, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Wording,
    Compatible,
    Source,
    Breaking,
}

/// One difference.
#[derive(Clone, Debug)]
pub(crate) struct Called {
    pub(crate) class: Class,
    /// A value that was fine and is not any more: arguments, or a result.
    pub(crate) witness: Option<(Role, Value)>,
    pub(crate) text: String,
}

/// The differences between two snapshots.
pub(crate) fn differences(old: &Snapshot, new: &Snapshot) -> Vec<Called> {
    drift::diff(old, new)
        .into_iter()
        .map(|change| Called {
            class: match change.class {
                drift::Class::Breaking => Class::Breaking,
                drift::Class::Source => Class::Source,
                drift::Class::Wording => Class::Wording,
                _ => Class::Compatible,
            },
            text: change.to_string(),
            witness: match change.witness {
                Some(Witness::Sent(value)) => Some((Role::Input, value)),
                Some(Witness::Answered(value)) => Some((Role::Output, value)),
                _ => None,
            },
        })
        .collect()
}
