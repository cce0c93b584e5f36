//! Calls the drift API. No other module names it.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use mcp_bindgen_model::Snapshot;
use mcp_bindgen_schema::Role;
use mcp_bindgen_schema::drift::{self, Witness};
use serde_json::Value;

/// The classes, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Wording,
    Compatible,
    Source,
    Silent,
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

/// Far above what any two versions of one tool take.
const AT_MOST: Duration = Duration::from_secs(10);

/// The differences between two snapshots; `None` where they are not found in time.
pub(crate) fn differences_in_time(old: Snapshot, new: Snapshot) -> Option<Vec<Called>> {
    let (sender, receiver) = mpsc::channel();
    // A thread that does not end cannot be stopped; it ends with the program.
    thread::spawn(move || sender.send(differences(&old, &new)));
    receiver.recv_timeout(AT_MOST).ok()
}

/// The differences between two snapshots.
pub(crate) fn differences(old: &Snapshot, new: &Snapshot) -> Vec<Called> {
    drift::diff(old, new)
        .into_iter()
        .map(|change| Called {
            text: change.to_string(),
            class: match change.class {
                drift::Class::Wording => Class::Wording,
                drift::Class::Compatible => Class::Compatible,
                drift::Class::Source => Class::Source,
                drift::Class::Silent => Class::Silent,
                // A class that this suite does not know is nothing to wave through.
                _ => Class::Breaking,
            },
            witness: change.witness.and_then(|witness| match witness {
                Witness::Sent(value) => Some((Role::Input, value)),
                Witness::Answered(value) => Some((Role::Output, value)),
                _ => None,
            }),
        })
        .collect()
}
